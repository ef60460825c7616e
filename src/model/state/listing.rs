//! The working directory as a scan found it: a flat list of directories, parents before children.
//!
//! The flat form needs no recursion, however deep the tree, and can be processed in slices.

use std::sync::Arc;

use crate::model::{
    CachedListing, FileView, Files, ListedUncaptured, Name, ObjectId, RelPath, Stat,
};

/// One directory; `files` and `uncaptured` are sorted bytewise by name.
#[derive(Clone, Debug)]
pub struct ListedDir {
    /// Index of the parent; 0 for the root itself.
    pub parent: usize,
    /// Empty for the root.
    pub name: Name,
    pub stat: Stat,
    pub files: Files,
    /// Indexes of the child directories, sorted by name; each is larger than its parent's.
    pub dirs: Vec<usize>,
    pub uncaptured: Vec<ListedUncaptured>,
    /// Git tree of this directory, once computed; `None` also if there is no file below.
    pub tree: Option<ObjectId>,
    /// Number of this directory in the stat cache, if it was there.
    pub cached: Option<usize>,
    /// Whether stat, files and uncaptured items equal those in the stat cache.
    pub unchanged: bool,
    /// Whether names alone decide what is captured here, not content or state of left-out files.
    pub decided_by_names: bool,
    /// Whether an uncaptured ignore file applies here, so that changes to it go unnoticed.
    pub has_hidden_rules: bool,
}

/// Result of a scan; `dirs[0]` is the root and always exists.
#[derive(Clone, Debug)]
pub struct Listing {
    pub dirs: Vec<ListedDir>,
    /// File system clock before the scan began; files not older than this are racy.
    pub started_ns: i64,
    /// The stat cache that the scan used.
    pub cached: Option<Arc<CachedListing>>,
}

impl Listing {
    /// Makes a listing of only an empty root.
    pub fn of_empty_root(stat: Stat, started_ns: i64) -> Self {
        Self {
            dirs: vec![ListedDir::empty(0, Name::default(), stat)],
            started_ns,
            cached: None,
        }
    }

    /// Returns the path of a directory by its index.
    pub fn path_of(&self, mut index: usize) -> RelPath {
        let mut names = Vec::new();
        while index != 0 {
            names.push(&*self.dirs[index].name);
            index = self.dirs[index].parent;
        }
        names.reverse();
        RelPath::new(&names.join(&b'/')).unwrap_or_default()
    }

    /// Returns the paths of all directories by index, as [`Self::path_of`] would, in one pass.
    pub fn paths(&self) -> Vec<RelPath> {
        let mut paths: Vec<RelPath> = Vec::with_capacity(self.dirs.len());
        for (index, dir) in self.dirs.iter().enumerate() {
            let path = if index == 0 {
                RelPath::root()
            } else {
                paths[dir.parent].join(&dir.name)
            };
            paths.push(path);
        }
        paths
    }

    /// Puts new directories among the children of one, all at once: each alone would move the
    /// others.
    pub fn add_children(&mut self, above: usize, new: impl IntoIterator<Item = usize>) {
        let mut children = std::mem::take(&mut self.dirs[above].dirs);
        children.extend(new);
        children.sort_by(|one, other| self.dirs[*one].name.cmp(&self.dirs[*other].name));
        self.dirs[above].dirs = children;
    }

    /// Returns the index of a subdirectory.
    pub fn child(&self, above: usize, name: &[u8]) -> Option<usize> {
        let children = &self.dirs[above].dirs;
        let named = |child: &usize| (*self.dirs[*child].name).cmp(name);
        let place = children.binary_search_by(named).ok()?;
        Some(children[place])
    }

    /// Returns the index of the directory at a path.
    pub fn index_of(&self, path: &RelPath) -> Option<usize> {
        path.components()
            .try_fold(0, |above, name| self.child(above, name))
    }

    /// Returns the directory at a path.
    pub fn dir(&self, path: &RelPath) -> Option<&ListedDir> {
        self.index_of(path).map(|index| &self.dirs[index])
    }

    /// Returns the file at a path.
    pub fn file(&self, path: &RelPath) -> Option<FileView<'_>> {
        self.dir(&path.parent()?)?.files.get(path.name())
    }

    pub fn file_count(&self) -> usize {
        self.dirs.iter().map(|dir| dir.files.len()).sum()
    }

    /// Returns the total size of captured files and symlinks in bytes.
    pub fn content_bytes(&self) -> u64 {
        self.dirs
            .iter()
            .flat_map(|dir| dir.files.iter())
            .map(|file| file.stat.size_bytes)
            .sum()
    }

    /// Whether a checkpoint of this listing is complete.
    pub fn is_complete(&self) -> bool {
        !self
            .dirs
            .iter()
            .flat_map(|dir| &dir.uncaptured)
            .any(|item| item.why.makes_partial())
    }
}

impl ListedDir {
    pub fn empty(parent: usize, name: Name, stat: Stat) -> Self {
        let (files, dirs, uncaptured) = (Files::default(), Vec::new(), Vec::new());
        let (tree, cached, unchanged, decided_by_names, has_hidden_rules) =
            (None, None, false, false, false);
        Self {
            parent,
            name,
            stat,
            files,
            dirs,
            uncaptured,
            tree,
            cached,
            unchanged,
            decided_by_names,
            has_hidden_rules,
        }
    }
}
