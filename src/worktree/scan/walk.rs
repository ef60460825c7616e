//! The walk of one thread: descends through directories, and gives away a part whenever another
//! thread is idle.
//!
//! It uses an explicit stack, so that depth costs no thread stack, and holds few directories open:
//! those further up are closed and reopened through `..` of the child, if still the same.

use std::cell::OnceCell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::base::{Interrupt, Progress, WorkQueue};
use crate::error::{Error, Result};
use crate::model::{
    CachedDir, CachedListing, ListedDir, ListedUncaptured, Name, RelPath, Stat, WhyNot,
};
use crate::worktree::rules::rule_set::DirRules;
use crate::worktree::scan::assemble::{DirPlace, Segment};
use crate::worktree::scan::scan_dir::{self, DirScan};
use crate::worktree::sys::{self, Access, Dir, ItemKind};
use crate::worktree::{Rules, Touched, WorkTree};

/// Upper bound on directories held open by one walk.
const OPEN_DIRS: usize = 16;
/// Number of entries walked before helper threads are started.
const ALONE_UPTO: usize = 1500;
/// Size of the last scan from which helper threads are started at once.
const HELP_AT_ONCE_FROM: usize = 8 * ALONE_UPTO;

pub(in crate::worktree) struct Walk<'a, 's> {
    pub(super) shared: &'a Shared<'s>,
    number: usize,
    within: Option<DirPlace>,
    /// Path of the directory in which this walk began.
    pub(super) path: RelPath,
    pub(super) dirs: Vec<ListedDir>,
    pub(super) stack: Vec<Frame<'s>>,
    /// Starts the helper threads; only in the first walk, and used once.
    call_help: Option<&'a dyn Fn()>,
    pub(super) entries: usize,
}

/// A directory on the way down to the one being read.
pub(super) struct Frame<'a> {
    pub(super) index: usize,
    /// Computed when a name has to be judged, so never in unchanged directories.
    pub(super) rules: OnceCell<DirRules>,
    /// Whether the rules in effect here may differ from those of the last scan.
    pub(super) rules_changed: bool,
    /// `None` after it was closed to save descriptors.
    pub(super) handle: Option<Arc<Dir>>,
    /// In reverse order, so that the first is popped first.
    pub(super) pending: Vec<PendingDir>,
    /// What the monitor says of this directory.
    pub(super) touched: Option<&'a Touched>,
}

impl<'a, 's> Walk<'a, 's> {
    pub fn from_root(
        shared: &'a Shared<'s>,
        root: Arc<Dir>,
        call_help: &'a dyn Fn(),
    ) -> Result<Self> {
        let mut walk = Self {
            shared,
            number: 0,
            within: None,
            path: RelPath::root(),
            dirs: Vec::new(),
            stack: Vec::new(),
            call_help: Some(call_help),
            entries: 0,
        };
        let failed = |error| shared.work.io("read", &RelPath::root(), error);
        let (stat, _) = root.stat_with_mount().map_err(failed)?;
        walk.dirs.push(ListedDir {
            cached: shared.options.previous.map(|before| Box::new(before.root)),
            ..ListedDir::empty(0, Name::default(), stat)
        });
        let changed = !shared.options.same_rules;
        if walk.take_from_cache(&root, (0, shared.options.touched), changed)? {
            return Ok(walk);
        }
        let items = root.list().map_err(failed)?;
        let touched = shared.options.touched;
        walk.read(Frame::new(0, changed, root, touched), items)?;
        Ok(walk)
    }

    /// Starts a walk from a part that another walk gave away.
    pub fn from_job(shared: &'a Shared<'s>, job: Job<'s>) -> Self {
        let Job {
            within,
            path,
            stat,
            handle,
            rules_changed,
            pending,
            touched,
        } = job;
        let mut first = ListedDir::empty(0, Name::default(), stat);
        first.unchanged = true;
        let mut frame = Frame::new(0, rules_changed, handle, touched);
        frame.pending = pending;
        Self {
            shared,
            number: shared.segments.fetch_add(1, Relaxed),
            within: Some(within),
            path,
            dirs: vec![first],
            stack: vec![frame],
            call_help: None,
            entries: 0,
        }
    }

