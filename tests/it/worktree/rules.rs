//! The sources of rules combined, and their verdicts on paths.

use std::sync::Arc;

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
fn tracked(files: &[&str], repositories: &[&str]) -> Tracked {
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

/// Judges a path as a scan would: from the root down, stopping where it would not descend. A `/` at
/// the end makes it a directory. Ignore files are given as `(directory, text)`.
fn judge(rules: &Rules, ignore_files: &[(&str, &str)], path: &str) -> RuleVerdict {
    let text_in = |dir: &str| {
        ignore_files
            .iter()
            .find(|(at, _)| *at == dir)
            .map(|(_, text)| text.as_bytes())
    };
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

fn left_out(rule: &str) -> RuleVerdict {
    RuleVerdict::LeaveOut(rule.to_string())
}

fn secret(rule: &str) -> RuleVerdict {
    RuleVerdict::Secret(rule.to_string())
}

#[test]
fn the_store_list_is_asked_last_and_excludes_first() {
    let rules = Rules::new(RuleSources {
        excludes: vec!["/out".into(), "!keep.log".into()],
        ..sources()
    });
    let ignore_files = [("", "!dist/\n*.log\n!/out\n"), ("sub", "\\#x\n")];
    let judge = |path| judge(&rules, &ignore_files, path);
    assert_eq!(judge("dist/"), RuleVerdict::Capture);
    assert_eq!(judge("node_modules/"), left_out("node_modules/"));
    assert_eq!(judge("a/node_modules/x"), left_out("node_modules/"));
    assert_eq!(judge("x.log"), left_out(".gitignore: *.log"));
    assert_eq!(judge("keep.log"), RuleVerdict::Capture);
    assert_eq!(judge("out"), left_out("/out"));
    assert_eq!(judge("sub/#x"), left_out("sub/.gitignore: \\\\#x"));
    assert_eq!(judge("x.pyc"), left_out("*.pyc"));
}

#[test]
fn no_rule_of_a_project_lets_a_secret_through() {
    let rules = Rules::new(RuleSources {
        excludes: vec!["!.env".into()],
        ..sources()
    });
    let judge = |path| judge(&rules, &[("", "!*\n!.env\n!.ssh/\n")], path);
    assert_eq!(judge(".env"), secret(".env"));
    assert_eq!(judge("a/.env.local"), secret(".env.*"));
    assert_eq!(judge(".ssh/"), secret(".ssh/"));
    assert_eq!(judge(".ssh/config"), secret(".ssh/"));
    assert_eq!(judge("home/.aws/credentials"), secret(".aws/credentials"));
    assert_eq!(judge(".env.example"), RuleVerdict::Capture);
    assert!(
        matches!(judge("a/server.pem"), RuleVerdict::Peek(peek) if peek.len_bytes() == 4096 && peek.rule() == "*.pem")
    );
}

#[test]
fn the_user_can_let_secrets_through() {
    let allow = |globs: &[&str]| {
        let sensitive_allow = globs.iter().map(ToString::to_string).collect();
        Rules::new(RuleSources {
            sensitive_allow,
            ..sources()
        })
    };
    let rules = allow(&[
        ".env.local",
        "/conf/id_rsa",
        ".ssh/config",
        "keys/",
        "!keys/id_dsa",
    ]);
    let judge_one = |path| judge(&rules, &[("", ".env*\n")], path);
    assert_eq!(judge_one("a/.env.local"), RuleVerdict::Capture);
    assert_eq!(judge_one(".env"), secret(".env"));
    assert_eq!(judge_one("conf/id_rsa"), RuleVerdict::Capture);
    assert_eq!(judge_one("id_rsa"), secret("id_rsa"));
    assert_eq!(judge_one(".ssh/"), RuleVerdict::OnlyTracked);
    assert_eq!(judge_one(".ssh/config"), RuleVerdict::Capture);
    assert_eq!(judge_one(".ssh/other"), secret(".ssh/"));
    assert_eq!(judge_one("a/.ssh/"), secret(".ssh/"));
    assert_eq!(judge_one("keys/x.key"), RuleVerdict::Capture);
    assert_eq!(judge_one("keys/id_dsa"), secret("id_dsa"));
    let all = allow(&["*"]);
    for path in [".env", ".ssh/x/y", "x.pem", "a/.npmrc"] {
        assert_eq!(judge(&all, &[], path), RuleVerdict::Capture, "{path}");
    }
    assert_eq!(judge(&all, &[], "dist/"), left_out("dist/"));
}

#[test]
fn what_git_tracks_is_captured_although_a_rule_covers_it() {
    let tracked = tracked(
        &[
            "dist/index.js",
            "dist/sub/x",
            "credentials.json",
            ".env",
            "server.key",
            "dist/.env",
            ".ssh/config",
            "a.pyc",
        ],
        &["build/lib"],
    );
    let rules = Rules::new(RuleSources {
        tracked: Arc::new(tracked.into()),
        ..sources()
    });
    let judge = |path| judge(&rules, &[("dist", "!*\n")], path);
    assert_eq!(judge("dist/"), RuleVerdict::OnlyTracked);
    assert_eq!(judge("dist/index.js"), RuleVerdict::Capture);
    assert_eq!(judge("dist/other.js"), left_out("dist/"));
    assert_eq!(judge("dist/sub/"), RuleVerdict::OnlyTracked);
    assert_eq!(judge("dist/sub/x"), RuleVerdict::Capture);
    assert_eq!(judge("dist/else/"), left_out("dist/"));
    assert_eq!(judge("dist/id_rsa"), secret("id_rsa"));
    assert_eq!(judge("dist/.env"), secret(".env"));
    assert_eq!(judge(".env"), secret(".env"));
    assert_eq!(judge("credentials.json"), RuleVerdict::Capture);
    assert_eq!(judge("server.key"), RuleVerdict::Capture);
    assert_eq!(judge(".ssh/config"), RuleVerdict::Capture);
    assert_eq!(judge(".ssh/known_hosts"), secret(".ssh/"));
    assert_eq!(judge("a.pyc"), RuleVerdict::Capture);
    assert_eq!(judge("build/"), RuleVerdict::OnlyTracked);
    assert_eq!(judge("build/lib/"), RuleVerdict::Capture);
    assert_eq!(judge("build/lib/any/file"), RuleVerdict::Capture);
    assert_eq!(judge("build/other/"), left_out("build/"));
    assert_eq!(judge("dist/index.js/"), left_out("dist/"));
}

#[test]
fn would_capture_walks_down_like_a_scan() {
    let rules = Rules::new(RuleSources {
        max_file_size_bytes: Some(10),
        ..sources()
    });
    let ignore_file_of = |dir: &RelPath| (dir.as_bytes() == b"a").then(|| b"b/\n!dist/\n".to_vec());
    let would = |path: &str, is_dir, size_bytes| {
        rules.would_capture(
            &RelPath::new(path.as_bytes()).unwrap(),
            is_dir,
            size_bytes,
            &ignore_file_of,
        )
    };
    assert!(would("a/c/x", false, 10));
    assert!(!would("a/c/x", false, 11));
    assert!(would("a/c", true, 4096));
    assert!(!would("a/b", true, 0));
    assert!(would("a/b", false, 0));
    assert!(!would("a/b/x", false, 0));
    assert!(would("a/dist/x", false, 0));
    assert!(!would("dist/x", false, 0));
    assert!(!would(".env", false, 0));
    assert!(!would("a/.git/config", false, 0));
    assert!(would("x.pem", false, 0));
    assert!(would("", true, 0));
}

#[test]
fn names_that_are_not_utf8_match_and_are_shown_escaped() {
    let rules = Rules::new(RuleSources::default());
    let dir = rules.enter_root(Some(b"\xff*\n[\x80-\x82]\n"));
    let found = rules.judge(&dir, b"\xffx", false);
    assert_eq!(found, left_out(".gitignore: \\xff*"));
    assert!(matches!(
        rules.judge(&dir, b"\x81", false),
        RuleVerdict::LeaveOut(_)
    ));
    assert_eq!(rules.judge(&dir, b"\x83", false), RuleVerdict::Capture);
}
