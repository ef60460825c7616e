//! The one lock of a store: a kernel lock on a file that is never deleted, so that no lock is ever stale.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::store::durable;

/// Held until dropped; the death of the process releases it too.
#[derive(Debug)]
pub struct LockGuard {
    _file: File,
}

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Waits at most `wait` for the exclusive lock. `holder` is what others are told while we have it.
///
/// # Errors
/// [`Error::Busy`] with the words of the present holder; failures of the system.
pub fn acquire(path: &Path, wait: Duration, holder: &str) -> Result<LockGuard> {
    let mut file = open(path)?;
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if started.elapsed() < wait => {
                std::thread::sleep(pause.min(wait.saturating_sub(started.elapsed())));
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy { holder: read_holder(&mut file), waited: started.elapsed() });
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
        }
    }
    // Who holds it is for people only: nothing depends on these words, so a full disk may lose them.
    let _ = write_holder(&mut file, holder);
    Ok(LockGuard { _file: file })
}

/// Whether the lock is held by anybody. A lock file that is not there or cannot be asked is held by nobody.
pub fn is_held(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn open(path: &Path) -> Result<File> {
    match durable::create_private(path) {
        Ok(_) => {}
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    OpenOptions::new().read(true).write(true).open(path).map_err(Error::io("open", path))
}

fn write_holder(file: &mut File, holder: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(holder.as_bytes())
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(512).read_to_string(&mut text));
    match read {
        Ok(_) if !text.is_empty() => crate::model::text::escape(&text),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_and_is_told_who_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = acquire(&path, Duration::ZERO, "process 7 (create)").unwrap();
        match acquire(&path, Duration::from_millis(20), "other") {
            Err(Error::Busy { holder, waited }) => {
                assert_eq!(holder, "process 7 (create)");
                assert!(waited >= Duration::from_millis(20));
            }
            other => panic!("{other:?}"),
        }
        drop(held);
        acquire(&path, Duration::ZERO, "other").unwrap();
    }
}
