//! A working directory as one scan saw it: a flat list of directories, parents before children.
//!
//! The flat form needs no recursion, however deep the tree, and lets a reader take it apart in slices.

use std::sync::Arc;

use crate::model::stat_cache::cached_listing::CachedListing;
use crate::model::state::files::Files;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::stat::{FileView, Name, Stat, Uncaptured};

/// The window in which a file system that keeps whole seconds (or FAT: every other one) hides a change.
const COARSE_TICK_NS: i64 = 2_000_000_000;
/// A write that takes longer is not reckoned with: ten megabytes in a second.
const SLOWEST_WRITE_NS_PER_BYTE: i64 = 100;

/// One directory. Names in `files` and `uncaptured` are sorted bytewise.
#[derive(Clone, Debug)]
pub struct ListedDir {
    /// Index of the directory that holds this one; the root names itself (0).
    pub parent: usize,
    /// Empty for the root.
    pub name: Name,
    pub stat: Stat,
    pub files: Files,
    /// Indexes of the directories in it, sorted by name; each is larger than this one's own.
    pub dirs: Vec<usize>,
    pub uncaptured: Vec<Uncaptured>,
    /// The git tree of this directory, once it was computed; `None` also for one without any file below it.
    pub tree: Option<ObjectId>,
    /// Its number in the listing that the scan knew, if it was there.
    pub kept: Option<usize>,
    /// Its own stat, its files and what is not captured in it are as in that listing.
    pub unchanged: bool,
    /// Its names alone decide what of it is captured: nothing depends on the content or the state of what was left out.
    pub decided_by_names: bool,
    /// An ignore file has a say here that is itself not captured, so that nobody knows whether it is as it was.
    pub has_hidden_rules: bool,
}

/// What a scan saw. `dirs[0]` is the root and is always there.
#[derive(Clone, Debug)]
pub struct Listing {
    pub dirs: Vec<ListedDir>,
    /// The file system's clock before the scan began; what is not older than this may change unseen.
    pub started_ns: i64,
    /// The listing that the scan knew.
    pub kept: Option<Arc<CachedListing>>,
}

impl Listing {
    /// A listing with nothing in it but the root.
    pub fn of_empty_root(stat: Stat, started_ns: i64) -> Self {
        Self { dirs: vec![ListedDir::empty(0, Name::default(), stat)], started_ns, kept: None }
    }

    pub fn root(&self) -> &ListedDir {
        &self.dirs[0]
    }

    /// The path of a directory by its index.
    pub fn path_of(&self, mut index: usize) -> RelPath {
        let mut names = Vec::new();
        while index != 0 {
            names.push(&*self.dirs[index].name);
            index = self.dirs[index].parent;
        }
        names.reverse();
        RelPath::new(&names.join(&b'/')).unwrap_or_default()
    }

    /// Paths of all directories, by index: what calling [`Self::path_of`] for each gives, in one pass.
    pub fn paths(&self) -> Vec<RelPath> {
        let mut paths: Vec<RelPath> = Vec::with_capacity(self.dirs.len());
        for (index, dir) in self.dirs.iter().enumerate() {
            let path = if index == 0 { RelPath::root() } else { paths[dir.parent].join(&dir.name) };
            paths.push(path);
        }
        paths
    }

    /// The directory at a path, found by walking down from the root.
    pub fn dir(&self, path: &RelPath) -> Option<&ListedDir> {
        let mut dir = self.root();
        for name in path.components() {
            let at = dir.dirs.binary_search_by(|child| (*self.dirs[*child].name).cmp(name)).ok()?;
            dir = &self.dirs[dir.dirs[at]];
        }
        Some(dir)
    }

    /// The file at a path.
    pub fn file(&self, path: &RelPath) -> Option<FileView<'_>> {
        self.dir(&path.parent()?)?.files.get(path.name())
    }

    pub fn file_count(&self) -> usize {
        self.dirs.iter().map(|dir| dir.files.len()).sum()
    }

    /// Bytes of all files and links to be captured.
    pub fn content_bytes(&self) -> u64 {
        self.dirs.iter().flat_map(|dir| dir.files.iter()).map(|file| file.stat.size_bytes).sum()
    }

    /// Whether nothing that made the checkpoint incomplete was met.
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

/// Whether a file may have changed after it was looked at without a trace in its times: they are not older than
/// `started_ns`, when the looking began. A time in the future is never older.
pub fn is_racy(stat: &Stat, started_ns: i64) -> bool {
    const SECOND_NS: i64 = 1_000_000_000;
    let is_coarse = stat.mtime_ns % SECOND_NS == 0 && stat.ctime_ns % SECOND_NS == 0;
    let safe_before_ns = if is_coarse { started_ns.saturating_sub(COARSE_TICK_NS) } else { started_ns };
    stat.mtime_ns >= safe_before_ns || stat.ctime_ns >= safe_before_ns
}

/// Whether a write that began before `started_ns` may have gone on then: the system stamps a file before it copies the
/// bytes of a write, so what is read in the middle of one lacks the rest, and no later stamp tells.
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
