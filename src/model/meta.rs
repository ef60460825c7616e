//! What a git tree cannot hold: permission bits, empty directories, what was not captured, and the rules in force.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::entry::{Kind, RWX_BITS};
use crate::model::listing::{ListedDir, Listing};
use crate::model::rel_path::RelPath;
use crate::model::snapshot::{Snapshot, Standing};

/// The record beside a tree. Equal directories give equal metas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    pub usual: UsualModes,
    /// Permission bits of files and directories that differ from the usual ones of their class.
    pub unusual: BTreeMap<RelPath, u32>,
    /// Directories with neither a captured file nor a directory in them.
    pub empty_dirs: BTreeSet<RelPath>,
    /// Present, but not captured. Their parents are directories of this checkpoint too.
    pub uncaptured: BTreeMap<RelPath, Standing>,
    pub rules: RuleRecord,
}

/// The commonest permission bits of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualModes {
    pub file: u32,
    pub executable: u32,
    pub directory: u32,
}

/// The rules outside the tree, where they differ from the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleRecord {
    pub store_list: Option<Vec<u8>>,
    pub excludes: Vec<String>,
    pub sensitive_allow: Vec<String>,
    pub max_file_size_bytes: Option<u64>,
}

impl Default for UsualModes {
    fn default() -> Self {
        Self { file: 0o644, executable: 0o755, directory: 0o755 }
    }
}

impl Meta {
    /// What is to be recorded beside the tree of this listing.
    pub fn of(listing: &Listing, rules: RuleRecord) -> Self {
        let usual = usual_modes(listing);
        let mut meta = Self { usual, rules, ..Self::default() };
        for (index, dir) in listing.dirs.iter().enumerate() {
            meta.note_dir(listing, index, dir);
        }
        meta
    }

    /// Paths are made only where there is something to say of them.
    fn note_dir(&mut self, listing: &Listing, index: usize, dir: &ListedDir) {
        let usual = self.usual;
        if dir.stat.perm() != usual.directory {
            self.unusual.insert(listing.path_of(index), dir.stat.perm());
        }
        if dir.files.is_empty() && dir.dirs.is_empty() {
            self.empty_dirs.insert(listing.path_of(index));
        }
        for file in dir.files.iter().filter(|file| file.kind == Kind::File) {
            let perm = file.stat.perm();
            if perm != usual.of_file(perm) {
                self.unusual.insert(listing.path_of(index).join(file.name), perm);
            }
        }
        for item in dir.uncaptured.iter().filter(|item| item.why.is_recorded()) {
            let standing = Standing { why: item.why.clone(), is_dir: item.is_dir };
            self.uncaptured.insert(listing.path_of(index).join(&item.name), standing);
        }
    }

    /// Whether a file that this state lacks may have stood there all the same: it, or a directory above it, was present
    /// and not captured.
    pub fn hides(&self, path: &RelPath) -> bool {
        let mut standing = std::iter::once(path.clone()).chain(path.ancestors());
        standing.any(|path| self.uncaptured.get(&path).is_some_and(|standing| standing.why.may_hide_files()))
    }

    /// Puts permission bits, empty directories and what was not captured into a state read from a tree,
    /// whose entries have the bits that git knows. Directories are completed from the paths of the files.
    pub fn complete(&self, snapshot: &mut Snapshot) {
        for (path, entry) in snapshot.files.iter_mut().filter(|(_, entry)| entry.kind == Kind::File) {
            entry.perm = self.unusual.get(path).copied().unwrap_or(self.usual.of_file(entry.perm));
        }
        snapshot.uncaptured.extend(self.uncaptured.clone());
        let mut dirs = BTreeSet::from([RelPath::root()]);
        dirs.extend(self.empty_dirs.iter().cloned());
        let holders = snapshot.files.keys().chain(&self.empty_dirs).chain(snapshot.uncaptured.keys());
        for path in holders {
            add_ancestors(path, &mut dirs);
        }
        for path in dirs {
            let perm = self.unusual.get(&path).copied().unwrap_or(self.usual.directory);
            snapshot.dirs.insert(path, perm);
        }
    }
}

fn add_ancestors(path: &RelPath, dirs: &mut BTreeSet<RelPath>) {
    for above in path.ancestors() {
        if !dirs.insert(above) {
            return;
        }
    }
}

impl UsualModes {
    fn of_file(&self, perm: u32) -> u32 {
        if perm & 0o100 == 0 { self.file } else { self.executable }
    }
}

fn usual_modes(listing: &Listing) -> UsualModes {
    let [mut files, mut executables, mut directories] = [(); 3].map(|()| Counts([0; PERMS]));
    for dir in &listing.dirs {
        directories.count(dir.stat.perm());
        for file in dir.files.iter().filter(|file| file.kind == Kind::File) {
            let perm = file.stat.perm();
            if perm & 0o100 == 0 { files.count(perm) } else { executables.count(perm) }
        }
    }
    let standard = UsualModes::default();
    UsualModes {
        file: files.commonest(standard.file),
        executable: executables.commonest(standard.executable),
        directory: directories.commonest(standard.directory),
    }
}

const PERMS: usize = RWX_BITS as usize + 1;

/// How often each of the permission bits without special ones was met.
struct Counts([u64; PERMS]);

impl Counts {
    /// Special bits are never usual.
    fn count(&mut self, perm: u32) {
        if let Some(count) = self.0.get_mut(perm as usize) {
            *count += 1;
        }
    }

    /// The smaller of two that are equally common.
    fn commonest(&self, default: u32) -> u32 {
        let met = (0..=RWX_BITS).rev().zip(self.0.iter().rev()).filter(|(_, count)| **count > 0);
        met.max_by_key(|(_, count)| **count).map_or(default, |(perm, _)| perm)
    }
}
