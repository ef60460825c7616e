//! State shared by the threads of one scan: inputs, counts, and parts given away.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::base::{Interrupt, Progress, WorkQueue};
use crate::error::Error;
use crate::model::{CachedListing, Name, RelPath, Stat};
use crate::worktree::scan::assemble::{DirPlace, Segment};
use crate::worktree::sys::Dir;
use crate::worktree::{Rules, WorkTree};

/// Rule named as the reason for leaving out stores.
pub const STORES_RULE: &str = "checkpoint stores";

/// Inputs and limits of a scan.
#[derive(Clone, Copy)]
pub struct ScanOptions<'a> {
    /// Stat cache of the last scan; unchanged files take their blob ids from it.
    pub previous: Option<&'a Arc<CachedListing>>,
    /// Whether the rules equal those of the last scan, so that unchanged directories need not be
    /// listed again.
    pub same_rules: bool,
    /// Upper bound on captured files; exceeding it ends the scan. `None` means no limit.
    pub limit_files: Option<u64>,
    /// Device and inode of the stores, which are never captured.
    pub skip: &'a [(u64, u64)],
    pub interrupt: &'a Interrupt,
    pub progress: &'a Progress,
    /// Number of threads for a large directory.
    pub workers: usize,
}

/// State shared by all threads of a scan.
pub struct Shared<'a> {
    pub work: &'a WorkTree,
    pub rules: &'a Rules,
    pub options: &'a ScanOptions<'a>,
    pub queue: WorkQueue<Job>,
    pub segments: AtomicUsize,
    pub(super) file_count: AtomicU64,
    pub(super) is_over: AtomicBool,
    pub(super) failure: Mutex<Option<Error>>,
    pub(super) done: Mutex<Vec<Segment>>,
}

impl Shared<'_> {
    /// Counts captured files and ends the scan above the limit.
    pub fn count(&self, files: u64) {
        let count = self.file_count.fetch_add(files, Relaxed) + files;
        if self.options.limit_files.is_some_and(|limit| count > limit) {
            self.is_over.store(true, Relaxed);
        }
    }

    pub fn is_over_limit(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    /// Returns the number of files left before the limit.
    pub fn room(&self) -> u64 {
        let counted = || self.file_count.load(Relaxed);
        self.options
            .limit_files
            .map_or(u64::MAX, |limit| limit.saturating_sub(counted()))
    }
}

/// Sibling directories that one walk gives to another.
pub struct Job {
    pub(super) within: DirPlace,
    pub(super) path: RelPath,
    pub(super) stat: Stat,
    pub(super) handle: Arc<Dir>,
    pub(super) cached: Option<usize>,
    pub(super) rules_changed: bool,
    pub(super) pending: Vec<PendingDir>,
}

/// A directory that is still to be entered.
pub struct PendingDir {
    pub(super) name: Name,
    /// Index of the same directory in the stat cache.
    pub(super) cached: Option<usize>,
}
