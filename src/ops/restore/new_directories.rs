//! Finds directories that a restore makes with everything in them, so that each tree is put in
//! place by one rename.

use std::collections::HashMap;

use crate::model::state::entry::SPECIAL_BITS;
use crate::model::state::rel_path::RelPath;
use crate::ops::restore::restore_job::RestoreJob;

/// All directories of all trees, parents first.
#[derive(Default)]
pub struct NewDirectories {
    pub dirs: Vec<NewDir>,
    /// Indexes of the directories whose parent exists already; a tree's number is its position in
    /// this list.
    pub tops: Vec<usize>,
    index: HashMap<RelPath, usize>,
}

pub struct NewDir {
    /// Relative to the root.
    pub path: RelPath,
    /// Relative to the top of its tree.
    pub below: RelPath,
    /// Relative to the stage.
    pub place: RelPath,
    pub tree: usize,
    pub perm: u32,
    /// Indexes of its subdirectories.
    pub dirs: Vec<usize>,
}

/// Returns the trees of a plan. Below a directory with set-gid or the like, directories are made in
/// place, since they inherit from it.
pub fn of(job: &RestoreJob<'_>) -> NewDirectories {
    let mut trees = NewDirectories::default();
    for (path, perm) in &job.plan.make_dirs {
        let Some(parent) = path.parent() else {
            continue;
        };
        if let Some(above) = trees.index.get(&parent).copied() {
            let (name, holder) = (path.name(), &trees.dirs[above]);
            let (below, place) = (holder.below.join(name), holder.place.join(name));
            let at = trees.push(path, *perm, below, place, holder.tree);
            trees.dirs[above].dirs.push(at);
            continue;
        }
        let is_plain = |mode: u32| mode & SPECIAL_BITS == 0;
        if job
            .present
            .dir(&parent)
            .is_some_and(|dir| is_plain(dir.stat.mode))
        {
            let tree = trees.tops.len();
            let place =
                RelPath::root().join(crate::worktree::apply::stage::tree_name(tree).as_bytes());
            let at = trees.push(path, *perm, RelPath::root(), place, tree);
            trees.tops.push(at);
        }
    }
    trees
}

impl NewDirectories {
    fn push(
        &mut self,
        path: &RelPath,
        perm: u32,
        below: RelPath,
        place: RelPath,
        tree: usize,
    ) -> usize {
        let at = self.dirs.len();
        self.index.insert(path.clone(), at);
        self.dirs.push(NewDir {
            path: path.clone(),
            below,
            place,
            tree,
            perm,
            dirs: Vec::new(),
        });
        at
    }

    /// Index of the tree directory that contains a path.
    pub fn holder_of(&self, path: &RelPath) -> Option<usize> {
        if self.index.is_empty() {
            None
        } else {
            self.index.get(&path.parent()?).copied()
        }
    }

    /// Whether a directory comes with a tree.
    pub fn contains(&self, path: &RelPath) -> bool {
        self.index.contains_key(path)
    }
}
