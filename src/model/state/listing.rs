//! A listing: the working directory as a scan found it, a flat list of directories, parents before children.
//!
//! The flat form needs no recursion, however deep the tree, and can be processed in slices.

use std::sync::Arc;

use crate::base::time::SECOND_NS;
use crate::model::stat_cache::cached_listing::CachedListing;
use crate::model::state::files::Files;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{FileView, Name, Stat, Uncaptured};

/// Timestamp granularity of coarse file systems: whole seconds, or two on FAT; changes within it are invisible.
const COARSE_TICK_NS: i64 = 2_000_000_000;
/// Slowest write speed assumed, ten megabytes per second.
const SLOWEST_WRITE_NS_PER_BYTE: i64 = 100;

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
    pub uncaptured: Vec<Uncaptured>,
    /// Git tree of this directory, once computed; `None` also if there is no file below.
    pub tree: Option<ObjectId>,
    /// Number of this directory in the stat cache, if it was there.
    pub kept: Option<usize>,
    /// Whether stat, files and uncaptured items equal those in the stat cache.
    pub unchanged: bool,
    /// Whether names alone decide what is captured here, not the content or state of left-out files.
    pub decided_by_names: bool,
    /// Whether an ignore file applies here that is not captured, so that changes to it go unnoticed.
    pub has_hidden_rules: bool,
}

/// Result of a scan; `dirs[0]` is the root and always exists.
#[derive(Clone, Debug)]
pub struct Listing {
    pub dirs: Vec<ListedDir>,
    /// File system clock before the scan began; files not older than this are racy.
    pub started_ns: i64,
    /// The stat cache that the scan used.
    pub kept: Option<Arc<CachedListing>>,
}

impl Listing {
    /// Makes a listing of only an empty root.
    pub fn of_empty_root(stat: Stat, started_ns: i64) -> Self {
        Self { dirs: vec![ListedDir::empty(0, Name::default(), stat)], started_ns, kept: None }
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
            let path = if index == 0 { RelPath::root() } else { paths[dir.parent].join(&dir.name) };
            paths.push(path);
        }
        paths
    }

    /// Returns the place of a name among the children of a directory, or where it would be inserted.
    pub fn child_place(&self, above: usize, name: &[u8]) -> Result<usize, usize> {
        self.dirs[above].dirs.binary_search_by(|child| (*self.dirs[*child].name).cmp(name))
    }

    /// Returns the index of a subdirectory.
    pub fn child(&self, above: usize, name: &[u8]) -> Option<usize> {
        self.child_place(above, name).ok().map(|place| self.dirs[above].dirs[place])
    }

    /// Returns the index of the directory at a path.
    pub fn index_of(&self, path: &RelPath) -> Option<usize> {
        path.components().try_fold(0, |above, name| self.child(above, name))
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
        self.dirs.iter().flat_map(|dir| dir.files.iter()).map(|file| file.stat.size_bytes).sum()
    }

    /// Whether a checkpoint of this listing is complete.
    pub fn is_complete(&self) -> bool {
        !self.dirs.iter().flat_map(|dir| &dir.uncaptured).any(|item| item.why.makes_partial())
    }
}

impl ListedDir {
    pub fn empty(parent: usize, name: Name, stat: Stat) -> Self {
        let (files, dirs, uncaptured) = (Files::default(), Vec::new(), Vec::new());
        let (tree, kept, unchanged, decided_by_names, has_hidden_rules) = (None, None, false, false, false);
        Self { parent, name, stat, files, dirs, uncaptured, tree, kept, unchanged, decided_by_names, has_hidden_rules }
    }
}

/// Whether a file may change after its stat without a change of its timestamps, because they are not older than
/// `started_ns`, when the scan began. A time in the future is never older.
pub fn is_racy(stat: &Stat, started_ns: i64) -> bool {
    let is_coarse = stat.mtime_ns % SECOND_NS == 0 && stat.ctime_ns % SECOND_NS == 0;
    let safe_before_ns = if is_coarse { started_ns.saturating_sub(COARSE_TICK_NS) } else { started_ns };
    stat.mtime_ns >= safe_before_ns || stat.ctime_ns >= safe_before_ns
}

/// Whether a write begun before `started_ns` may still have been going on then: the system stamps a file before copying
/// the bytes of a write, so a read in the middle lacks the rest without a later timestamp.
pub fn may_be_half_written(stat: &Stat, started_ns: i64) -> bool {
    let longest_ns = i64::try_from(stat.size_bytes).unwrap_or(i64::MAX).saturating_mul(SLOWEST_WRITE_NS_PER_BYTE);
    stat.mtime_ns.saturating_add(longest_ns) >= started_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_long_write_may_still_be_at_is_not_sure() {
        let stat = |mtime_ns, size_bytes| Stat { size_bytes, mtime_ns, ..Stat::default() };
        assert!(may_be_half_written(&stat(0, 1 << 20), 100_000_000));
        assert!(!may_be_half_written(&stat(0, 1 << 20), 110_000_000));
        assert!(!may_be_half_written(&stat(0, 100), 20_000));
        assert!(may_be_half_written(&stat(i64::MAX, u64::MAX), i64::MAX));
    }

    #[test]
    fn what_is_not_older_than_the_scan_is_racy() {
        let stat = |mtime_ns, ctime_ns| Stat { mtime_ns, ctime_ns, ..Stat::default() };
        assert!(!is_racy(&stat(99, 99), 100));
        assert!(is_racy(&stat(100, 99), 100));
        assert!(is_racy(&stat(99, 100), 100));
        assert!(is_racy(&stat(i64::MAX, 1), 100));
        let second = 1_000_000_000;
        assert!(is_racy(&stat(10 * second, 10 * second), 12 * second));
        assert!(!is_racy(&stat(10 * second, 10 * second), 12 * second + 1));
        assert!(!is_racy(&stat(10 * second + 1, 10 * second), 11 * second));
    }
}
