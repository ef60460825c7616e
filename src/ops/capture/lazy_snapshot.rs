//! The content of a checkpoint, read only as far as needed.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::model::{Meta, ObjectId, RelPath, Snapshot};
use crate::store::trees::convert::put_entry;
use crate::store::trees::tree_codec::MODE_GITLINK;
use crate::store::{ReadFailure, Store, TreeEntry, TreeMemo, TreeWalk};

/// A state of which only the meta has been read.
pub struct LazySnapshot<'s> {
    pub tree: ObjectId,
    pub meta: Meta,
    /// Directories without files below them.
    bare_dirs: BTreeSet<RelPath>,
    memo: RefCell<TreeMemo<'s>>,
}

impl<'s> LazySnapshot<'s> {
    pub fn new(store: &'s Store, tree: ObjectId, meta: Meta) -> Self {
        let bare_dirs = meta.bare_dirs();
        Self {
            tree,
            meta,
            bare_dirs,
            memo: RefCell::new(TreeMemo::new(store.objects())),
        }
    }

    /// # Errors
    /// The tree cannot be read.
    pub fn entries(&self, tree: ObjectId) -> Result<Arc<[TreeEntry]>, ReadFailure> {
        self.memo.borrow_mut().tree(tree)
    }

    /// Returns the tree entry at a path; trees do not name directories without files.
    ///
    /// # Errors
    /// A tree on the way cannot be read.
    pub fn entry_at(&self, path: &RelPath) -> Result<Option<TreeEntry>, ReadFailure> {
        self.memo.borrow_mut().entry_at(self.tree, path)
    }

    /// # Errors
    /// As [`Self::entry_at`].
    pub fn has_file(&self, path: &RelPath) -> Result<bool, ReadFailure> {
        let found = self.entry_at(path)?;
        Ok(found.is_some_and(|entry| !entry.is_directory() && entry.mode != MODE_GITLINK))
    }

    /// # Errors
    /// As [`Self::entry_at`].
    pub fn has_dir(&self, path: &RelPath) -> Result<bool, ReadFailure> {
        if path.is_root() || self.bare_dirs.contains(path) {
            return Ok(true);
        }
        Ok(self
            .entry_at(path)?
            .is_some_and(|entry| entry.is_directory()))
    }

    /// Whether a file or a directory is there.
    ///
    /// # Errors
    /// As [`Self::entry_at`].
    pub fn holds(&self, path: &RelPath) -> Result<bool, ReadFailure> {
        Ok(self.has_dir(path)? || self.has_file(path)?)
    }

    pub fn perm_of_dir(&self, path: &RelPath) -> u32 {
        self.meta
            .unusual
            .get(path)
            .copied()
            .unwrap_or(self.meta.usual.directory)
    }

    /// Returns everything in the directories in focus, and the bare names of their subdirectories.
    ///
    /// # Errors
    /// A tree cannot be read, or holds a name that must not be written to a disk.
    pub fn snapshot(&self, filter: &DirFilter) -> Result<Snapshot, ReadFailure> {
        let mut snapshot = Snapshot::default();
        let mut dirs = Vec::new();
        let mut walk = TreeWalk::of(self.tree);
        while let Some((dir, tree)) = walk.next_tree() {
            if filter.contains(&dir) {
                let entries = self.entries(tree).map_err(|why| format!("{dir}: {why}"))?;
                walk.enter(&dir, &entries)
                    .into_iter()
                    .for_each(|(path, entry)| put_entry(&mut snapshot, path, entry));
            }
            dirs.push(dir);
        }
        self.meta_in(filter).complete(&mut snapshot)?;
        for path in dirs {
            let perm = self.perm_of_dir(&path);
            snapshot.dirs.insert(path, perm);
        }
        Ok(snapshot)
    }

    fn meta_in(&self, filter: &DirFilter) -> Meta {
        let mut meta = self.meta.clone();
        if let DirFilter::Dirs(_) = filter {
            let is_in =
                |path: &RelPath| path.parent().is_none_or(|parent| filter.contains(&parent));
            meta.empty_dirs.retain(is_in);
            meta.uncaptured.retain(|path, _| is_in(path));
        }
        meta
    }
}

/// The directories in focus; of all others only the name counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirFilter {
    Everything,
    /// Includes all parents of each directory.
    Dirs(HashSet<RelPath>),
}

impl DirFilter {
    pub fn contains(&self, dir: &RelPath) -> bool {
        match self {
            Self::Everything => true,
            Self::Dirs(dirs) => dirs.contains(dir),
        }
    }
}
