//! The scan of the whole directory: what is captured and what is not, by as many threads as are worth it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::interrupt::Interrupt;
use crate::base::progress::Progress;
use crate::error::{Error, Result};
use crate::model::stat_cache::cached_listing::KeptListing;
use crate::model::state::listing::Listing;
use crate::model::state::rel_path::RelPath;
use crate::worktree::rules::rule_set::Rules;
use crate::worktree::scan::assemble::{self, Segment};
use crate::worktree::scan::share::Exchange;
use crate::worktree::scan::walk::{Job, Walk};
use crate::worktree::sys;
use crate::worktree::tree_handle::WorkTree;

/// The rule under which the place of all stores is left out.
pub const STORES_RULE: &str = "checkpoint stores";

/// What a scan may rely on and where it must stop.
#[derive(Clone, Copy)]
pub struct ScanOptions<'a> {
    /// What the last scan saw: unchanged files take their blobs from it.
    pub previous: Option<&'a Arc<KeptListing>>,
    /// The rules are those of the last scan, so a directory whose stat is the same is not listed again.
    pub same_rules: bool,
    /// More captured files than this end the scan; `None` is no limit.
    pub limit_files: Option<u64>,
    /// Device and inode of directories that are never captured: the stores.
    pub skip: &'a [(u64, u64)],
    pub interrupt: &'a Interrupt,
    pub progress: &'a Progress,
    /// The threads that a large directory is shared among.
    pub workers: usize,
}

/// What came of a scan.
#[derive(Debug)]
pub enum Scan {
    Done(Listing),
    /// Counting stopped at the limit; `largest` are the folders at the top that held most files by then.
    OverLimit {
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    },
}

/// What all threads of a scan share.
pub(in crate::worktree) struct Shared<'a> {
    pub work: &'a WorkTree,
    pub rules: &'a Rules,
    pub options: &'a ScanOptions<'a>,
    pub exchange: Exchange<Job>,
    pub segments: AtomicUsize,
    file_count: AtomicU64,
    is_over: AtomicBool,
    failure: Mutex<Option<Error>>,
    done: Mutex<Vec<Segment>>,
}

impl Shared<'_> {
    /// Counts captured files; no more are looked for once there are too many.
    pub fn count(&self, files: u64) {
        let count = self.file_count.fetch_add(files, Relaxed) + files;
        if self.options.limit_files.is_some_and(|limit| count > limit) {
            self.is_over.store(true, Relaxed);
        }
    }

    pub fn is_over_limit(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// How many more files there may be before there are too many.
    pub fn room(&self) -> u64 {
        let counted = || self.file_count.load(Relaxed);
        self.options.limit_files.map_or(u64::MAX, |limit| limit.saturating_sub(counted()))
    }

    fn walk(&self, mut walk: Walk<'_>) {
        match walk.run() {
            Ok(()) => lock(&self.done).push(walk.into_segment()),
            Err(error) => {
                lock(&self.failure).get_or_insert(error);
                self.is_over.store(true, Relaxed);
                self.exchange.close();
            }
        }
    }

    fn help(&self) {
        let mut job = self.exchange.first();
        while let Some(given) = job {
            self.walk(Walk::go_on(self, given));
            job = self.exchange.next();
        }
    }
}

/// Lists the directory.
///
/// # Errors
/// The root cannot be read or is no longer the one that was opened, a signal, or no descriptors left. What cannot be
/// read below the root is no error but is listed as uncaptured.
pub fn scan(work: &WorkTree, rules: &Rules, options: &ScanOptions<'_>) -> Result<Scan> {
    let started_ns = sys::coarse_now_ns();
    let root = work.dir(&RelPath::root())?;
    let more = options.workers.saturating_sub(1);
    let shared = Shared {
        work,
        rules,
        options,
        exchange: Exchange::new(more),
        segments: AtomicUsize::new(1),
        file_count: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        failure: Mutex::default(),
        done: Mutex::default(),
    };
    std::thread::scope(|scope| -> Result<()> {
        let call_help = || {
            shared.exchange.join(more);
            for _ in 0..more {
                scope.spawn(|| shared.help());
            }
        };
        shared.walk(Walk::from_root(&shared, Arc::new(root), &call_help)?);
        while let Some(job) = shared.exchange.next() {
            shared.walk(Walk::go_on(&shared, job));
        }
        Ok(())
    })?;
    let Shared { failure, done, is_over, .. } = shared;
    if let Some(error) = failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let dirs = assemble::assemble(done.into_inner().unwrap_or_else(PoisonError::into_inner));
    if let (true, Some(limit)) = (is_over.into_inner(), options.limit_files) {
        return Ok(Scan::OverLimit { limit, largest: assemble::largest(&dirs) });
    }
    work.check_still_there()?;
    Ok(Scan::Done(Listing { dirs, started_ns, kept: options.previous.cloned() }))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
