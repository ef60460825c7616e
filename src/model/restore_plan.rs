//! What a restore would do: a pure plan between the present state and the target.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::entry::{Entry, RWX_BITS, SPECIAL_BITS};
use crate::model::obstacle::Obstacle;
use crate::model::rel_path::RelPath;
use crate::model::snapshot::{Snapshot, below};

/// How far a restore goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Limits; empty means everything.
    pub paths: Vec<RelPath>,
    /// Nothing is deleted: files of the target are laid over what is there.
    pub overlay: bool,
    /// Set-uid, set-gid and sticky bits are put back too.
    pub special_bits: bool,
}

/// Everything that a restore would change, and what it would not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestorePlan {
    /// Content that goes in, and what it replaces.
    pub write: BTreeMap<RelPath, Write>,
    /// Files whose content is right and whose permission bits are not: the bits they get.
    pub chmod: BTreeMap<RelPath, u32>,
    /// Files that go, with what they are now.
    pub delete: BTreeMap<RelPath, Entry>,
    pub make_dirs: BTreeMap<RelPath, u32>,
    /// Directories that stay but get other permission bits.
    pub chmod_dirs: BTreeMap<RelPath, u32>,
    pub remove_dirs: BTreeSet<RelPath>,
    /// Directories that should go and stay, because they hold what no checkpoint holds.
    pub left_alone: BTreeSet<RelPath>,
    /// Why this plan must not be carried out.
    pub conflicts: Vec<Obstacle>,
    /// Files that are right already.
    pub unchanged: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    pub before: Option<Entry>,
    pub after: Entry,
}

impl Reach {
    pub fn covers(&self, path: &RelPath) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|limit| path.is_at_or_below(limit))
    }

    fn perm_bits(&self) -> u32 {
        if self.special_bits { RWX_BITS | SPECIAL_BITS } else { RWX_BITS }
    }
}

impl RestorePlan {
    /// Plans from `present` to `target`. `may_delete` answers for a path that the target lacks, and tells whether it
    /// is a directory: would the target's own rules have captured it?
    pub fn between(
        present: &Snapshot,
        target: &Snapshot,
        reach: &Reach,
        may_delete: &dyn Fn(&RelPath, bool) -> bool,
    ) -> Self {
        let mut planner = Planner { present, target, reach, may_delete, plan: Self::default() };
        planner.plan_files();
        planner.plan_deletions();
        planner.plan_dirs();
        planner.plan_removals();
        planner.plan
    }

    /// Whether there is nothing to do and nothing in the way.
    pub fn is_empty(&self) -> bool {
        self.conflicts.is_empty() && self.change_count() == 0
    }

    pub fn change_count(&self) -> usize {
        self.write.len()
            + self.chmod.len()
            + self.delete.len()
            + self.make_dirs.len()
            + self.chmod_dirs.len()
            + self.remove_dirs.len()
    }
}

struct Planner<'p> {
    present: &'p Snapshot,
    target: &'p Snapshot,
    reach: &'p Reach,
    may_delete: &'p dyn Fn(&RelPath, bool) -> bool,
    plan: RestorePlan,
}

