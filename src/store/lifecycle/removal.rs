//! Removing a whole store: out of its name in one step, then piece by piece, so that no half of one is ever taken for a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::store::damage::replace_store;
use crate::store::files::atomic_file;
use crate::store::layout::Layout;
use crate::store::lifecycle::ownership;
use crate::store::lock::{self, LockGuard};
use crate::store::locked::LockedStore;
use crate::store::objects::loose_files::names_in;

/// What stands between the name of a store and a random part in the name of one that is being removed.
const DELETED_MARK: &str = ".deleted-";
/// Hex digits of the name of a store directory, which copies and leftovers begin with.
const NAME_DIGITS: usize = 16;

/// A store that nobody else is at work in, about to go.
#[derive(Debug)]
pub struct StoreRemoval {
    dir: PathBuf,
    /// Held until the last piece is gone. A copy, or what has no place for a lock file, is nobody's to lock.
    lock: Option<LockGuard>,
}

/// A directory that is no store any more.
#[derive(Debug)]
pub struct Detached {
    aside: PathBuf,
    _lock: Option<LockGuard>,
}

impl StoreRemoval {
    /// Waits for the lock of a store. `None` if there is nothing to remove.
    ///
    /// # Errors
    /// It is another user's or no directory; somebody else holds the lock for longer than `wait`.
    pub fn of_store(dir: &Path, wait: Duration, holder: &str) -> Result<Option<Self>> {
        if !ownership::is_own_directory(dir)? {
            return Ok(None);
        }
        let layout = Layout::new(dir.to_path_buf());
        let place = layout.own().symlink_metadata().is_ok_and(|found| found.is_dir());
        let can_be_locked = place && layout.lock().symlink_metadata().map_or(true, |found| found.is_file());
        let lock = can_be_locked.then(|| lock::acquire(&layout.lock(), wait, Some(holder))).transpose()?;
        Ok(Some(Self { dir: dir.to_path_buf(), lock }))
    }

    /// The same for a store whose lock is held.
    pub fn of_locked(store: LockedStore<'_>) -> Self {
        let dir = store.store().dir().to_path_buf();
        Self::of_locked_at(store, dir)
    }

    /// The same for one that has got another name meanwhile.
    pub fn of_locked_at(store: LockedStore<'_>, dir: PathBuf) -> Self {
        Self { dir, lock: Some(store.into_lock()) }
    }

    /// The same for a damaged copy that a repair kept.
    ///
    /// # Errors
    /// It is another user's or no directory.
    pub fn of_copy(dir: &Path) -> Result<Option<Self>> {
        Ok(ownership::is_own_directory(dir)?.then(|| Self { dir: dir.to_path_buf(), lock: None }))
    }

    /// Takes the directory out of its name. From here on it is gone for everybody, killed or not.
    ///
    /// # Errors
    /// It could not be renamed; then it is as before.
    pub fn detach(self) -> Result<Detached> {
        let name = self.dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.get(..NAME_DIGITS).unwrap_or(name);
        let aside = self.dir.with_file_name(format!("{stem}{DELETED_MARK}{}", atomic_file::random_hex()));
        atomic_file::rename(&self.dir, &aside)?;
        if let Some(parent) = aside.parent() {
            atomic_file::sync_directory(parent)?;
        }
        Ok(Detached { aside, _lock: self.lock })
    }
}

impl Detached {
    /// # Errors
    /// Something in it cannot be removed; the next [`clear_leftovers`] tries again.
    pub fn remove(self) -> Result<()> {
        remove_tree(&self.aside)
    }
}

/// Removes what killed removals left in a folder of stores; `of` limits that to one store.
///
/// # Errors
/// The folder cannot be listed, or something in it cannot be removed.
pub fn clear_leftovers(folder: &Path, of: Option<&Path>) -> Result<()> {
    let wanted = of.and_then(Path::file_name).and_then(|name| name.to_str());
    for name in names_in(folder)? {
        let Some((stem, _)) = name.split_once(DELETED_MARK) else { continue };
        if wanted.is_none_or(|wanted| wanted == stem) && ownership::is_own_directory(&folder.join(&name))? {
            remove_tree(&folder.join(&name))?;
        }
    }
    Ok(())
}

/// Removes what salvages of a store left that were cut off: it would take the place of the store that goes.
///
/// # Errors
/// A salvage is under way for longer than `wait`, or something cannot be removed.
pub fn clear_unfinished(place: &Path, wait: Duration) -> Result<()> {
    let left = replace_store::unfinished(place);
    let (Some(folder), false) = (place.parent(), left.is_empty()) else { return Ok(()) };
    let _nobody_else = lock::acquire_directory(folder, wait)?;
    left.iter().try_for_each(|path| if ownership::is_own_directory(path)? { remove_tree(path) } else { Ok(()) })
}

#[expect(clippy::disallowed_methods, reason = "the directory was a store, and nothing in it is the user's")]
fn remove_tree(dir: &Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        // Another process may be clearing the same leftover away.
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", dir)(e)),
        _ => Ok(()),
    }
}
