//! Makes the changes of a restore durable and verifies every written file.
//!
//! The content was hashed on its way from the pack into the file, so a file whose stat is still that
//! of the staged one holds it. Anything else is read back, and everything where the user asks for it.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use crate::base::WorkPhase;
use crate::base::threads::{self, work_queue};
use crate::error::{Error, Result};
use crate::model::{Entry, Name, ObjectId, RelPath, Stat};
use crate::ops::RestoreJob;
use crate::store::TrailerHasher;
use crate::worktree::Applied;
use crate::worktree::apply::verify_path;
use crate::worktree::sys::{self, Access, Dir};

/// Upper bound on bytes of a file read at a time.
const HASHED_BYTES: usize = 256 << 10;
/// Number of files up to which all are read back. While the disk flushes them this costs no time,
/// and the next scan need not read those that were renamed one by one.
const READ_BACK_UPTO_FILES: usize = 1000;
/// Poll interval and maximum number of polls while waiting for the next clock tick; no clock ticks
/// more slowly.
const LOOK_EVERY: Duration = Duration::from_micros(500);
const LOOKS: usize = 24;

/// A file as it was staged, expected at its path.
pub struct ExpectedFile {
    pub name: Name,
    /// Its size is that of the staged file.
    pub entry: Entry,
    pub staged: Stat,
    /// Whether its directory was staged too, and both came by one rename.
    pub is_in_tree: bool,
    /// A rule may leave it out because of its content.
    pub is_key: bool,
}

/// Staged files by the directory that they are moved to.
pub type ExpectedFiles = BTreeMap<RelPath, Vec<ExpectedFile>>;

/// How written files are verified.
#[derive(Clone, Copy)]
pub enum Verification {
    ReadBack,
    /// By stat; the time of the file system when all were staged and none was in place.
    ByStat(i64),
}

impl Verification {
    /// Chooses how to verify staged files, before they are put in place. By stat, waits until later
    /// changes get a later time than the staged files.
    pub fn choose(job: &RestoreJob<'_>, expected: &ExpectedFiles) -> Self {
        if job.reads_back || file_count(expected) <= READ_BACK_UPTO_FILES {
            Self::ReadBack
        } else {
            Self::ByStat(next_tick_ns())
        }
    }
}

/// Files as they were found after the restore.
#[derive(Debug, Default)]
pub struct Verified {
    pub written: Vec<WrittenFile>,
    /// File system time before which all that was verified had its content, see
    /// [`crate::model::state::listing::Listing`].
    pub looked_ns: i64,
}

/// A file that was verified.
#[derive(Debug)]
pub struct WrittenFile {
    pub path: RelPath,
    pub stat: Stat,
    pub id: ObjectId,
    /// A rule may leave it out because of its content.
    pub is_key: bool,
}

/// Makes all changes durable while verifying every written file. A difference leaves the restore
/// pending, so that it can be finished or undone.
pub fn verify(
    job: &RestoreJob<'_>,
    applied: &Applied<'_>,
    expected: ExpectedFiles,
    how: Verification,
) -> Result<Verified> {
    let file_count = file_count(&expected);
    job.context
        .progress
        .begin(WorkPhase::Verifying, file_count as u64, 0);
    std::thread::scope(|scope| {
        let sync = || applied.sync();
        let syncing = threads::start(scope, sync);
        let written = verify_all(job, expected, file_count, how);
        let synced = syncing.map_or_else(sync, threads::join);
        let written = written?;
        synced.map(|()| written)
    })
}

fn file_count(expected: &ExpectedFiles) -> usize {
    expected.values().map(Vec::len).sum()
}

fn verify_all(
    job: &RestoreJob<'_>,
    expected: ExpectedFiles,
    file_count: usize,
    how: Verification,
) -> Result<Verified> {
    let looked_ns = match how {
        Verification::ReadBack => next_tick_ns(),
        Verification::ByStat(staged_ns) => staged_ns,
    };
    let found = work_queue::run(
        vec![(); threads::workers_for(file_count)],
        expected.into_iter().collect(),
        &|(), (dir, files), _| verify_dir(job, &dir, files, how),
    )?;
    Ok(Verified {
        written: found.into_iter().flatten().collect(),
        looked_ns,
    })
}

fn verify_dir(
    job: &RestoreJob<'_>,
    dir: &RelPath,
    files: Vec<ExpectedFile>,
    how: Verification,
) -> Result<Vec<WrittenFile>> {
    let work = job.worktree;
    let opened = work
        .root()
        .open_below(dir, Access::Search)
        .map_err(|error| work.io("open", dir, error))?;
    let verify = |file: ExpectedFile| {
        let path = dir.join(&file.name);
        let stat = match how {
            Verification::ReadBack => None,
            Verification::ByStat(_) => {
                verify_path::stat_if_untouched(&opened, &file.name, &file.staged, file.is_in_tree)
            }
        };
        let stat = stat.map_or_else(|| read_back(job, &opened, &path, &file.entry), Ok)?;
        job.context.progress.add(1, stat.size_bytes);
        Ok(WrittenFile {
            path,
            stat,
            id: file.entry.id,
            is_key: file.is_key,
        })
    };
    files.into_iter().map(verify).collect()
}

fn read_back(job: &RestoreJob<'_>, dir: &Dir, path: &RelPath, entry: &Entry) -> Result<Stat> {
    verify_path::check(job.worktree, dir, path, entry, &hash_of)?.ok_or_else(|| {
        Error::unexpected(format!(
            "{path} is not what was written; 'checkpoint restore --resume' finishes the restore, \
             'checkpoint undo' takes it back"
        ))
    })
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
