//! The set of paths that the project's own git index names.

use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

use crate::model::git_index::{self, IndexNames};

/// Paths that are captured although an ignore rule covers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// Sorted bytewise, without doubles.
    paths: Vec<Box<[u8]>>,
    /// Those of them that are directories with a repository of their own; sorted likewise.
    repositories: Vec<Box<[u8]>>,
}

impl Tracked {
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads an index file whole.
    ///
    /// # Errors
    /// Why it is no index that we know, in words; also for a split index, of which this is only one part.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let names = git_index::parse(bytes)?;
        match names.shared {
            None => Ok(Self::from_parts([names])),
            Some(_) => Err("it is a split index and its other part is not at hand".into()),
        }
    }

    /// All names of an index and the files that it refers to. What a split index took back from
    /// its shared part is still in: at worst a little more is captured.
    pub(in crate::worktree) fn from_parts(parts: impl IntoIterator<Item = IndexNames>) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.paths.extend(part.paths);
            all.repositories.extend(part.repositories);
        }
        for list in [&mut all.paths, &mut all.repositories] {
            list.sort_unstable();
            list.dedup();
        }
        all
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// All paths, sorted bytewise.
    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.paths.iter().map(|path| &**path)
    }

    /// Whether this very path is named.
    pub fn contains(&self, path: &[u8]) -> bool {
        is_in(&self.paths, path)
    }

    /// Whether a path below this directory is named; the empty path is the root.
    pub fn any_below(&self, dir: &[u8]) -> bool {
        if dir.is_empty() {
            return !self.paths.is_empty();
        }
        let first = [dir, b"/"].concat();
        let at = self.paths.partition_point(|path| **path < *first);
        self.paths.get(at).is_some_and(|path| path.starts_with(&first))
    }

    /// Whether this path is named as a repository of its own, so that all below it belongs to the project.
    pub(super) fn is_repository(&self, path: &[u8]) -> bool {
        is_in(&self.repositories, path)
    }
}

/// The same, read only when first asked for.
pub struct TrackedLater(LazyLock<Tracked, Reader>);

type Reader = Box<dyn FnOnce() -> Tracked + Send + Sync>;

impl TrackedLater {
    pub fn new(read: Reader) -> Self {
        Self(LazyLock::new(read))
    }
}

impl From<Tracked> for TrackedLater {
    fn from(tracked: Tracked) -> Self {
        Self::new(Box::new(move || tracked))
    }
}

impl Default for TrackedLater {
    fn default() -> Self {
        Tracked::none().into()
    }
}

impl Deref for TrackedLater {
    type Target = Tracked;

    fn deref(&self) -> &Tracked {
        &self.0
    }
}

impl fmt::Debug for TrackedLater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrackedLater")
    }
}

fn is_in(sorted: &[Box<[u8]>], path: &[u8]) -> bool {
    sorted.binary_search_by(|found| (**found).cmp(path)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_by_component() {
        let paths = ["a.b", "a/c", "b", "dir/x/y"].map(|path| path.as_bytes().into()).to_vec();
        let tracked = Tracked::from_parts([IndexNames { paths, ..IndexNames::default() }]);
        for dir in ["", "a", "dir", "dir/x"] {
            assert!(tracked.any_below(dir.as_bytes()), "{dir}");
        }
        for dir in ["b", "a.b", "di", "dir/x/y", "z"] {
            assert!(!tracked.any_below(dir.as_bytes()), "{dir}");
        }
        assert!(tracked.contains(b"a/c") && !tracked.contains(b"a"));
        assert!(!Tracked::none().any_below(b""));
    }
}
