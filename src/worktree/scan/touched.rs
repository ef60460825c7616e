//! Paths that may have changed since the last scan, as a monitor of the directory names them.

use std::collections::HashMap;

use crate::model::{Name, RelPath};

/// Directories at the root into which the monitor does not look.
const UNWATCHED: [&[u8]; 2] = [b".hg", b".svn"];

/// A directory with such paths at or below it.
#[derive(Debug, Default)]
pub struct Touched {
    below: HashMap<Name, Touched>,
    /// Whether anything in it may have changed.
    is_unknown: bool,
}

impl Touched {
    /// `None` if a name leads nowhere below the root.
    pub fn of<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> Option<Self> {
        let mut all = Self::default();
        for name in names {
            let path = RelPath::new(name).ok()?;
            path.components().fold(&mut all, |at, part| {
                at.below.entry(part.into()).or_default()
            });
        }
        for name in UNWATCHED {
            all.below.entry(name.into()).or_default().is_unknown = true;
        }
        Some(all)
    }

    /// Returns what is touched at or below a name in this directory.
    pub fn at(&self, name: &[u8]) -> Option<&Self> {
        if self.is_unknown {
            return Some(self);
        }
        self.below.get(name)
    }

    /// Whether a path or one below it is touched.
    pub fn has(&self, path: &RelPath) -> bool {
        let mut parts = path.components();
        parts.try_fold(self, Self::at).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::path;

    #[test]
    fn a_path_is_touched_with_all_above_it_and_nothing_beside_it() {
        let touched = Touched::of(["a/b".as_bytes(), b"c"]).expect("they are paths");
        let mut found = ["a", "a/b", "c", ".hg", ".hg/store/x", ".svn"].into_iter();
        assert!(found.all(|at| touched.has(&path(at))));
        let mut others = ["b", "a/c", "a/b/c", "a/.hg"].into_iter();
        assert!(others.all(|at| !touched.has(&path(at))));
        assert!(Touched::of(["../x".as_bytes()]).is_none());
    }
}
