//! The steps of a restore that need no content, in the order of their execution.

use crate::model::state::rel_path::RelPath;
use crate::ops::restore::new_directories::NewDirectories;
use crate::ops::restore::restore_job::RestoreJob;
use crate::worktree::apply::apply_steps::{ApplyPlan, Removal};
use crate::worktree::apply::stage::can_be_moved;

/// Plans everything but the content; directories that come with one of `trees` are not made singly.
pub fn without_content(job: &RestoreJob<'_>, trees: &NewDirectories) -> ApplyPlan {
    let plan = job.plan;
    let in_the_way = |path: &RelPath| {
        plan.make_dirs.contains_key(path)
            || path
                .ancestors()
                .any(|above| plan.write.contains_key(&above))
    };
    let dir_in_the_way = |path: &RelPath| plan.write.contains_key(path) || in_the_way(path);
    let removals = |wanted: bool| {
        let paths = plan
            .delete
            .keys()
            .filter(move |path| in_the_way(path) == wanted);
        paths
            .filter_map(|path| {
                Some(Removal {
                    path: path.clone(),
                    expect: job.stat_of(path)?,
                })
            })
            .collect()
    };
    let dirs = |wanted: bool| {
        plan.remove_dirs
            .iter()
            .rev()
            .filter(move |path| dir_in_the_way(path) == wanted)
            .cloned()
    };
    let chmods = plan.chmod.iter().filter(|(path, _)| !job.is_linked(path));
    let has_its_mode = |path: &RelPath, perm: u32| trees.contains(path) && can_be_moved(perm);
    let made = plan
        .make_dirs
        .iter()
        .filter(|(path, perm)| !has_its_mode(path, **perm));
    let dir_modes = made
        .chain(&plan.chmod_dirs)
        .map(|(path, perm)| (path.clone(), *perm))
        .collect();
    let make_dirs = plan
        .make_dirs
        .iter()
        .filter(|(path, _)| !trees.contains(path));
    ApplyPlan {
        displaced: removals(true),
        displaced_dirs: dirs(true).collect(),
        freed: Vec::new(),
        make_dirs: make_dirs
            .map(|(path, perm)| (path.clone(), *perm))
            .collect(),
        grafts: Vec::new(),
        writes: Vec::new(),
        chmods: chmods
            .filter_map(|(path, perm)| Some((path.clone(), *perm, job.stat_of(path)?)))
            .collect(),
        deletes: removals(false),
        remove_dirs: dirs(false).collect(),
        dir_modes,
        special_bits: job.special_bits,
    }
}
