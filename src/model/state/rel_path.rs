//! Paths relative to the root, as raw bytes: the only way to name a user's file.

use std::fmt;
use std::path::{Component, Path};

/// A path below the root: components joined by `/`, any bytes but NUL, never absolute.
///
/// The empty path is the root itself. No component is empty, `.` or `..`. Ordered bytewise, so
/// everything below `a/` follows `a` before `b`, with `a.b` between `a` and `a/`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath(Box<[u8]>);

/// Why bytes are no [`RelPath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum PathProblem {
    #[strum(serialize = "it is absolute")]
    Absolute,
    #[strum(serialize = "a component is empty")]
    EmptyComponent,
    #[strum(serialize = "a component is '.' or '..'")]
    DotComponent,
    #[strum(serialize = "it has a NUL byte")]
    Nul,
}

impl RelPath {
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses bytes from a tree, a journal or a pattern file.
    ///
    /// # Errors
    /// A leading `/`, an empty component, `.`, `..` or a NUL byte.
    pub fn new(bytes: &[u8]) -> Result<Self, PathProblem> {
        if bytes.is_empty() {
            return Ok(Self::root());
        }
        if bytes[0] == b'/' {
            return Err(PathProblem::Absolute);
        }
        bytes.split(|b| *b == b'/').try_for_each(check_name)?;
        Ok(Self(bytes.into()))
    }

    /// Returns a path without the `.` and `..` in it; `None` if it leads out of its base.
    pub fn within(path: &Path) -> Option<Self> {
        let mut names = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => names.push(name.as_encoded_bytes()),
                Component::CurDir => {}
                Component::ParentDir if names.pop().is_some() => {}
                _ => return None,
            }
        }
        Self::new(&names.join(&b'/')).ok()
    }

    /// Appends one component, which must come from a directory listing or a checked tree.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        debug_assert_eq!(check_name(name), Ok(()));
        if self.is_root() {
            return Self(name.into());
        }
        Self([&self.0, b"/".as_slice(), name].concat().into())
    }

    /// Appends all components of another path.
    #[must_use]
    pub fn join_all(&self, below: &Self) -> Self {
        match (self.is_root(), below.is_root()) {
            (_, true) => self.clone(),
            (true, _) => below.clone(),
            _ => Self([&self.0, b"/".as_slice(), &below.0].concat().into()),
        }
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the last component; empty for the root.
    pub fn name(&self) -> &[u8] {
        let slash = self.0.iter().rposition(|b| *b == b'/');
        &self.0[slash.map_or(0, |at| at + 1)..]
    }

    /// Returns the parent directory; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let end = self.0.iter().rposition(|b| *b == b'/').unwrap_or(0);
        Some(Self(self.0[..end].into()))
    }

    /// Returns all ancestors, nearest first, the root last.
    pub fn ancestors(&self) -> impl Iterator<Item = RelPath> + use<> {
        std::iter::successors(self.parent(), RelPath::parent)
    }

    /// Returns the path and all its ancestors, nearest first, the root last.
    pub fn self_and_ancestors(&self) -> impl Iterator<Item = RelPath> + use<> {
        std::iter::successors(Some(self.clone()), RelPath::parent)
    }

    pub fn components(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|b| *b == b'/').filter(|name| !name.is_empty())
    }

    /// Whether this is `other` or lies below it.
    pub fn is_at_or_below(&self, other: &RelPath) -> bool {
        other.is_root()
            || self
                .0
                .strip_prefix(&*other.0)
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    }

    /// Whether this is at or below one of these; none means everywhere.
    pub fn is_within(&self, limits: &[Self]) -> bool {
        limits.is_empty() || limits.iter().any(|limit| self.is_at_or_below(limit))
    }

    /// Returns the bytes in hex, the lossless form for text documents.
    pub fn to_hex(&self) -> String {
        hex_of(self.as_bytes())
    }

    /// Returns the text if the bytes are UTF-8; otherwise JSON carries the bytes beside it.
    pub fn as_utf8(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

/// Escapes the path so that no byte can act on a terminal or break a line; the root is `.`.
impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str(".");
        }
        f.write_str(&crate::base::text::escape_bytes(&self.0))
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn check_name(name: &[u8]) -> Result<(), PathProblem> {
    match name {
        b"" => Err(PathProblem::EmptyComponent),
        b"." | b".." => Err(PathProblem::DotComponent),
        _ if name.contains(&0) => Err(PathProblem::Nul),
        _ => Ok(()),
    }
}

