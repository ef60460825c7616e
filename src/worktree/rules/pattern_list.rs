//! The patterns of one source; the last match decides.

use std::collections::{HashMap, HashSet};

use super::pattern::{Pattern, Subject};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(list: &PatternList, path: &str) -> Option<bool> {
        let name = path.rsplit('/').next().unwrap_or_default().as_bytes();
        let subject = Subject {
            path: path.as_bytes(),
            name,
            is_dir: false,
        };
        list.deciding(subject, 0).map(|pattern| !pattern.is_negated)
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
    fn ten_million_bytes_of_lines_are_no_trouble() {
        let begin = std::time::Instant::now();
        let same = PatternList::parse(&b"*x?\n".repeat(2_500_000));
        assert_eq!(same.patterns.len(), 1);
        let mut text = Vec::new();
        for number in 0..1_000_000 {
            text.extend_from_slice(format!("name{number:05}\n").as_bytes());
        }
        let names = PatternList::parse(&text);
        for number in 0..10_000 {
            assert_eq!(verdict(&names, &format!("name{number:05}")), Some(true));
            assert_eq!(verdict(&names, &format!("no{number:05}")), None);
        }
        let long = [b"**/*a".repeat(2_000_000), b"b".to_vec()].concat();
        assert_eq!(verdict(&PatternList::parse(&long), "aaaaaaaaa"), None);
        assert!(
            begin.elapsed() < std::time::Duration::from_mins(1),
            "{:?}",
            begin.elapsed()
        );
    }
}
