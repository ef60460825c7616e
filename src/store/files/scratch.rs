//! A scratch directory for one process: locked while the process lives, and swept later under the
//! store's lock.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::base::random_name::random_hex;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::files::{atomic_file, directories};
use crate::store::objects::loose_files::names_in;

const SCRATCH_PREFIX: &str = "bisect-";
/// Before the id of a checkpoint that the process needs.
const USED_PREFIX: &str = "used-";
const LOCK: &str = "lock";
const TREE: &str = "tree";

/// A scratch directory of this process, removed on drop.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    /// A kernel lock, which ends with the process.
    lock: Option<File>,
}

impl Scratch {
    /// Creates a scratch directory. The caller holds the lock of the store, so no sweep runs before
    /// it is locked.
    pub(in crate::store) fn create(own: &Path) -> Result<Self> {
        Self::make(own, SCRATCH_PREFIX)
    }

    /// As [`Self::create`], to mark a checkpoint that no policy may drop while this process lives.
    pub(in crate::store) fn mark(own: &Path, id: ObjectId) -> Result<Self> {
        Self::make(own, &format!("{USED_PREFIX}{}-", id.to_hex()))
    }

    fn make(own: &Path, prefix: &str) -> Result<Self> {
        let dir = own.join(format!("{prefix}{}", random_hex()));
        directories::create_private(&dir)?;
        let path = dir.join(LOCK);
        let lock = atomic_file::create_private(&path)?;
        lock.lock().map_err(Error::io("lock", &path))?;
        Ok(Self {
            dir,
            lock: Some(lock),
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates an empty directory in it, replacing a previous one.
    pub fn fresh_tree(&self) -> Result<PathBuf> {
        let tree = self.dir.join(TREE);
        remove_all(&tree)?;
        directories::create_private(&tree)?;
        Ok(tree)
    }

    /// Removes the directory and reports a failure.
    pub fn remove(mut self) -> Result<()> {
        self.clear()
    }

    /// Releases the lock first: Windows keeps the name of an open file.
    fn clear(&mut self) -> Result<()> {
        self.lock = None;
        remove_all(&self.dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed now is removed by the next sweep.
        let _ = self.clear();
    }
}

/// Removes scratch directories whose process is gone. The caller holds the lock of the store.
pub(in crate::store) fn sweep(own: &Path) -> Result<()> {
    for name in names_in(own)? {
        let dir = own.join(&name);
        let is_ours = name.starts_with(SCRATCH_PREFIX) || used_by(&name).is_some();
        if is_ours && !is_alive(&dir) {
            // A leftover only costs space, so a failure stops nothing.
            let _ = remove_all(&dir);
        }
    }
    Ok(())
}

/// Returns the checkpoints that processes need which are alive.
pub(in crate::store) fn used(own: &Path) -> Vec<ObjectId> {
    let names = names_in(own).unwrap_or_default().into_iter();
    let alive = names.filter_map(|name| used_by(&name).filter(|_| is_alive(&own.join(&name))));
    alive.collect()
}

fn used_by(name: &str) -> Option<ObjectId> {
    let (id, _) = name.strip_prefix(USED_PREFIX)?.split_once('-')?;
    ObjectId::from_hex(id)
}

/// Whether the owning process may be alive: not if the lock is free or was never made.
fn is_alive(dir: &Path) -> bool {
    match File::options().write(true).open(dir.join(LOCK)) {
        Ok(lock) => lock.try_lock().is_err(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Removes a directory with all that a user's command left in it. No link is followed.
///
/// # Errors
/// Something in it cannot be removed; a missing one is no error.
#[expect(
    clippy::disallowed_methods,
    reason = "the directory is one of the store's own"
)]
pub(in crate::store) fn remove_all(dir: &Path) -> Result<()> {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() == PermissionDenied => {
            loosen(dir);
            std::fs::remove_dir_all(dir).map_err(Error::io("remove", dir))
        }
        Err(error) if error.kind() != NotFound => Err(Error::io("remove", dir)(error)),
        _ => Ok(()),
    }
}

/// Restores the permissions that the owner needs to empty each directory.
fn loosen(top: &Path) {
    let mut open = vec![top.to_path_buf()];
    while let Some(dir) = open.pop() {
        let _ = directories::make_private(&dir);
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        open.extend(
            entries
                .filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|e| e.path()),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_takes_what_the_dead_left_and_nothing_that_is_in_use() {
        let own = tempfile::tempdir().unwrap();
        let alive = Scratch::create(own.path()).unwrap();
        let dead = own.path().join("bisect-0123456789abcdef");
        std::fs::create_dir_all(dead.join("tree/deep")).unwrap();
        std::fs::write(dead.join("lock"), "").unwrap();
        std::fs::write(own.path().join("description"), "x").unwrap();
        sweep(own.path()).unwrap();
        assert!(alive.dir().is_dir() && !dead.exists() && own.path().join("description").exists());
        drop(alive);
        assert_eq!(std::fs::read_dir(own.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn closed_directories_go_too_and_links_are_not_followed() {
        use std::os::unix::fs::PermissionsExt;
        let own = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("keep"), "x").unwrap();
        let scratch = Scratch::create(own.path()).unwrap();
        let tree = scratch.fresh_tree().unwrap();
        std::fs::create_dir(tree.join("closed")).unwrap();
        std::fs::write(tree.join("closed/f"), "x").unwrap();
        std::fs::set_permissions(tree.join("closed"), std::fs::Permissions::from_mode(0o000))
            .unwrap();
        std::os::unix::fs::symlink(outside.path(), tree.join("link")).unwrap();
        assert_eq!(
            std::fs::read_dir(scratch.fresh_tree().unwrap())
                .unwrap()
                .count(),
            0
        );
        scratch.remove().unwrap();
        assert!(outside.path().join("keep").exists());
    }
}