/// Returns any path in hex, for paths that are not text.
pub fn hex_of(bytes: &[u8]) -> String {
    hex::encode(bytes)
}

/// Whether git refuses a tree entry of this name because some file system takes it for `.git`:
/// letters of either case, trailing dots and blanks, `git~1`, an alternate data stream, and code
/// points that HFS+ ignores. Source: git's `verify_path`, `is_ntfs_dotgit` and `is_hfs_dotgit`.
pub fn is_dot_git(name: &[u8]) -> bool {
    is_ntfs_dot_git(name) || is_hfs_dot_git(name)
}

fn is_ntfs_dot_git(name: &[u8]) -> bool {
    let end = name
        .iter()
        .position(|b| matches!(b, b':' | b'\\'))
        .unwrap_or(name.len());
    let last = name[..end].iter().rposition(|b| !matches!(b, b'.' | b' '));
    let stem = &name[..last.map_or(0, |at| at + 1)];
    stem.eq_ignore_ascii_case(b".git") || stem.eq_ignore_ascii_case(b"git~1")
}

fn is_hfs_dot_git(name: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(name) else {
        return false;
    };
    let ignored = |c: &char| matches!(*c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let mut rest = text.chars().filter(|c| !ignored(c));
    let expected = ['.', 'g', 'i', 't'];
    expected
        .iter()
        .all(|want| rest.next().is_some_and(|c| c.to_ascii_lowercase() == *want))
        && rest.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_and_has_no_empty_or_dot_component() {
        for good in ["a", "a/b", "-x", " ", "a\n", "...", ":(top)", "a\\b"] {
            assert!(RelPath::new(good.as_bytes()).is_ok(), "{good:?}");
        }
        for (bad, why) in [
            ("/a", PathProblem::Absolute),
            ("a//b", PathProblem::EmptyComponent),
            ("a/", PathProblem::EmptyComponent),
            ("./a", PathProblem::DotComponent),
            ("a/../b", PathProblem::DotComponent),
            ("a\0", PathProblem::Nul),
        ] {
            assert_eq!(RelPath::new(bad.as_bytes()), Err(why), "{bad:?}");
        }
    }

    #[test]
    fn below_is_by_component_not_by_prefix() {
        let path = |text: &str| RelPath::new(text.as_bytes()).unwrap();
        assert!(path("a/b").is_at_or_below(&path("a")));
        assert!(path("a").is_at_or_below(&path("a")));
        assert!(path("a").is_at_or_below(&RelPath::root()));
        assert!(!path("a.b").is_at_or_below(&path("a")));
        assert!(!path("a").is_at_or_below(&path("a/b")));
    }

    #[test]
    fn parent_name_and_ancestors_take_a_path_apart() {
        let path = RelPath::new(b"a/b/c").unwrap();
        assert_eq!(path.name(), b"c");
        let above: Vec<String> = path.ancestors().map(|p| p.to_string()).collect();
        assert_eq!(above, ["a/b", "a", "."]);
        assert!(path.self_and_ancestors().skip(1).eq(path.ancestors()));
        assert_eq!(RelPath::root().join(b"x").join(b"y").as_bytes(), b"x/y");
    }

    #[test]
    fn every_spelling_that_some_file_system_takes_for_dot_git_is_known() {
        for name in ".git|.GIT|.Git|git~1|GIT~1|.git |.git...|.git. .|.git::$INDEX_ALLOCATION|\
            .g\u{200c}it|.\u{feff}git|.git\\x"
            .split('|')
        {
            assert!(is_dot_git(name.as_bytes()), "{name:?}");
        }
        for name in "git .gitignore .gitattributes git~2 x.git .gi .gitx a.git".split(' ') {
            assert!(!is_dot_git(name.as_bytes()), "{name:?}");
        }
    }
}
