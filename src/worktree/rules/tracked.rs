//! The set of paths in the project's own git index.

use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

use crate::base::Malformed;
use crate::model::{IndexNames, git_index};

/// Tracked paths, captured although an ignore rule covers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// Sorted bytewise, unique.
    paths: Vec<Box<[u8]>>,
    /// Those that are nested repositories; sorted likewise.
    repositories: Vec<Box<[u8]>>,
}

impl Tracked {
    pub fn none() -> Self {
        Self::default()
    }

    /// Parses a whole index file.
    ///
    /// # Errors
    /// A message if the bytes are no known index, or a split one, of which this is only one part.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let names = git_index::parse(bytes)?;
        match names.shared {
            None => Ok(Self::from_parts([names])),
            Some(_) => Err("it is a split index and its other part is not at hand".into()),
        }
    }

    /// Joins the names of an index and the files that it refers to. Names that a split index
    /// deleted from its shared part stay in: at worst a little more is captured.
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

    /// Returns all paths, sorted bytewise.
    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.paths.iter().map(|path| &**path)
    }

    /// Whether exactly this path is tracked.
    pub fn contains(&self, path: &[u8]) -> bool {
        is_in(&self.paths, path)
    }

    /// Whether a path below this directory is tracked; the empty path is the root.
    pub fn any_below(&self, dir: &[u8]) -> bool {
        if dir.is_empty() {
            return !self.paths.is_empty();
        }
        let first = [dir, b"/"].concat();
        let at = self.paths.partition_point(|path| **path < *first);
        self.paths
            .get(at)
            .is_some_and(|path| path.starts_with(&first))
    }

    /// Whether this path is a nested repository, so that all below it belongs to the project.
    pub(super) fn is_repository(&self, path: &[u8]) -> bool {
        is_in(&self.repositories, path)
    }
}

/// Tracked paths, read on first use.
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
        let paths = ["a.b", "a/c", "b", "dir/x/y"]
            .map(|path| path.as_bytes().into())
            .to_vec();
        let tracked = Tracked::from_parts([IndexNames {
            paths,
            ..IndexNames::default()
        }]);
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
