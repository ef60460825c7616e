//! Judges the names of one directory: captured, left out and why, or to be entered.

use std::io::{self, Read};

use crate::base::random_name::is_passing_name;
use crate::model::checkpoint::limits;
use crate::model::default_rules::IGNORE_FILE;
use crate::model::state::rel_path::is_dot_git;
use crate::model::{Files, Kind, ListedFile, ListedUncaptured, Name, ObjectId, Stat, WhyNot};
use crate::worktree::apply::stage;
use crate::worktree::rules::rule_set::{DirRules, Peek};
use crate::worktree::sys::{self, Dir, ItemKind};
use crate::worktree::{RuleVerdict, Rules};

/// Upper bound on an ignore file in bytes; a larger one is treated as absent.
const MAX_IGNORE_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The judged names of one directory, sorted bytewise; `subdirs` are in the order considered.
pub struct DirScan<'a> {
    rules: &'a Rules,
    dir_rules: &'a DirRules,
    /// Files of the same directory in the last scan; racy ones have no blob id there.
    known: Option<Files>,
    pub files: Vec<ListedFile>,
    pub uncaptured: Vec<ListedUncaptured>,
    pub subdirs: Vec<Name>,
    /// Whether the result depends only on names and kinds, not on contents or sizes.
    pub is_decided_by_names: bool,
}

/// Returns the content of the `.gitignore` in this directory, if it is a readable regular file.
pub fn read_ignore_file(dir: &Dir) -> Option<Vec<u8>> {
    let (file, stat) = dir.open_file(IGNORE_FILE).ok()?;
    if stat.size_bytes > MAX_IGNORE_FILE_BYTES {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_IGNORE_FILE_BYTES)
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}

/// Whether an item may be a readable `.gitignore`.
pub fn may_be_ignore_file(item: &sys::Item) -> bool {
    *item.name == *IGNORE_FILE && matches!(item.kind, ItemKind::File | ItemKind::Unknown)
}

/// Whether these names are those of a store (of any base) or of its remains: our names beside
/// git's, one of the two sets complete.
pub fn is_store(items: &[sys::Item]) -> bool {
    let has = |name: &[u8], kind| {
        items
            .iter()
            .any(|item| *item.name == *name && is_kind(item.kind, kind))
    };
    let ours = [
        has(b"checkpoint-manifest.md", ItemKind::File),
        has(b"checkpoint", ItemKind::Dir),
    ];
    if ours == [false; 2] {
        return false;
    }
    let of_git = [
        has(b"HEAD", ItemKind::File),
        has(b"objects", ItemKind::Dir),
        has(b"refs", ItemKind::Dir),
    ];
    of_git == [true; 3] || (ours == [true; 2] && of_git != [false; 3])
}

/// Whether a listed kind may be `kind`; an unknown one may be any.
fn is_kind(told: ItemKind, kind: ItemKind) -> bool {
    told == kind || told == ItemKind::Unknown
}

