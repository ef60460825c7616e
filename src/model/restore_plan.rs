//! What a restore would change, leave alone or stop at, planned from the present state and the target;
//! pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::state::entry::{RWX_BITS, SPECIAL_BITS};
use crate::model::state::snapshot::below;
use crate::model::{Entry, PathFilter, RelPath, Scope, Snapshot, WhyNot};

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
        path.is_within(&self.paths) && self.within.as_ref().is_none_or(|scope| scope.covers(path))
    }

    /// Returns the entries of a map of files that the restore covers.
    fn covered<'m, V>(
        &'m self,
        map: &'m BTreeMap<RelPath, V>,
    ) -> impl Iterator<Item = (&'m RelPath, &'m V)> {
        map.iter().filter(|(path, _)| self.covers(path))
    }

    pub fn is_everything(&self) -> bool {
        self.paths.is_empty() && self.within.is_none() && self.filter.is_empty()
    }

    fn perm_bits(&self) -> u32 {
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
        self.conflicts.is_empty() && self.each_change().next().is_none()
    }

    /// Whether no path of either state was within the limits.
    pub fn is_of_nothing(&self) -> bool {
        self.is_empty() && self.unchanged == 0 && self.left_alone.is_empty()
    }

    pub fn change_count(&self) -> usize {
        self.each_change().count()
    }

    /// Returns every path that changes, in order.
    pub fn changes(&self) -> Vec<(&RelPath, PlannedChange)> {
        let mut all: Vec<_> = self.each_change().collect();
        all.sort_unstable();
        all
    }

    fn each_change(&self) -> impl Iterator<Item = (&RelPath, PlannedChange)> {
        let written = self.write.iter().map(|(path, write)| {
            let change = match write.before {
                None => PlannedChange::Added,
                Some(_) => PlannedChange::Modified,
            };
            (path, change)
        });
        let of = |change| move |path| (path, change);
        let modes = self.chmod.keys().chain(self.chmod_dirs.keys());
        let gone = self.remove_dirs.iter();
        written
            .chain(self.delete.keys().map(of(PlannedChange::Deleted)))
            .chain(modes.map(of(PlannedChange::Mode)))
            .chain(self.make_dirs.keys().map(of(PlannedChange::DirectoryAdded)))
            .chain(gone.map(of(PlannedChange::DirectoryDeleted)))
    }

    /// Returns the number of paths with this change.
    pub fn count(&self, change: PlannedChange) -> usize {
        let with_it = self.each_change().filter(|(_, found)| *found == change);
        with_it.count()
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

impl RestorePlan {
    /// Plans from `present` to `target`. `may_delete` gets a path that the target lacks and whether
    /// it is a directory, and returns whether the target's own rules would have captured it.
    pub fn between(
        present: &Snapshot,
        target: &Snapshot,
        scope: &RestoreScope,
        may_delete: &dyn Fn(&RelPath, bool) -> bool,
    ) -> Self {
        let mut planner = Planner {
            present,
            target,
            scope,
            may_delete,
            plan: Self::default(),
            refused: BTreeSet::new(),
        };
        planner.plan_files();
        planner.plan_deletions();
        planner.plan_dirs();
        planner.plan_removals();
        planner.name_what_stays();
        planner.plan
    }
}

struct Planner<'p> {
    present: &'p Snapshot,
    target: &'p Snapshot,
    scope: &'p RestoreScope,
    may_delete: &'p dyn Fn(&RelPath, bool) -> bool,
    plan: RestorePlan,
    /// Paths of the conflicts.
    refused: BTreeSet<RelPath>,
}

