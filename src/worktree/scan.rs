//! The walk through the whole directory: a flat listing of what is captured and what is not.
//!
//! It keeps its own stack, so that depth costs no stack of the thread, and holds few directories open at a time:
//! those further up are closed and reached again through `..` of the one below, if that is still the same directory.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::entry::WhyNot;
use crate::model::interrupt::Interrupt;
use crate::model::listing::{ListedDir, Listing, Name, Stat, Uncaptured};
use crate::model::rel_path::RelPath;
use crate::worktree::rules::{DirRules, Rules};
use crate::worktree::scan_dir::{self, DirScan, Known};
use crate::worktree::sys::{self, Access, Dir, ItemKind};
use crate::worktree::tree_handle::WorkTree;

/// Directories held open at a time.
const OPEN_DIRS: usize = 16;
/// Folders named when there are too many files.
const LARGEST_SHOWN: usize = 3;
/// The rule under which the place of all stores is left out.
pub const STORES_RULE: &str = "checkpoint stores";

/// What a scan may rely on and where it must stop.
#[derive(Clone, Copy)]
pub struct ScanOptions<'a> {
    /// What the last scan saw: unchanged files take their blobs from it.
    pub previous: Option<&'a Listing>,
    /// More captured files than this end the scan; `None` is no limit.
    pub limit_files: Option<u64>,
    /// Device and inode of directories that are never captured: the stores.
    pub skip: &'a [(u64, u64)],
    pub interrupt: &'a Interrupt,
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

/// Lists the directory.
///
/// # Errors
/// The root cannot be read or is no longer the one that was opened, a signal, or no descriptors left. What cannot be
/// read below the root is no error but is listed as uncaptured.
pub fn scan(work: &WorkTree, rules: &Rules, options: &ScanOptions<'_>) -> Result<Scan> {
    let started_ns = sys::coarse_now_ns();
    let root = work.dir(&RelPath::root())?;
    let listing = Listing::of_empty_root(*work.root_stat(), started_ns);
    let mut walk =
        Walk { work, rules, options, listing, stack: Vec::new(), top_counts: BTreeMap::new(), file_count: 0 };
    walk.run(root)?;
    if let Some(limit) = options.limit_files
        && walk.file_count > limit
    {
        return Ok(Scan::OverLimit { limit, largest: walk.largest() });
    }
    work.check_still_there()?;
    Ok(Scan::Done(walk.listing))
}

struct Walk<'a> {
    work: &'a WorkTree,
    rules: &'a Rules,
    options: &'a ScanOptions<'a>,
    listing: Listing,
    stack: Vec<Frame>,
    top_counts: BTreeMap<Name, u64>,
    file_count: u64,
}

/// A directory on the way down to the one being read.
struct Frame {
    index: usize,
    /// The same directory in the previous listing.
    previous: Option<usize>,
    rules: DirRules,
    /// `None` once it was closed to save descriptors.
    handle: Option<Dir>,
    /// Directories in it that are still to be entered, last first.
    pending: Vec<Name>,
}

/// What became of an attempt to enter a directory.
enum Entered {
    Yes {
        dir: Dir,
        stat: Stat,
    },
    No(WhyNot),
    Gone,
    /// It is a directory no more.
    OtherKind,
}

