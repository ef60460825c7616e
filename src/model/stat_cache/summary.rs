//! What a directory of the stat cache holds with all below it, so that none of it has to be looked at.

use crate::model::stat_cache::cached_block::{put_number, put_small, u32_at, u64_at};
use crate::model::state::entry::{FileView, Kind};
use crate::model::{ListedDir, Stat};

const SETTLED: u32 = 1;
const PLAIN: u32 = 2;

/// Counts of a directory and all below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Captured files and symlinks.
    pub files: u32,
    pub content_bytes: u64,
    /// Files, executables and directories.
    pub classes: [ModeClass; 3],
    /// Whether an unchanged directory tells that everything is unchanged: no verdict on a file
    /// needs another look, and no file has a second name, under which a write would go unnoticed.
    pub is_settled: bool,
    /// Whether the permission bits of each class are the same, and the meta of a checkpoint names
    /// nothing else in it: no empty directory, nothing left out, no log of a database.
    pub is_plain: bool,
}

/// How many there are of a class, and their permission bits, if these are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeClass {
    pub count: u32,
    pub perm: u32,
}

impl Summary {
    /// Counts a directory alone.
    pub fn of(dir: &ListedDir, is_settled: bool) -> Self {
        let mut summary = Self {
            is_settled,
            is_plain: dir.uncaptured.is_empty() && (!dir.files.is_empty() || !dir.dirs.is_empty()),
            ..Self::default()
        };
        summary.count(2, &dir.stat);
        for file in dir.files.iter() {
            summary.add_file(&file);
        }
        summary
    }

    fn add_file(&mut self, file: &FileView<'_>) {
        self.files += 1;
        self.content_bytes = self.content_bytes.saturating_add(file.stat.size_bytes);
        self.is_settled &= file.stat.links <= 1;
        self.is_plain &= !is_log(file.name);
        if file.kind == Kind::File {
            self.count(usize::from(file.stat.mode & 0o100 != 0), &file.stat);
        }
    }

    fn count(&mut self, class: usize, stat: &Stat) {
        let one = ModeClass {
            count: 1,
            perm: stat.perm(),
        };
        self.add_class(class, one);
    }

    fn add_class(&mut self, class: usize, more: ModeClass) {
        let held = &mut self.classes[class];
        if held.count == 0 {
            *held = more;
        } else if more.count > 0 {
            self.is_plain &= held.perm == more.perm;
            held.count = held.count.saturating_add(more.count);
        }
    }

    /// Adds a directory below.
    pub fn add(&mut self, below: &Self) {
        self.files = self.files.saturating_add(below.files);
        self.content_bytes = self.content_bytes.saturating_add(below.content_bytes);
        self.is_settled &= below.is_settled;
        self.is_plain &= below.is_plain;
        for (class, more) in below.classes.into_iter().enumerate() {
            self.add_class(class, more);
        }
    }

    pub(in crate::model) fn render(&self, out: &mut Vec<u8>) {
        let flags = [(self.is_settled, SETTLED), (self.is_plain, PLAIN)];
        let flags: u32 = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum();
        // Permission bits take twelve bits each.
        let [files, executables, dirs] = self.classes.map(|class| class.perm & 0o7777);
        let counts = self.classes.map(|class| class.count);
        put_small(out, &[self.files]);
        put_small(out, &counts);
        put_small(out, &[files | executables << 16, dirs | flags << 16]);
        put_number(out, self.content_bytes);
    }

    /// Parses what [`Self::render`] wrote.
    pub(in crate::model) fn parse(record: &[u8]) -> Self {
        let [files, dirs] = [u32_at(record, 16), u32_at(record, 20)];
        let perms = [files & 0xffff, files >> 16, dirs & 0xffff];
        let mut classes = [ModeClass::default(); 3];
        for (at, (class, perm)) in classes.iter_mut().zip(perms).enumerate() {
            *class = ModeClass {
                count: u32_at(record, 4 + 4 * at),
                perm,
            };
        }
        Self {
            files: u32_at(record, 0),
            content_bytes: u64_at(record, 24),
            classes,
            is_settled: (dirs >> 16) & SETTLED != 0,
            is_plain: (dirs >> 16) & PLAIN != 0,
        }
    }
}

/// Whether a name is that of the log of a database.
pub fn is_log(name: &[u8]) -> bool {
    name.ends_with(b"-wal") || name.ends_with(b"-journal")
}
