//! Walks a tree and those below it, or what several states have at the same paths, and remembers
//! trees over many comparisons: a history shares most of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::error::Result;
use crate::model::{Checkpoint, Entry, Meta, ObjectId, RelPath, TreeChange};
use crate::store::trees::convert::read_tree;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK};
use crate::store::{Objects, ReadFailure, Store, TreeEntry};

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

/// All trees read so far.
pub struct TreeMemo<'o> {
    objects: &'o Objects,
    read: HashMap<ObjectId, Arc<[TreeEntry]>>,
}

impl<'o> TreeMemo<'o> {
    pub fn new(objects: &'o Objects) -> Self {
        Self {
            objects,
            read: HashMap::new(),
        }
    }

    /// Files that differ between two trees, by path. Enters only directories accepted by `enters`,
    /// never equal ones.
    ///
    /// # Errors
    /// A tree cannot be read.
    pub fn diff(
        &mut self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        enters: &dyn Fn(&RelPath) -> bool,
    ) -> Result<Vec<TreeChange>, ReadFailure> {
        let mut changes = Vec::new();
        let root = |tree: Option<ObjectId>| tree.map(|id| (MODE_DIRECTORY, id));
        walk_together(
            [root(before), root(after)],
            |path, sides| {
                let is_dir = |side: &(u32, ObjectId)| side.0 == MODE_DIRECTORY;
                // A gitlink, which plain git may have recorded, is not a file.
                let is_file = |side: &(u32, ObjectId)| !is_dir(side) && side.0 != MODE_GITLINK;
                let [before, after] = sides.map(|side| side.filter(is_file));
                if before != after {
                    let path = path.clone();
                    changes.push(TreeChange {
                        path,
                        before,
                        after,
                    });
                }
                let [before, after] = sides.map(|side| side.filter(is_dir));
                before != after && enters(path)
            },
            |path, _, (mode, id), add| {
                let tree = Some(id).filter(|_| mode == MODE_DIRECTORY);
                for entry in self.side(path, tree)?.iter() {
                    add(&entry.name, (entry.mode, entry.id));
                }
                Ok::<_, ReadFailure>(())
            },
        )?;
        changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// Reads and checks a tree on first use.
    ///
    /// # Errors
    /// The tree cannot be read.
    pub fn tree(&mut self, id: ObjectId) -> Result<Arc<[TreeEntry]>, ReadFailure> {
        if let Some(known) = self.read.get(&id) {
            return Ok(Arc::clone(known));
        }
        let entries: Arc<[TreeEntry]> = read_tree(self.objects, id)?.into();
        self.read.insert(id, Arc::clone(&entries));
        Ok(entries)
    }

    /// The entry at a path below a tree; `None` if a directory on the way is missing.
    ///
    /// # Errors
    /// A tree on the way cannot be read.
    pub fn entry_at(
        &mut self,
        root: ObjectId,
        path: &RelPath,
    ) -> Result<Option<TreeEntry>, ReadFailure> {
        let mut found: Option<TreeEntry> = None;
        for name in path.components() {
            let tree = match &found {
                None => root,
                Some(above) if above.is_directory() => above.id,
                Some(_) => return Ok(None),
            };
            let entries = self.side(path, Some(tree))?;
            found = tree_codec::find(&entries, name).cloned();
            if found.is_none() {
                return Ok(None);
            }
        }
        Ok(found)
    }

    fn side(
        &mut self,
        path: &RelPath,
        tree: Option<ObjectId>,
    ) -> Result<Arc<[TreeEntry]>, ReadFailure> {
        let Some(id) = tree else {
            return Ok(Arc::from([]));
        };
        self.tree(id).map_err(|why| format!("{path}: {why}").into())
    }
}

impl Store {
    /// Adds the files whose permission bits alone differ to the changes between two trees.
    ///
    /// # Errors
    /// A meta, or a tree that must be read for it, is damaged.
    pub fn add_mode_changes(
        &self,
        before: &Checkpoint,
        after: &Checkpoint,
        changes: &mut Vec<TreeChange>,
    ) -> Result<()> {
        // Plain git records no such bits.
        if before.meta == after.meta || before.adopted || after.adopted {
            return Ok(());
        }
        let metas = [self.meta(before)?, self.meta(after)?];
        let is_known = |path: &RelPath| changes.iter().any(|change| change.path == *path);
        let mut other = unusual_otherwise(&metas);
        if metas[0].usual == metas[1].usual && other.all(is_known) {
            return Ok(());
        }
        let [before, after] = [self.snapshot(before)?, self.snapshot(after)?];
        for (path, now) in &after.files {
            let then = before.files.get(path);
            let is_same = |then: &&Entry| (then.id, then.git_mode()) == (now.id, now.git_mode());
            if let Some(then) = then.filter(is_same)
                && then.perm != now.perm
            {
                changes.push(TreeChange {
                    path: path.clone(),
                    before: Some((then.git_mode(), then.id)),
                    after: Some((now.git_mode(), now.id)),
                });
            }
        }
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(())
    }
}

fn unusual_otherwise(metas: &[Meta; 2]) -> impl Iterator<Item = &RelPath> {
    let [then, now] = [&metas[0].unusual, &metas[1].unusual];
    let gone = then
        .iter()
        .filter(|(path, perm)| now.get(*path) != Some(*perm));
    let new = now
        .iter()
        .filter(|(path, perm)| then.get(*path) != Some(*perm));
    gone.chain(new).map(|(path, _)| path)
}
