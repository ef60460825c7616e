//! The rules of one directory: its ignore file and those of its ancestors, nearest first.

use std::sync::Arc;

use crate::worktree::rules::pattern_list::{Pattern, PatternList, Subject};

/// Rules of a directory during a scan; cheap to clone and shared with everything below.
#[derive(Clone, Debug)]
pub struct DirRules {
    /// Path from the root.
    pub(super) path: Arc<[u8]>,
    ignore_files: Option<Arc<IgnoreFile>>,
    /// The rule that leaves this directory out, except for tracked paths.
    pub(super) cover: Option<Arc<Cover>>,
    /// Whether the user allows sensitive names here.
    pub(super) lets_sensitive_through: bool,
    /// Whether the user named this directory although a rule leaves it out.
    pub(super) takes_ignored: bool,
}

/// A rule that leaves out a directory and everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// The rule as shown to the user.
    pub rule: String,
    pub is_secret: bool,
}

/// An ignore file with at least one pattern, and the next one above it.
#[derive(Debug)]
struct IgnoreFile {
    /// Length in bytes of the path of its directory.
    base_len: usize,
    patterns: PatternList,
    above: Option<Arc<IgnoreFile>>,
}

impl DirRules {
    pub(super) fn root(ignore_file: Option<&[u8]>) -> Self {
        let root = Self {
            path: Arc::default(),
            ignore_files: None,
            cover: None,
            lets_sensitive_through: false,
            takes_ignored: false,
        };
        root.with_ignore_file(ignore_file)
    }

    /// Returns the rules of a child directory.
    pub(super) fn below(&self, path: &[u8], ignore_file: Option<&[u8]>) -> Self {
        Self {
            path: path.into(),
            ..self.clone()
        }
        .with_ignore_file(ignore_file)
    }

    fn with_ignore_file(mut self, text: Option<&[u8]>) -> Self {
        let patterns = text.map(PatternList::parse).unwrap_or_default();
        if !patterns.is_empty() {
            let above = self.ignore_files.take();
            self.ignore_files = Some(Arc::new(IgnoreFile {
                base_len: self.path.len(),
                patterns,
                above,
            }));
        }
        self
    }

    /// Returns the deciding pattern, with the path length of its ignore file's directory.
    pub(super) fn deciding(&self, subject: Subject<'_>) -> Option<(&Pattern, usize)> {
        let files =
            std::iter::successors(self.ignore_files.as_deref(), |file| file.above.as_deref());
        files.into_iter().find_map(|file| {
            Some((
                file.patterns.deciding(subject, file.base_len)?,
                file.base_len,
            ))
        })
    }
}

/// Drops the chain iteratively: in a hostile deep tree, recursion would overflow the stack.
impl Drop for IgnoreFile {
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(file) = above {
            above = Arc::into_inner(file).and_then(|mut last| last.above.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_very_deep_chain_can_be_dropped() {
        let mut dir = DirRules::root(Some(b"x"));
        for _ in 0..200_000 {
            dir = dir.below(b"a", Some(b"x"));
        }
        let twin = dir.clone();
        drop(dir);
        drop(twin);
    }
}
