//! Packs the refs of older checkpoints, so that no command has to look at each of them.

use std::collections::HashMap;

use crate::error::Result;
use crate::model::checkpoint::line::OlderCheckpoints as _;
use crate::model::{Checkpoint, LineEntry, ObjectId};
use crate::store::files::atomic_file;
use crate::store::refs::packed_commits;
use crate::store::refs::ref_files::{self, MOST_LOOSE};
use crate::store::small_files::rewords;
use crate::store::{Family, Holder, KnownRows, Layout, LockedStore, PackedRefsLock, Seal};

/// Number of newest checkpoints whose refs stay files.
const STAYING_LOOSE: usize = 32;

impl LockedStore<'_> {
    /// Packs refs if there are many files, or if the packed ones have no index that counts.
    ///
    /// # Errors
    /// A file cannot be written; every checkpoint still has its ref.
    pub fn pack_refs(&mut self) -> Result<()> {
        let inventory = &self.inventory;
        let layout = self.store().layout();
        if !inventory.damaged.is_empty() {
            return Ok(());
        }
        remove_loose(layout, &inventory.packed_twice)?;
        let line = &inventory.checkpoints;
        let unpacked = line
            .newer()
            .iter()
            .filter(|c| inventory.is_packable(c))
            .count();
        let has_index = line.has_older();
        let are_many = unpacked > MOST_LOOSE;
        if !are_many && has_index {
            return Ok(());
        }
        if !are_many && ref_files::packed_names(layout, Family::Checkpoints)?.is_empty() {
            if self.inventory.packed.take().is_some() {
                let layout = self.store().layout();
                atomic_file::remove_if_there(&layout.packed_commits())?;
                atomic_file::remove_if_there(&layout.packed_seal())?;
            }
            return Ok(());
        }
        let Some(_lock) = PackedRefsLock::take(layout)? else {
            return Ok(());
        };
        self.rebuild()
    }

    /// Writes `packed-refs` and the index of it, then removes the files of these refs.
    fn rebuild(&mut self) -> Result<()> {
        let layout = self.store().layout();
        let line = &self.inventory.checkpoints;
        let mut refs = ref_files::packed(layout, "")?;
        let before = refs.clone();
        let newest = line.newer().iter().rev();
        let newest = newest.filter(|c| self.inventory.is_packable(c));
        let newest: Vec<ObjectId> = newest.take(STAYING_LOOSE).map(|c| c.id).collect();
        let is_packed = |id: ObjectId| before.contains_key(&name(Family::Checkpoints, id));
        let mut packed = Vec::new();
        for checkpoint in line.newer() {
            let id = checkpoint.id;
            if self.inventory.is_packable(checkpoint) && (is_packed(id) || !newest.contains(&id)) {
                packed.push(checkpoint);
                refs.insert(name(Family::Checkpoints, id), id);
                refs.extend(checkpoint.meta.map(|meta| (name(Family::Meta, id), meta)));
            } else if is_packed(id) {
                ref_files::write(layout, Family::Checkpoints, id, id)?;
                refs.remove(&name(Family::Checkpoints, id));
                if let Some(meta) = checkpoint.meta {
                    ref_files::write(layout, Family::Meta, id, meta)?;
                    refs.remove(&name(Family::Meta, id));
                }
            }
        }
        if refs != before || !ref_files::has_only_packable(layout) {
            ref_files::write_packed(layout, &refs)?;
        }
        let moved: Vec<ObjectId> = packed.iter().map(|c| c.id).collect();
        let commits = self.contents_of(&packed)?;
        let is_checkpoint = |name: &&String| name.starts_with("refs/checkpoints/");
        if commits.is_empty() || commits.len() != refs.keys().filter(is_checkpoint).count() {
            // An index that leaves out a ref would hide its checkpoint.
            return atomic_file::remove_if_there(&layout.packed_commits()).map(drop);
        }
        packed_commits::write(layout, self.inventory.newest_format, &commits)?;
        if let Some(mut index) = packed_commits::open_unproven(layout) {
            index.pins = ref_files::names(layout, Family::Pins)?;
            index.rewords = rewords::read(layout).unwrap_or_default();
            let text = self.read_manifest();
            let is_current = text == self.inventory.manifest(&text);
            self.inventory.take_packed(index);
            if is_current {
                self.inventory.rows = KnownRows::of(&text, &self.inventory.checkpoints);
            }
            self.seal()?;
            remove_loose(self.store().layout(), &moved)?;
        }
        Ok(())
    }

    /// The commits of the index so far that have no file, and of `more`, in order.
    fn contents_of(&self, more: &[&Checkpoint]) -> Result<Vec<(LineEntry, Vec<u8>)>> {
        let packed = self.inventory.packed.as_ref();
        let count = packed.map_or(0, |packed| packed.count());
        let known = packed.and_then(|packed| packed.contents(0..count).ok());
        let mut known: HashMap<ObjectId, Vec<u8>> = known.into_iter().flatten().collect();
        let older = self.inventory.checkpoints.older();
        let mut entries: Vec<LineEntry> =
            older.chain(more.iter().map(|c| LineEntry::of(c))).collect();
        entries.sort_unstable();
        let content = |entry: LineEntry| {
            if let Some(content) = known.remove(&entry.id) {
                return Ok((entry, content));
            }
            let read = self.store().objects().read(&entry.id);
            let read = read.map_err(|why| self.store().damage(entry.id, why));
            read.map(|(_, content)| (entry, content))
        };
        entries.into_iter().map(content).collect()
    }

    /// Notes that the packed commits are stored in the packs as last listed.
    ///
    /// # Errors
    /// The file cannot be written; the next command looks for each of them.
    pub(in crate::store) fn seal(&self) -> Result<()> {
        let Some(packed) = &self.inventory.packed else {
            return Ok(());
        };
        let seal = Seal {
            refs_sum: packed.refs_sum,
            holders: Holder::all(self.store().objects()).into_iter().collect(),
            rows: self.inventory.rows,
        };
        seal.write(self.store().layout())
    }
}

/// Whether the ref of a checkpoint may be packed. Those of safety checkpoints come and go, and the
/// place of an adopted one does not follow from its commit.
fn name(family: Family, id: ObjectId) -> String {
    format!("refs/{}/{id}", family.into_str())
}

/// Removes the files of refs that are packed,
fn remove_loose(layout: &Layout, ids: &[ObjectId]) -> Result<()> {
    for (family, id) in [Family::Checkpoints, Family::Meta]
        .into_iter()
        .flat_map(|family| ids.iter().map(move |id| (family, *id)))
    {
        atomic_file::remove_if_there(&ref_files::path(layout, family, id))?;
    }
    Ok(())
}
