//! Single paths that a rule left out are added to a listing, and nothing else with them.

use std::fs;
use std::path::Path;

use checkpoint::base::interrupt::Interrupt;
use checkpoint::base::progress::Progress;
use checkpoint::model::state::entry::WhyNot;
use checkpoint::model::state::listing::Listing;
use checkpoint::worktree::rules::rule_set::{RuleSources, Rules};
use checkpoint::worktree::scan::extend::add_paths;
use checkpoint::worktree::scan::scanner::scan;
use checkpoint::worktree::tree_handle::WorkTree;

use super::path;
use super::scan::shape;

/// Scans with stand-in rules, which leave out what ends in `--out`.
fn listed(root: &Path) -> (WorkTree, Listing) {
    let work = WorkTree::open(root).unwrap();
    let (interrupt, progress) = (Interrupt::default(), Progress::default());
    let options = super::scan::options(&interrupt, &progress);
    let rules = Rules::new(RuleSources {
        excludes: vec!["*--out".into()],
        ..RuleSources::default()
    });
    let listing = scan(&work, &rules, &options).unwrap();
    (work, listing)
}

#[test]
fn a_left_out_directory_comes_in_with_only_what_was_asked_for() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    fs::create_dir_all(root.join("d--out/sub/.git")).unwrap();
    for name in [
        "a",
        "f--out",
        "d--out/one",
        "d--out/two",
        "d--out/sub/x",
        "d--out/sub/y",
        "d--out/sub/.git/HEAD",
    ] {
        fs::write(root.join(name), "x").unwrap();
    }
    let (work, mut listing) = listed(root);
    assert_eq!(
        shape(&listing),
        ["d .", "f a", "left-out d--out", "left-out f--out"]
    );
    let asked = [
        "f--out",
        "d--out/sub/x",
        "d--out/one",
        "a",
        "none",
        "d--out/none",
        "d--out/sub/.git/HEAD",
    ];
    add_paths(
        &work,
        &Rules::new(RuleSources::default()),
        &mut listing,
        &asked.map(path),
    )
    .unwrap();
    let expected = [
        "d .",
        "d d--out",
        "d d--out/sub",
        "dot-git d--out/sub/.git",
        "f a",
        "f d--out/one",
        "f d--out/sub/x",
        "f f--out",
        "left-out d--out/sub/y",
        "left-out d--out/two",
    ];
    assert_eq!(shape(&listing), expected);
    let index = listing.dirs[0].dirs[0];
    assert!(matches!(
        listing.dirs[index].uncaptured[0].why,
        WhyNot::LeftOut(_)
    ));
    for (index, dir) in listing.dirs.iter().enumerate() {
        assert!(
            dir.dirs
                .iter()
                .all(|child| *child > index && listing.dirs[*child].parent == index)
        );
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
    let (work, mut listing) = listed(temp.path());
    let before = shape(&listing);
    add_paths(
        &work,
        &Rules::new(RuleSources::default()),
        &mut listing,
        &["l--out/f", "p--out", "d--out/none"].map(path),
    )
    .unwrap();
    assert_eq!(shape(&listing), before);
    // A symlink and a directory themselves are added when they are asked for.
    add_paths(
        &work,
        &Rules::new(RuleSources::default()),
        &mut listing,
        &["l--out", "d--out"].map(path),
    )
    .unwrap();
    let mut after = before;
    for (from, to) in [
        ("left-out l--out", "l l--out"),
        ("left-out d--out", "d d--out"),
    ] {
        let at = after.iter().position(|line| line == from).unwrap();
        to.clone_into(&mut after[at]);
    }
    after.sort();
    assert_eq!(shape(&listing), after);
}
