//! The patterns of one source; the last match decides.

use std::collections::{HashMap, HashSet};

use crate::base::Glob;

/// Patterns in the order written.
#[derive(Debug, Default)]
pub struct PatternList {
    patterns: Vec<Pattern>,
    /// Indexes of plain-name patterns by name, so that long lists stay fast.
    exact: HashMap<Box<[u8]>, Vec<usize>>,
    /// Indexes of all others, ascending.
    others: Vec<usize>,
}

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

impl PatternList {
    /// Parses an ignore file. Never fails: an invalid line matches nothing.
    pub fn parse(text: &[u8]) -> Self {
        let text = text.strip_prefix(UTF8_BOM).unwrap_or(text);
        let mut seen = HashSet::new();
        // Only the last of equal lines can decide; hostile files have millions of them.
        let lines = text
            .rsplit(|byte| *byte == b'\n')
            .filter(|line| seen.insert(*line));
        let mut patterns: Vec<Pattern> = lines.filter_map(Pattern::parse).collect();
        patterns.reverse();
        let mut list = Self {
            patterns,
            ..Self::default()
        };
        for (index, pattern) in list.patterns.iter().enumerate() {
            match pattern.exact_name() {
                Some(name) => list.exact.entry(name.into()).or_default().push(index),
                None => list.others.push(index),
            }
        }
        list
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns the pattern that decides about a path, if any; the directory of the list is the
    /// first `base_len` bytes of the path.
    pub fn deciding(&self, subject: Subject<'_>, base_len: usize) -> Option<&Pattern> {
        let decides = |index: &&usize| self.patterns[**index].matches(subject, base_len);
        let exact = self
            .exact
            .get(subject.name)
            .and_then(|found| found.iter().rev().find(decides));
        let later = self
            .others
            .iter()
            .rev()
            .take_while(|index| Some(*index) > exact)
            .find(decides);
        later.or(exact).map(|index| &self.patterns[*index])
    }

    /// Whether a path pattern names something below this directory, judging by its literal prefix.
    pub fn names_below(&self, dir: &[u8]) -> bool {
        let reaches = |prefix: &[u8]| {
            prefix
                .strip_prefix(dir)
                .is_some_and(|tail| tail.first() == Some(&b'/'))
        };
        self.patterns
            .iter()
            .any(|pattern| !pattern.is_negated && pattern.path_prefix().is_some_and(reaches))
    }
}

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
    use crate::base::tests::rows;

    fn subject(path: &str) -> Subject<'_> {
        Subject {
            path: path.as_bytes(),
            name: path.rsplit('/').next().unwrap_or_default().as_bytes(),
            is_dir: false,
        }
    }

    fn verdict(list: &PatternList, path: &str) -> Option<bool> {
        let deciding = list.deciding(subject(path), 0);
        deciding.map(|pattern| !pattern.is_negated)
    }

    #[test]
    fn the_last_match_decides_whatever_its_shape() {
        let list = PatternList::parse(b"\xef\xbb\xbfa*\n!ab\nabc\n*c\n!/d/abc\nab\n!ab\n");
        assert_eq!(verdict(&list, "aa"), Some(true));
        assert_eq!(verdict(&list, "ab"), Some(false));
        assert_eq!(verdict(&list, "x/abc"), Some(true));
        assert_eq!(verdict(&list, "d/abc"), Some(false));
        assert_eq!(verdict(&list, "b"), None);
    }

    #[test]
    fn two_million_bytes_of_lines_are_no_trouble() {
        let begin = std::time::Instant::now();
        let same = PatternList::parse(&b"*x?\n".repeat(500_000));
        assert_eq!(same.patterns.len(), 1);
        let mut text = Vec::new();
        for number in 0..200_000 {
            text.extend_from_slice(format!("name{number:05}\n").as_bytes());
        }
        let names = PatternList::parse(&text);
        for number in 0..10_000 {
            assert_eq!(verdict(&names, &format!("name{number:05}")), Some(true));
            assert_eq!(verdict(&names, &format!("no{number:05}")), None);
        }
        let long = [b"**/*a".repeat(400_000), b"b".to_vec()].concat();
        assert_eq!(verdict(&PatternList::parse(&long), "aaaaaaaaa"), None);
        assert!(
            begin.elapsed() < std::time::Duration::from_mins(1),
            "{:?}",
            begin.elapsed()
        );
    }

    fn text_of(line: &str) -> Option<String> {
        Pattern::parse(line.as_bytes())
            .map(|pattern| String::from_utf8_lossy(&pattern.text).into_owned())
    }

    #[test]
    fn comments_blanks_and_line_ends_are_no_part_of_a_pattern() {
        for (line, expected) in rows(include_str!("tests/pattern_list.json"), "texts") {
            assert_eq!(text_of(line).as_deref(), expected, "{line:?}");
        }
    }

    #[test]
    fn a_slash_ties_a_pattern_to_its_directory() {
        let matches = |line: &str, path, base_len| {
            Pattern::parse(line.as_bytes()).is_some_and(|one| one.matches(subject(path), base_len))
        };
        assert!(matches("b", "a/b", 0));
        assert!(!matches("/b", "a/b", 0));
        assert!(matches("/b", "a/b", 1));
        assert!(matches("b/c", "a/b/c", 1));
        assert!(!matches("b/c", "a/b/c", 0));
        assert!(!matches("b/", "a/b", 0));
    }
}
