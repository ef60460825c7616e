//! Compares two states of a directory, pure: files for a patch, and differences beyond a patch.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::model::json::{JsonSchema, Serialize, published_as};
use crate::model::state::snapshot::below;
use crate::model::{
    ChangeJson, Checkpoint, Entry, Kind, Meta, ObjectId, Octal, RelPath, Snapshot, WhyNot,
};

/// A file that differs between two trees: git mode and blob of each side, if it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    pub path: RelPath,
    pub before: Option<(u32, ObjectId)>,
    pub after: Option<(u32, ObjectId)>,
}

/// Returns the word for what happened to a path.
fn change_word(change: &TreeChange) -> &'static str {
    match (change.before, change.after) {
        (None, _) => "added",
        (_, None) => "deleted",
        (Some((_, before)), Some((_, after))) if before == after => "mode",
        _ => "modified",
    }
}

published_as! {
    TreeChange, ChangeJson, |change| ChangeJson::new(&change.path, change_word(change));
}

/// Numbers of files that differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeCounts {
    pub added: usize,
    pub modified: usize,
    pub deleted: usize,
}

impl ChangeCounts {
    pub fn of(changes: &[TreeChange]) -> Self {
        let mut counts = Self::default();
        for change in changes {
            match (change.before, change.after) {
                (None, _) => counts.added += 1,
                (_, None) => counts.deleted += 1,
                _ => counts.modified += 1,
            }
        }
        counts
    }
}

/// How a file differs, in git's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[schemars(inline)]
pub enum ChangeKind {
    Added,
    Deleted,
    // The content, and possibly the mode.
    Modified,
    // Only the executable bit.
    Mode,
    // File became symlink, or the reverse.
    Type,
}

/// A path that differs between the two states, with its entry on each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    pub path: RelPath,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
}

/// Differences other than content, kind or executable bit of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "OtherChanges")]
pub struct OtherDifferences {
    /// Permission bits of files and directories on both sides, as four octal digits.
    #[serde(rename = "mode_changes")]
    pub modes: Vec<Differing<Octal>>,
    /// Directories without any file, only in the second state.
    pub empty_dirs_added: Vec<RelPath>,
    pub empty_dirs_deleted: Vec<RelPath>,
    /// Why paths were not captured, on one side only or for different reasons; null where they were
    /// captured or absent.
    pub uncaptured: Vec<Differing<Option<WhyNot>>>,
}

/// What differs of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Differing<T> {
    #[serde(flatten)]
    pub path: RelPath,
    #[serde(rename = "old")]
    pub before: T,
    #[serde(rename = "new")]
    pub after: T,
}

impl<T> Differing<T> {
    pub fn new(path: &RelPath, before: T, after: T) -> Self {
        let path = path.clone();
        Self {
            path,
            before,
            after,
        }
    }
}

impl Difference {
    /// Drops every path that `wants` refuses.
    pub fn retain(
        &mut self,
        wants: &dyn Fn(&RelPath) -> bool,
        wants_dir: &dyn Fn(&RelPath) -> bool,
    ) {
        self.files.retain(|pair| wants(&pair.path));
        self.not_compared.retain(|(path, _)| wants(path));
        self.other.modes.retain(|sides| wants(&sides.path));
        self.other.uncaptured.retain(|sides| wants(&sides.path));
        self.other.empty_dirs_added.retain(wants_dir);
        self.other.empty_dirs_deleted.retain(wants_dir);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub files: Vec<Pair>,
    pub other: OtherDifferences,
    /// Paths captured on one side only, whose state on the other is unknown, with the reason.
    pub not_compared: Vec<(RelPath, WhyNot)>,
}

impl Pair {
    pub fn change(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Deleted,
            (Some(before), Some(after)) if before.kind != after.kind => ChangeKind::Type,
            (Some(before), Some(after)) if before.id == after.id => ChangeKind::Mode,
            _ => ChangeKind::Modified,
        }
    }

    /// Whether git would see a difference.
    pub fn differs(&self) -> bool {
        let seen = |entry: &Entry| (entry.git_mode(), entry.id);
        self.before.as_ref().map(seen) != self.after.as_ref().map(seen)
    }
}

