//! Caches trees over many comparisons: a history shares most of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{ObjectId, RelPath, TreeChange};
use crate::store::trees::convert::read_tree;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK};
use crate::store::trees::tree_walk::walk_together;
use crate::store::{Objects, ReadFailure, TreeEntry};

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