    pub fn into_segment(self) -> Segment {
        Segment {
            number: self.number,
            within: self.within,
            dirs: self.dirs,
        }
    }

    pub fn run(&mut self) -> Result<()> {
        while !self.shared.is_over_limit() {
            let Some(top) = self.stack.last_mut() else {
                break;
            };
            match top.pending.pop() {
                Some(pending) => self.descend(pending)?,
                None => self.ascend(),
            }
            if self.shared.queue.is_wanted() {
                self.share();
            }
        }
        Ok(())
    }

    /// Gives away half of the pending directories nearest to the root.
    fn share(&mut self) {
        if self.call_help.is_some() && self.entries < ALONE_UPTO && !self.is_known_to_be_large() {
            return;
        }
        let left: usize = self.stack.iter().map(|frame| frame.pending.len()).sum();
        let Some(depth) = self
            .stack
            .iter()
            .position(|frame| !frame.pending.is_empty() && frame.handle.is_some())
        else {
            return;
        };
        if left < 2 {
            return;
        }
        let path = self.path_of(self.stack[depth].index);
        let frame = &mut self.stack[depth];
        let Some(handle) = frame.handle.clone() else {
            return;
        };
        let half = frame.pending.len().div_ceil(2);
        let job = Job {
            within: DirPlace {
                segment: self.number,
                dir: frame.index,
            },
            path,
            stat: self.dirs[frame.index].stat,
            handle,
            rules_changed: frame.rules_changed,
            pending: frame.pending.drain(..half).collect(),
            touched: frame.touched,
        };
        self.shared.queue.add(job);
        if let Some(call_help) = self.call_help.take() {
            call_help();
        }
    }

    fn is_known_to_be_large(&self) -> bool {
        self.shared.options.touched.is_none()
            && self
                .previous()
                .is_some_and(|previous| previous.size() >= HELP_AT_ONCE_FROM)
    }

