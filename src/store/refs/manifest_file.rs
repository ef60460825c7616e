//! `main` and the manifest, brought up to date with the inventory.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::ObjectId;
use crate::store::LockedStore;
use crate::store::files::{atomic_file, read_regular};
use crate::store::refs::ref_files;

impl LockedStore<'_> {
    /// Brings `main` and the manifest up to date with the inventory.
    pub fn write_derived(&self) -> Result<()> {
        self.write_main()?;
        let found = self.read_manifest();
        let text = self.inventory.manifest(&found);
        if let Some(added) = text.strip_prefix(&found).filter(|_| !found.is_empty()) {
            let path = self.store().layout().manifest();
            if added.is_empty() || atomic_file::append(&path, found.len(), added.as_bytes())? {
                return Ok(());
            }
        }
        self.write_manifest(&found, &text)
    }

    /// Takes checkpoints out of the inventory and the manifest.
    pub(in crate::store) fn forget(&mut self, ids: &[ObjectId]) -> Result<()> {
        self.keep_foreign_main()?;
        let found = self.read_manifest();
        let gone: HashSet<String> = ids.iter().map(|id| id.short()).collect();
        let is_gone = |row: &str| row.get(2..10).is_some_and(|short| gone.contains(short));
        let left = found.split_inclusive('\n').filter(|row| !is_gone(row));
        let left: String = left.collect();
        let inventory = &mut self.inventory;
        inventory.checkpoints.remove(ids);
        inventory
            .damaged
            .retain(|damaged| damaged.id.commit().is_none_or(|id| !ids.contains(&id)));
        self.write_main()?;
        self.write_manifest(&found, &self.inventory.manifest(&left))
    }

    fn read_manifest(&self) -> String {
        let found = read_regular::read(&self.store().layout().manifest()).unwrap_or_default();
        String::from_utf8(found)
            .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
    }

    fn write_main(&self) -> Result<()> {
        let layout = self.store().layout();
        match self.inventory.newest().map(|newest| newest.id) {
            // Git would report a ref to nothing as an error.
            None => ref_files::remove_main(layout),
            Some(newest) if ref_files::read_main(layout).is_ok_and(|main| main == Some(newest)) => {
                Ok(())
            }
            Some(newest) => ref_files::write_main(layout, newest),
        }
    }

    fn write_manifest(&self, found: &str, text: &str) -> Result<()> {
        if found == text {
            return Ok(());
        }
        let layout = self.store().layout();
        let path = layout.manifest();
        match atomic_file::replace_derived(&layout.own(), &path, text.as_bytes()) {
            Err(error) if error.is_full() => atomic_file::shrink(&path, text.as_bytes()),
            written => written,
        }
    }

    /// Flushes the manifest.
    pub(in crate::store) fn flush_manifest(&self) -> Result<()> {
        let layout = self.store().layout();
        atomic_file::sync_if_there(&layout.manifest())?;
        atomic_file::sync_directory(layout.dir())
    }
}
