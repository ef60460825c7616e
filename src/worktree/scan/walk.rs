//! The walk of one thread: descends through directories, and gives away a part whenever another thread is idle.
//!
//! It uses an explicit stack, so that depth costs no thread stack, and holds few directories open: those further up are
//! closed and reopened through `..` of the child, if that is still the same directory.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::error::{Error, Result};
use crate::model::default_rules::IGNORE_FILE;
use crate::model::stat_cache::cached_listing::{CachedDir, CachedListing};
use crate::model::state::entry::WhyNot;
use crate::model::state::files::Files;
use crate::model::state::listing::ListedDir;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{Name, Stat, Uncaptured};
use crate::worktree::rules::rule_set::DirRules;
use crate::worktree::scan::assemble::{DirPlace, Segment};
use crate::worktree::scan::scan_dir::{self, DirScan, Known};
use crate::worktree::scan::shared::{Job, PendingDir, STORES_RULE, Shared};
use crate::worktree::sys::{self, Access, Dir, Item, ItemKind};

/// Upper bound on directories held open by one walk.
const OPEN_DIRS: usize = 16;
/// Number of entries walked before helper threads are started.
const ALONE_UPTO: usize = 1500;
/// Size of the last scan from which helper threads are started at once.
const HELP_AT_ONCE_FROM: usize = 8 * ALONE_UPTO;
const NAMES_BETWEEN_CHECKS: usize = 1024;

pub(in crate::worktree) struct Walk<'a> {
    shared: &'a Shared<'a>,
    number: usize,
    within: Option<DirPlace>,
    /// Path of the directory in which this walk began.
    path: RelPath,
    dirs: Vec<ListedDir>,
    stack: Vec<Frame>,
    /// Starts the helper threads; only in the first walk, and used once.
    call_help: Option<&'a dyn Fn()>,
    entries: usize,
}

/// A directory on the way down to the one being read.
struct Frame {
    index: usize,
    kept: Option<usize>,
    /// Computed when a name has to be judged, so never in unchanged directories.
    rules: OnceCell<DirRules>,
    /// Whether the rules in effect here may differ from those of the last scan.
    rules_changed: bool,
    /// `None` after it was closed to save descriptors.
    handle: Option<Arc<Dir>>,
    /// In reverse order, so that the first is popped first.
    pending: Vec<PendingDir>,
}

/// Result of entering a directory.
enum Entered {
    Yes {
        dir: Dir,
        stat: Stat,
    },
    No(WhyNot),
    Gone,
    /// No longer a directory.
    OtherKind,
}

impl<'a> Walk<'a> {
    pub fn from_root(shared: &'a Shared<'a>, root: Arc<Dir>, call_help: &'a dyn Fn()) -> Result<Self> {
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
        let (stat, _) = root.look().map_err(failed)?;
        walk.dirs.push(ListedDir::empty(0, Name::default(), stat));
        let kept = shared.options.previous.map(|_| 0);
        let changed = !shared.options.same_rules;
        if walk.keep(&root, 0, kept, changed) {
            return Ok(walk);
        }
        let items = root.list().map_err(failed)?;
        walk.read(Frame::new(0, kept, changed, root), items)?;
        Ok(walk)
    }

    /// Starts a walk from a part that another walk gave away.
    pub fn go_on(shared: &'a Shared<'a>, job: Job) -> Self {
        let Job { within, path, stat, handle, kept, rules_changed, pending } = job;
        let mut first = ListedDir::empty(0, Name::default(), stat);
        first.unchanged = true;
        let mut frame = Frame::new(0, kept, rules_changed, handle);
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
        Segment { number: self.number, within: self.within, dirs: self.dirs }
    }

    pub fn run(&mut self) -> Result<()> {
        while !self.shared.is_over_limit() {
            let Some(top) = self.stack.last_mut() else { break };
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
        let Some(depth) = self.stack.iter().position(|frame| !frame.pending.is_empty() && frame.handle.is_some())
        else {
            return;
        };
        if left < 2 {
            return;
        }
        let path = self.path_of(self.stack[depth].index);
        let frame = &mut self.stack[depth];
        let Some(handle) = frame.handle.clone() else { return };
        let half = frame.pending.len().div_ceil(2);
        let job = Job {
            within: DirPlace { segment: self.number, dir: frame.index },
            path,
            stat: self.dirs[frame.index].stat,
            handle,
            kept: frame.kept,
            rules_changed: frame.rules_changed,
            pending: frame.pending.drain(..half).collect(),
        };
        self.shared.queue.add(job);
        if let Some(call_help) = self.call_help.take() {
            call_help();
        }
    }

    fn is_known_to_be_large(&self) -> bool {
        self.previous().is_some_and(|previous| previous.size() >= HELP_AT_ONCE_FROM)
    }

    fn previous(&self) -> Option<&'a Arc<CachedListing>> {
        self.shared.options.previous
    }

