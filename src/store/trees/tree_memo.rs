//! Caches trees over many comparisons: a history shares most of them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::difference::TreeChange;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::odb::Objects;
use crate::store::trees::convert::read_tree;
use crate::store::trees::tree_codec::{self, MODE_GITLINK, TreeEntry};

/// All trees read so far.
pub struct TreeMemo<'o> {
    objects: &'o Objects,
    read: HashMap<ObjectId, Arc<[TreeEntry]>>,
}

type Pair = (RelPath, Option<ObjectId>, Option<ObjectId>);

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
        let mut pending: Vec<Pair> = vec![(RelPath::root(), before, after)];
        while let Some((path, before, after)) = pending.pop() {
            if before == after || !enters(&path) {
                continue;
            }
            let (before, after) = (self.side(&path, before)?, self.side(&path, after)?);
            let mut older: HashMap<&[u8], &TreeEntry> =
                before.iter().map(|entry| (&*entry.name, entry)).collect();
            for entry in after.iter() {
                compare(
                    path.join(&entry.name),
                    older.remove(&*entry.name),
                    Some(entry),
                    &mut pending,
                    &mut changes,
                );
            }
            for entry in older.into_values() {
                compare(
                    path.join(&entry.name),
                    Some(entry),
                    None,
                    &mut pending,
                    &mut changes,
                );
            }
        }
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

fn compare(
    path: RelPath,
    before: Option<&TreeEntry>,
    after: Option<&TreeEntry>,
    pending: &mut Vec<Pair>,
    changes: &mut Vec<TreeChange>,
) {
    let tree = |entry: Option<&TreeEntry>| entry.filter(|e| e.is_directory()).map(|e| e.id);
    // A gitlink, which plain git may have recorded, is not a file.
    let is_file = |e: &&TreeEntry| !e.is_directory() && e.mode != MODE_GITLINK;
    let file = |entry: Option<&TreeEntry>| entry.filter(is_file).map(|e| (e.mode, e.id));
    if tree(before) != tree(after) {
        pending.push((path.clone(), tree(before), tree(after)));
    }
    if file(before) != file(after) {
        changes.push(TreeChange {
            path,
            before: file(before),
            after: file(after),
        });
    }
}