impl Planner<'_> {
    fn plan_files(&mut self) {
        for (path, after) in self.scope.covered(&self.target.files) {
            match self.present.files.get(path) {
                Some(before) if before.kind == after.kind && before.id == after.id => {
                    if (before.perm ^ after.perm) & self.scope.perm_bits() == 0 {
                        self.plan.unchanged += 1;
                    } else {
                        self.plan.chmod.insert(path.clone(), after.perm);
                    }
                }
                before => {
                    self.make_room_for_file(path);
                    self.plan.write.insert(
                        path.clone(),
                        PlannedWrite {
                            before: before.copied(),
                            after: *after,
                        },
                    );
                }
            }
        }
    }

    /// Makes room for a file; anything uncaptured in its place is a conflict.
    fn make_room_for_file(&mut self, path: &RelPath) {
        if let Some(found) = self.present.uncaptured_at_or_below(path).cloned() {
            return self.conflict(found);
        }
        if !self.present.dirs.contains_key(path) {
            return;
        }
        let stays = |(inner, _): (&RelPath, _)| !self.scope.covers(inner);
        if self.scope.overlay || below(&self.present.files, path).any(stays) {
            return self.refuse(path.clone(), Blocker::Directory);
        }
        let gone = below(&self.present.files, path).map(|(path, entry)| (path.clone(), *entry));
        self.plan.delete.extend(gone);
        self.plan
            .remove_dirs
            .extend(below(&self.present.dirs, path).map(|(path, _)| path.clone()));
    }

    fn plan_deletions(&mut self) {
        if self.scope.overlay {
            return;
        }
        for (path, entry) in self.scope.covered(&self.present.files) {
            if self.target.files.contains_key(path) {
                continue;
            }
            if self.is_targets_business(path, false) {
                self.plan.delete.insert(path.clone(), *entry);
            }
        }
    }

    /// Whether the target decides about a path: false if it could not capture the path or left it
    /// out by rule.
    fn is_targets_business(&self, path: &RelPath, is_dir: bool) -> bool {
        let untouchable = |path: &RelPath| self.target.uncaptured.contains_key(path);
        !untouchable(path)
            && !path.ancestors().any(|above| untouchable(&above))
            && (self.may_delete)(path, is_dir)
    }

    fn plan_dirs(&mut self) {
        let needed = self.needed_dirs();
        for (path, perm) in needed {
            match self.present.dirs.get(&path) {
                Some(before) if self.scope.covers_dir(&path) => {
                    if (before ^ perm) & self.scope.perm_bits() != 0 {
                        self.plan.chmod_dirs.insert(path, perm);
                    }
                }
                Some(_) => {}
                None => self.make_room_for_dir(path, perm),
            }
        }
    }

    /// Returns directories of the target within the restore's limits, with their ancestors.
    fn needed_dirs(&self) -> BTreeMap<RelPath, u32> {
        let mut needed = BTreeMap::new();
        let dirs = self.target.dirs.keys();
        let ends = dirs.filter(|dir| self.scope.covers_dir(dir)).cloned();
        let ends = ends.chain(parents(&self.plan.write));
        for path in ends.chain(parents(&self.plan.chmod)) {
            for dir in path.self_and_ancestors() {
                let Some(perm) = self.target.dirs.get(&dir) else {
                    continue;
                };
                if needed.insert(dir, *perm).is_some() {
                    break;
                }
            }
        }
        needed
    }

    fn make_room_for_dir(&mut self, path: RelPath, perm: u32) {
        if let Some(entry) = self.present.uncaptured.get(&path) {
            let only_left_out = entry.is_dir && entry.why.lets_files_in();
            if !only_left_out {
                self.conflict(path);
            }
            return;
        }
        if let Some(file) = self.present.files.get(&path) {
            if self.scope.overlay || !self.scope.covers(&path) {
                return self.refuse(path, Blocker::File);
            }
            self.plan.delete.insert(path.clone(), *file);
        }
        self.plan.make_dirs.insert(path, perm);
    }

    /// Plans removal of directories, deepest first; one is removed only if nothing stays in it.
    fn plan_removals(&mut self) {
        if self.scope.overlay {
            return;
        }
        let mut stays: BTreeSet<RelPath> = parents(&self.plan.make_dirs)
            .chain(parents(&self.plan.write))
            .collect();
        let files = self.present.files.keys();
        let kept = files.filter(|path| !self.plan.delete.contains_key(*path));
        stays.extend(kept.filter_map(RelPath::parent));
        // What goes may have been all that a directory beyond the limits was made for.
        let mut emptied = self.plan.directories_above_deleted();
        let mut holds_uncaptured: BTreeSet<RelPath> = parents(&self.present.uncaptured).collect();
        for path in self.present.dirs.keys().rev() {
            let is_new = !self.target.dirs.contains_key(path);
            let unwanted = is_new && self.scope.covers_dir(path);
            let goes = (unwanted || is_new && emptied.contains(path))
                && !stays.contains(path)
                && !holds_uncaptured.contains(path);
            if goes
                && (self.plan.remove_dirs.contains(path) || self.is_targets_business(path, true))
            {
                emptied.extend(path.parent());
                self.plan.remove_dirs.insert(path.clone());
                continue;
            }
            self.plan.remove_dirs.remove(path);
            let is_left = unwanted && self.is_targets_business(path, true);
            let stays_by_wish =
                || below(&self.present.files, path).any(|(file, _)| !self.scope.covers(file));
            if is_left && !stays_by_wish() {
                self.plan.left_alone.insert(path.clone());
            }
            if is_left && !stays.contains(path) {
                holds_uncaptured.extend(path.parent());
            } else {
                stays.extend(path.parent());
            }
        }
    }

    /// Lists paths that stay although the target lacks them.
    fn name_what_stays(&mut self) {
        if self.scope.overlay {
            return;
        }
        self.name_what_it_left_out();
        for (path, entry) in &self.present.uncaptured {
            let is_beyond = !self.scope.acts_on(path, entry.is_dir);
            let is_ours = matches!(
                entry.why,
                WhyNot::DotGit | WhyNot::Database | WhyNot::Secret(_)
            );
            let is_wanted =
                self.target.files.contains_key(path) || self.target.dirs.contains_key(path);
            if is_beyond || is_ours || is_wanted || !self.is_targets_business(path, entry.is_dir) {
                continue;
            }
            if entry.why.stays_by_rule() {
                if path
                    .parent()
                    .is_none_or(|dir| !self.plan.left_alone.contains(&dir))
                {
                    self.plan.left_alone.insert(path.clone());
                }
            } else {
                self.plan.unreadable.insert(path.clone(), entry.why.clone());
            }
        }
    }

    /// Lists what is captured today and what the target left out or could not capture: the outermost
    /// directory of which that is so, for all in it.
    fn name_what_it_left_out(&mut self) {
        let files = self.scope.covered(&self.present.files);
        let dirs = self.present.dirs.keys();
        let dirs = dirs.filter(|dir| !dir.is_root() && self.scope.covers_dir(dir));
        let there = files.map(|(path, _)| (path, false));
        for (path, is_dir) in there.chain(dirs.map(|dir| (dir, true))) {
            let is_wanted =
                self.target.files.contains_key(path) || self.target.dirs.contains_key(path);
            let goes = self.plan.delete.contains_key(path) || self.plan.remove_dirs.contains(path);
            let is_named = |path: &RelPath| self.plan.left_alone.contains(path);
            if is_wanted
                || goes
                || path.self_and_ancestors().any(|above| is_named(&above))
                || self.is_targets_business(path, is_dir)
            {
                continue;
            }
            let is_left_out = |dir: &RelPath| {
                !dir.is_root()
                    && !self.target.dirs.contains_key(dir)
                    && self.scope.covers_dir(dir)
                    && !self.is_targets_business(dir, true)
            };
            let outermost = path.ancestors().filter(is_left_out).last();
            let outermost = outermost.unwrap_or_else(|| path.clone());
            self.plan.left_alone.insert(outermost);
        }
    }

    fn conflict(&mut self, path: RelPath) {
        let found = self.present.uncaptured.get(&path);
        let why = found.map(|entry| entry.why.clone());
        self.refuse(path, Blocker::Uncaptured(why));
    }

    fn refuse(&mut self, path: RelPath, blocker: Blocker) {
        if self.refused.insert(path.clone()) {
            self.plan.conflicts.push((path, blocker));
        }
    }
}

