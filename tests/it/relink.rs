//! `relink`, killed, beside a create, and of another system's store; `stories/relink.md` has the rest.

use std::path::{Path, PathBuf};

use crate::bench::{Run, Sandbox, fixtures, given, strace};

/// A project with three checkpoints, a pin and a restore that can be undone.
fn project() -> Sandbox {
    let sandbox = Sandbox::bare();
    sandbox
        .real_clock()
        .write("src/main.rs", "one")
        .write("notes", "n");
    sandbox.create("one");
    sandbox.write("src/main.rs", "two").create("two");
    sandbox.ok("pin one");
    sandbox.write("src/main.rs", "three").create("three");
    sandbox.restore("one").success();
    sandbox
}

/// `mv work moved`, as a user does it.
fn move_away(sandbox: &Sandbox) -> PathBuf {
    let moved = sandbox.top().join("moved");
    std::fs::rename(sandbox.root(), &moved).expect("the project can be moved");
    moved
}

/// The ids of what is listed in another directory.
fn ids_in(sandbox: &Sandbox, dir: &Path) -> Vec<String> {
    let listed = sandbox.run_in(dir, &["list", "--json"]).success().data();
    let listed = listed["checkpoints"].as_array().expect("a list").iter();
    listed
        .map(|one| one["id"].as_str().expect("an id").into())
        .collect()
}

#[test]
fn a_store_that_another_system_made_is_taken_by_the_path_that_it_had_there() {
    for (written, typed) in [
        ("C%3A%5Cp%5Cwork", r"C:\p\work"),
        ("/of/another/system", "/of/another/system"),
    ] {
        let sandbox = Sandbox::bare();
        sandbox.real_clock().write("a", "1").create("one");
        let read = std::fs::read_to_string(sandbox.store().join("checkpoint/description"));
        let text = read.expect("a description");
        let lines = text.lines().map(|line| match line.split_once(' ') {
            Some(("root", _)) => format!("root {written}\n"),
            Some((key @ ("identity" | "parent"), _)) => format!("{key} 4242 7\n"),
            _ => format!("{line}\n"),
        });
        fixtures::write_description(&sandbox.store(), &lines.collect::<String>());
        let copy = sandbox.top().join("copy");
        fixtures::copy_tree(sandbox.root(), &copy);
        sandbox.remove("");
        sandbox.run_in(&copy, &["relink", typed, "--yes"]).success();
        assert_eq!(ids_in(&sandbox, &copy).len(), 1);
        sandbox.run_in(&copy, &["verify", "--full"]).success();
    }
}

#[test]
fn a_new_directory_with_the_inode_of_a_removed_one_is_not_taken_for_it() {
    let sandbox = Sandbox::bare();
    sandbox.real_clock().write("a", "1").create("one");
    for attempt in 0..40 {
        sandbox.remove("");
        let other = sandbox.top().join(format!("other-{attempt}"));
        std::fs::create_dir(&other).expect("a directory");
        std::fs::write(other.join("x"), "something else").expect("a file");
        let run = sandbox.run_in(&other, &["list"]).success();
        assert!(!run.stderr.contains("relink"), "{run}");
    }
}

#[test]
fn a_create_in_the_moment_of_a_relink_loses_nothing() {
    given!(if strace::available());
    for nth in 1..8 {
        let sandbox = project();
        let (old, moved) = (sandbox.root().display().to_string(), move_away(&sandbox));
        let create = |reason: &str| {
            let run = sandbox.run_in(&moved, &["create", "-q", "-r", reason]);
            run.success().stdout
        };
        let first = create("here");
        let (here, delay) = (
            moved.display().to_string(),
            format!("delay_enter=300000:when={nth}"),
        );
        let words = ["-C", &here, "relink", &old, "--yes"];
        let slow = strace::command(&sandbox, "/^rename", &delay, &words);
        let relink = std::thread::spawn(move || Run::of(slow));
        std::thread::sleep(std::time::Duration::from_millis(150));
        std::fs::write(moved.join("notes"), "changed").expect("a file");
        let during = create("during");
        relink.join().expect("no panic").success();
        let listed = ids_in(&sandbox, &moved);
        for id in [first, during] {
            let is_there = listed.iter().any(|known| known.starts_with(id.trim()));
            assert!(is_there, "{id} is gone at call {nth}: {listed:?}");
        }
        assert_eq!(listed.len(), 6, "call {nth}");
    }
}
