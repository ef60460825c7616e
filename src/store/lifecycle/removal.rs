//! Removes a whole store: renames it first, then deletes it, so that a partial one is never taken
//! for a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::random_name::random_hex;
use crate::error::Result;
use crate::store::damage::replace_store;
use crate::store::files::atomic_file;
use crate::store::layout::NAME_DIGITS;
use crate::store::lifecycle::ownership;
use crate::store::objects::loose_files::names_in;
use crate::store::{Layout, LockGuard, LockedStore, lock};

/// Separates a store's name from the random suffix in the name of a store being removed.
const DELETED_MARK: &str = ".deleted-";

/// A store that is about to be removed and that no other process uses.
#[derive(Debug)]
pub struct StoreRemoval {
    dir: PathBuf,
    /// Held until the last file is removed; `None` for a copy or a directory without a place for a
    /// lock file.
    lock: Option<LockGuard>,
}

/// A directory that is no longer a store, or no longer wanted where it cannot be renamed.
#[derive(Debug)]
pub struct Detached {
    aside: PathBuf,
    lock: Option<LockGuard>,
}

impl StoreRemoval {
    /// Waits for the lock of a store. `None` if there is nothing to remove.
    ///
    /// # Errors
    /// The store is another user's or no directory; the lock is held for longer than `wait`.
    pub fn of_store(dir: &Path, wait: Duration, holder: &str) -> Result<Option<Self>> {
        if !ownership::is_own_directory(dir)? {
            return Ok(None);
        }
        let layout = Layout::new(dir.to_path_buf());
        let place = layout
            .own()
            .symlink_metadata()
            .is_ok_and(|found| found.is_dir());
        let can_be_locked = place
            && layout
                .lock()
                .symlink_metadata()
                .map_or(true, |found| found.is_file());
        let lock = can_be_locked
            .then(|| lock::acquire(&layout.lock(), wait, Some(holder)))
            .transpose()?;
        Ok(Some(Self {
            dir: dir.to_path_buf(),
            lock,
        }))
    }

    /// Removes a store whose lock is held.
    pub fn of_locked(store: LockedStore<'_>) -> Self {
        Self {
            dir: store.store().dir().to_path_buf(),
            lock: Some(store.into_lock()),
        }
    }

    /// Removes a damaged copy that a repair kept.
    ///
    /// # Errors
    /// The copy is another user's or no directory.
    pub fn of_copy(dir: &Path) -> Result<Option<Self>> {
        Ok(ownership::is_own_directory(dir)?.then(|| Self {
            dir: dir.to_path_buf(),
            lock: None,
        }))
    }

    /// Renames the directory. From here on the store is gone, even after a kill; only one that the
    /// system does not rename is still to be removed where it is.
    ///
    /// # Errors
    /// The rename failed; the store is as before.
    pub fn detach(self) -> Result<Detached> {
        let name = self
            .dir
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let stem = name.get(..NAME_DIGITS).unwrap_or(name);
        let mut aside = self
            .dir
            .with_file_name(format!("{stem}{DELETED_MARK}{}", random_hex()));
        match atomic_file::rename(&self.dir, &aside) {
            Err(failed) if replace_store::cannot_be_renamed(&failed) => aside = self.dir,
            done => done?,
        }
        if let Some(parent) = aside.parent() {
            atomic_file::sync_directory(parent)?;
        }
        Ok(Detached {
            aside,
            lock: self.lock,
        })
    }
}

impl Detached {
    /// # Errors
    /// A file cannot be removed; the next [`clear_leftovers`] tries again.
    pub fn remove(self) -> Result<()> {
        let Self { aside, lock } = self;
        // Windows removes no directory in which a file is open.
        let lock = lock.filter(|_| cfg!(unix));
        replace_store::empty(&aside)?;
        drop(lock);
        Ok(())
    }
}

/// Removes leftovers of killed removals from a folder of stores; `of` limits that to one store.
///
/// # Errors
/// The folder cannot be listed, or a leftover cannot be removed.
pub fn clear_leftovers(folder: &Path, of: Option<&Path>) -> Result<()> {
    let all = leftovers(folder, of)?;
    all.iter()
        .try_for_each(|path| replace_store::remove_store(path))
}

/// Returns what removals left behind in a folder of stores; `of` limits that to one store.
///
/// # Errors
/// The folder cannot be listed.
pub fn leftovers(folder: &Path, of: Option<&Path>) -> Result<Vec<PathBuf>> {
    let wanted = of.and_then(Path::file_name).and_then(|name| name.to_str());
    let mut left = Vec::new();
    for name in names_in(folder)? {
        let stem = name.split_once(DELETED_MARK).map(|(stem, _)| stem);
        let path = folder.join(&name);
        if stem.is_some_and(|stem| wanted.is_none_or(|wanted| wanted == stem))
            && ownership::is_own_directory(&path)?
        {
            left.push(path);
        }
    }
    Ok(left)
}

/// Removes leftovers of interrupted salvages, which would take the place of the removed store.
///
/// # Errors
/// A salvage runs for longer than `wait`, or a leftover cannot be removed.
pub fn clear_unfinished(place: &Path, wait: Duration) -> Result<()> {
    let left = replace_store::unfinished(place);
    let folder = place.parent().filter(|_| !left.is_empty());
    let lock = |folder| lock::acquire_directory(folder, wait);
    let _nobody_else = folder.map(lock).transpose()?;
    for path in left {
        if ownership::is_own_directory(&path)? {
            replace_store::remove_store(&path)?;
        }
    }
    Ok(())
}
