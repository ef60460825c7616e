//! How a walk enters a directory: it is opened, taken from the stat cache if unchanged, and else
//! read by the rules there.

use std::ops::Range;
use std::sync::Arc;

use crate::base::WorkQueue;
use crate::base::threads::{self, work_queue};
use crate::error::Result;
use crate::model::checkpoint::limits::{self, MOST_LEVELS};
use crate::model::default_rules::IGNORE_FILE;
use crate::model::{CachedBlock, CachedDir, Files, ListedDir, RelPath, Stat, WhyNot};
use crate::worktree::rules::rule_set::{CACHE_TAG, DirRules};
use crate::worktree::scan::scan_dir::{self, DirScan};
use crate::worktree::scan::walk::{Frame, STORES_RULE, Walk};
use crate::worktree::sys::{self, Access, Dir, Item, ItemKind};
use crate::worktree::{PendingDir, Touched};

const NAMES_BETWEEN_CHECKS: usize = 1024;
/// Number of files of one directory from which several threads look at them.
const SHARED_FROM_FILES: usize = 4096;
/// Number of files that a thread takes of them at a time.
const FILES_AT_ONCE: usize = 1024;

/// Where a file system check puts what it recovers, and the rule that leaves it out.
const LOST_AND_FOUND: &str = "lost+found";

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