    fn descend(&mut self, pending: PendingDir) -> Result<()> {
        self.check_interrupt()?;
        let Some(top) = self.stack.last() else { return Ok(()) };
        let Some(above) = top.handle.clone() else {
            let why = WhyNot::Unreadable("its directory was replaced during the scan".into());
            self.leave(pending.name, why);
            return Ok(());
        };
        let may_keep = pending.kept.is_some() && !top.rules_changed;
        let access = if may_keep { Access::Search } else { Access::Read };
        match self.enter(&above, &pending.name, access).map_err(|error| self.failure(top.index, error))? {
            Entered::Yes { dir, stat } => self.begin(&above, pending, dir, stat, access),
            Entered::No(why) => {
                self.leave(pending.name, why);
                Ok(())
            }
            Entered::Gone => {
                let index = top.index;
                self.dirs[index].unchanged = false;
                Ok(())
            }
            Entered::OtherKind => self.reconsider(pending.name),
        }
    }

    /// Opens a directory and decides whether it belongs to the scan.
    fn enter(&self, above: &Dir, name: &[u8], access: Access) -> std::io::Result<Entered> {
        let opened = above.open_child(name, access).and_then(|dir| Ok((dir.look()?, dir)));
        let ((stat, mount), dir) = match opened {
            Ok(opened) => opened,
            Err(error) if sys::is_exhausted(&error) => return Err(error),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Entered::Gone),
            Err(error) if sys::is_absent(&error) => return Ok(Entered::OtherKind),
            Err(error) => return Ok(Entered::No(WhyNot::Unreadable(sys::reason(&error)))),
        };
        if self.shared.options.skip.contains(&(stat.dev, stat.ino)) {
            return Ok(Entered::No(WhyNot::LeftOut(STORES_RULE.into())));
        }
        if self.shared.work.is_other_mount(&stat, mount) {
            return Ok(Entered::No(WhyNot::Mount));
        }
        Ok(Entered::Yes { dir, stat })
    }

    /// Adds an open directory to the listing, and reads it unless it is unchanged.
    fn begin(&mut self, above: &Dir, pending: PendingDir, dir: Dir, stat: Stat, access: Access) -> Result<()> {
        let PendingDir { name, kept } = pending;
        let Some(parent) = self.stack.last().map(|frame| frame.index) else { return Ok(()) };
        let rules_changed = self.stack.last().is_some_and(|frame| frame.rules_changed);
        let index = self.dirs.len();
        self.dirs.push(ListedDir::empty(parent, name, stat));
        let dir = Arc::new(dir);
        if self.keep(&dir, index, kept, rules_changed) {
            self.dirs[parent].dirs.push(index);
            return Ok(());
        }
        let listed = match access {
            Access::Read => dir.list().map(|items| (dir, items)),
            Access::Search => {
                let again = above.open_child(&self.dirs[index].name, Access::Read);
                again
                    .and_then(|dir| Ok((dir.look()?.0, dir)))
                    .and_then(|(stat, dir)| {
                        self.dirs[index].stat = stat;
                        Ok((dir.list()?, dir))
                    })
                    .map(|(items, dir)| (Arc::new(dir), items))
            }
        };
        match listed {
            Ok((_, items)) if scan_dir::is_store(&items) => {
                let Some(store) = self.dirs.pop() else { return Ok(()) };
                self.leave(store.name, WhyNot::LeftOut(STORES_RULE.into()));
                Ok(())
            }
            Ok((dir, items)) => {
                self.dirs[parent].dirs.push(index);
                self.read(Frame::new(index, kept, rules_changed, dir), items)
            }
            Err(error) => {
                let Some(unread) = self.dirs.pop() else { return Ok(()) };
                match error {
                    error if sys::is_exhausted(&error) => return Err(self.failure(parent, error)),
                    error if error.kind() == std::io::ErrorKind::NotFound => self.dirs[parent].unchanged = false,
                    error => self.leave(unread.name, WhyNot::Unreadable(sys::reason(&error))),
                }
                Ok(())
            }
        }
    }

    /// Takes a directory from the stat cache if it is unchanged; returns whether it did.
    fn keep(&mut self, dir: &Arc<Dir>, index: usize, kept: Option<usize>, rules_changed: bool) -> bool {
        let Some((previous, number)) = self.previous().zip(kept).filter(|_| !rules_changed) else { return false };
        let Some(before) = previous.dir(number) else { return false };
        let listed = &mut self.dirs[index];
        let files = before.files();
        if !is_unchanged(&before, &files, dir, &listed.stat) {
            return false;
        }
        let Some(uncaptured) = before.uncaptured() else { return false };
        let count = files.len();
        (listed.files, listed.uncaptured) = (files, uncaptured);
        (listed.kept, listed.unchanged, listed.decided_by_names) = (kept, true, true);
        let mut frame = Frame::new(index, kept, false, Arc::clone(dir));
        let children = previous.children(number).rev();
        frame.pending =
            children.map(|kept| PendingDir { name: previous.name(kept).into(), kept: Some(kept) }).collect();
        self.note_read(count);
        self.push(frame);
        true
    }

    fn note_read(&mut self, files: usize) {
        self.entries += files + 1;
        self.shared.count(files as u64);
        self.shared.options.progress.add(files as u64, 0);
    }

    fn push(&mut self, frame: Frame) {
        if let Some(far) = self.stack.len().checked_sub(OPEN_DIRS) {
            self.stack[far].handle = None;
        }
        self.stack.push(frame);
    }

    /// Judges the names of an open directory and pushes it on the stack.
    fn read(&mut self, mut frame: Frame, mut items: Vec<Item>) -> Result<()> {
        sys::sort_items(&mut items);
        let Some(dir) = frame.handle.clone() else { return Ok(()) };
        let room = self.shared.room();
        let index = frame.index;
        let has_ignore_file = items.iter().any(scan_dir::may_be_ignore_file);
        let (rules, is_unread) = self.rules_in(&dir, index, has_ignore_file);
        let known = self.previous().zip(frame.kept).and_then(|(previous, kept)| previous.dir(kept));
        frame.rules_changed |= known.as_ref().is_some_and(CachedDir::has_hidden_rules);
        let known = known.map(|before| Known { files: before.files() });
        let mut scan = DirScan::new(self.shared.rules, &rules, known);
        for (at, item) in items.into_iter().enumerate() {
            if at % NAMES_BETWEEN_CHECKS == 0 {
                self.check_interrupt()?;
            }
            scan.consider(&dir, item.name, item.kind).map_err(|error| self.failure(index, error))?;
            if scan.files.len() as u64 > room {
                break;
            }
        }
        frame.rules_changed |= scan.ignore_file_changed(has_ignore_file);
        // Unreadable rules may be readable next time, and count as changed then.
        let has_hidden_rules = has_ignore_file && (!scan.has_ignore_file() || is_unread);
        let DirScan { files, uncaptured, mut subdirs, is_decided_by_names, .. } = scan;
        self.note_read(files.len());
        let listed = &mut self.dirs[index];
        (listed.decided_by_names, listed.has_hidden_rules) =
            (is_decided_by_names && !has_hidden_rules, has_hidden_rules);
        (listed.files, listed.uncaptured, listed.kept) = (Files::from(files), uncaptured, frame.kept);
        subdirs.reverse();
        let number_of = |name: &[u8]| self.previous()?.child(frame.kept?, name);
        frame.pending = subdirs.into_iter().map(|name| PendingDir { kept: number_of(&name), name }).collect();
        let _ = frame.rules.set(rules);
        self.push(frame);
        Ok(())
    }

    /// Returns the rules of a directory about to be read, below those on the stack, and whether its ignore file is
    /// unreadable.
    fn rules_in(&self, dir: &Dir, index: usize, has_ignore_file: bool) -> (DirRules, bool) {
        let ignore_file = has_ignore_file.then(|| scan_dir::read_ignore_file(dir)).flatten();
        let is_unread = has_ignore_file && ignore_file.is_none();
        let rules = match self.stack.len().checked_sub(1) {
            None => self.shared.rules.enter_root(ignore_file.as_deref()),
            Some(above) => {
                self.shared.rules.enter(self.rules_at(above), &self.dirs[index].name, ignore_file.as_deref())
            }
        };
        (rules, is_unread)
    }

    /// Returns the rules of a directory on the stack, computing those of its ancestors as needed.
    fn rules_at(&self, depth: usize) -> &DirRules {
        let known = (0..=depth).rev().find(|depth| self.stack[*depth].rules.get().is_some());
        for at in known.map_or(0, |known| known + 1)..=depth {
            let frame = &self.stack[at];
            let rules = match at.checked_sub(1).and_then(|above| self.stack[above].rules.get()) {
                Some(above) => {
                    let ignore_file = self.ignore_file_of(frame);
                    self.shared.rules.enter(above, &self.dirs[frame.index].name, ignore_file.as_deref())
                }
                None => self.shared.rules.on_the_way_to(&self.path, &|path| {
                    let dir = self.shared.work.root().open_below(path, Access::Search).ok()?;
                    scan_dir::read_ignore_file(&dir)
                }),
            };
            let _ = frame.rules.set(rules);
        }
        self.stack[depth].rules.get_or_init(|| self.shared.rules.enter_root(None))
    }

    fn ignore_file_of(&self, frame: &Frame) -> Option<Vec<u8>> {
        self.dirs[frame.index].files.get(IGNORE_FILE)?;
        if let Some(dir) = &frame.handle {
            return scan_dir::read_ignore_file(dir);
        }
        let dir = self.shared.work.root().open_below(&self.path_of(frame.index), Access::Search).ok()?;
        scan_dir::read_ignore_file(&dir)
    }

    /// Judges a name again that was listed as a directory and no longer is one.
    fn reconsider(&mut self, name: Name) -> Result<()> {
        let Some(depth) = self.stack.len().checked_sub(1) else { return Ok(()) };
        let Some(dir) = self.stack[depth].handle.clone() else { return Ok(()) };
        let index = self.stack[depth].index;
        let mut again = DirScan::new(self.shared.rules, self.rules_at(depth), None);
        again.consider(&dir, name, ItemKind::Unknown).map_err(|error| self.failure(index, error))?;
        let DirScan { files, uncaptured, subdirs, .. } = again;
        self.shared.count(files.len() as u64);
        let listed = &mut self.dirs[index];
        (listed.unchanged, listed.decided_by_names) = (false, false);
        for file in files {
            scan_dir::insert_file(listed.files.make_listed(), file);
        }
        for item in uncaptured {
            scan_dir::insert_uncaptured(&mut listed.uncaptured, item);
        }
        for flickering in subdirs {
            self.leave(flickering, WhyNot::Unreadable("it changed its kind during the scan".into()));
        }
        Ok(())
    }

    /// Pops the finished directory, and reopens its parent if that was closed.
    fn ascend(&mut self) {
        let Some(left) = self.stack.pop() else { return };
        let Some(above) = self.stack.last() else { return };
        if above.handle.is_some() {
            return;
        }
        let expected = self.dirs[above.index].stat;
        let is_expected = |dir: &Dir| dir.stat().is_ok_and(|stat| sys::is_same_place(&stat, &expected));
        let by_child = left.handle.as_ref().and_then(|dir| dir.open_parent().ok());
        let mut handle = by_child.filter(is_expected);
        if handle.is_none() {
            // The child was moved or removed: open the parent from the root.
            let path = self.path_of(above.index);
            handle = self.shared.work.root().open_below(&path, Access::Search).ok().filter(is_expected);
        }
        if let Some(above) = self.stack.last_mut() {
            above.handle = handle.map(Arc::new);
        }
    }

    /// Records a child of the topmost directory as uncaptured.
    fn leave(&mut self, name: Name, why: WhyNot) {
        let Some(top) = self.stack.last() else { return };
        let listed = &mut self.dirs[top.index];
        (listed.unchanged, listed.decided_by_names) = (false, false);
        scan_dir::insert_uncaptured(&mut listed.uncaptured, Uncaptured { name, why, is_dir: true });
    }

    fn path_of(&self, mut index: usize) -> RelPath {
        let mut names = Vec::new();
        while index != 0 {
            names.push(&*self.dirs[index].name);
            index = self.dirs[index].parent;
        }
        names.into_iter().rev().fold(self.path.clone(), |path, name| path.join(name))
    }

    fn check_interrupt(&self) -> Result<()> {
        self.shared.options.interrupt.check().map_err(|signal| Error::Interrupted { signal })
    }

    fn failure(&self, index: usize, error: std::io::Error) -> Error {
        self.shared.work.io("read", &self.path_of(index), error)
    }
}

impl Frame {
    fn new(index: usize, kept: Option<usize>, rules_changed: bool, handle: Arc<Dir>) -> Self {
        Self { index, kept, rules: OnceCell::new(), rules_changed, handle: Some(handle), pending: Vec::new() }
    }
}

/// Whether the stats of a directory and of all its files are unchanged.
fn is_unchanged(before: &CachedDir<'_>, files: &Files, dir: &Dir, stat: &Stat) -> bool {
    before.is_decided_by_names()
        && stat.same_content_as(before.stat())
        && files.iter().all(|file| {
            let now = || dir.stat_child(file.name);
            file.id.is_some() && now().is_ok_and(|now| now.same_content_as(&file.stat))
        })
}
