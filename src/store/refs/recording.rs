//! Records a checkpoint: commit, pack and refs, in an order that survives a kill at any point.

use crate::error::Result;
use crate::model::checkpoint::message;
use crate::model::{Checkpoint, Meta, ObjectId, Record};
use crate::store::locked::check_still_there;
use crate::store::refs::{commit_codec, ref_files};
use crate::store::trees::meta_tree;
use crate::store::{Extras, LockedStore, ObjectKind, PackSet};

/// A tree whose objects were added to `pack`, and the data that goes with it.
pub struct NewCheckpoint<'s> {
    pub pack: PackSet<'s>,
    pub tree: ObjectId,
    pub meta: Meta,
    pub extras: Extras,
    /// Its sequence number is a lower bound.
    pub record: Record,
}

impl LockedStore<'_> {
    /// Records a checkpoint of a tree whose objects are in `pack`: commit, pack, refs, in an order
    /// that survives a kill at any point, and assigns its sequence number. `announce` gets the id
    /// before the ref is written.
    pub fn record(
        &mut self,
        new: NewCheckpoint,
        announce: &mut dyn FnMut(ObjectId) -> Result<()>,
    ) -> Result<Checkpoint> {
        let NewCheckpoint {
            mut pack,
            tree,
            meta,
            extras,
            mut record,
        } = new;
        record.sequence = record.sequence.max(self.inventory.next_sequence());
        let meta = add_meta(&mut pack, &meta, &extras)?;
        let text = message::render(&record, meta);
        let commit = commit_codec::encode(tree, record.time_ms.div_euclid(1000), &text);
        let id = pack.add(ObjectKind::Commit, &commit)?;
        let merged = match pack.single() {
            Some(writer) => self.merge_small_packs(writer)?,
            None => Vec::new(),
        };
        let layout = self.store().layout();
        // Staged first, so that a full disk cannot stop us once the pack has its name: its commit
        // would count as a checkpoint where there is no manifest.
        let staged = ref_files::stage(layout, id)?;
        let staged_meta = meta
            .map(|meta| ref_files::stage_meta(layout, meta))
            .transpose()?;
        let published = pack.finish(Some(&staged))?;
        announce(id)?;
        if let Some(staged) = staged_meta {
            ref_files::publish_meta(layout, id, staged)?;
        }
        self.keep_foreign_main()?;
        // The user's own `git gc` may remove a pack that no ref names yet: check before the ref is
        // published, and once more when that can no longer happen.
        let done = check_still_there(layout, &published)
            .and_then(|()| ref_files::publish_checkpoint(layout, id, staged))
            .and_then(|()| check_still_there(layout, &published));
        if let Err(e) = done {
            // The caller gets the failure, so no ref may name this checkpoint; a second failure is
            // not reported.
            let _ = self
                .remove_refs(&[id])
                .and_then(|()| ref_files::sync(layout));
            return Err(e);
        }
        self.store().objects().add_packs(&published);
        // The checkpoint is recorded. Merged packs that could not be removed are duplicates, which
        // a prune removes.
        let _ = self.remove_merged(&merged, &published);
        let checkpoint = Checkpoint {
            id,
            tree,
            meta,
            record,
            pinned: false,
            adopted: false,
        };
        self.inventory.checkpoints.push(checkpoint.clone());
        Ok(checkpoint)
    }
}

/// Adds the meta and what else lies beside the tree; `None` if all is default.
fn add_meta(pack: &mut PackSet<'_>, meta: &Meta, extras: &Extras) -> Result<Option<ObjectId>> {
    if extras.is_empty() && *meta == Meta::default() {
        return Ok(None);
    }
    let blob = pack.add(ObjectKind::Blob, &meta_tree::blob(meta))?;
    if extras.is_empty() {
        return Ok(Some(blob));
    }
    Ok(Some(
        pack.add(ObjectKind::Tree, &meta_tree::tree(blob, extras))?,
    ))
}