impl OtherDifferences {
    /// Whether there is no known difference; uncaptured paths, of unknown content, do not count.
    pub fn is_same(&self) -> bool {
        self.modes.is_empty()
            && self.empty_dirs_added.is_empty()
            && self.empty_dirs_deleted.is_empty()
    }
}

/// Compares two states at and below `paths`; empty means everywhere.
pub fn between(before: &Snapshot, after: &Snapshot, paths: &[RelPath]) -> Difference {
    let wanted = |path: &RelPath| path.is_within(paths);
    let mut found = Difference::default();
    for path in differing_files(before, after) {
        if !wanted(path) {
            continue;
        }
        let pair = Pair {
            path: path.clone(),
            before: before.files.get(path).copied(),
            after: after.files.get(path).copied(),
        };
        if let (Some(one), Some(two)) = (&pair.before, &pair.after)
            && differs_beyond_git_mode(one, two)
        {
            let (one, two) = (Octal(one.perm), Octal(two.perm));
            found.other.modes.push(Differing::new(path, one, two));
        }
        match unknown(&pair, before, after) {
            _ if !pair.differs() => {}
            Some(why) => found.not_compared.push((pair.path, why.clone())),
            None => found.files.push(pair),
        }
    }
    compare_dirs(before, after, &wanted, &mut found.other);
    compare_uncaptured(before, after, &wanted, &mut found.other);
    found
}

/// The paths of files that are not the same in both states, in order.
fn differing_files<'s>(before: &'s Snapshot, after: &'s Snapshot) -> Vec<&'s RelPath> {
    let mut before = before.files.iter().peekable();
    let mut after = after.files.iter().peekable();
    let mut differing = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return differing,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((two, _))) => one.cmp(two),
        };
        let one = before.next_if(|_| order.is_le());
        let two = after.next_if(|_| order.is_ge());
        if one != two {
            differing.extend(one.or(two).map(|(path, _)| path));
        }
    }
}

/// Whether permission bits differ in a way that git modes do not show.
fn differs_beyond_git_mode(before: &Entry, after: &Entry) -> bool {
    let differing = before.perm ^ after.perm;
    let both_files = before.kind == Kind::File && after.kind == Kind::File;
    let told = if before.git_mode() == after.git_mode() {
        0
    } else {
        0o111
    };
    both_files && differing & !told != 0
}

/// Returns why the side that lacks this file may have it nevertheless.
fn unknown<'s>(pair: &Pair, before: &'s Snapshot, after: &'s Snapshot) -> Option<&'s WhyNot> {
    let lacking = match (&pair.before, &pair.after) {
        (None, Some(_)) => before,
        (Some(_), None) => after,
        _ => return None,
    };
    let mut above = pair.path.self_and_ancestors();
    let entry = above.find_map(|path| lacking.uncaptured.get(&path))?;
    entry.why.may_hide_files().then_some(&entry.why)
}

fn compare_dirs(
    before: &Snapshot,
    after: &Snapshot,
    wanted: &dyn Fn(&RelPath) -> bool,
    other: &mut OtherDifferences,
) {
    for (path, perm) in before.dirs.iter().filter(|(path, _)| wanted(path)) {
        if let Some(now) = after.dirs.get(path).filter(|now| *now != perm) {
            let (perm, now) = (Octal(*perm), Octal(*now));
            other.modes.push(Differing::new(path, perm, now));
        }
    }
    other.modes.sort();
    other.empty_dirs_added = empty_dirs(after, before, wanted);
    other.empty_dirs_deleted = empty_dirs(before, after, wanted);
}

/// Returns the innermost directories that hold no file at any depth and are not in `other`.
fn empty_dirs(
    snapshot: &Snapshot,
    other: &Snapshot,
    wanted: &dyn Fn(&RelPath) -> bool,
) -> Vec<RelPath> {
    let is_new = |path: &&RelPath| !path.is_root() && !other.dirs.contains_key(*path);
    let is_empty = |path: &&RelPath| below(&snapshot.files, path).next().is_none();
    let dirs = snapshot.dirs.keys().filter(is_new);
    innermost(dirs.filter(|path| wanted(path)).filter(is_empty))
}

