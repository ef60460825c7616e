//! The one lock of a store: a kernel lock on a file that is never deleted, so none is ever stale.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::base::{Progress, WorkPhase, read_regular};
use crate::error::{Code, Error, Result};
use crate::store::files::atomic_file;

/// A held lock, released on drop or when the process dies.
#[derive(Debug)]
pub struct LockGuard {
    file: File,
    /// Another process held the lock at first: state read before may have changed.
    pub had_to_wait: bool,
}

impl LockGuard {
    /// Writes the name of the holder. It is only shown to people, so a full disk may lose it.
    pub fn announce(&mut self, holder: &str) {
        let _ = write_holder(&mut self.file, holder);
    }

    /// Whether the locked file is still at this path.
    pub fn is_at(&self, path: &Path) -> bool {
        is_still_at(&self.file, path).unwrap_or(false)
    }
}

/// How long to wait for a lock, and where to show that.
#[derive(Clone, Debug, Default)]
pub struct LockWait {
    pub limit: Duration,
    pub progress: Progress,
}

impl From<Duration> for LockWait {
    fn from(limit: Duration) -> Self {
        Self {
            limit,
            progress: Progress::default(),
        }
    }
}

/// Time after which a wait is shown.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Space for the name of the holder, in bytes.
const HOLDER_BYTES: usize = 95;
/// Shortest and longest pause between two attempts to take the lock.
const FIRST_LOCK_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Waits at most `wait` for the exclusive lock. `holder` is shown to other processes meanwhile;
/// `None` leaves the file as it is until [`LockGuard::announce`].
///
/// The previous holder may have replaced or removed the store: the lock counts only if the locked
/// file is still at `path`.
///
/// # Errors
/// `busy` with the name of the present holder; `NotFound` if the store is gone; failures
/// of the system.
pub fn acquire(path: &Path, wait: impl Into<LockWait>, holder: Option<&str>) -> Result<LockGuard> {
    let wait = wait.into();
    let started = Instant::now();
    let mut had_to_wait = false;
    loop {
        let mut file = open(path)?;
        had_to_wait |= wait_for(&mut file, path, started, &wait)?;
        if is_still_at(&file, path)? {
            let mut guard = LockGuard { file, had_to_wait };
            if let Some(holder) = holder {
                guard.announce(holder);
            }
            return Ok(guard);
        }
        had_to_wait = true;
    }
}

/// Locks a directory, which cannot name its holder: for changes that replace all its content.
///
/// # Errors
/// As [`acquire`]. Where directories cannot be opened there is no such lock; safety from kills does
/// not need it.
pub fn acquire_directory(path: &Path, wait: impl Into<LockWait>) -> Result<Option<LockGuard>> {
    let Ok(mut file) = File::open(path) else {
        return Ok(None);
    };
    let had_to_wait = wait_for(&mut file, path, Instant::now(), &wait.into())?;
    Ok(Some(LockGuard { file, had_to_wait }))
}

/// Waits for the lock; returns whether it was held by another process.
fn wait_for(file: &mut File, path: &Path, started: Instant, wait: &LockWait) -> Result<bool> {
    let mut pause = FIRST_LOCK_PAUSE;
    loop {
        let waited = started.elapsed();
        match file.try_lock() {
            Ok(()) => {
                if waited >= SHOWN_AFTER {
                    wait.progress.begin(WorkPhase::Idle, 0, 0);
                }
                return Ok(pause > FIRST_LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) if waited < wait.limit => {
                if waited >= SHOWN_AFTER {
                    wait.progress.wait_for(read_holder(file), waited.as_secs());
                }
                std::thread::sleep(pause.min(wait.limit.saturating_sub(waited)));
                pause = (pause * 2).min(LONGEST_LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let (holder, seconds) = (read_holder(file), waited.as_secs());
                let what = format!("the store is in use by {holder}; waited {seconds} s");
                return Err(Error::new(Code::BUSY, what)
                    .advise("try again, or wait longer with --lock-timeout"));
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
        }
    }
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let ours = file.metadata().map_err(Error::io("look at", path))?;
    let there = read_regular::lstat(path).map_err(Error::io("look at", path))?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

/// Only Unix can replace or move an open file.
#[cfg(not(unix))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the other platforms can fail here"
)]
fn is_still_at(_file: &File, _path: &Path) -> Result<bool> {
    Ok(true)
}

/// Says why a lock cannot be had, without waiting or writing.
pub fn refusal(path: &Path) -> Option<Error> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let refused = opened.err().filter(|why| {
        matches!(
            why.kind(),
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
        )
    });
    refused.map(Error::io("open", path))
}

/// Returns the name of the process that holds the lock. One that is missing or unreadable counts as free.
pub fn holder(path: &Path) -> Option<String> {
    let mut file = read_regular::open(path).ok()?;
    let is_held = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    is_held.then(|| read_holder(&mut file))
}

fn open(path: &Path) -> Result<File> {
    match atomic_file::create_private(path) {
        Ok(_) => {}
        Err(error) if error.io_kind() == Some(std::io::ErrorKind::AlreadyExists) => {}
        Err(e) => return Err(e),
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(Error::io("open", path))
}

/// Overwrites the previous holder in place: truncating and growing a file is the costliest step.
fn write_holder(file: &mut File, holder: &str) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{holder:<HOLDER_BYTES$}\n").as_bytes())
}

fn read_holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(512).read_to_string(&mut text));
    match read {
        Ok(_) if !text.trim().is_empty() => {
            crate::base::text::escape(text.lines().next().unwrap_or_default().trim_end())
        }
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn a_second_holder_waits_and_is_told_who_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = acquire(&path, Duration::ZERO, Some("process 7 (create)")).unwrap();
        let asked = Instant::now();
        let error = acquire(&path, Duration::from_millis(20), Some("other")).unwrap_err();
        assert!(asked.elapsed() >= Duration::from_millis(20));
        assert_eq!(error.code, Code::BUSY);
        assert!(error.what.contains("process 7 (create)"), "{}", error.what);
        drop(held);
        acquire(&path, Duration::ZERO, Some("other")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn who_waited_for_a_file_that_was_replaced_takes_the_lock_that_counts() {
        let dir = tempfile::tempdir().unwrap();
        let (path, aside) = (dir.path().join("lock"), dir.path().join("aside"));
        let old = acquire(&path, Duration::ZERO, Some("old")).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| acquire(&path, Duration::from_millis(500), Some("late")));
            std::thread::sleep(Duration::from_millis(50));
            atomic_file::rename(&path, &aside).unwrap();
            let new = acquire(&path, Duration::ZERO, Some("new")).unwrap();
            drop(old);
            match waiting.join().unwrap() {
                Err(error) => assert!(error.what.contains("in use by new;"), "{error}"),
                other => panic!("{other:?}"),
            }
            drop(new);
        });
        acquire(&path, Duration::ZERO, Some("last")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_whose_directory_is_gone_is_not_had() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        std::fs::create_dir(&store).unwrap();
        let path = store.join("lock");
        let held = acquire(&path, Duration::ZERO, Some("old")).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| acquire(&path, Duration::from_secs(5), Some("late")));
            std::thread::sleep(Duration::from_millis(50));
            atomic_file::rename(&store, &dir.path().join("gone")).unwrap();
            drop(held);
            assert!(
                waiting
                    .join()
                    .unwrap()
                    .is_err_and(|error| error.io_kind() == Some(std::io::ErrorKind::NotFound))
            );
        });
    }
}
