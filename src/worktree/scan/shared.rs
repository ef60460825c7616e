//! What the threads of one scan share: its inputs, its counts, and the parts that they give away.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::base::interrupt::Interrupt;
use crate::base::progress::Progress;
use crate::base::work_queue::WorkQueue;
use crate::error::Error;
use crate::model::stat_cache::cached_listing::CachedListing;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{Name, Stat};
use crate::worktree::rules::rule_set::Rules;
use crate::worktree::scan::assemble::{DirPlace, Segment};
use crate::worktree::sys::Dir;
use crate::worktree::tree_handle::WorkTree;

/// The rule under which the place of all stores is left out.
pub const STORES_RULE: &str = "checkpoint stores";

/// What a scan may rely on and where it must stop.
#[derive(Clone, Copy)]
pub struct ScanOptions<'a> {
    /// What the last scan saw: unchanged files take their blobs from it.
    pub previous: Option<&'a Arc<CachedListing>>,
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

/// What all threads of a scan share.
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
}

/// Directories given away, all in one directory.
pub struct Job {
    pub(super) within: DirPlace,
    pub(super) path: RelPath,
    pub(super) stat: Stat,
    pub(super) handle: Arc<Dir>,
    pub(super) kept: Option<usize>,
    pub(super) rules_changed: bool,
    pub(super) pending: Vec<PendingDir>,
}

/// A directory that is still to be entered.
pub struct PendingDir {
    pub(super) name: Name,
    /// The same directory in the listing that the scan knows.
    pub(super) kept: Option<usize>,
}
