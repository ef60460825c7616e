//! The lock that git takes on `packed-refs` while it writes the file.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Result;
use crate::store::Layout;
use crate::store::files::{atomic_file, read_regular};

/// What tells our lock from git's.
const LOCK_CONTENT: &[u8] = b"checkpoint\n";

/// How often and how long to wait for git, which writes the file in milliseconds.
const WAITS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

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
    /// Waits for git to finish writing the file; after that its lock is one that a killed git left.
    /// `None` also on a full disk, or if the file system has no hard links, by which the lock is made
    /// with its content.
    ///
    /// # Errors
    /// A temporary file cannot be written.
    pub fn wait(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.packed_refs_lock();
        let is_wanted = layout.packed_refs().exists() || path.exists();
        for _ in 0..if is_wanted { WAITS } else { 0 } {
            let content = match atomic_file::write_temporary(&layout.own(), LOCK_CONTENT) {
                Err(error) if error.is_full() => break,
                written => written?,
            };
            if std::fs::hard_link(content.path(), &path).is_ok() {
                return Ok(Some(Self(path)));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }
}

impl Drop for PackedRefsLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
