//! One line of an ignore file: parsed, and matched against paths.

use crate::base::Glob;

/// A path to be matched.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'p> {
    /// The whole path from the root.
    pub path: &'p [u8],
    /// Its last component.
    pub name: &'p [u8],
    pub is_dir: bool,
}

/// A parsed pattern that can match something.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The line as written, less what git ignores in it.
    pub text: Box<[u8]>,
    /// Whether it begins with `!`, so that matches are not ignored.
    pub is_negated: bool,
    only_dirs: bool,
    shape: RuleShape,
}

#[derive(Clone, Debug)]
enum RuleShape {
    /// Matches exactly this name.
    Name(Box<[u8]>),
    /// `*x`: matches names with this end.
    NameEnd(Box<[u8]>),
    NameGlob(Glob),
    /// Matches paths from the ignore file's directory: a literal prefix, then a glob for the rest.
    Path {
        prefix: Box<[u8]>,
        rest: Glob,
    },
}

impl Pattern {
    /// Parses a line; `None` for a comment, an empty line, and a pattern that can match nothing.
    pub fn parse(line: &[u8]) -> Option<Self> {
        let text = significant(line)?;
        let (is_negated, body) = match text.strip_prefix(b"!") {
            Some(body) => (true, body),
            None => (false, text),
        };
        let (only_dirs, body) = match body.strip_suffix(b"/") {
            Some(body) => (true, body),
            None => (false, body),
        };
        if body.is_empty() {
            return None;
        }
        let shape = if body.contains(&b'/') {
            path_shape(body)?
        } else {
            name_shape(body)?
        };
        Some(Self {
            text: text.into(),
            is_negated,
            only_dirs,
            shape,
        })
    }

    /// Returns the name if the pattern matches exactly one.
    pub fn exact_name(&self) -> Option<&[u8]> {
        match &self.shape {
            RuleShape::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the literal prefix of a path pattern; `None` for a name pattern.
    pub fn path_prefix(&self) -> Option<&[u8]> {
        match &self.shape {
            RuleShape::Path { prefix, .. } => Some(prefix),
            _ => None,
        }
    }

    /// Whether the pattern matches; its ignore file's directory is the first `base_len` bytes of
    /// the path.
    pub fn matches(&self, subject: Subject<'_>, base_len: usize) -> bool {
        if self.only_dirs && !subject.is_dir {
            return false;
        }
        match &self.shape {
            RuleShape::Name(name) => subject.name == &**name,
            RuleShape::NameEnd(end) => subject.name.ends_with(end),
            RuleShape::NameGlob(glob) => glob.matches(subject.name),
            RuleShape::Path { prefix, rest } => {
                let start = if base_len == 0 { 0 } else { base_len + 1 };
                let from_base = subject.path.get(start..).unwrap_or_default();
                from_base
                    .strip_prefix(&**prefix)
                    .is_some_and(|tail| rest.matches(tail))
            }
        }
    }
}

/// Returns the part of a line that git considers, if any. A NUL ends the line, as it ends a string
/// in C.
fn significant(line: &[u8]) -> Option<&[u8]> {
    if line.first() == Some(&b'#') {
        return None;
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = without_trailing_spaces(line);
    (!text.is_empty()).then_some(text)
}

fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b' ' => at += 1,
            b'\\' => {
                at = (at + 2).min(line.len());
                end = at;
            }
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    // A trailing backslash also keeps everything before it.
    &line[..end]
}

fn name_shape(body: &[u8]) -> Option<RuleShape> {
    if literal_len(body) == body.len() {
        return Some(RuleShape::Name(body.into()));
    }
    match body.strip_prefix(b"*") {
        Some(end) if literal_len(end) == end.len() => Some(RuleShape::NameEnd(end.into())),
        _ => Some(RuleShape::NameGlob(Glob::compile(body)?)),
    }
}

/// Compares the literal prefix first and starts the glob behind it, as git does: so `a**/b` matches
/// `ax/y/b`, although its `**` is no whole component.
fn path_shape(body: &[u8]) -> Option<RuleShape> {
    let body = body.strip_prefix(b"/").unwrap_or(body);
    let (prefix, rest) = body.split_at(literal_len(body));
    Some(RuleShape::Path {
        prefix: prefix.into(),
        rest: Glob::compile(rest)?,
    })
}

fn literal_len(body: &[u8]) -> usize {
    body.iter()
        .position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'))
        .unwrap_or(body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(line: &str) -> Option<String> {
        Pattern::parse(line.as_bytes())
            .map(|pattern| String::from_utf8_lossy(&pattern.text).into_owned())
    }

    #[test]
    fn comments_blanks_and_line_ends_are_no_part_of_a_pattern() {
        for (line, expected) in [
            ("a", "a"),
            ("a  ", "a"),
            ("a\\ ", "a\\ "),
            ("a\\  ", "a\\ "),
            ("a\t", "a\t"),
            ("a\r", "a"),
            ("a \r", "a"),
            (" a", " a"),
            ("a\0b", "a"),
            ("\\#", "\\#"),
        ] {
            assert_eq!(text_of(line).as_deref(), Some(expected), "{line:?}");
        }
        for line in [
            "", "#", "# a", "  ", "\r", "/", "!", "!/", "a\\", "[", "\0a",
        ] {
            assert_eq!(text_of(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_slash_ties_a_pattern_to_its_directory() {
        let matches = |line: &str, path: &str, base_len| {
            let name = path.rsplit('/').next().unwrap_or_default().as_bytes();
            let subject = Subject {
                path: path.as_bytes(),
                name,
                is_dir: false,
            };
            Pattern::parse(line.as_bytes())
                .is_some_and(|pattern| pattern.matches(subject, base_len))
        };
        assert!(matches("b", "a/b", 0));
        assert!(!matches("/b", "a/b", 0));
        assert!(matches("/b", "a/b", 1));
        assert!(matches("b/c", "a/b/c", 1));
        assert!(!matches("b/c", "a/b/c", 0));
        assert!(!matches("b/", "a/b", 0));
    }
}