/// Returns the parent directories of all paths, one of several paths in turn once.
fn parents<V>(map: &BTreeMap<RelPath, V>) -> impl Iterator<Item = RelPath> {
    let mut last = None;
    let parents = map.keys().filter_map(RelPath::parent);
    parents.filter(move |parent| last.replace(parent.clone()).as_ref() != Some(parent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;
    use crate::model::tests::{path, snapshot};

    /// Everything that a plan says, a sentence for each thing.
    fn told(plan: &RestorePlan) -> String {
        let mut said = Vec::new();
        let mut say = |what: &str, paths: Vec<&RelPath>| {
            said.extend(paths.iter().map(|path| format!("{what} {path}")));
        };
        say("write", plan.write.keys().collect());
        say("chmod", plan.chmod.keys().collect());
        say("delete", plan.delete.keys().collect());
        say("make", plan.make_dirs.keys().collect());
        say("chmod", plan.chmod_dirs.keys().collect());
        say("remove", plan.remove_dirs.iter().collect());
        say("leave", plan.left_alone.iter().collect());
        say("unreadable", plan.unreadable.keys().collect());
        for (path, why) in &plan.conflicts {
            let why = match why {
                Blocker::Uncaptured(Some(why)) => why.into(),
                Blocker::Directory => "directory",
                Blocker::File => "file",
                other => panic!("{other:?}"),
            };
            say(why, vec![path]);
        }
        if plan.unchanged > 0 {
            said.push(format!("{} right", plan.unchanged));
        }
        said.join(", ")
    }

    #[test]
    fn every_change_counts_once() {
        let names = ["a", "b", "c"].map(path);
        let entry = crate::model::tests::file(1, 0o644);
        let modes = || names.iter().map(|path| (path.clone(), 0o700)).collect();
        let write = PlannedWrite {
            before: None,
            after: entry,
        };
        let plan = RestorePlan {
            write: names.iter().map(|path| (path.clone(), write)).collect(),
            chmod: modes(),
            delete: names.iter().map(|path| (path.clone(), entry)).collect(),
            make_dirs: modes(),
            chmod_dirs: modes(),
            remove_dirs: names.iter().cloned().collect(),
            ..RestorePlan::default()
        };
        assert_eq!((plan.change_count(), plan.is_empty()), (18, false));
    }

    /// `deletes` lets rules delete what the target lacks, `keeps` does not, `overlay` is that
    /// option, and other words are names that a rule spares.
    #[test]
    fn a_plan_leads_to_the_target_as_far_as_rules_and_obstacles_let_it() {
        let tables = include_str!("tests/restore_plan.json");
        for (why, mode, present, target, expected) in
            rows::<(&str, &str, &str, &str, &str)>(tables, "plans")
        {
            let scope = RestoreScope {
                overlay: mode == "overlay",
                ..RestoreScope::default()
            };
            let may_delete = |path: &RelPath, _| mode != "keeps" && path.name() != mode.as_bytes();
            let (present, target) = (snapshot(present), snapshot(target));
            let plan = RestorePlan::between(&present, &target, &scope, &may_delete);
            assert_eq!(told(&plan), expected, "{why}");
            let changes = ["write", "chmod", "delete", "make", "remove"];
            let has_any = changes.iter().any(|word| expected.contains(word));
            assert_eq!(
                plan.is_empty(),
                !has_any && plan.conflicts.is_empty(),
                "{why}"
            );
        }
    }
}
