//! The physical limit: two threads read every directory and stat every name, and do nothing else.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

const THREADS: usize = 2;

/// Directories that wait, and the number of threads busy with one that may add more.
#[derive(Default)]
struct Queue {
    waiting: Vec<PathBuf>,
    busy: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Shared {
    fn next(&self) -> Option<PathBuf> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(dir) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(dir);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, found: Vec<PathBuf>) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.waiting.extend(found);
        queue.busy -= 1;
        self.changed.notify_all();
    }
}

/// The number of names below `top`.
pub fn count(top: &Path) -> Result<String> {
    let queue = Queue {
        waiting: vec![top.to_path_buf()],
        busy: 0,
    };
    let shared = Shared {
        queue: Mutex::new(queue),
        changed: Condvar::new(),
    };
    let total: Result<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| work(&shared)))
            .collect();
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Ok(0)));
        joined.sum()
    });
    Ok(total?.to_string())
}

fn work(shared: &Shared) -> Result<usize> {
    let mut names = 0;
    while let Some(dir) = shared.next() {
        let mut found = Vec::new();
        let looked = look(&dir, &mut found);
        shared.done(found);
        names += looked.with_context(|| format!("cannot walk {}", dir.display()))?;
    }
    Ok(names)
}

fn look(path: &Path, found: &mut Vec<PathBuf>) -> Result<usize> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let mut names = 0;
    for entry in Dir::read_from(&dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        names += 1;
        let stat = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            use std::os::unix::ffi::OsStrExt as _;
            found.push(path.join(std::ffi::OsStr::from_bytes(name.to_bytes())));
        }
    }
    Ok(names)
}
