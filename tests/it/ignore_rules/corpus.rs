//! Known patterns and paths, each group a tree with ignore files in which every path is compared.

use serde_json::Value;

use crate::bench::os::symlink;

use super::oracle::Oracle;

/// Ignore files by directory, and paths; a `/` at the end makes a directory. A text is a heading.
const GROUPS: &str = include_str!("corpus.json");

type Group = (Vec<(String, String)>, Vec<String>);

const MIN_CASES: usize = 120;

#[test]
fn the_corpus_gets_the_verdicts_of_git() {
    let mut cases = 0;
    let groups: Vec<Value> = serde_json::from_str(GROUPS).unwrap();
    for group in groups.into_iter().filter(|group| !group.is_string()) {
        let (ignore_files, paths): Group = serde_json::from_value(group).unwrap();
        let Some(oracle) = Oracle::new() else { return };
        for path in paths {
            oracle.write(path.as_bytes(), b"");
        }
        for (dir, text) in &ignore_files {
            let slash = if dir.is_empty() { "" } else { "/" };
            oracle.write(
                format!("{dir}{slash}.gitignore").as_bytes(),
                text.as_bytes(),
            );
        }
        cases += oracle.compare(&format!("{ignore_files:?}")).0;
    }
    println!("{cases} cases");
    assert!(cases >= MIN_CASES, "only {cases} cases");
}

#[test]
fn classes_have_the_members_that_git_gives_them() {
    const CLASSES: &[&str] = &[
        "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
        "upper", "xdigit", "word",
    ];
    let Some(oracle) = Oracle::new() else { return };
    for class in CLASSES {
        for byte in (1..=255).filter(|byte| !b"./".contains(byte)) {
            oracle.write(&[class.as_bytes(), b"/", &[byte]].concat(), b"");
            oracle.write(&[class.as_bytes(), b"/not/", &[byte]].concat(), b"");
        }
        oracle.write(
            format!("{class}/.gitignore").as_bytes(),
            format!("[[:{class}:]]\n").as_bytes(),
        );
        oracle.write(
            format!("{class}/not/.gitignore").as_bytes(),
            format!("!*\n[![:{class}:]\\x-\\z]\n").as_bytes(),
        );
    }
    oracle.compare("classes");
}

#[test]
fn a_pattern_for_directories_passes_over_a_link_to_one() {
    let Some(oracle) = Oracle::new() else { return };
    oracle.write(b"real/x", b"");
    oracle.write(b".gitignore", b"link/\nreal/\nother\n");
    symlink("real", oracle.root().join("link")).unwrap();
    symlink("real", oracle.root().join("other")).unwrap();
    assert_eq!(oracle.compare("links"), (4, 3));
    let ignored = oracle.ignored_by_us(&oracle.walk());
    assert!(!ignored.contains(b"link".as_slice()) && ignored.contains(b"other".as_slice()));
}

#[test]
fn the_lowest_list_is_asked_when_no_ignore_file_decides() {
    let Some(oracle) = Oracle::new() else { return };
    for path in [
        "dist/x", "a/dist/x", "b/dist/x", "y.tmp", "b/y.tmp", "keep.log",
    ] {
        oracle.write(path.as_bytes(), b"");
    }
    oracle.write(b".git/info/exclude", b"dist/\n*.tmp\n!*.log\n");
    oracle.write(b".gitignore", b"!/dist/\n*.log\n");
    oracle.write(b"b/.gitignore", b"!*.tmp\n");
    oracle.compare("lowest list");
}