impl<'a> DirScan<'a> {
    pub fn new(rules: &'a Rules, dir_rules: &'a DirRules, known: Option<Files>) -> Self {
        let (files, uncaptured, subdirs) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            rules,
            dir_rules,
            known,
            files,
            uncaptured,
            subdirs,
            is_decided_by_names: true,
        }
    }

    /// Judges one name. `kind` comes from the directory listing; an unknown one is looked up.
    ///
    /// # Errors
    /// No descriptors or memory left. Other failures are recorded with the name.
    pub fn consider(&mut self, dir: &Dir, name: Name, kind: ItemKind) -> io::Result<()> {
        if *name == *b".git" {
            self.leave(name, WhyNot::DotGit, kind);
            return Ok(());
        }
        if kind == ItemKind::Unnameable {
            self.leave(
                name,
                WhyNot::Unreadable("its name is not Unicode".into()),
                kind,
            );
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
        if let Some(why) = limits::name_problem(&name) {
            self.leave(name, WhyNot::Unreadable(why), kind);
            return Ok(());
        }
        let is_ours = match kind {
            ItemKind::Dir => stage::is_stage_name(&name),
            ItemKind::File => is_passing_name(&name),
            _ => false,
        };
        if is_ours {
            return Ok(());
        }
        self.judge(dir, name, kind, stat)
    }

    fn judge(
        &mut self,
        dir: &Dir,
        name: Name,
        kind: ItemKind,
        stat: Option<Stat>,
    ) -> io::Result<()> {
        let is_dir = kind == ItemKind::Dir;
        let peek = match self.rules.judge(self.dir_rules, &name, is_dir) {
            RuleVerdict::Capture => None,
            RuleVerdict::Peek(peek) => Some(peek),
            RuleVerdict::OnlyTracked if is_dir => None,
            RuleVerdict::OnlyTracked => {
                self.leave(name, WhyNot::LeftOut("not tracked".into()), kind);
                return Ok(());
            }
            RuleVerdict::LeaveOut(rule) => {
                self.leave(name, WhyNot::LeftOut(rule), kind);
                return Ok(());
            }
            RuleVerdict::Secret(rule) => {
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

    /// Adds a file or symlink that no rule left out.
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
            // The kind changed since the listing, so other rules may apply.
            return self.judge(dir, name, kind_now, Some(stat));
        }
        let file_kind = if kind == ItemKind::Symlink {
            Kind::Symlink
        } else {
            Kind::File
        };
        let is_over = |limit: u64| file_kind == Kind::File && stat.size_bytes > limit;
        if self.rules.max_file_size_bytes().is_some_and(is_over) {
            self.leave(name, WhyNot::TooLarge, kind);
            return Ok(());
        }
        let id = self.known_id(&name, file_kind, &stat);
        // Also one that is known: the last scan may have been allowed to take it.
        if let Some(peek) = &peek
            && file_kind == Kind::File
            && is_secret(peek, dir, &name)?
        {
            // Another content could change the verdict.
            self.is_decided_by_names = false;
            self.leave(name, WhyNot::Secret(peek.rule().into()), kind);
            return Ok(());
        }
        insert_file(
            &mut self.files,
            ListedFile {
                name,
                kind: file_kind,
                stat,
                id,
                racy: false,
            },
        );
        Ok(())
    }

    /// Returns the stat; `None` if the name is gone, or unreadable and recorded as such.
    fn stat(&mut self, dir: &Dir, name: &[u8]) -> io::Result<Option<Stat>> {
        match dir.stat_child(name) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if sys::is_exhausted(&error) => Err(error),
            Err(error) => {
                self.leave(
                    name.into(),
                    WhyNot::Unreadable(sys::reason(&error)),
                    ItemKind::Unknown,
                );
                Ok(None)
            }
        }
    }

    /// Returns the file's blob id from the last scan, if the file is unchanged and was not racy.
    fn known_id(&self, name: &[u8], kind: Kind, stat: &Stat) -> Option<ObjectId> {
        let before = self.known.as_ref()?.get(name)?;
        let is_same = before.kind == kind && stat.same_content_as(&before.stat);
        before.id.filter(|_| is_same)
    }

    /// Whether an ignore file was captured here.
    pub fn has_ignore_file(&self) -> bool {
        self.files.iter().any(|file| *file.name == *IGNORE_FILE)
    }

    /// Whether the ignore file may differ from that of the last scan; `stands` says whether one
    /// exists now.
    pub fn ignore_file_changed(&self, stands: bool) -> bool {
        let stood = self
            .known
            .as_ref()
            .is_some_and(|known| known.get(IGNORE_FILE).is_some());
        let is_same = || {
            self.files
                .iter()
                .any(|file| *file.name == *IGNORE_FILE && file.id.is_some())
        };
        stands != stood || stands && !is_same()
    }

    fn leave(&mut self, name: Name, why: WhyNot, kind: ItemKind) {
        self.is_decided_by_names &= !matches!(why, WhyNot::TooLarge | WhyNot::Unreadable(_));
        insert_uncaptured(
            &mut self.uncaptured,
            ListedUncaptured {
                name,
                why,
                is_dir: kind == ItemKind::Dir,
            },
        );
    }
}

/// Whether the content makes the file a secret; an unreadable file passes and is reported when its
/// content is read.
fn is_secret(peek: &Peek, dir: &Dir, name: &[u8]) -> io::Result<bool> {
    let mut head = Vec::new();
    let read = dir
        .open_file(name)
        .and_then(|(file, _)| file.take(peek.len_bytes() as u64).read_to_end(&mut head));
    match read {
        Ok(_) => Ok(peek.is_secret(&head)),
        Err(error) if sys::is_exhausted(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Inserts a file by name; appends without a search if the names come sorted.
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

/// As [`insert_file`], for uncaptured items.
pub fn insert_uncaptured(items: &mut Vec<ListedUncaptured>, item: ListedUncaptured) {
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
    fn a_name_that_comes_late_finds_its_place() {
        let item = |name: &[u8]| ListedUncaptured {
            name: name.into(),
            why: WhyNot::Fifo,
            is_dir: false,
        };
        let mut items = Vec::new();
        for name in [b"b", b"c", b"a", b"b"] {
            insert_uncaptured(&mut items, item(name));
        }
        let names: Vec<&[u8]> = items.iter().map(|item| &*item.name).collect();
        assert_eq!(names, [b"a", b"b", b"c"]);
    }
}