impl Walk<'_> {
    fn run(&mut self, root: Dir) -> Result<()> {
        let previous = self.options.previous.map(|_| 0);
        let items = root.list().map_err(|error| self.work.io("read", &RelPath::root(), error))?;
        let ignore_file = ignore_file_of(&root, &items);
        let rules = self.rules.enter_root(ignore_file.as_deref());
        self.read(Frame { index: 0, previous, rules, handle: Some(root), pending: Vec::new() }, items)?;
        while !self.is_over_limit() {
            let Some(top) = self.stack.last_mut() else { break };
            match top.pending.pop() {
                Some(name) => self.descend(name)?,
                None => self.ascend(),
            }
        }
        Ok(())
    }

    fn is_over_limit(&self) -> bool {
        self.options.limit_files.is_some_and(|limit| self.file_count > limit)
    }

    /// Reads the names of an open directory and puts it on the stack.
    fn read(&mut self, mut frame: Frame, mut items: Vec<sys::Item>) -> Result<()> {
        const NAMES_BETWEEN_CHECKS: usize = 1024;
        items.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let Some(dir) = &frame.handle else { return Ok(()) };
        let room = self.options.limit_files.map_or(u64::MAX, |limit| limit.saturating_sub(self.file_count));
        let known = self.known(frame.previous);
        let mut scan = DirScan::new(self.rules, &frame.rules, known);
        for (at, item) in items.into_iter().enumerate() {
            if at % NAMES_BETWEEN_CHECKS == 0 {
                self.options.interrupt.check().map_err(|signal| Error::Interrupted { signal })?;
            }
            scan.consider(dir, item.name, item.kind).map_err(|error| self.failure(frame.index, error))?;
            if scan.files.len() as u64 > room {
                break;
            }
        }
        let DirScan { files, uncaptured, mut subdirs, .. } = scan;
        self.count(&frame, files.len() as u64);
        let listed = &mut self.listing.dirs[frame.index];
        (listed.files, listed.uncaptured) = (files, uncaptured);
        subdirs.reverse();
        frame.pending = subdirs;
        if let Some(far) = self.stack.len().checked_sub(OPEN_DIRS) {
            self.stack[far].handle = None;
        }
        self.stack.push(frame);
        Ok(())
    }

    fn known(&self, previous: Option<usize>) -> Option<Known<'_>> {
        let listing = self.options.previous?;
        Some(Known { dir: &listing.dirs[previous?], started_ns: listing.started_ns })
    }

    fn count(&mut self, frame: &Frame, files: u64) {
        self.file_count += files;
        let top = self.stack.get(1).map_or(frame.index, |below_root| below_root.index);
        if top != 0 && files > 0 {
            *self.top_counts.entry(self.listing.dirs[top].name.clone()).or_default() += files;
        }
    }

    fn descend(&mut self, name: Name) -> Result<()> {
        let Some(top) = self.stack.last() else { return Ok(()) };
        let Some(dir) = &top.handle else {
            let why = WhyNot::Unreadable("its directory was replaced during the scan".into());
            self.leave(name, why, true);
            return Ok(());
        };
        match self.enter(dir, &name).map_err(|error| self.failure(top.index, error))? {
            Entered::Yes { dir: child, stat } => self.begin(name, child, stat),
            Entered::No(why) => {
                self.leave(name, why, true);
                Ok(())
            }
            Entered::Gone => Ok(()),
            Entered::OtherKind => self.reconsider(name),
        }
    }

    /// Opens a directory and decides whether it is ours to read.
    fn enter(&self, parent: &Dir, name: &[u8]) -> std::io::Result<Entered> {
        let opened = parent.open_child(name, Access::Read).and_then(|dir| Ok((dir.stat()?, dir)));
        let (stat, dir) = match opened {
            Ok(opened) => opened,
            Err(error) if sys::is_exhausted(&error) => return Err(error),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Entered::Gone),
            Err(error) if sys::is_absent(&error) => return Ok(Entered::OtherKind),
            Err(error) => return Ok(Entered::No(WhyNot::Unreadable(sys::reason(&error)))),
        };
        if self.options.skip.contains(&(stat.dev, stat.ino)) {
            return Ok(Entered::No(WhyNot::LeftOut(STORES_RULE.into())));
        }
        if self.work.is_foreign(&dir, &stat) {
            return Ok(Entered::No(WhyNot::Mount));
        }
        Ok(Entered::Yes { dir, stat })
    }

    /// Gives an open directory its place in the listing and reads it.
    fn begin(&mut self, name: Name, dir: Dir, stat: Stat) -> Result<()> {
        let Some(parent) = self.stack.last() else { return Ok(()) };
        let items = match dir.list() {
            Ok(items) => items,
            Err(error) if sys::is_exhausted(&error) => return Err(self.failure(parent.index, error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.leave(name, WhyNot::Unreadable(sys::reason(&error)), true);
                return Ok(());
            }
        };
        let ignore_file = ignore_file_of(&dir, &items);
        let rules = self.rules.enter(&parent.rules, &name, ignore_file.as_deref());
        let previous = self.known(parent.previous).and_then(|known| {
            let listing = self.options.previous?;
            let found = known.dir.dirs.binary_search_by(|index| listing.dirs[*index].name.cmp(&name)).ok()?;
            Some(known.dir.dirs[found])
        });
        let (index, above) = (self.listing.dirs.len(), parent.index);
        self.listing.dirs.push(ListedDir::empty(above, name, stat));
        self.listing.dirs[above].dirs.push(index);
        self.read(Frame { index, previous, rules, handle: Some(dir), pending: Vec::new() }, items)
    }

    /// Judges a name that was a directory when it was listed and is something else now.
    fn reconsider(&mut self, name: Name) -> Result<()> {
        let Some(top) = self.stack.last() else { return Ok(()) };
        let Some(dir) = &top.handle else { return Ok(()) };
        let mut again = DirScan::new(self.rules, &top.rules, None);
        again.consider(dir, name, ItemKind::Unknown).map_err(|error| self.failure(top.index, error))?;
        let listed = &mut self.listing.dirs[top.index];
        self.file_count += again.files.len() as u64;
        again.files.into_iter().for_each(|file| scan_dir::insert_file(&mut listed.files, file));
        again.uncaptured.into_iter().for_each(|item| scan_dir::insert_uncaptured(&mut listed.uncaptured, item));
        for flickering in again.subdirs {
            self.leave(flickering, WhyNot::Unreadable("it changed its kind during the scan".into()), true);
        }
        Ok(())
    }

    /// Leaves the directory that was read, and opens the one above again if it was closed.
    fn ascend(&mut self) {
        let Some(left) = self.stack.pop() else { return };
        let Some(above) = self.stack.last() else { return };
        if above.handle.is_some() {
            return;
        }
        let expected = self.listing.dirs[above.index].stat;
        let is_expected = |dir: &Dir| dir.stat().is_ok_and(|stat| sys::is_same_place(&stat, &expected));
        let by_child = left.handle.as_ref().map(Dir::open_parent).and_then(std::result::Result::ok);
        let mut handle = by_child.filter(is_expected);
        if handle.is_none() {
            // The child was moved away, or is gone: go there from the root.
            handle = self.work.dir(&self.listing.path_of(above.index)).ok().filter(is_expected);
        }
        if let Some(above) = self.stack.last_mut() {
            above.handle = handle;
        }
    }

    /// Records a name of the topmost directory as not captured.
    fn leave(&mut self, name: Name, why: WhyNot, is_dir: bool) {
        let Some(top) = self.stack.last() else { return };
        let items = &mut self.listing.dirs[top.index].uncaptured;
        scan_dir::insert_uncaptured(items, Uncaptured { name, why, is_dir });
    }

    fn failure(&self, index: usize, error: std::io::Error) -> Error {
        self.work.io("read", &self.listing.path_of(index), error)
    }

    fn largest(&self) -> Vec<(RelPath, u64)> {
        let mut counts: Vec<(RelPath, u64)> =
            self.top_counts.iter().map(|(name, count)| (RelPath::root().join(name), *count)).collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(LARGEST_SHOWN);
        counts
    }
}

fn ignore_file_of(dir: &Dir, items: &[sys::Item]) -> Option<Vec<u8>> {
    items.iter().any(scan_dir::may_be_ignore_file).then(|| scan_dir::read_ignore_file(dir)).flatten()
}
