//! A stat of every row of the cache, from two threads.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context as _, Result};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::cache::{Cache, Stamp};

const THREADS: usize = 2;
/// Directories that a thread takes at a time.
const PIECE: usize = 32;

pub struct Change {
    pub row: usize,
    pub stamp: Stamp,
}

/// A directory and the rows in it, which lie one after the other.
struct DirRows {
    dir: usize,
    start: usize,
    end: usize,
}

/// The rows whose stat is another one.
pub fn changes(cache: &Cache, root: &(impl std::os::fd::AsFd + Sync)) -> Result<Vec<Change>> {
    let dirs = &dirs(cache);
    let next = &AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(PIECE, Relaxed);
            let Some(piece) = dirs
                .get(at..dirs.len().min(at + PIECE))
                .filter(|p| !p.is_empty())
            else {
                return Ok::<_, anyhow::Error>(found);
            };
            for rows in piece {
                compare(cache, root, rows, &mut found)?;
            }
        }
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..THREADS).map(|_| scope.spawn(work)).collect();
        let mut all = work()?;
        for other in others {
            all.extend(other.join().ok().context("a thread died")??);
        }
        Ok(all)
    })
}

fn dirs(cache: &Cache) -> Vec<DirRows> {
    let mut dirs: Vec<DirRows> = Vec::new();
    for at in 1..cache.len() {
        let dir = cache.row(at).parent;
        match dirs.last_mut() {
            Some(last) if last.dir == dir => last.end = at + 1,
            _ => dirs.push(DirRows {
                dir,
                start: at,
                end: at + 1,
            }),
        }
    }
    dirs
}

/// Directories are compared as rows of the one above; only the root is compared nowhere.
fn compare(
    cache: &Cache,
    root: &impl std::os::fd::AsFd,
    rows: &DirRows,
    found: &mut Vec<Change>,
) -> Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = cache.path(rows.dir);
    let path = if rows.dir == 0 { ".".into() } else { path };
    let dir = rustix::fs::openat(root, &path, flags, Mode::empty())
        .with_context(|| format!("cannot open {}", path.display()))?;
    for row in rows.start..rows.end {
        let stat = rustix::fs::statat(&dir, cache.name(row), AtFlags::SYMLINK_NOFOLLOW)
            .with_context(|| format!("cannot stat {}", cache.path(row).display()))?;
        let stamp = Stamp::of(&stat);
        if stamp != cache.row(row).stamp {
            found.push(Change { row, stamp });
        }
    }
    Ok(())
}
