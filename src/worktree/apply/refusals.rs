//! What the system would refuse of a plan, found before anything changes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::model::{Refusal, RelPath, RestorePlan};
use crate::worktree::WorkTree;
use crate::worktree::sys::{Access, Dir, Rights};

const STICKY_BIT: u32 = 0o1000;

/// What a plan does to an existing or new name of a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Make,
    /// The entry is moved away.
    Take,
    SetMode,
}

/// Returns each path at which the plan would fail, with the reason. A directory stands for all that
/// is to be made or removed directly in it.
pub fn refusals(work: &WorkTree, plan: &RestorePlan) -> BTreeMap<RelPath, Refusal> {
    let mut found = BTreeMap::new();
    if plan.change_count() == 0 {
        return found;
    }
    // What is staged and replaced passes through a directory of ours in the root.
    check_dir(work.root(), &RelPath::root(), &mut found);
    for (parent, acts) in acts_by_dir(plan) {
        // One that is new is ours; one that cannot be reached was not captured either.
        if let Ok(dir) = work.root().open_below(&parent, Access::Search) {
            check_names(&dir, &parent, &acts, &mut found);
        }
    }
    for (path, _) in plan.chmod_dirs.iter().filter(|(path, _)| path.is_root()) {
        if work.root().rights(None).is_ok_and(|root| !root.is_owned) {
            found.insert(path.clone(), Refusal::OtherOwner);
        }
    }
    found
}

fn acts_by_dir(plan: &RestorePlan) -> BTreeMap<RelPath, Vec<(&RelPath, Act)>> {
    let taken: BTreeSet<&RelPath> = plan.delete.keys().chain(&plan.remove_dirs).collect();
    let written = plan.write.iter().map(|(path, write)| match write.before {
        Some(_) => (path, Act::Take),
        None => (path, Act::Make),
    });
    let modes = plan.chmod.keys().chain(plan.chmod_dirs.keys());
    let acts = written
        .filter(|(path, _)| !taken.contains(path))
        .chain(plan.make_dirs.keys().map(|path| (path, Act::Make)))
        .chain(taken.iter().map(|path| (*path, Act::Take)))
        .chain(modes.map(|path| (path, Act::SetMode)));
    let mut by_dir: BTreeMap<RelPath, Vec<_>> = BTreeMap::new();
    for (path, act) in acts {
        if let Some(parent) = path.parent() {
            by_dir.entry(parent).or_default().push((path, act));
        }
    }
    by_dir
}

fn check_names(
    dir: &Dir,
    parent: &RelPath,
    acts: &[(&RelPath, Act)],
    found: &mut BTreeMap<RelPath, Refusal>,
) {
    let rights = |path: &RelPath| dir.rights(Some(path.name())).unwrap_or_default();
    let changes_names =
        |(path, act): &(&RelPath, Act)| *act != Act::SetMode || gets_new_copy(&rights(path));
    let Ok(of_dir) = dir.rights(None) else { return };
    if acts.iter().any(changes_names) && check_dir(dir, parent, found) {
        return;
    }
    let is_shared = of_dir.stat.perm() & STICKY_BIT != 0 && !of_dir.is_owned;
    for (path, act) in acts.iter().filter(|(_, act)| *act != Act::Make) {
        let Ok(of_path) = dir.rights(Some(path.name())) else {
            continue;
        };
        let sets_mode = *act == Act::SetMode && !gets_new_copy(&of_path);
        let why = if of_path.is_frozen {
            Refusal::Frozen
        } else if of_path.is_mounted && !sets_mode {
            Refusal::Mounted
        } else if !of_path.is_owned && (is_shared || sets_mode) {
            Refusal::OtherOwner
        } else {
            continue;
        };
        found.insert((*path).clone(), why);
    }
}

/// Whether a file gets its mode with a new copy, since the mode of this one has other names.
fn gets_new_copy(of_path: &Rights) -> bool {
    of_path.stat.links > 1 && of_path.stat.mode & 0o170_000 == 0o100_000
}

/// Notes a directory in which no name can be changed, even if its owner may give the permission.
fn check_dir(dir: &Dir, path: &RelPath, found: &mut BTreeMap<RelPath, Refusal>) -> bool {
    let rights = dir.rights(None).unwrap_or_default();
    let why = match dir.refusal_to_write().map(|error| error.kind()) {
        Some(io::ErrorKind::ReadOnlyFilesystem) => Refusal::ReadOnly,
        // What is added to a directory that can only be added to could not be taken back.
        _ if rights.is_frozen => Refusal::Frozen,
        Some(io::ErrorKind::PermissionDenied) if rights.is_owned => return false,
        Some(_) => Refusal::Directory,
        None => return false,
    };
    found.insert(path.clone(), why);
    true
}
