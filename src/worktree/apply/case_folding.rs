//! Names that differ in a plan but are one on a file system that folds case or Unicode forms.

use std::collections::{HashMap, HashSet};

use crate::error::Obstacle;
use crate::model::{Name, RelPath, Stat};
use crate::worktree::sys::Access;
use crate::worktree::{ApplyPlan, Expect, Removal, StatReader, WorkTree};

/// Reason of an obstacle: a path that should be free is occupied.
pub(in crate::worktree) const APPEARED: &str = "appeared";
const SPELLED_OTHERWISE: &str = "is there under another spelling of its name";

/// Returns the plan with those removals moved to the front that free a target path spelled
/// differently; `None` if there is no such path.
pub(in crate::worktree) fn removals_first(work: &WorkTree, plan: &ApplyPlan) -> Option<ApplyPlan> {
    let mut stats = StatReader::new(work);
    let mut look = |path: &RelPath| stats.stat(path).ok().flatten().map(|stat| place(&stat));
    let existing: Vec<_> = coming(plan)
        .filter_map(|path| Some((path, look(path)?)))
        .collect();
    let taken: HashSet<Place> = existing.iter().map(|(_, place)| *place).collect();
    let goes = |place: &Place| taken.contains(place);
    let dirs: HashMap<&RelPath, Place> = plan
        .remove_dirs
        .iter()
        .filter_map(|path| Some((path, look(path).filter(goes)?)))
        .collect();
    let is_below = |path: &RelPath| {
        dirs.contains_key(path) || path.ancestors().any(|above| dirs.contains_key(&above))
    };
    let goes_first = |removal: &Removal| goes(&place(&removal.expect)) || is_below(&removal.path);
    let mut turned = plan.clone();
    turned
        .displaced
        .extend(turned.deletes.extract_if(.., |removal| goes_first(removal)));
    turned
        .displaced_dirs
        .extend(turned.remove_dirs.extract_if(.., |path| is_below(path)));
    let freed: HashSet<Place> = turned
        .displaced
        .iter()
        .map(|removal| place(&removal.expect))
        .chain(dirs.into_values())
        .collect();
    let is_freed = |(_, place): &&(&RelPath, Place)| freed.contains(place);
    turned.freed = existing
        .iter()
        .filter(is_freed)
        .map(|(path, _)| (*path).clone())
        .collect();
    (!turned.freed.is_empty()).then_some(turned)
}

/// Inode number and ctime, which are the same for all spellings of a name.
type Place = (u64, i64);

fn place(stat: &Stat) -> Place {
    (stat.ino, stat.ctime_ns)
}

/// Returns the paths that the plan expects to be free.
fn coming(plan: &ApplyPlan) -> impl Iterator<Item = &RelPath> {
    let absent = plan
        .writes
        .iter()
        .filter(|write| write.expect == Expect::Absent)
        .map(|write| &write.path);
    let dirs = plan
        .make_dirs
        .iter()
        .map(|(path, _)| path)
        .chain(plan.grafts.iter().map(|graft| &graft.path));
    absent.chain(dirs)
}

/// Changes the reason of each occupied path that its directory lists under another spelling only.
pub(in crate::worktree) fn explain_spellings(work: &WorkTree, obstacles: &mut [Obstacle]) {
    let mut listed: HashMap<RelPath, HashSet<Name>> = HashMap::new();
    for obstacle in obstacles
        .iter_mut()
        .filter(|obstacle| obstacle.why == APPEARED)
    {
        let parent = obstacle.path.parent().unwrap_or_default();
        let names = listed.entry(parent).or_insert_with_key(|parent| {
            let items = work
                .root()
                .open_below(parent, Access::Read)
                .and_then(|dir| dir.list());
            items
                .unwrap_or_default()
                .into_iter()
                .map(|item| item.name)
                .collect()
        });
        if !names.contains(obstacle.path.name()) {
            SPELLED_OTHERWISE.clone_into(&mut obstacle.why);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::base::tests::place;
    use crate::model::tests::path;
    use crate::worktree::apply::apply_steps::WriteStep;

    /// A second hard link stands in for another spelling: two names of the same inode.
    #[test]
    fn what_goes_goes_first_only_where_its_place_is_needed() {
        let temp = place("Readme=1 other=2");
        std::fs::hard_link(temp.path().join("Readme"), temp.path().join("README")).unwrap();
        let work = WorkTree::open(temp.path()).unwrap();
        let removal = |name: &str| Removal {
            path: path(name),
            expect: work.stat(&path(name)).unwrap().unwrap(),
        };
        let write = |name: &str| WriteStep {
            path: path(name),
            staged: 0,
            expect: Expect::Absent,
        };
        let mut plan = ApplyPlan {
            deletes: vec![removal("Readme"), removal("other")],
            ..ApplyPlan::default()
        };
        plan.writes = vec![write("README"), write("new")];
        let turned = removals_first(&work, &plan).unwrap();
        let paths = |removals: &[Removal]| {
            removals
                .iter()
                .map(|one| one.path.to_string())
                .collect::<Vec<_>>()
        };
        let found = [paths(&turned.displaced), paths(&turned.deletes)];
        assert_eq!(found, [["Readme"], ["other"]]);
        assert_eq!(turned.freed, [path("README")]);
        plan.writes = vec![write("new")];
        assert!(removals_first(&work, &plan).is_none());
    }

    #[test]
    fn only_what_is_not_listed_under_its_name_is_told_as_another_spelling() {
        let temp = place("there=");
        let work = WorkTree::open(temp.path()).unwrap();
        let obstacle = |name: &str, why: &str| Obstacle {
            path: path(name),
            why: why.to_owned(),
        };
        let mut obstacles = [
            obstacle("there", APPEARED),
            obstacle("There", APPEARED),
            obstacle("x", "is gone"),
        ];
        explain_spellings(&work, &mut obstacles);
        let found = obstacles.map(|one| one.why);
        assert_eq!(found, [APPEARED, SPELLED_OTHERWISE, "is gone"]);
    }
}
