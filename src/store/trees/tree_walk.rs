//! Walks a tree and those below it, or what several states have at the same paths. The caller reads
//! the trees, so that it decides which.

use std::collections::BTreeMap;

use crate::model::{ObjectId, RelPath};
use crate::store::TreeEntry;

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

/// Visits each path that one of the sides has, parents first: `enters` says whether what the sides
/// have there is looked into, `read` adds the names in one of these, of the side of that number.
///
/// # Errors
/// That of `read`.
pub fn walk_together<N: Copy, E, const S: usize>(
    roots: [Option<N>; S],
    mut enters: impl FnMut(&RelPath, [Option<N>; S]) -> bool,
    mut read: impl FnMut(&RelPath, usize, N, &mut dyn FnMut(&[u8], N)) -> Result<(), E>,
) -> Result<(), E> {
    let mut open = vec![(RelPath::root(), roots)];
    open.retain(|(root, sides)| enters(root, *sides));
    while let Some((dir, sides)) = open.pop() {
        let mut below: BTreeMap<Box<[u8]>, [Option<N>; S]> = BTreeMap::new();
        for (side, node) in sides.into_iter().enumerate() {
            let Some(node) = node else { continue };
            let add = &mut |name: &[u8], node| {
                below.entry(name.into()).or_insert([None; S])[side] = Some(node);
            };
            read(&dir, side, node, add)?;
        }
        let below = below.into_iter();
        let below = below.map(|(name, sides)| (dir.join(&name), sides));
        open.extend(below.filter(|(path, sides)| enters(path, *sides)));
    }
    Ok(())
}
