//! A pattern over paths: a literal path, a directory, or a glob with the meaning it has in an ignore file.

use crate::base::wildmatch::Glob;
use crate::model::state::rel_path::RelPath;

/// Which paths are meant. Whatever it means, all that lies below is meant too.
#[derive(Clone, Debug)]
pub struct PathPattern {
    /// Taken to the letter; `None` for what is no path.
    literal: Option<RelPath>,
    glob: Option<PatternShape>,
}

#[derive(Clone, Debug)]
enum PatternShape {
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

    /// This path and all below it.
    pub fn of_path(path: RelPath) -> Self {
        Self { literal: Some(path), glob: None }
    }

    /// What was typed with marks in it. A name such as `[id].tsx` is meant to the letter as well where `literal` is given.
    pub fn of_glob(typed: &[u8], literal: Option<RelPath>) -> Self {
        Self { literal, glob: shape(typed) }
    }

    /// Whether it can match anything at all.
    pub fn can_match(&self) -> bool {
        self.literal.is_some() || self.glob.is_some()
    }

    pub fn matches(&self, path: &RelPath) -> bool {
        if self.literal.as_ref().is_some_and(|literal| path.is_at_or_below(literal)) {
            return true;
        }
        match &self.glob {
            None => false,
            Some(PatternShape::Name(glob)) => path.components().any(|name| glob.matches(name)),
            Some(PatternShape::Path(glob)) => {
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

/// Whether bytes have a mark that makes them a glob.
pub fn has_marks(typed: &[u8]) -> bool {
    typed.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

fn shape(typed: &[u8]) -> Option<PatternShape> {
    let body = typed.strip_suffix(b"/").unwrap_or(typed);
    let body = body.strip_prefix(b"./").unwrap_or(body);
    if body.contains(&b'/') {
        return Glob::compile(body.strip_prefix(b"/").unwrap_or(body)).map(PatternShape::Path);
    }
    Glob::compile(body).map(PatternShape::Name)
}
