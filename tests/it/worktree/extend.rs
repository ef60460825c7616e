//! Single paths that a rule left out are added to a listing, and nothing else with them.

use std::fs;
use std::path::Path;

use checkpoint::model::state::entry::WhyNot;
use checkpoint::model::state::listing::Listing;
use checkpoint::worktree::rules::rule_set::{RuleSources, Rules};
use checkpoint::worktree::scan::extend::add_paths;
use checkpoint::worktree::tree_handle::WorkTree;

use super::path;
use super::scan::{options, scanned, shape};

/// Scans with stand-in rules, which leave out what ends in `--out`, and adds paths.
fn listed(root: &Path, asked: &str) -> Listing {
    let work = WorkTree::open(root).unwrap();
    let rules = RuleSources {
        excludes: vec!["*--out".into()],
        ..RuleSources::default()
    };
    let mut listing = scanned(root, rules, &options()).unwrap();
    let asked: Vec<_> = asked.split_whitespace().map(path).collect();
    let no_rules = Rules::new(RuleSources::default());
    add_paths(&work, &no_rules, &mut listing, &asked).unwrap();
    listing
}

#[test]
fn a_left_out_directory_comes_in_with_only_what_was_asked_for() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    fs::create_dir_all(root.join("d--out/sub/.git")).unwrap();
    let files = "a f--out d--out/one d--out/two d--out/sub/x d--out/sub/y d--out/sub/.git/HEAD";
    for name in files.split(' ') {
        fs::write(root.join(name), "x").unwrap();
    }
    let found = shape(&listed(root, ""));
    assert_eq!(found, ["d .", "f a", "left-out d--out", "left-out f--out"]);
    let asked = "f--out d--out/sub/x d--out/one a none d--out/none d--out/sub/.git/HEAD";
    let listing = listed(root, asked);
    let expected = "d .|d d--out|d d--out/sub|dot-git d--out/sub/.git|f a|f d--out/one|\
        f d--out/sub/x|f f--out|left-out d--out/sub/y|left-out d--out/two";
    assert_eq!(shape(&listing).join("|"), expected);
    let index = listing.dirs[0].dirs[0];
    let why = &listing.dirs[index].uncaptured[0].why;
    assert!(matches!(why, WhyNot::LeftOut(_)), "{why:?}");
    for (index, dir) in listing.dirs.iter().enumerate() {
        let mut children = dir.dirs.iter();
        assert!(children.all(|child| *child > index && listing.dirs[*child].parent == index));
    }
}

#[cfg(unix)]
#[test]
fn nothing_behind_a_symlink_or_of_another_kind_is_added() {
    let temp = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "x").unwrap();
    crate::bench::os::symlink(outside.path(), temp.path().join("l--out")).unwrap();
    fs::create_dir(temp.path().join("d--out")).unwrap();
    crate::bench::fixtures::fifo(&temp.path().join("p--out"));
    let shape_with = |asked| shape(&listed(temp.path(), asked)).join("|");
    let before = "d .|left-out d--out|left-out l--out|left-out p--out";
    assert_eq!(shape_with(""), before);
    assert_eq!(shape_with("l--out/f p--out d--out/none"), before);
    // A symlink and a directory themselves are added when they are asked for.
    let after = "d .|d d--out|l l--out|left-out p--out";
    assert_eq!(shape_with("l--out d--out"), after);
}