impl Planner<'_> {
    fn plan_files(&mut self) {
        for (path, after) in self.target.files.iter().filter(|(path, _)| self.reach.covers(path)) {
            match self.present.files.get(path) {
                Some(before) if before.kind == after.kind && before.id == after.id => {
                    if (before.perm ^ after.perm) & self.reach.perm_bits() == 0 {
                        self.plan.unchanged += 1;
                    } else {
                        self.plan.chmod.insert(path.clone(), after.perm);
                    }
                }
                before => {
                    self.make_room_for_file(path);
                    self.plan.write.insert(path.clone(), Write { before: before.copied(), after: *after });
                }
            }
        }
    }

    /// Whatever stands where a file or link is needed must be held by a checkpoint.
    fn make_room_for_file(&mut self, path: &RelPath) {
        if let Some(found) = self.present.uncaptured_at_or_below(path).cloned() {
            return self.conflict(found);
        }
        if !self.present.dirs.contains_key(path) {
            return;
        }
        if self.reach.overlay {
            return self
                .refuse(path.clone(), "a directory stands where a file is needed, and --overlay deletes nothing");
        }
        let gone = below(&self.present.files, path).map(|(path, entry)| (path.clone(), *entry));
        self.plan.delete.extend(gone);
        self.plan.remove_dirs.extend(below(&self.present.dirs, path).map(|(path, _)| path.clone()));
    }

    fn plan_deletions(&mut self) {
        if self.reach.overlay {
            return;
        }
        for (path, entry) in self.present.files.iter().filter(|(path, _)| self.reach.covers(path)) {
            let gone = !self.target.files.contains_key(path) && self.is_targets_business(path, false);
            if gone {
                self.plan.delete.insert(path.clone(), *entry);
            }
        }
    }

    /// What the target could not capture, or left out by its own rules, is left alone.
    fn is_targets_business(&self, path: &RelPath, is_dir: bool) -> bool {
        let untouchable = |path: &RelPath| self.target.uncaptured.contains_key(path);
        !untouchable(path) && !path.ancestors().any(|above| untouchable(&above)) && (self.may_delete)(path, is_dir)
    }

    fn plan_dirs(&mut self) {
        let needed = self.needed_dirs();
        for (path, perm) in needed {
            match self.present.dirs.get(&path) {
                Some(before) if self.reach.covers(&path) => {
                    if (before ^ perm) & self.reach.perm_bits() != 0 {
                        self.plan.chmod_dirs.insert(path, perm);
                    }
                }
                Some(_) => {}
                None => self.make_room_for_dir(path, perm),
            }
        }
    }

    /// Directories of the target within reach, and those above them.
    fn needed_dirs(&self) -> BTreeMap<RelPath, u32> {
        let mut needed = BTreeMap::new();
        let ends = self.target.dirs.keys().filter(|path| self.reach.covers(path));
        let holders = self.plan.write.keys().chain(self.plan.chmod.keys()).filter_map(RelPath::parent);
        for path in ends.cloned().chain(holders.collect::<Vec<_>>()) {
            for dir in std::iter::once(path.clone()).chain(path.ancestors()) {
                let Some(perm) = self.target.dirs.get(&dir) else { continue };
                if needed.insert(dir, *perm).is_some() {
                    break;
                }
            }
        }
        needed
    }

    fn make_room_for_dir(&mut self, path: RelPath, perm: u32) {
        if let Some(standing) = self.present.uncaptured.get(&path) {
            let only_left_out = standing.is_dir && !standing.why.is_recorded();
            if !only_left_out {
                self.conflict(path);
            }
            return;
        }
        if let Some(file) = self.present.files.get(&path) {
            if self.reach.overlay || !self.reach.covers(&path) {
                return self.refuse(path, "a file stands where a directory is needed");
            }
            self.plan.delete.insert(path.clone(), *file);
        }
        self.plan.make_dirs.insert(path, perm);
    }

    /// Directories go deepest first: one goes only if nothing stays in it.
    fn plan_removals(&mut self) {
        if self.reach.overlay {
            return;
        }
        let mut stays: BTreeSet<RelPath> = self.plan.make_dirs.keys().filter_map(RelPath::parent).collect();
        stays.extend(self.plan.write.keys().filter_map(RelPath::parent));
        let kept = self.present.files.keys().filter(|path| !self.plan.delete.contains_key(*path));
        stays.extend(kept.filter_map(RelPath::parent));
        let mut holds_uncaptured: BTreeSet<RelPath> =
            self.present.uncaptured.keys().filter_map(RelPath::parent).collect();
        for path in self.present.dirs.keys().rev() {
            let unwanted = !self.target.dirs.contains_key(path) && self.reach.covers(path);
            let goes = unwanted && !stays.contains(path) && !holds_uncaptured.contains(path);
            if goes && (self.plan.remove_dirs.contains(path) || self.is_targets_business(path, true)) {
                self.plan.remove_dirs.insert(path.clone());
                continue;
            }
            self.plan.remove_dirs.remove(path);
            if unwanted
                && holds_uncaptured.contains(path)
                && !stays.contains(path)
                && self.is_targets_business(path, true)
            {
                self.plan.left_alone.insert(path.clone());
                holds_uncaptured.extend(path.parent());
            } else {
                stays.extend(path.parent());
            }
        }
    }

    fn conflict(&mut self, path: RelPath) {
        let why = self.present.uncaptured.get(&path).map_or("not captured", |standing| standing.why.in_words());
        self.refuse(path, why);
    }

    fn refuse(&mut self, path: RelPath, why: &str) {
        if !self.plan.conflicts.iter().any(|known| known.path == path) {
            self.plan.conflicts.push(Obstacle { path, why: why.to_owned() });
        }
    }
}
