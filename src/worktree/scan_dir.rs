//! One directory of a scan: which of its names are captured, which are not and why, and which are to be entered.

use std::io::{self, Read};

use crate::model::entry::{Kind, WhyNot};
use crate::model::listing::{ListedDir, ListedFile, Name, Stat, Uncaptured};
use crate::model::object_id::ObjectId;
use crate::model::rel_path::is_dot_git;
use crate::worktree::rules::{DirRules, Peek, Rules, Verdict};
use crate::worktree::stage;
use crate::worktree::sys::{self, Dir, ItemKind};

/// Larger ones are no rules that a person wrote; they are taken for absent.
const MAX_IGNORE_FILE_BYTES: u64 = 16 * 1024 * 1024;
const IGNORE_FILE: &[u8] = b".gitignore";
/// The window in which a file system that keeps whole seconds (or FAT: every other one) hides a change.
const COARSE_TICK_NS: i64 = 2_000_000_000;

/// What the scan before said of the same directory, and since when that can be relied on.
#[derive(Clone, Copy)]
pub struct Known<'l> {
    pub dir: &'l ListedDir,
    pub started_ns: i64,
}

/// The names of one directory, judged. Sorted bytewise if they were considered in that order.
pub struct DirScan<'a> {
    rules: &'a Rules,
    dir_rules: &'a DirRules,
    known: Option<Known<'a>>,
    pub files: Vec<ListedFile>,
    pub uncaptured: Vec<Uncaptured>,
    pub subdirs: Vec<Name>,
}