impl<'s> Walk<'_, 's> {
    pub(super) fn descend(&mut self, pending: PendingDir) -> Result<()> {
        self.check_interrupt()?;
        let Some(top) = self.stack.last() else {
            return Ok(());
        };
        if self.is_untouched(top, &pending) {
            self.fold(pending);
            return Ok(());
        }
        if self.path.components().count() + self.stack.len() >= MOST_LEVELS {
            self.leave(pending.name, WhyNot::Unreadable(limits::too_deep()));
            return Ok(());
        }
        let Some(above) = top.handle.clone() else {
            let why = WhyNot::Unreadable("its directory was replaced during the scan".into());
            self.leave(pending.name, why);
            return Ok(());
        };
        let may_be_cached = pending.cached.is_some() && !top.rules_changed;
        let access = if may_be_cached {
            Access::Search
        } else {
            Access::Read
        };
        if self.is_lost_and_found(&pending.name) {
            self.leave(pending.name, WhyNot::LeftOut(LOST_AND_FOUND.into()));
            return Ok(());
        }
        match self
            .enter(&above, &pending.name, access)
            .map_err(|error| self.failure(top.index, error))?
        {
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

    /// Whether the monitor says that a directory is as in the stat cache, and that suffices.
    fn is_untouched(&self, top: &Frame<'_>, pending: &PendingDir) -> bool {
        let is_settled = |before: &CachedDir| before.summary.is_settled;
        self.shared.options.touched.is_some()
            && !top.rules_changed
            && pending.cached.as_deref().is_some_and(is_settled)
            && top
                .touched
                .is_none_or(|all| all.at(&pending.name).is_none())
    }

    /// Takes a directory from the stat cache with all below it.
    fn fold(&mut self, pending: PendingDir) {
        let PendingDir { name, cached } = pending;
        let Some((cached, parent)) = cached.zip(self.stack.last().map(|top| top.index)) else {
            return;
        };
        let files = u64::from(cached.summary.files);
        let index = self.dirs.len();
        self.dirs[parent].dirs.push(index);
        self.dirs.push(ListedDir::folded_as(parent, name, cached));
        self.shared.count(files);
        self.shared.options.progress.add(files, 0);
    }

    /// Whether a name of the root is root's directory of recovered files, at the top of a volume.
    fn is_lost_and_found(&self, name: &[u8]) -> bool {
        if *name != *LOST_AND_FOUND.as_bytes() || !self.path.is_root() || self.stack.len() != 1 {
            return false;
        }
        let root = self.shared.work.shown(&RelPath::root());
        // The directory above need not be one that may be read.
        let handle = self.stack.first().and_then(|frame| frame.handle.as_ref());
        let above = handle.and_then(|root| root.open_child(b"..", Access::Search).ok());
        sys::owner(&root.join(LOST_AND_FOUND)) == Some(0)
            && above.is_some_and(|above| {
                let stat = above.stat_with_mount();
                stat.is_ok_and(|(stat, mount)| self.shared.work.is_other_mount(&stat, mount))
            })
    }

    /// Opens a directory and decides whether it belongs to the scan.
    fn enter(&self, above: &Dir, name: &[u8], access: Access) -> std::io::Result<Entered> {
        let opened = above
            .open_child(name, access)
            .and_then(|dir| Ok((dir.stat_with_mount()?, dir)));
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
    fn begin(
        &mut self,
        above: &Dir,
        pending: PendingDir,
        dir: Dir,
        stat: Stat,
        access: Access,
    ) -> Result<()> {
        let PendingDir { name, cached } = pending;
        let Some(parent) = self.stack.last().map(|frame| frame.index) else {
            return Ok(());
        };
        let top = self.stack.last();
        let rules_changed = top.is_some_and(|frame| frame.rules_changed);
        let touched = top.and_then(|frame| frame.touched?.at(&name));
        let index = self.dirs.len();
        self.dirs.push(ListedDir {
            cached,
            ..ListedDir::empty(parent, name, stat)
        });
        let dir = Arc::new(dir);
        if self.take_from_cache(&dir, (index, touched), rules_changed)? {
            self.dirs[parent].dirs.push(index);
            return Ok(());
        }
        let listed = match access {
            Access::Read => dir.list().map(|items| (dir, items)),
            Access::Search => self.open_and_list(above, index),
        };
        match listed {
            Ok((dir, items)) => {
                if let Some(why) = self.owner_of(index, &items) {
                    let Some(others) = self.dirs.pop() else {
                        return Ok(());
                    };
                    self.leave(others.name, why);
                    return Ok(());
                }
                self.dirs[parent].dirs.push(index);
                self.read(Frame::new(index, rules_changed, dir, touched), items)
            }
            Err(error) => {
                let Some(unread) = self.dirs.pop() else {
                    return Ok(());
                };
                match error {
                    error if sys::is_exhausted(&error) => return Err(self.failure(parent, error)),
                    error if error.kind() == std::io::ErrorKind::NotFound => {
                        self.dirs[parent].unchanged = false;
                    }
                    error => self.leave(unread.name, WhyNot::Unreadable(sys::reason(&error))),
                }
                Ok(())
            }
        }
    }

    /// Why a directory with these names stays out, if it is not the project's.
    fn owner_of(&self, index: usize, items: &[Item]) -> Option<WhyNot> {
        let is_marked = |item: &Item| [&b".git"[..], b"HEAD", CACHE_TAG].contains(&&*item.name);
        if scan_dir::is_store(items) {
            return Some(WhyNot::LeftOut(STORES_RULE.into()));
        }
        if !items.iter().any(is_marked) {
            return None;
        }
        let path = self.path_of(index);
        let dir = self.shared.work.shown(&path);
        let rules = self.shared.rules;
        let is_cache = || rules.is_cache(&path, &dir, items).then_some(WhyNot::Cache);
        rules.owner(&path, &dir, items).or_else(is_cache)
    }

    /// Opens a directory for reading, notes its stat again and lists it.
    fn open_and_list(
        &mut self,
        above: &Dir,
        index: usize,
    ) -> std::io::Result<(Arc<Dir>, Vec<Item>)> {
        let dir = above.open_child(&self.dirs[index].name, Access::Read)?;
        self.dirs[index].stat = dir.stat_with_mount()?.0;
        let items = dir.list()?;
        Ok((Arc::new(dir), items))
    }

    /// Takes a directory from the stat cache if its names are unchanged, and judges its changed
    /// files again; returns whether it did.
    pub(super) fn take_from_cache(
        &mut self,
        dir: &Arc<Dir>,
        (index, touched): (usize, Option<&'s Touched>),
        rules_changed: bool,
    ) -> Result<bool> {
        let listed = &self.dirs[index];
        let is_settled = |before: &&CachedDir| {
            !rules_changed && before.decided_by_names && listed.stat.same_content_as(&before.stat)
        };
        let before = listed.cached.as_deref().filter(is_settled);
        let Some(block) = before.and_then(|before| self.block_of(before)) else {
            return Ok(false);
        };
        let files = Files::cached(Arc::clone(&block));
        let Some(changed) = changed_files(&files, dir) else {
            return Ok(false);
        };
        let Some(uncaptured) = block.uncaptured() else {
            return Ok(false);
        };
        let children = (0..block.dir_count()).rev().map(|number| {
            let (name, cached) = block.dir(number)?;
            Some(PendingDir {
                name: name.into(),
                cached: Some(Box::new(cached)),
            })
        });
        let Some(pending) = children.collect() else {
            return Ok(false);
        };
        let listed = &mut self.dirs[index];
        let count = files.len() - changed.len();
        (listed.files, listed.uncaptured) = (files, uncaptured);
        (listed.unchanged, listed.decided_by_names) = (true, true);
        let mut frame = Frame::new(index, false, Arc::clone(dir), touched);
        frame.pending = pending;
        self.note_read(count);
        self.push(frame);
        if !changed.is_empty() {
            self.judge_again(&changed)?;
        }
        Ok(true)
    }

    fn block_of(&self, dir: &CachedDir) -> Option<Arc<CachedBlock>> {
        self.previous()?.block(&dir.place)
    }

    fn note_read(&mut self, files: usize) {
        self.entries += files + 1;
        self.shared.count(files as u64);
        self.shared.options.progress.add(files as u64, 0);
    }

    /// Judges the names of an open directory and pushes it on the stack.
    pub(super) fn read(&mut self, mut frame: Frame<'s>, mut items: Vec<Item>) -> Result<()> {
        sys::sort_items(&mut items);
        let Some(dir) = frame.handle.clone() else {
            return Ok(());
        };
        let room = self.shared.room();
        let index = frame.index;
        let has_ignore_file = items.iter().any(scan_dir::may_be_ignore_file);
        let has_tag = items.iter().any(|item| *item.name == *CACHE_TAG);
        let (rules, is_unread) = self.rules_in(&dir, index, has_ignore_file);
        let known = self.dirs[index].cached.as_deref();
        frame.rules_changed |= known.is_some_and(|before| before.has_hidden_rules);
        let known = known.and_then(|before| self.block_of(before));
        let mut scan = DirScan::new(
            self.shared.rules,
            &rules,
            known.as_ref().map(|block| Files::cached(Arc::clone(block))),
        );
        let most = items.iter().filter(|item| item.kind == ItemKind::File);
        scan.files.reserve_exact(most.count());
        for (at, item) in items.into_iter().enumerate() {
            if at % NAMES_BETWEEN_CHECKS == 0 {
                self.check_interrupt()?;
            }
            scan.consider(&dir, item.name, item.kind)
                .map_err(|error| self.failure(index, error))?;
            if scan.files.len() as u64 > room {
                break;
            }
        }
        frame.rules_changed |= scan.ignore_file_changed(has_ignore_file);
        // Unreadable rules may be readable next time, and count as changed then.
        let has_hidden_rules = has_ignore_file && (!scan.has_ignore_file() || is_unread);
        let DirScan {
            files,
            uncaptured,
            mut subdirs,
            is_decided_by_names,
            ..
        } = scan;
        self.note_read(files.len());
        let listed = &mut self.dirs[index];
        (listed.decided_by_names, listed.has_hidden_rules) = (
            is_decided_by_names && !has_hidden_rules && !has_tag,
            has_hidden_rules,
        );
        (listed.files, listed.uncaptured) = (Files::from(files), uncaptured);
        subdirs.reverse();
        let child = |name: &[u8]| known.as_ref()?.child(name).map(Box::new);
        frame.pending = subdirs
            .into_iter()
            .map(|name| PendingDir {
                cached: child(&name),
                name,
            })
            .collect();
        let _ = frame.rules.set(rules);
        self.push(frame);
        Ok(())
    }

    /// Returns the rules of a directory about to be read, below those on the stack, and whether its
    /// ignore file is unreadable.
    fn rules_in(&self, dir: &Dir, index: usize, has_ignore_file: bool) -> (DirRules, bool) {
        let ignore_file = has_ignore_file
            .then(|| scan_dir::read_ignore_file(dir))
            .flatten();
        let is_unread = has_ignore_file && ignore_file.is_none();
        let rules = match self.stack.len().checked_sub(1) {
            None => self.shared.rules.enter_root(ignore_file.as_deref()),
            Some(above) => self.shared.rules.enter(
                self.rules_at(above),
                &self.dirs[index].name,
                ignore_file.as_deref(),
            ),
        };
        (rules, is_unread)
    }

    /// Returns the rules of a directory on the stack, computing those of its ancestors as needed.
    pub(super) fn rules_at(&self, depth: usize) -> &DirRules {
        let known = (0..=depth)
            .rev()
            .find(|depth| self.stack[*depth].rules.get().is_some());
        for at in known.map_or(0, |known| known + 1)..=depth {
            let frame = &self.stack[at];
            let rules = match at
                .checked_sub(1)
                .and_then(|above| self.stack[above].rules.get())
            {
                Some(above) => {
                    let ignore_file = self.ignore_file_of(frame);
                    self.shared.rules.enter(
                        above,
                        &self.dirs[frame.index].name,
                        ignore_file.as_deref(),
                    )
                }
                None => self.shared.rules.on_the_way_to(&self.path, &|path| {
                    let dir = self
                        .shared
                        .work
                        .root()
                        .open_below(path, Access::Search)
                        .ok()?;
                    scan_dir::read_ignore_file(&dir)
                }),
            };
            let _ = frame.rules.set(rules);
        }
        self.stack[depth]
            .rules
            .get_or_init(|| self.shared.rules.enter_root(None))
    }

    fn ignore_file_of(&self, frame: &Frame<'_>) -> Option<Vec<u8>> {
        self.dirs[frame.index].files.get(IGNORE_FILE)?;
        if let Some(dir) = &frame.handle {
            return scan_dir::read_ignore_file(dir);
        }
        let dir = self
            .shared
            .work
            .root()
            .open_below(&self.path_of(frame.index), Access::Search)
            .ok()?;
        scan_dir::read_ignore_file(&dir)
    }
}

/// Returns the changed files of a directory, sorted; `None` if it has to be read, since its names,
/// a kind or its rules may have changed.
fn changed_files(files: &Files, dir: &Dir) -> Option<Vec<usize>> {
    let changed_in = |part: Range<usize>| -> Option<Vec<usize>> {
        let mut changed = Vec::new();
        for at in part {
            let file = files.at(at)?;
            let now = dir.stat_child(file.name).ok()?;
            if file.id.is_some() && now.same_content_as(&file.stat) {
                continue;
            }
            if sys::kind_of(&now) != sys::kind_of(&file.stat) || *file.name == *IGNORE_FILE {
                return None;
            }
            changed.push(at);
        }
        Some(changed)
    };
    if files.len() < SHARED_FROM_FILES {
        return changed_in(0..files.len());
    }
    let parts = (0..files.len()).step_by(FILES_AT_ONCE);
    let parts = parts.map(|from| from..files.len().min(from + FILES_AT_ONCE));
    let job = |(): &mut (), part, _: &WorkQueue<_>| changed_in(part).ok_or(());
    let changed = work_queue::run(vec![(); threads::workers()], parts.collect(), &job).ok()?;
    let mut changed = changed.concat();
    changed.sort_unstable();
    Some(changed)
}