    pub(super) fn previous(&self) -> Option<&'a Arc<CachedListing>> {
        self.shared.options.previous
    }

    pub(super) fn push(&mut self, frame: Frame<'s>) {
        if let Some(far) = self.stack.len().checked_sub(OPEN_DIRS) {
            self.stack[far].handle = None;
        }
        self.stack.push(frame);
    }

    /// Judges a name again that was listed as a directory and no longer is one.
    pub(super) fn reconsider(&mut self, name: Name) -> Result<()> {
        self.judge_names(vec![name])?;
        if let Some(top) = self.stack.last() {
            self.dirs[top.index].decided_by_names = false;
        }
        Ok(())
    }

    /// Judges the changed files of the topmost directory again, whose names are those of the stat
    /// cache.
    pub(super) fn judge_again(&mut self, changed: &[usize]) -> Result<()> {
        let Some(top) = self.stack.last() else {
            return Ok(());
        };
        let mut changed = changed.iter().copied().peekable();
        let (mut at, mut names) = (0, Vec::with_capacity(changed.len()));
        self.dirs[top.index].files.make_listed().retain(|file| {
            let is_changed = changed.next_if_eq(&at).is_some();
            if is_changed {
                names.push(file.name.clone());
            }
            at += 1;
            !is_changed
        });
        self.judge_names(names)
    }

    /// Adds names to the topmost directory as they are now.
    fn judge_names(&mut self, names: Vec<Name>) -> Result<()> {
        let Some(depth) = self.stack.len().checked_sub(1) else {
            return Ok(());
        };
        let Some(dir) = self.stack[depth].handle.clone() else {
            return Ok(());
        };
        let index = self.stack[depth].index;
        let mut again = DirScan::new(self.shared.rules, self.rules_at(depth), None);
        for name in names {
            again
                .consider(&dir, name, ItemKind::Unknown)
                .map_err(|error| self.failure(index, error))?;
        }
        let DirScan {
            files,
            uncaptured,
            subdirs,
            is_decided_by_names,
            ..
        } = again;
        self.shared.count(files.len() as u64);
        let listed = &mut self.dirs[index];
        listed.unchanged = false;
        listed.decided_by_names &= is_decided_by_names;
        for file in files {
            scan_dir::insert_file(listed.files.make_listed(), file);
        }
        for item in uncaptured {
            scan_dir::insert_uncaptured(&mut listed.uncaptured, item);
        }
        for flickering in subdirs {
            self.leave(
                flickering,
                WhyNot::Unreadable("it changed its kind during the scan".into()),
            );
        }
        Ok(())
    }

    /// Pops the finished directory, and reopens its parent if that was closed.
    fn ascend(&mut self) {
        let Some(left) = self.stack.pop() else { return };
        let Some(above) = self.stack.last() else {
            return;
        };
        if above.handle.is_some() {
            return;
        }
        let expected = self.dirs[above.index].stat;
        let is_expected = |dir: &Dir| {
            dir.stat()
                .is_ok_and(|stat| sys::is_same_place(&stat, &expected))
        };
        let by_child = left.handle.as_ref().and_then(|dir| dir.open_parent().ok());
        let mut handle = by_child.filter(is_expected);
        if handle.is_none() {
            // The child was moved or removed: open the parent from the root.
            let path = self.path_of(above.index);
            handle = self
                .shared
                .work
                .root()
                .open_below(&path, Access::Search)
                .ok()
                .filter(is_expected);
        }
        if let Some(above) = self.stack.last_mut() {
            above.handle = handle.map(Arc::new);
        }
    }

    /// Records a child of the topmost directory as uncaptured.
    pub(super) fn leave(&mut self, name: Name, why: WhyNot) {
        let Some(top) = self.stack.last() else { return };
        let listed = &mut self.dirs[top.index];
        (listed.unchanged, listed.decided_by_names) = (false, false);
        scan_dir::insert_uncaptured(
            &mut listed.uncaptured,
            ListedUncaptured {
                name,
                why,
                is_dir: true,
            },
        );
    }

    pub(super) fn path_of(&self, mut index: usize) -> RelPath {
        let mut names = Vec::new();
        while index != 0 {
            names.push(&*self.dirs[index].name);
            index = self.dirs[index].parent;
        }
        names
            .into_iter()
            .rev()
            .fold(self.path.clone(), |path, name| path.join(name))
    }

    pub(super) fn check_interrupt(&self) -> Result<()> {
        Ok(self.shared.options.interrupt.check()?)
    }

    pub(super) fn failure(&self, index: usize, error: std::io::Error) -> Error {
        self.shared.work.io("read", &self.path_of(index), error)
    }
}

impl<'a> Frame<'a> {
    pub(super) fn new(
        index: usize,
        rules_changed: bool,
        handle: Arc<Dir>,
        touched: Option<&'a Touched>,
    ) -> Self {
        Self {
            index,
            rules: OnceCell::new(),
            rules_changed,
            handle: Some(handle),
            pending: Vec::new(),
            touched,
        }
    }
}

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
    /// What a monitor of the directory names: all else is as in the stat cache. `None` without one.
    pub touched: Option<&'a Touched>,
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
    pub queue: WorkQueue<Job<'a>>,
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
pub struct Job<'a> {
    pub(super) within: DirPlace,
    pub(super) path: RelPath,
    pub(super) stat: Stat,
    pub(super) handle: Arc<Dir>,
    pub(super) rules_changed: bool,
    pub(super) pending: Vec<PendingDir>,
    pub(super) touched: Option<&'a Touched>,
}

/// A directory that is still to be entered.
pub struct PendingDir {
    pub(super) name: Name,
    /// The same directory in the stat cache.
    pub(super) cached: Option<Box<CachedDir>>,
}
