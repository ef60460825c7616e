//! Makes the changes of a restore durable and reads every written file back.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use crate::base::progress::WorkPhase;
use crate::base::threads;
use crate::base::work_queue;
use crate::error::{Error, Result};
use crate::model::state::entry::Entry;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{Name, Stat};
use crate::ops::restore::restore_job::RestoreJob;
use crate::store::objects::object_hash::TrailerHasher;
use crate::worktree::apply::transaction::Applied;
use crate::worktree::apply::verify_path;
use crate::worktree::rules::rule_set::Peek;
use crate::worktree::sys::{self, Access};

/// Upper bound on bytes of a file read at a time.
const HASHED_BYTES: usize = 256 << 10;
/// Poll interval and maximum number of polls while waiting for the next clock tick; no clock ticks
/// more slowly.
const LOOK_EVERY: Duration = Duration::from_micros(500);
const LOOKS: usize = 24;

/// Files as they were found after the restore.
#[derive(Debug, Default)]
pub struct Verified {
    /// Files that were read back and have the expected content.
    pub written: Vec<WrittenFile>,
    /// File system time before the first read, see [`crate::model::state::listing::Listing`].
    pub looked_ns: i64,
}

/// A file that was read back.
#[derive(Debug)]
pub struct WrittenFile {
    pub path: RelPath,
    pub stat: Stat,
    pub id: ObjectId,
    /// A rule may leave it out because of its content.
    pub is_key: bool,
}

/// Makes all changes durable while reading every written file back. A difference leaves the restore
/// pending, so that it can be finished or undone.
pub fn verify(
    job: &RestoreJob<'_>,
    applied: &Applied<'_>,
    expected: BTreeMap<RelPath, Vec<(Name, Entry)>>,
) -> Result<Verified> {
    let file_count: usize = expected.values().map(Vec::len).sum();
    job.context
        .progress
        .begin(WorkPhase::Verifying, file_count as u64, 0);
    std::thread::scope(|scope| {
        let sync = || applied.sync();
        let syncing = threads::start(scope, sync);
        let written = read_back(job, expected, file_count);
        let synced = syncing.map_or_else(sync, threads::join);
        let written = written?;
        synced.map(|()| written)
    })
}

fn read_back(
    job: &RestoreJob<'_>,
    expected: BTreeMap<RelPath, Vec<(Name, Entry)>>,
    file_count: usize,
) -> Result<Verified> {
    let looked_ns = next_tick_ns();
    let found = work_queue::run(
        vec![(); threads::workers_for(file_count)],
        expected.into_iter().collect(),
        &|(), (dir, files), _| read_dir_back(job, &dir, &files),
    )?;
    Ok(Verified {
        written: found.into_iter().flatten().collect(),
        looked_ns,
    })
}

fn read_dir_back(
    job: &RestoreJob<'_>,
    dir: &RelPath,
    files: &[(Name, Entry)],
) -> Result<Vec<WrittenFile>> {
    let work = job.worktree;
    let opened = work
        .root()
        .open_below(dir, Access::Search)
        .map_err(|error| work.io("open", dir, error))?;
    let mut written = Vec::with_capacity(files.len());
    for (name, entry) in files {
        let path = dir.join(name);
        let is_key = Cell::new(false);
        let look = |beginning: &[u8]| is_key.set(Peek::ANY_FILE.is_secret(beginning));
        let Some(stat) = verify_path::check(work, &opened, &path, entry, &|file, len| {
            hash(file, len, &look)
        })?
        else {
            return Err(Error::unexpected(format!(
                "{path} is not what was written; 'checkpoint restore --resume' finishes the restore, \
                 'checkpoint undo' takes it back"
            )));
        };
        job.context.progress.add(1, stat.size_bytes);
        written.push(WrittenFile {
            path,
            stat,
            id: entry.id,
            is_key: is_key.get(),
        });
    }
    Ok(written)
}

/// Waits until the file system's clock has passed now, so that later changes get a later time. The
/// fine clock must be passed: a mere tick may still be behind a file written just before.
fn next_tick_ns() -> i64 {
    let before = sys::fine_now_ns();
    for _ in 0..LOOKS {
        if sys::coarse_now_ns() > before {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    sys::coarse_now_ns()
}

/// Returns the blob id of what a reader yields. Collision attacks were detected when the bytes were
/// read from the store: plain SHA-1 is enough to see that they arrived.
pub fn hash_of(reader: &mut dyn Read, len: u64) -> Result<ObjectId> {
    hash(reader, len, &|_| {})
}

/// Like [`hash_of`]; `look` gets the beginning of a non-empty content.
fn hash(reader: &mut dyn Read, len: u64, look: &dyn Fn(&[u8])) -> Result<ObjectId> {
    let mut hasher = TrailerHasher::default();
    hasher.update(format!("blob {len}\0").as_bytes());
    let room = usize::try_from(len)
        .unwrap_or(HASHED_BYTES)
        .clamp(1, HASHED_BYTES);
    let mut buffer = vec![0; room];
    let mut left = len;
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(ObjectId::from_bytes(hasher.finish())),
            Ok(read) => {
                if left == len {
                    look(&buffer[..read]);
                }
                hasher.update(&buffer[..read]);
                left = left.saturating_sub(read as u64);
                if left == 0 && len > 0 {
                    return Ok(ObjectId::from_bytes(hasher.finish()));
                }
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => {
                return Err(Error::unexpected(format!(
                    "cannot read a restored file back: {e}"
                )));
            }
        }
    }
}
