//! Walks a tree and those below it, each with its path. The caller reads the trees, so that it
//! decides which.

use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::store::trees::tree_codec::TreeEntry;

/// The trees that are still to be entered.
pub struct TreeWalk {
    pending: Vec<(RelPath, ObjectId)>,
}

impl TreeWalk {
    pub fn of(root: ObjectId) -> Self {
        Self {
            pending: vec![(RelPath::root(), root)],
        }
    }

    /// Returns the next tree and its path.
    pub fn next_tree(&mut self) -> Option<(RelPath, ObjectId)> {
        self.pending.pop()
    }

    /// Queues the directories among the entries of a tree; returns the others with their paths.
    pub fn enter<'e>(
        &mut self,
        dir: &RelPath,
        entries: &'e [TreeEntry],
    ) -> Vec<(RelPath, &'e TreeEntry)> {
        let (dirs, others): (Vec<&TreeEntry>, Vec<&TreeEntry>) =
            entries.iter().partition(|entry| entry.is_directory());
        self.pending.extend(
            dirs.into_iter()
                .map(|entry| (dir.join(&entry.name), entry.id)),
        );
        others
            .into_iter()
            .map(|entry| (dir.join(&entry.name), entry))
            .collect()
    }
}
