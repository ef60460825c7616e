//! The mark of a prune: every object that something still needs.

use crate::error::{Error, Result};
use crate::model::git_index;
use crate::model::object_id::ObjectId;
use crate::store::commit_codec;
use crate::store::hash::ObjectKind;
use crate::store::inventory::Inventory;
use crate::store::journal::{self, JournalState};
use crate::store::plain_file;
use crate::store::refs::{self, Family};
use crate::store::tree_codec::{self, MODE_GITLINK};
use crate::store::trees;
use crate::store::{ObjectIds, Store};

/// Objects reachable from any ref, or named by the journal, leaving out refs of `gone` checkpoints.
///
/// # Errors
/// A ref, the journal, a commit or a tree that cannot be read: what it needs is unknown then, so nothing may go.
pub fn live(store: &Store, gone: &ObjectIds) -> Result<ObjectIds> {
    let (mut live, staged_trees) = staged(store);
    reach(store, roots(store, gone)?, &mut live, &mut |_| ())?;
    reach(store, staged_trees, &mut live, &mut |_| ())?;
    Ok(live)
}

/// Adds all that is reachable from `pending` to `live`, and tells `met` what was not in it before.
///
/// # Errors
/// A commit or a tree that cannot be read.
pub fn reach(
    store: &Store,
    mut pending: Vec<ObjectId>,
    live: &mut ObjectIds,
    met: &mut dyn FnMut(ObjectId),
) -> Result<()> {
    while let Some(id) = pending.pop() {
        if !live.insert(id) {
            continue;
        }
        met(id);
        let read = store.objects().read_any(&id).map_err(|e| e.to_string());
        let (kind, bytes) = read.map_err(|why| unreadable(id, &why))?;
        match kind {
            Some(ObjectKind::Blob) => {}
            None => {
                let tagged = commit_codec::tagged(&bytes);
                pending.push(tagged.ok_or_else(|| unreadable(id, "it is a tag that names nothing"))?);
            }
            Some(ObjectKind::Commit) => {
                let commit = commit_codec::parse(&bytes).map_err(|why| unreadable(id, &why))?;
                // A lost ancestor of a commit of plain git is nothing that the commit itself needs.
                pending.extend(commit.parents.into_iter().filter(|parent| store.objects().read(parent).is_ok()));
                pending.push(commit.tree);
            }
            Some(ObjectKind::Tree) => {
                for entry in tree_codec::parse(&bytes).map_err(|why| unreadable(id, &why))? {
                    if entry.is_directory() {
                        pending.push(entry.id);
                    } else if entry.mode != MODE_GITLINK && live.insert(entry.id) {
                        met(entry.id);
                    }
                }
            }
        }
    }
    Ok(())
}

/// What plain git has staged in this store, blobs and trees: between its `add` and its `commit` nothing else names them,
/// and without them it could not commit.
fn staged(store: &Store) -> (ObjectIds, Vec<ObjectId>) {
    let index = plain_file::read(&store.layout().git_index()).ok().and_then(|bytes| git_index::parse(&bytes).ok());
    let index = index.unwrap_or_default();
    let blobs = index.blobs.into_iter().filter(|id| store.objects().contains(id)).collect();
    let whole = |id: &ObjectId| trees::read_snapshot(store.objects(), *id).is_ok();
    (blobs, index.trees.into_iter().filter(whole).collect())
}

fn roots(store: &Store, gone: &ObjectIds) -> Result<Vec<ObjectId>> {
    let layout = store.layout();
    let mut gone = gone.clone();
    gone.extend(lost_pins(store)?);
    let mut roots = refs::roots(layout, &gone)?;
    match journal::read(layout)? {
        JournalState::None => {}
        JournalState::Open(journal) => roots.extend([journal.target, journal.safety]),
        JournalState::Unreadable => {
            let why = "it may name checkpoints that are needed; 'checkpoint undo' ends it".to_owned();
            return Err(Error::Damaged { what: "the journal of an interrupted restore".into(), why });
        }
    }
    // `main` is derived: one that names nothing is no reason to stop, unless that is a checkpoint.
    let lost_main = refs::read_main(layout)?.filter(|id| !store.objects().contains(id) && !refs::exists(layout, *id));
    roots.retain(|id| Some(*id) != lost_main);
    let known: ObjectIds = roots.iter().copied().collect();
    // Metas are named by trailers too: a lost meta ref must not cost the meta.
    for checkpoint in Inventory::read(layout, store.objects())?.checkpoints {
        roots.extend(checkpoint.meta.filter(|_| known.contains(&checkpoint.id)));
    }
    Ok(roots)
}

/// Pins of what is no checkpoint and nowhere at all: they keep nothing.
///
/// # Errors
/// The refs cannot be listed.
pub fn lost_pins(store: &Store) -> Result<Vec<ObjectId>> {
    let mut pins: Vec<ObjectId> = refs::read_family(store.layout(), Family::Pins)?.into_keys().collect();
    pins.retain(|id| !refs::exists(store.layout(), *id) && !store.objects().contains(id));
    Ok(pins)
}

fn unreadable(id: ObjectId, why: &str) -> Error {
    Error::Damaged { what: format!("object {}", id.short()), why: format!("{why}; nothing is pruned while that is so") }
}
