//! The lock that git takes on `packed-refs` while it writes the file.

use std::path::PathBuf;

use crate::error::Result;
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;

/// What tells our lock from git's.
const LOCK_CONTENT: &[u8] = b"checkpoint\n";

/// The lock, while this process holds it.
pub struct PackedRefsLock(PathBuf);

/// Removes the lock on `packed-refs` that a killed process of ours left.
///
/// # Errors
/// The file cannot be removed.
pub fn sweep(layout: &Layout) -> Result<()> {
    let path = layout.packed_refs_lock();
    if read_regular::read(&path).is_ok_and(|content| content == LOCK_CONTENT) {
        atomic_file::remove_if_there(&path)?;
    }
    Ok(())
}

impl PackedRefsLock {
    /// Takes the lock; `None` if git has it, or if the file system has no hard links, by which it
    /// is made with its content.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn take(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.packed_refs_lock();
        let content = atomic_file::write_temporary(&layout.own(), LOCK_CONTENT)?;
        let linked = std::fs::hard_link(content.path(), &path);
        Ok(linked.ok().map(|()| Self(path)))
    }
}

impl Drop for PackedRefsLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
