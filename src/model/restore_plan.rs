//! What a restore would change, leave alone or stop at; pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::state::entry::{RWX_BITS, SPECIAL_BITS};
use crate::model::{Entry, PathFilter, RelPath, Scope, WhyNot};

/// Limits and options of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreScope {
    /// Paths to restore; empty means everything.
    pub paths: Vec<RelPath>,
    /// Scope of the restored checkpoint; nothing outside it changes.
    pub within: Option<Scope>,
    /// Patterns that narrow it further.
    pub filter: PathFilter,
    /// Delete nothing: write the target's files over the present ones.
    pub overlay: bool,
    /// Restore set-uid, set-gid and sticky bits too.
    pub special_bits: bool,
}

/// What blocks a planned write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// An uncaptured entry, with the reason if the scan recorded one.
    Uncaptured(Option<WhyNot>),
    /// A file where a directory is needed, and it must stay.
    File,
    /// A directory where a file is needed, and an overlay deletes nothing.
    Directory,
    /// The system would refuse the change.
    Refused(Refusal),
    /// It belongs to an SQLite database, of which this file would stay as it is.
    Parted(RelPath),
    /// A database that cannot be changed, or whose present state cannot be saved; in words.
    Database(String),
}

/// Why the system refuses to change a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    ReadOnly,
    /// Names in this directory cannot be changed.
    Directory,
    OtherOwner,
    Frozen,
    Mounted,
}

/// Everything that a restore would change or leave alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    /// Content to write, and the entry that it replaces.
    pub write: BTreeMap<RelPath, PlannedWrite>,
    /// Files of which only the permission bits change, with the new bits.
    pub chmod: BTreeMap<RelPath, u32>,
    /// Files to delete, with their present entries.
    pub delete: BTreeMap<RelPath, Entry>,
    pub make_dirs: BTreeMap<RelPath, u32>,
    /// Existing directories with their new permission bits.
    pub chmod_dirs: BTreeMap<RelPath, u32>,
    pub remove_dirs: BTreeSet<RelPath>,
    /// Uncaptured paths that the target lacks and that stay by rule, or directories holding them.
    pub left_alone: BTreeSet<RelPath>,
    /// Paths that stay because they cannot be read, with the reason: the target lacks them, or
    /// could not read them either.
    pub unreadable: BTreeMap<RelPath, WhyNot>,
    /// Reasons why this plan must not be executed.
    pub conflicts: Vec<(RelPath, Blocker)>,
    /// Number of files that already match the target.
    pub unchanged: usize,
}

/// What a plan does to a path.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum PlannedChange {
    Modified,
    Added,
    Deleted,
    Mode,
    DirectoryAdded,
    DirectoryDeleted,
}

impl PlannedChange {
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedWrite {
    pub before: Option<Entry>,
    pub after: Entry,
}

impl RestoreScope {
    /// Whether it acts on this file.
    pub fn covers(&self, path: &RelPath) -> bool {
        self.reaches(path) && self.filter.passes(path)
    }

    /// Whether it acts on this directory.
    pub fn covers_dir(&self, path: &RelPath) -> bool {
        self.reaches(path) && self.filter.passes_dir(path)
    }

    pub fn acts_on(&self, path: &RelPath, is_dir: bool) -> bool {
        if is_dir {
            self.covers_dir(path)
        } else {
            self.covers(path)
        }
    }

    fn reaches(&self, path: &RelPath) -> bool {
        let is_asked_for =
            self.paths.is_empty() || self.paths.iter().any(|limit| path.is_at_or_below(limit));
        is_asked_for && self.within.as_ref().is_none_or(|scope| scope.covers(path))
    }

    /// Returns the entries of a map of files that the restore covers.
    pub(super) fn covered<'m, V>(
        &'m self,
        map: &'m BTreeMap<RelPath, V>,
    ) -> impl Iterator<Item = (&'m RelPath, &'m V)> {
        map.iter().filter(|(path, _)| self.covers(path))
    }

    pub fn is_everything(&self) -> bool {
        self.paths.is_empty() && self.within.is_none() && self.filter.is_empty()
    }

