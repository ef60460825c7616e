//! A path pattern: a literal path, a directory, or a glob as in an ignore file.

use crate::base::Glob;
use crate::model::RelPath;

/// A pattern that matches paths and everything below them.
#[derive(Clone, Debug)]
pub struct PathPattern {
    /// The literal path; `None` for a glob.
    literal: Option<RelPath>,
    glob: Option<PatternShape>,
    /// Whether the glob ends in a slash: it means directories.
    is_of_dirs: bool,
}

#[derive(Clone, Debug)]
enum PatternShape {
    /// Without a slash: matches the name in any directory.
    Name(Glob),
    /// With a slash: matches the path from the root.
    Path(Glob),
}

impl PathPattern {
    /// Matches everything.
    pub fn all() -> Self {
        Self {
            literal: Some(RelPath::root()),
            glob: None,
            is_of_dirs: false,
        }
    }

    /// Matches this path and everything below.
    pub fn of_path(path: RelPath) -> Self {
        Self {
            literal: Some(path),
            glob: None,
            is_of_dirs: false,
        }
    }

    /// Matches a typed glob. With `literal`, a name such as `[id].tsx` also matches literally.
    pub fn of_glob(typed: &[u8], literal: Option<RelPath>) -> Self {
        Self {
            literal,
            glob: shape(typed),
            is_of_dirs: typed.ends_with(b"/"),
        }
    }

    /// Whether it can match anything.
    pub fn can_match(&self) -> bool {
        self.literal.is_some() || self.glob.is_some()
    }

    pub fn matches(&self, path: &RelPath) -> bool {
        if self
            .literal
            .as_ref()
            .is_some_and(|literal| path.is_at_or_below(literal))
        {
            return true;
        }
        match &self.glob {
            None => false,
            Some(PatternShape::Name(glob)) => path.components().any(|name| glob.matches(name)),
            Some(PatternShape::Path(glob)) => {
                glob.matches(path.as_bytes())
                    || path.ancestors().any(|above| glob.matches(above.as_bytes()))
            }
        }
    }

    /// As [`Self::matches`], but `src/` matches no file of that name, only what lies below.
    pub fn matches_file(&self, path: &RelPath) -> bool {
        if self.is_of_dirs {
            path.parent().is_some_and(|dir| self.matches(&dir))
        } else {
            self.matches(path)
        }
    }

    /// Whether this directory can contain a match.
    pub fn enters(&self, dir: &RelPath) -> bool {
        let leads_there =
            |literal: &RelPath| literal.is_at_or_below(dir) || dir.is_at_or_below(literal);
        self.glob.is_some() || self.literal.as_ref().is_some_and(leads_there)
    }
}

/// Whether the bytes contain a glob character.
pub fn has_marks(typed: &[u8]) -> bool {
    typed.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether one file may match patterns of both: the fixed directory of one lies at or below that of
/// the other. No patterns meet none.
pub fn may_meet(one: &[String], other: &[String]) -> bool {
    let others: Vec<Vec<&str>> = other.iter().map(|other| fixed_part(other)).collect();
    one.iter().map(|one| fixed_part(one)).any(|one| {
        let mut others = others.iter();
        others.any(|other| one.starts_with(other) || other.starts_with(&one))
    })
}

/// Returns the components before the first wildcard.
fn fixed_part(pattern: &str) -> Vec<&str> {
    let has_marks = |name: &str| name.contains(['*', '?', '[', '{', '\\']);
    let names = pattern.split('/');
    let names = names.filter(|name| !name.is_empty() && *name != ".");
    let fixed: Vec<&str> = names.take_while(|name| !has_marks(name)).collect();
    // A `..` may lead anywhere.
    let fixed = Some(fixed).filter(|fixed| !fixed.contains(&".."));
    fixed.unwrap_or_default()
}

fn shape(typed: &[u8]) -> Option<PatternShape> {
    let body = typed.strip_suffix(b"/").unwrap_or(typed);
    let body = body.strip_prefix(b"./").unwrap_or(body);
    if body.contains(&b'/') {
        return Glob::compile(body.strip_prefix(b"/").unwrap_or(body)).map(PatternShape::Path);
    }
    Glob::compile(body).map(PatternShape::Name)
}
