//! The PATTERN of `find`: a literal path, a directory, or a glob with the meaning it has in an ignore file.

use crate::error::Result;
use crate::model::rel_path::RelPath;
use crate::ops::restore_paths;
use crate::worktree::root::Root;
use crate::worktree::rules::wildmatch::Glob;

/// Which paths are looked for. Whatever it means, all that lies below is meant too.
pub struct PathPattern {
    /// Taken to the letter; `None` for what is no path.
    literal: Option<RelPath>,
    glob: Option<Shape>,
}

enum Shape {
    /// Without a slash: the name, in any directory.
    Name(Glob),
    /// With one: the path from the root.
    Path(Glob),
}

impl PathPattern {
    /// Everything.
    pub fn all() -> Self {
        Self { literal: Some(RelPath::root()), glob: None }
    }

    /// # Errors
    /// A literal path that lies outside the root or in a `.git`.
    pub fn parse(root: &Root, typed: &[u8]) -> Result<Self> {
        let has_marks = typed.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['));
        let literal = restore_paths::parse(root, &[typed.to_vec()]).map(|mut paths| paths.pop());
        if !has_marks {
            return Ok(Self { literal: literal?, glob: None });
        }
        // A name such as `[id].tsx` is looked for to the letter as well.
        Ok(Self { literal: literal.ok().flatten(), glob: shape(typed) })
    }

    pub fn matches(&self, path: &RelPath) -> bool {
        if self.literal.as_ref().is_some_and(|literal| path.is_at_or_below(literal)) {
            return true;
        }
        match &self.glob {
            None => false,
            Some(Shape::Name(glob)) => path.components().any(|name| glob.matches(name)),
            Some(Shape::Path(glob)) => {
                glob.matches(path.as_bytes()) || path.ancestors().any(|above| glob.matches(above.as_bytes()))
            }
        }
    }

    /// Whether something that matches can lie in this directory.
    pub fn enters(&self, dir: &RelPath) -> bool {
        let leads_there = |literal: &RelPath| literal.is_at_or_below(dir) || dir.is_at_or_below(literal);
        self.glob.is_some() || self.literal.as_ref().is_some_and(leads_there)
    }
}

fn shape(typed: &[u8]) -> Option<Shape> {
    let body = typed.strip_suffix(b"/").unwrap_or(typed);
    let body = body.strip_prefix(b"./").unwrap_or(body);
    if body.contains(&b'/') {
        return Glob::compile(body.strip_prefix(b"/").unwrap_or(body)).map(Shape::Path);
    }
    Glob::compile(body).map(Shape::Name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_what_it_means_in_an_ignore_file_and_all_below_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::resolve(temp.path(), None).unwrap();
        for (typed, path, expected) in [
            ("src/a.rs", "src/a.rs", true),
            ("src", "src/a.rs", true),
            ("./src/", "src/a.rs", true),
            ("a.rs", "src/a.rs", false),
            ("*.rs", "src/deep/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("/*.rs", "src/a.rs", false),
            ("**/a.rs", "src/deep/a.rs", true),
            ("s?c", "src/deep/a.rs", true),
            ("src/d*", "src/deep/a.rs", true),
            ("[id].tsx", "[id].tsx", true),
            ("[id].tsx", "i.tsx", true),
            ("[", "[", true),
            ("*", "anything/at/all", true),
        ] {
            let pattern = PathPattern::parse(&root, typed.as_bytes()).unwrap();
            let path = RelPath::new(path.as_bytes()).unwrap();
            assert_eq!(pattern.matches(&path), expected, "{typed} {path}");
            assert!(!expected || path.ancestors().all(|dir| pattern.enters(&dir)), "{typed} {path}");
        }
        assert!(PathPattern::parse(&root, b"../x").is_err());
        assert!(PathPattern::parse(&root, b".git/config").is_err());
    }
}
