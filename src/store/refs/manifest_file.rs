//! `main` and the manifest, brought up to date with the inventory.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::ObjectId;
use crate::model::checkpoint::manifest;
use crate::store::files::{atomic_file, read_regular};
use crate::store::refs::ref_files;
use crate::store::{KnownRows, LockedStore};

impl LockedStore<'_> {
    /// Brings `main` and the manifest up to date with the inventory.
    pub fn write_derived(&self) -> Result<()> {
        self.write_main()?;
        let path = self.store().layout().manifest();
        let found = read_regular::open(&path).and_then(|file| self.inventory.read_manifest(file));
        if let Ok(Some(found)) = found
            && let added = self.inventory.manifest_after(&found)
            && let Some(added) = added.strip_prefix(&found.rest)
            && found.known_bytes + found.rest.len() > 0
        {
            let length = found.known_bytes + found.rest.len();
            if added.is_empty() || atomic_file::append(&path, length, added.as_bytes())? {
                return Ok(());
            }
        }
        let found = self.read_manifest();
        self.write_manifest(&found, &self.inventory.manifest(&found))
    }

    /// Takes checkpoints out of the inventory and the manifest.
    pub(in crate::store) fn forget(&mut self, ids: &[ObjectId]) -> Result<()> {
        self.keep_foreign_main()?;
        if self
            .inventory
            .checkpoints
            .older()
            .any(|entry| ids.contains(&entry.id))
        {
            self.inventory.read_older();
        }
        let found = self.read_manifest();
        let (known, rest) = found.split_at(self.inventory.known_rows(&found));
        let gone = self.inventory.checkpoints.newer().iter();
        let gone: HashSet<String> = gone
            .filter(|c| ids.contains(&c.id))
            .map(manifest::row)
            .collect();
        let left = known
            .split_inclusive('\n')
            .filter(|row| !gone.contains(*row));
        let left: String = left.collect();
        let inventory = &mut self.inventory;
        inventory.checkpoints.remove(ids);
        inventory
            .damaged
            .retain(|damaged| damaged.id.commit().is_none_or(|id| !ids.contains(&id)));
        let is_shorter = left.len() < known.len();
        if is_shorter {
            inventory.rows = KnownRows::of(&left, &inventory.checkpoints);
        }
        self.write_main()?;
        self.write_manifest(&found, &self.inventory.manifest(&format!("{left}{rest}")))?;
        if is_shorter {
            // Without a seal the next command compares all rows.
            let _ = self.seal();
        }
        Ok(())
    }

    pub(super) fn read_manifest(&self) -> String {
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
