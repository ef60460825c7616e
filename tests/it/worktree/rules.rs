//! The sources of rules combined, and their verdicts on paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use checkpoint::model::default_rules::DEFAULT_STORE_LIST;
use checkpoint::model::state::rel_path::RelPath;
use checkpoint::worktree::rules::rule_set::{RuleSources, RuleVerdict, Rules, Tracked};

fn sources() -> RuleSources {
    RuleSources {
        store_list: DEFAULT_STORE_LIST.into(),
        ..RuleSources::default()
    }
}

/// The contents of an index of version 2: files, and repositories of their own.
fn tracked(files: &[String], repositories: &[String]) -> Tracked {
    let files = files.iter().map(|path| (path, 0o100_644_u32));
    let entries: Vec<_> = files
        .chain(repositories.iter().map(|path| (path, 0o160_000)))
        .collect();
    let count = u32::try_from(entries.len()).unwrap();
    let mut index = [
        b"DIRC".as_slice(),
        &2_u32.to_be_bytes(),
        &count.to_be_bytes(),
    ]
    .concat();
    for (path, mode) in entries {
        let name_len = u16::try_from(path.len()).unwrap();
        // Only the mode counts of the stat data; no object id is used.
        let mut entry = [
            [0; 24].as_slice(),
            &mode.to_be_bytes(),
            &[0; 12],
            &[0; 20],
            &name_len.to_be_bytes(),
        ]
        .concat();
        entry.extend(path.as_bytes());
        entry.resize((entry.len() + 8) & !7, 0);
        index.extend(entry);
    }
    index.extend([0; 20]);
    Tracked::parse(&index).unwrap()
}

/// Rules by their sources, and what they say of paths.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    excludes: Vec<String>,
    sensitive_allow: Vec<String>,
    tracked: Vec<String>,
    repositories: Vec<String>,
    /// The text of the ignore file of each directory.
    ignore_files: BTreeMap<String, String>,
    verdicts: BTreeMap<String, String>,
}

/// Judges a path as a scan would: from the root down, stopping where it would not descend. A `/` at
/// the end makes it a directory.
fn judge(rules: &Rules, group: &Group, path: &str) -> RuleVerdict {
    let text_in = |dir: &str| group.ignore_files.get(dir).map(String::as_bytes);
    let names: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let mut dir = rules.enter_root(text_in(""));
    for (depth, name) in names.iter().enumerate() {
        let is_last = depth + 1 == names.len();
        let verdict = rules.judge(&dir, name.as_bytes(), !is_last || path.ends_with('/'));
        if is_last || matches!(verdict, RuleVerdict::LeaveOut(_) | RuleVerdict::Secret(_)) {
            return verdict;
        }
        dir = rules.enter(&dir, name.as_bytes(), text_in(&names[..=depth].join("/")));
    }
    unreachable!("a path has a last name")
}

#[track_caller]
fn assert_verdicts(name: &str) {
    let mut groups: BTreeMap<String, Group> =
        serde_json::from_str(include_str!("rules.json")).unwrap();
    let group = groups.remove(name).expect("a group of this name");
    let rules = Rules::new(RuleSources {
        excludes: group.excludes.clone(),
        sensitive_allow: group.sensitive_allow.clone(),
        tracked: Arc::new(tracked(&group.tracked, &group.repositories).into()),
        ..sources()
    });
    for (path, expected) in &group.verdicts {
        let told = match judge(&rules, &group, path) {
            RuleVerdict::Capture => "captured".to_owned(),
            RuleVerdict::OnlyTracked => "for what is tracked".to_owned(),
            RuleVerdict::LeaveOut(rule) => format!("left out by {rule}"),
            RuleVerdict::Secret(rule) => format!("secret by {rule}"),
            RuleVerdict::Peek(peek) => {
                format!("by {} bytes of {}", peek.len_bytes(), peek.rule())
            }
        };
        assert_eq!(told, *expected, "{path}");
    }
}

#[test]
fn the_store_list_is_asked_last_and_excludes_first() {
    assert_verdicts("order");
}

#[test]
fn no_rule_of_a_project_lets_a_secret_through() {
    assert_verdicts("secrets");
}

#[test]
fn the_user_can_let_secrets_through() {
    assert_verdicts("allowed");
    assert_verdicts("all allowed");
}

#[test]
fn what_git_tracks_is_captured_although_a_rule_covers_it() {
    assert_verdicts("tracked");
}

#[test]
fn would_capture_walks_down_like_a_scan() {
    let rules = Rules::new(RuleSources {
        max_file_size_bytes: Some(10),
        ..sources()
    });
    let ignore_file_of = |dir: &RelPath| (dir.as_bytes() == b"a").then(|| b"b/\n!dist/\n".to_vec());
    for (text, size_bytes, expected) in [
        ("a/c/x", 10, true),
        ("a/c/x", 11, false),
        ("a/c/", 4096, true),
        ("a/b/", 0, false),
        ("a/b", 0, true),
        ("a/b/x", 0, false),
        ("a/dist/x", 0, true),
        ("dist/x", 0, false),
        (".env", 0, false),
        ("a/.git/config", 0, false),
        ("x.pem", 0, true),
        ("/", 0, true),
    ] {
        let (at, is_dir) = (super::path(text.trim_end_matches('/')), text.ends_with('/'));
        let would = rules.would_capture(&at, is_dir, size_bytes, &ignore_file_of);
        assert_eq!(would, expected, "{text}");
    }
}

#[test]
fn names_that_are_not_utf8_match_and_are_shown_escaped() {
    let rules = Rules::new(RuleSources::default());
    let dir = rules.enter_root(Some(b"\xff*\n[\x80-\x82]\n"));
    let found = rules.judge(&dir, b"\xffx", false);
    assert_eq!(found, RuleVerdict::LeaveOut(".gitignore: \\xff*".into()));
    let found = rules.judge(&dir, b"\x81", false);
    assert!(matches!(found, RuleVerdict::LeaveOut(_)));
    assert_eq!(rules.judge(&dir, b"\x83", false), RuleVerdict::Capture);
}