/// The bytes of the `.gitignore` in this directory, if there is a regular file of that name that can be read.
pub fn read_ignore_file(dir: &Dir) -> Option<Vec<u8>> {
    let (file, stat) = dir.open_file(IGNORE_FILE).ok()?;
    if stat.size_bytes > MAX_IGNORE_FILE_BYTES {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_IGNORE_FILE_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

/// Whether a listing may hold a `.gitignore` that can be read.
pub fn may_be_ignore_file(item: &sys::Item) -> bool {
    *item.name == *IGNORE_FILE && matches!(item.kind, ItemKind::File | ItemKind::Unknown)
}

impl<'a> DirScan<'a> {
    pub fn new(rules: &'a Rules, dir_rules: &'a DirRules, known: Option<Known<'a>>) -> Self {
        Self { rules, dir_rules, known, files: Vec::new(), uncaptured: Vec::new(), subdirs: Vec::new() }
    }

    /// Judges one name. `kind` is what the listing told, and is asked for only where it told nothing.
    ///
    /// # Errors
    /// No descriptors or no memory left. All else is recorded with the name.
    pub fn consider(&mut self, dir: &Dir, name: Name, kind: ItemKind) -> io::Result<()> {
        if *name == *b".git" {
            self.leave(name, WhyNot::DotGit, kind);
            return Ok(());
        }
        if kind == ItemKind::Unnameable {
            self.leave(name, WhyNot::Unreadable("its name is not Unicode".into()), kind);
            return Ok(());
        }
        let mut stat = None;
        let mut kind = kind;
        if kind == ItemKind::Unknown {
            match self.stat(dir, &name)? {
                Some(found) => (stat, kind) = (Some(found), sys::kind_of(&found)),
                None => return Ok(()),
            }
        }
        if is_dot_git(&name) {
            self.leave(name, WhyNot::ReservedName, kind);
            return Ok(());
        }
        if kind == ItemKind::Dir && stage::is_stage_name(&name) {
            return Ok(());
        }
        self.judge(dir, name, kind, stat)
    }

    fn judge(&mut self, dir: &Dir, name: Name, kind: ItemKind, stat: Option<Stat>) -> io::Result<()> {
        let is_dir = kind == ItemKind::Dir;
        let peek = match self.rules.judge(self.dir_rules, &name, is_dir) {
            Verdict::Capture => None,
            Verdict::Peek(peek) => Some(peek),
            Verdict::OnlyTracked if is_dir => None,
            Verdict::OnlyTracked => {
                self.leave(name, WhyNot::LeftOut("not tracked".into()), kind);
                return Ok(());
            }
            Verdict::LeaveOut(rule) => {
                self.leave(name, WhyNot::LeftOut(rule), kind);
                return Ok(());
            }
            Verdict::Secret(rule) => {
                self.leave(name, WhyNot::Secret(rule), kind);
                return Ok(());
            }
        };
        match kind {
            ItemKind::Dir => self.subdirs.push(name),
            ItemKind::Fifo => self.leave(name, WhyNot::Fifo, kind),
            ItemKind::Socket => self.leave(name, WhyNot::Socket, kind),
            ItemKind::Device => self.leave(name, WhyNot::Device, kind),
            _ => return self.take(dir, name, kind, stat, peek),
        }
        Ok(())
    }

    /// A file or link that no rule left out.
    fn take(
        &mut self,
        dir: &Dir,
        name: Name,
        kind: ItemKind,
        stat: Option<Stat>,
        peek: Option<Peek>,
    ) -> io::Result<()> {
        let stat = match stat {
            Some(stat) => stat,
            None => match self.stat(dir, &name)? {
                Some(stat) => stat,
                None => return Ok(()),
            },
        };
        let kind_now = sys::kind_of(&stat);
        if kind_now != kind {
            // Replaced by another kind since it was listed: other rules may hold for what stands there now.
            return self.judge(dir, name, kind_now, Some(stat));
        }
        let file_kind = if kind == ItemKind::Symlink { Kind::Symlink } else { Kind::File };
        let is_over = |limit: u64| file_kind == Kind::File && stat.size_bytes > limit;
        if self.rules.max_file_size_bytes().is_some_and(is_over) {
            self.leave(name, WhyNot::TooLarge, kind);
            return Ok(());
        }
        let id = self.known_id(&name, file_kind, &stat);
        if let (Some(peek), None) = (&peek, id)
            && file_kind == Kind::File
            && is_secret(peek, dir, &name)?
        {
            self.leave(name, WhyNot::Secret(peek.rule().into()), kind);
            return Ok(());
        }
        insert_file(&mut self.files, ListedFile { name, kind: file_kind, stat, id, unsteady: false });
        Ok(())
    }

    /// `None` if it is gone, or cannot be looked at and is recorded as such.
    fn stat(&mut self, dir: &Dir, name: &[u8]) -> io::Result<Option<Stat>> {
        match dir.stat_child(name) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if sys::is_exhausted(&error) => Err(error),
            Err(error) => {
                self.leave(name.into(), WhyNot::Unreadable(sys::reason(&error)), ItemKind::Unknown);
                Ok(None)
            }
        }
    }

    /// The blob that this file had in the scan before, if nothing can have changed in it unseen.
    fn known_id(&self, name: &[u8], kind: Kind, stat: &Stat) -> Option<ObjectId> {
        let known = self.known?;
        let before = known.dir.file(name)?;
        let is_same = before.kind == kind && !before.unsteady && stat.same_content_as(&before.stat);
        if is_same && !is_racy(stat, known.started_ns) { before.id } else { None }
    }

    fn leave(&mut self, name: Name, why: WhyNot, kind: ItemKind) {
        insert_uncaptured(&mut self.uncaptured, Uncaptured { name, why, is_dir: kind == ItemKind::Dir });
    }
}

/// Whether the file may have changed after it was read without a trace in its times: they are not older than the scan
/// that saw it. A time in the future is never older.
fn is_racy(stat: &Stat, started_ns: i64) -> bool {
    const SECOND_NS: i64 = 1_000_000_000;
    let is_coarse = stat.mtime_ns % SECOND_NS == 0 && stat.ctime_ns % SECOND_NS == 0;
    let safe_before_ns = if is_coarse { started_ns.saturating_sub(COARSE_TICK_NS) } else { started_ns };
    stat.mtime_ns >= safe_before_ns || stat.ctime_ns >= safe_before_ns
}

/// A file that cannot be read is not judged here: it is reported when its content is wanted.
fn is_secret(peek: &Peek, dir: &Dir, name: &[u8]) -> io::Result<bool> {
    let mut head = Vec::new();
    let read = dir.open_file(name).and_then(|(file, _)| file.take(peek.len_bytes() as u64).read_to_end(&mut head));
    match read {
        Ok(_) => Ok(peek.is_secret(&head)),
        Err(error) if sys::is_exhausted(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Keeps the order by name; at the end, where names come sorted, without a search.
pub fn insert_file(files: &mut Vec<ListedFile>, file: ListedFile) {
    if files.last().is_none_or(|last| last.name < file.name) {
        files.push(file);
        return;
    }
    match files.binary_search_by(|held| held.name.cmp(&file.name)) {
        Ok(at) => files[at] = file,
        Err(at) => files.insert(at, file),
    }
}

/// The same for what is not captured.
pub fn insert_uncaptured(items: &mut Vec<Uncaptured>, item: Uncaptured) {
    if items.last().is_none_or(|last| last.name < item.name) {
        items.push(item);
        return;
    }
    match items.binary_search_by(|held| held.name.cmp(&item.name)) {
        Ok(at) => items[at] = item,
        Err(at) => items.insert(at, item),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_older_than_the_scan_is_racy() {
        let stat = |mtime_ns, ctime_ns| Stat { mtime_ns, ctime_ns, ..Stat::default() };
        assert!(!is_racy(&stat(99, 99), 100));
        assert!(is_racy(&stat(100, 99), 100));
        assert!(is_racy(&stat(99, 100), 100));
        assert!(is_racy(&stat(i64::MAX, 1), 100));
        let second = 1_000_000_000;
        assert!(is_racy(&stat(10 * second, 10 * second), 12 * second));
        assert!(!is_racy(&stat(10 * second, 10 * second), 12 * second + 1));
        assert!(!is_racy(&stat(10 * second + 1, 10 * second), 11 * second));
    }

    #[test]
    fn a_name_that_comes_late_finds_its_place() {
        let item = |name: &[u8]| Uncaptured { name: name.into(), why: WhyNot::Fifo, is_dir: false };
        let mut items = Vec::new();
        for name in [b"b", b"c", b"a", b"b"] {
            insert_uncaptured(&mut items, item(name));
        }
        let names: Vec<&[u8]> = items.iter().map(|item| &*item.name).collect();
        assert_eq!(names, [b"a", b"b", b"c"]);
    }
}
