//! The index of real repositories.

use std::sync::Arc;

use checkpoint::worktree::git::find_index;
use checkpoint::worktree::rules::rule_set::{RuleSources, RuleVerdict, Rules, Tracked};

use super::oracle::Oracle;

const NAMES: &[&[u8]] = &[
    b"a",
    b"a.b",
    b"dir/one",
    b"dir/one.two",
    b"dir/sub/three",
    b"with blank",
    b"new\nline",
    b"not-\xff-utf8",
    "ünï".as_bytes(),
];

fn filled(args: &[&str]) -> Option<Oracle> {
    let oracle = Oracle::with_init_args(args)?;
    for name in NAMES {
        oracle.write(name, b"x");
    }
    for len in 1..12 {
        oracle.write(&b"n".repeat(len), b"");
    }
    oracle.write(&b"long/".repeat(300), b"");
    oracle.write(&[b"long/".repeat(300), b"file".to_vec()].concat(), b"");
    oracle.git(&["add", "-A"], b"");
    Some(oracle)
}

fn assert_same_as_git(oracle: &Oracle, about: &str) {
    let tracked = find_index::load(&oracle.root()).unwrap();
    let listed = oracle.git(&["ls-files", "-z"], b"");
    let mut expected: Vec<&[u8]> = listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .collect();
    expected.dedup();
    assert!(tracked.paths().eq(expected.iter().copied()), "{about}");
    assert!(
        expected.iter().all(|name| tracked.contains(name)),
        "{about}"
    );
    assert!(
        tracked.any_below(b"dir/sub") && !tracked.any_below(b"a"),
        "{about}"
    );
}

fn version_of(oracle: &Oracle) -> u8 {
    std::fs::read(oracle.root().join(".git/index")).unwrap()[7]
}

#[test]
fn every_version_names_what_git_lists() {
    let Some(oracle) = filled(&[]) else { return };
    for version in [2, 4] {
        oracle.git(
            &["update-index", "--index-version", &version.to_string()],
            b"",
        );
        assert_eq!(version_of(&oracle), version);
        assert_same_as_git(&oracle, &format!("version {version}"));
    }
    oracle.git(&["update-index", "--index-version", "2"], b"");
    oracle.write(b"only-intended", b"");
    oracle.git(&["add", "-N", "only-intended"], b"");
    assert_eq!(version_of(&oracle), 3);
    assert_same_as_git(&oracle, "version 3");
    oracle.git(&["update-index", "--index-version", "4"], b"");
    assert_same_as_git(&oracle, "version 4 with extended flags");
}

#[test]
fn other_kinds_of_index_are_read_too() {
    let Some(oracle) = filled(&["--object-format=sha256"]) else {
        return;
    };
    assert_same_as_git(&oracle, "sha256");
    let Some(oracle) = filled(&[]) else { return };
    oracle.git(&["update-index", "--split-index"], b"");
    assert_same_as_git(&oracle, "split index");
    oracle.write(b"added-later", b"");
    oracle.write(b"a", b"changed");
    oracle.git(&["add", "-A"], b"");
    assert_same_as_git(&oracle, "split index with later changes");
    assert!(Tracked::parse(&std::fs::read(oracle.root().join(".git/index")).unwrap()).is_err());
}

#[test]
fn a_linked_worktree_has_its_own_index() {
    let Some(oracle) = filled(&[]) else { return };
    oracle.git(&["commit", "-q", "-m", "x"], b"");
    oracle.git(&["worktree", "add", "-q", "--detach", "../linked"], b"");
    let linked = find_index::load(&oracle.root().join("../linked")).unwrap();
    assert_eq!(linked, find_index::load(&oracle.root()).unwrap());
    assert!(linked.contains(b"dir/one"));
}

#[test]
fn a_nested_repository_that_git_names_is_captured_whole() {
    let Some(oracle) = filled(&[]) else { return };
    oracle.git(
        &[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},vendor/lib", "1".repeat(40)),
        ],
        b"",
    );
    let tracked = find_index::load(&oracle.root()).unwrap();
    let rules = Rules::new(RuleSources {
        tracked: Arc::new(tracked.into()),
        ..RuleSources::default()
    });
    let root = rules.enter_root(Some(b"vendor/\ndir/\n"));
    let found = rules.judge(&root, b"vendor", true);
    assert_eq!(found, RuleVerdict::OnlyTracked);
    let vendor = rules.enter(&root, b"vendor", None);
    assert_eq!(rules.judge(&vendor, b"lib", true), RuleVerdict::Capture);
    assert!(matches!(
        rules.judge(&vendor, b"other", true),
        RuleVerdict::LeaveOut(_)
    ));
    let lib = rules.enter(&vendor, b"lib", Some(b"*.o\n"));
    assert_eq!(rules.judge(&lib, b"lib.c", false), RuleVerdict::Capture);
    assert_eq!(
        rules.judge(&lib, b"lib.o", false),
        RuleVerdict::LeaveOut("vendor/lib/.gitignore: *.o".into())
    );
    let dir = rules.enter(&root, b"dir", None);
    assert_eq!(rules.judge(&dir, b"one", false), RuleVerdict::Capture);
    let found = rules.judge(&dir, b"other", false);
    assert_eq!(found, RuleVerdict::LeaveOut(".gitignore: dir/".into()));
}

#[test]
fn a_cut_or_damaged_index_never_panics() {
    let Some(oracle) = filled(&[]) else { return };
    for version in ["2", "4"] {
        oracle.git(&["update-index", "--index-version", version], b"");
        let bytes = std::fs::read(oracle.root().join(".git/index")).unwrap();
        let whole = Tracked::parse(&bytes).unwrap();
        for len in 0..bytes.len() {
            let cut = Tracked::parse(&bytes[..len]);
            assert!(
                cut.is_err() || cut == Ok(whole.clone()),
                "version {version} cut to {len}"
            );
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let _ = Tracked::parse(&damaged);
        }
    }
}