    pub(super) fn perm_bits(&self) -> u32 {
        if self.special_bits {
            RWX_BITS | SPECIAL_BITS
        } else {
            RWX_BITS
        }
    }
}

impl RestorePlan {
    /// Whether there are no changes and no conflicts.
    pub fn is_empty(&self) -> bool {
        self.conflicts.is_empty() && self.change_count() == 0
    }

    /// Whether no path of either state was within the limits.
    pub fn is_of_nothing(&self) -> bool {
        self.is_empty() && self.unchanged == 0 && self.left_alone.is_empty()
    }

    pub fn change_count(&self) -> usize {
        self.write.len()
            + self.chmod.len()
            + self.delete.len()
            + self.make_dirs.len()
            + self.chmod_dirs.len()
            + self.remove_dirs.len()
    }

    /// Returns every path that changes, in order.
    pub fn changes(&self) -> Vec<(&RelPath, PlannedChange)> {
        let written = self.write.iter().map(|(path, write)| {
            let is_new = write.before.is_none();
            let change = if is_new {
                PlannedChange::Added
            } else {
                PlannedChange::Modified
            };
            (path, change)
        });
        let of = |change| move |path| (path, change);
        let modes = self.chmod.keys().chain(self.chmod_dirs.keys());
        let mut all: Vec<_> = written
            .chain(self.delete.keys().map(of(PlannedChange::Deleted)))
            .chain(modes.map(of(PlannedChange::Mode)))
            .chain(self.make_dirs.keys().map(of(PlannedChange::DirectoryAdded)))
            .chain(
                self.remove_dirs
                    .iter()
                    .map(of(PlannedChange::DirectoryDeleted)),
            )
            .collect();
        all.sort_unstable();
        all
    }

    /// Returns the number of paths with this change.
    pub fn count(&self, change: PlannedChange) -> usize {
        let new = self.write.values().filter(|write| write.before.is_none());
        match change {
            PlannedChange::Added => new.count(),
            PlannedChange::Modified => self.write.len() - new.count(),
            PlannedChange::Deleted => self.delete.len(),
            PlannedChange::Mode => self.chmod.len() + self.chmod_dirs.len(),
            PlannedChange::DirectoryAdded => self.make_dirs.len(),
            PlannedChange::DirectoryDeleted => self.remove_dirs.len(),
        }
    }

    pub fn directories_above_deleted(&self) -> BTreeSet<RelPath> {
        let parents: BTreeSet<RelPath> = self.delete.keys().filter_map(RelPath::parent).collect();
        let dirs = parents.iter().flat_map(RelPath::self_and_ancestors);
        dirs.collect()
    }

    /// Adds a plan that was carried out after this one: what both changed, as seen from the start.
    pub fn add(&mut self, next: Self) {
        for (path, write) in next.write {
            self.chmod.remove(&path);
            let deleted = self.delete.remove(&path);
            let first = self.write.get(&path);
            let before = first.map_or(deleted.or(write.before), |first| first.before);
            if before == Some(write.after) {
                self.write.remove(&path);
            } else {
                self.write.insert(path, PlannedWrite { before, ..write });
            }
        }
        for (path, entry) in next.delete {
            self.chmod.remove(&path);
            let written = self.write.remove(&path);
            let before = written.map_or(Some(entry), |first| first.before);
            self.delete.extend(before.map(|entry| (path, entry)));
        }
        for (dir, perm) in next.make_dirs {
            if !self.remove_dirs.remove(&dir) {
                self.make_dirs.insert(dir, perm);
            }
        }
        for dir in next.remove_dirs {
            self.chmod_dirs.remove(&dir);
            if self.make_dirs.remove(&dir).is_none() {
                self.remove_dirs.insert(dir);
            }
        }
        let is_new =
            |path: &RelPath| self.write.contains_key(path) || self.make_dirs.contains_key(path);
        let modes = |map: BTreeMap<RelPath, u32>| map.into_iter().filter(|(path, _)| !is_new(path));
        self.chmod.extend(modes(next.chmod));
        self.chmod_dirs.extend(modes(next.chmod_dirs));
        self.left_alone.extend(next.left_alone);
        self.unreadable.extend(next.unreadable);
        self.unchanged = next.unchanged;
    }
}
