//! Plans a restore from the present state to the target; pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::state::snapshot::below;
use crate::model::{Blocker, PlannedWrite, RelPath, RestorePlan, RestoreScope, Snapshot, WhyNot};

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
        let why = self
            .present
            .uncaptured
            .get(&path)
            .map(|entry| entry.why.clone());
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
    use crate::model::state::entry::{Entry, Kind};
    use crate::model::state::object_id::ObjectId;
    use crate::model::state::snapshot::UncapturedEntry;

    fn path(text: &str) -> RelPath {
        RelPath::new(text.as_bytes()).unwrap()
    }

    fn file(content: u8) -> Entry {
        Entry {
            kind: Kind::File,
            perm: 0o644,
            id: ObjectId::from_bytes([content; 20]),
            size_bytes: 1,
        }
    }

    /// Makes a state with files of one content, and their parent directories.
    fn holding(files: &[&str]) -> Snapshot {
        let mut state = Snapshot::default();
        state.dirs.insert(RelPath::root(), 0o755);
        for file_path in files.iter().map(|text| path(text)) {
            let dirs = file_path.ancestors().map(|dir| (dir, 0o755));
            state.dirs.extend(dirs);
            state.files.insert(file_path, file(1));
        }
        state
    }

    fn with(mut state: Snapshot, uncaptured: &[(&str, WhyNot, bool)]) -> Snapshot {
        for (text, why, is_dir) in uncaptured.iter().cloned() {
            let dirs = path(text).ancestors().map(|dir| (dir, 0o755));
            state.dirs.extend(dirs);
            let entry = UncapturedEntry { why, is_dir };
            state.uncaptured.insert(path(text), entry);
        }
        state
    }

    fn plan(present: &Snapshot, target: &Snapshot, may_delete: bool) -> RestorePlan {
        let scope = RestoreScope::default();
        RestorePlan::between(present, target, &scope, &|_, _| may_delete)
    }

    fn conflicts(plan: &RestorePlan) -> Vec<(&str, Blocker)> {
        assert!(!plan.is_empty(), "who is in the way is to be told");
        let named = plan.conflicts.iter();
        named
            .map(|(path, why)| (path.as_utf8().unwrap(), why.clone()))
            .collect()
    }

    fn keys<V>(map: &BTreeMap<RelPath, V>) -> Vec<String> {
        map.keys().map(RelPath::to_string).collect()
    }

    #[test]
    fn every_change_counts_once_and_what_is_right_is_no_change() {
        let (names, entry) = (["a", "b", "c"].map(path), file(1));
        let modes = || {
            names
                .iter()
                .map(|path| (path.clone(), 0o700))
                .collect::<BTreeMap<_, _>>()
        };
        let plan = RestorePlan {
            write: names
                .iter()
                .map(|path| {
                    (
                        path.clone(),
                        PlannedWrite {
                            before: None,
                            after: entry,
                        },
                    )
                })
                .collect(),
            chmod: modes(),
            delete: names.iter().map(|path| (path.clone(), entry)).collect(),
            make_dirs: modes(),
            chmod_dirs: modes(),
            remove_dirs: names.iter().cloned().collect(),
            ..RestorePlan::default()
        };
        assert_eq!(plan.change_count(), 18);
        assert!(!plan.is_empty());
        let same = super::tests::plan(&holding(&["a", "b/c"]), &holding(&["a", "b/c"]), true);
        assert_eq!((same.unchanged, same.is_empty()), (2, true));
    }

    #[test]
    fn what_no_checkpoint_holds_is_in_the_way_and_told_once_each() {
        let present = with(
            holding(&[]),
            &[("a/p", WhyNot::Fifo, false), ("b", WhyNot::Mount, true)],
        );
        let found = plan(&present, &holding(&["a", "b"]), true);
        assert_eq!(
            conflicts(&found),
            [
                ("a/p", Blocker::Uncaptured(Some(WhyNot::Fifo))),
                ("b", Blocker::Uncaptured(Some(WhyNot::Mount)))
            ]
        );
        let inside = plan(&present, &holding(&["b/x"]), true);
        assert_eq!(
            conflicts(&inside),
            [("b", Blocker::Uncaptured(Some(WhyNot::Mount)))]
        );
    }

    #[test]
    fn a_directory_that_a_rule_left_out_serves_and_a_file_does_not() {
        let left_out = || WhyNot::LeftOut("*.o".into());
        let found = plan(
            &with(holding(&[]), &[("a", left_out(), true)]),
            &holding(&["a/x"]),
            true,
        );
        assert!(
            found.conflicts.is_empty() && found.make_dirs.is_empty(),
            "{found:?}"
        );
        let found = plan(
            &with(holding(&[]), &[("a", left_out(), false)]),
            &holding(&["a/x"]),
            true,
        );
        assert_eq!(
            conflicts(&found),
            [("a", Blocker::Uncaptured(Some(left_out())))]
        );
    }

    #[test]
    fn a_file_needs_its_place_whatever_the_rules_say_of_what_is_there() {
        let found = plan(&holding(&["a/b/x", "a/y"]), &holding(&["a"]), false);
        assert_eq!(keys(&found.delete), ["a/b/x", "a/y"]);
        assert_eq!(found.remove_dirs, ["a", "a/b"].map(path).into());
        let overlay = RestoreScope {
            overlay: true,
            ..RestoreScope::default()
        };
        for (present, target, blocker) in [
            ("a/x", "a", Blocker::Directory),
            ("a", "a/x", Blocker::File),
        ] {
            let found = RestorePlan::between(
                &holding(&[present]),
                &holding(&[target]),
                &overlay,
                &|_, _| true,
            );
            assert_eq!(
                (conflicts(&found), found.delete.len()),
                (vec![("a", blocker)], 0),
                "{present} {target}"
            );
        }
    }

    #[test]
    fn what_the_target_could_not_capture_or_would_not_have_stays() {
        let present = holding(&["a", "m/x", "z"]);
        let target = with(
            holding(&[]),
            &[("a", WhyNot::TooLarge, false), ("m", WhyNot::Mount, true)],
        );
        assert_eq!(keys(&plan(&present, &target, true).delete), ["z"]);
        assert!(plan(&present, &target, false).delete.is_empty());
    }

    #[test]
    fn a_directory_is_left_alone_for_what_no_checkpoint_holds_and_for_what_a_rule_spares() {
        let present = with(holding(&["p/x"]), &[("p/d/fifo", WhyNot::Fifo, false)]);
        let found = plan(&present, &holding(&[]), true);
        assert_eq!(
            (found.left_alone, found.remove_dirs.len()),
            (["p", "p/d"].map(path).into(), 0)
        );
        let wanted = plan(
            &present,
            &with(holding(&["p/x"]), &[("p/d/x", WhyNot::Fifo, false)]),
            true,
        );
        assert_eq!(
            wanted.left_alone,
            ["p/d/fifo"].map(path).into(),
            "its directory is wanted, it is not"
        );
        let there_then = with(holding(&["p/x"]), &[("p/d/fifo", WhyNot::Fifo, false)]);
        assert!(plan(&present, &there_then, true).left_alone.is_empty());
        let found = plan(&present, &holding(&[]), false);
        assert_eq!(found.left_alone, ["p"].map(path).into(), "not its business");
        let beside = with(holding(&["d/keep"]), &[("d/fifo", WhyNot::Fifo, false)]);
        let kept = |path: &RelPath, _: bool| path.name() != b"keep";
        let found = RestorePlan::between(&beside, &holding(&[]), &RestoreScope::default(), &kept);
        assert!(found.is_empty(), "its file stays anyway: {found:?}");
        assert_eq!(found.left_alone, ["d"].map(path).into());
    }

    #[test]
    fn what_cannot_be_read_and_should_not_be_there_is_named_as_unreadable() {
        let unreadable = || WhyNot::Unreadable("EACCES".into());
        let present = with(
            holding(&["a"]),
            &[("d", unreadable(), true), ("m", WhyNot::Mount, true)],
        );
        let found = plan(&present, &holding(&["a"]), true);
        assert_eq!(
            (keys(&found.unreadable), found.left_alone),
            (vec!["d".into()], ["m"].map(path).into())
        );
        assert!(
            plan(&present, &holding(&["a"]), false)
                .unreadable
                .is_empty(),
            "the target would not hold it either"
        );
        let overlay = RestoreScope {
            overlay: true,
            ..RestoreScope::default()
        };
        let laid_over = RestorePlan::between(&present, &holding(&["a"]), &overlay, &|_, _| true);
        assert!(laid_over.unreadable.is_empty() && laid_over.left_alone.is_empty());
    }
}