/// Drops directories that contain another one of the list.
fn innermost<'p>(dirs: impl Iterator<Item = &'p RelPath>) -> Vec<RelPath> {
    let all: Vec<&RelPath> = dirs.collect();
    let mut holders = BTreeSet::new();
    for path in &all {
        let mut above = path.ancestors();
        while above.next().is_some_and(|holder| holders.insert(holder)) {}
    }
    let is_innermost = |path: &&&RelPath| !holders.contains(**path);
    all.iter()
        .filter(is_innermost)
        .map(|path| (*path).clone())
        .collect()
}

fn compare_uncaptured(
    before: &Snapshot,
    after: &Snapshot,
    wanted: &dyn Fn(&RelPath) -> bool,
    other: &mut OtherDifferences,
) {
    let at = |snapshot: &Snapshot, path: &RelPath| {
        snapshot
            .uncaptured
            .get(path)
            .map(|entry| entry.why.clone())
            .filter(WhyNot::is_recorded)
    };
    let names = before.uncaptured.keys().chain(after.uncaptured.keys());
    let names: BTreeSet<&RelPath> = names.collect();
    for path in names.into_iter().filter(|path| wanted(path)) {
        let (one, two) = (at(before, path), at(after, path));
        if one != two {
            other.uncaptured.push(Differing::new(path, one, two));
        }
    }
}

/// Keeps the changes within `paths` that a checkpoint covers. What could not be captured is reported
/// as such, not as deleted.
pub fn retain_covered(
    changes: &mut Vec<TreeChange>,
    paths: &[RelPath],
    checkpoint: &Checkpoint,
    meta: &Meta,
) {
    changes.retain(|change| {
        change.path.is_within(paths)
            && checkpoint.covers(&change.path)
            && (change.after.is_some() || !meta.hides(&change.path))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::{path, snapshot};

    /// What differs, a word for each path: in trees, and besides.
    fn told(found: &Difference) -> (String, String) {
        let files = found.files.iter();
        let files = files.map(|pair| format!("{} {:?}", pair.path, pair.change()));
        let other = &found.other;
        let modes = other.modes.iter();
        let modes = modes.map(|one| format!("{} {:o}-{:o}", one.path, one.before.0, one.after.0));
        let added = other
            .empty_dirs_added
            .iter()
            .map(|dir| format!("{dir} new"));
        let gone = other
            .empty_dirs_deleted
            .iter()
            .map(|dir| format!("{dir} old"));
        let other: Vec<String> = modes.chain(added).chain(gone).collect();
        (files.collect::<Vec<_>>().join(", "), other.join(", "))
    }

    #[test]
    fn each_state_differs_by_what_git_sees_and_by_the_rest() {
        for (before, after, limit, files, other) in [
            (
                "a b c d@",
                "a:600 b:755 d e@",
                "",
                "b Mode, c Deleted, d Type, e Added",
                "a 644-600",
            ),
            (
                "full/f old/in/ same/",
                "full/:700 new/in/ same/",
                "",
                "full/f Deleted",
                "full 755-700, new/in new, old/in old",
            ),
            ("in/f out e/", "", "in", "in/f Deleted", ""),
        ] {
            let limits: Vec<RelPath> = limit.split_whitespace().map(path).collect();
            let found = between(&snapshot(before), &snapshot(after), &limits);
            assert_eq!(
                told(&found),
                (files.to_owned(), other.to_owned()),
                "{before}"
            );
            assert_eq!(found.other.is_same(), other.is_empty());
        }
    }

    #[test]
    fn what_a_side_could_not_hold_is_not_taken_for_deleted() {
        let (before, after) = (
            snapshot("locked/f pipe"),
            snapshot("locked/!unreadable pipe!fifo"),
        );
        let found = between(&before, &after, &[]);
        let unreadable = WhyNot::Unreadable(String::new());
        assert_eq!(found.not_compared, [(path("locked/f"), unreadable)]);
        let told = told(&found).0;
        assert_eq!(
            told, "pipe Deleted",
            "a FIFO is there instead, so the file is gone"
        );
        assert_eq!(found.other.uncaptured.len(), 2);
    }
}
