//! Ignore files: the fast paths give the verdicts of the slow ones.

use checkpoint::base::wildmatch::Glob;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::worktree::rules::rule_set::{RuleSources, RuleVerdict, Rules};

use super::draw::Draw;
use super::naive_glob;

pub fn check(data: &[u8]) {
    let mut draw = Draw::new(data);
    let (path, name, text) = (draw.path(), draw.bytes(), draw.bytes());
    let patterns = draw.rest();
    let first = patterns
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    for subject in [path.as_bytes(), text] {
        let matched = Glob::compile(first).is_some_and(|glob| glob.matches(subject));
        assert_eq!(
            matched,
            naive_glob::matches(first, subject).unwrap_or(matched),
            "{first:?} {subject:?}"
        );
    }
    // A pattern that scans a whole hostile text terminates all the same.
    if let Some(glob) = Glob::compile(first) {
        glob.matches(&path.as_bytes().repeat(50));
    }
    nested(patterns, text, &path);
    if !name.is_empty() && !name.contains(&b'/') && !name.contains(&0) {
        the_last_match_decides(patterns, name);
    }
}

/// Asserts that a path is judged the same from the root down as name by name.
fn nested(patterns: &[u8], below: &[u8], path: &RelPath) {
    let sources = RuleSources {
        store_list: below.to_vec(),
        excludes: vec![String::from_utf8_lossy(below).into_owned()],
        ..RuleSources::default()
    };
    let rules = Rules::new(sources);
    let ignore_file = |dir: &RelPath| {
        Some(if dir.is_root() {
            patterns.to_vec()
        } else {
            below.to_vec()
        })
    };
    let verdict = rules.judge_at(path, false, &ignore_file);
    let Some(parent) = path.parent() else { return };
    let dir = rules.on_the_way_to(&parent, &ignore_file);
    let direct = rules.judge(&dir, path.name(), false);
    let out = |verdict: &RuleVerdict| {
        matches!(verdict, RuleVerdict::LeaveOut(_) | RuleVerdict::Secret(_))
    };
    assert_eq!(
        out(&verdict),
        out(&direct),
        "{path}: {verdict:?} {direct:?}"
    );
    assert!(!rules.would_capture(path, false, 0, &ignore_file) || !out(&verdict));
}

/// Asserts that the last line that matches alone gives the verdict of the whole text.
fn the_last_match_decides(text: &[u8], name: &[u8]) {
    const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
    let left_out = |text: &[u8]| {
        let rules = Rules::new(RuleSources {
            store_list: text.to_vec(),
            ..RuleSources::default()
        });
        matches!(
            rules.judge(&rules.enter_root(None), name, true),
            RuleVerdict::LeaveOut(_)
        )
    };
    if !left_out(b"*") {
        return;
    }
    let lines = text
        .strip_prefix(UTF8_BOM)
        .unwrap_or(text)
        .split(|byte| *byte == b'\n');
    let mut expected = false;
    for line in lines.take(32) {
        let negated = line.first() == Some(&b'!');
        let matched = if negated {
            !left_out(&[b"*\n", line].concat())
        } else {
            left_out(&[b"\n", line].concat())
        };
        expected = if matched { !negated } else { expected };
    }
    if text.split(|byte| *byte == b'\n').count() <= 32 {
        assert_eq!(left_out(text), expected, "{text:?} {name:?}");
    }
}
