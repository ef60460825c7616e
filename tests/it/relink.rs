//! `relink`: a moved project's checkpoints are noticed and brought along, with pins and undo.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::{Run, Sandbox, Tree, fixtures, place};

/// A project with three checkpoints, a pin and a restore that can be undone.
fn project() -> Sandbox {
    let sandbox = Sandbox::bare();
    sandbox
        .real_clock()
        .write("src/main.rs", "one")
        .write("notes", "n");
    sandbox.create("one");
    sandbox.write("src/main.rs", "two").create("two");
    sandbox.run(&["pin", "one"]).success();
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

fn in_dir(sandbox: &Sandbox, dir: &Path, args: &[&str]) -> Run {
    sandbox.run_in(dir, args)
}

fn ids(run: &Run) -> Vec<String> {
    let data = run.data();
    data["checkpoints"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| c["id"].as_str().expect("an id").into())
        .collect()
}

fn codes(run: &Run) -> Vec<String> {
    let document: Value = serde_json::from_str(&run.stdout).expect("a document");
    document["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .map(|w| w["code"].as_str().expect("a code").into())
        .collect()
}

#[test]
fn list_in_the_new_place_says_where_the_checkpoints_are() {
    let sandbox = project();
    let old = sandbox.root().display().to_string();
    let moved = move_away(&sandbox);
    let run = in_dir(&sandbox, &moved, &["list"]).success();
    assert!(
        run.stderr.contains(&format!("checkpoint relink {old}")),
        "{run}"
    );
    assert!(run.stderr.contains("has 3 checkpoints"), "{run}");
    assert!(
        !place::store(&sandbox.base(), &moved).exists(),
        "reading makes no store"
    );
}

#[test]
fn every_command_that_finds_no_checkpoints_names_the_former_place() {
    let sandbox = project();
    let old = sandbox.root().display().to_string();
    let moved = move_away(&sandbox);
    for (command, code) in [
        (&["status"][..], 0),
        (&["status", "--brief"], 0),
        (&[], 0),
        (&["show", "@"], 3),
        (&["restore", "@", "--yes"], 3),
        (&["undo"], 3),
        (&["undo", "--list"], 0),
        (&["find", "notes"], 3),
        (&["guard"], 4),
        (&["workflow", "status"], 3),
    ] {
        let run = in_dir(&sandbox, &moved, command).code(code);
        run.stderr_has(&format!("'checkpoint relink {old}' brings"));
        let run = in_dir(&sandbox, &moved, &[command, &["--json"]].concat()).code(code);
        assert_eq!(codes(&run), ["project_moved"], "{run}");
    }
    let run = in_dir(&sandbox, &moved, &["undo", "--json"]).code(3);
    assert_eq!(
        run.json()["error"]["command"],
        serde_json::json!(["checkpoint", "relink", old])
    );
    assert!(
        !place::store(&sandbox.base(), &moved).exists(),
        "a reader made a store"
    );
}

#[test]
fn a_relink_to_a_root_without_checkpoints_leads_to_the_list_of_stores() {
    let sandbox = project();
    let nowhere = sandbox.top().join("nowhere").display().to_string();
    let run = sandbox.run(&["relink", &nowhere, "--yes"]).code(3);
    run.stderr_has("nowhere has no checkpoints; 'checkpoint list --all' shows every store");
}

#[test]
fn relink_brings_history_pins_and_undo_along() {
    let sandbox = project();
    let before = ids(&sandbox.run(&["list", "--json"]).success());
    let old = sandbox.root().to_path_buf();
    let moved = move_away(&sandbox);
    let asked = in_dir(&sandbox, &moved, &["relink", old.to_str().expect("text")]);
    asked.code(4).stderr_has("take over 3 checkpoints");
    let run = in_dir(&sandbox, &moved, &["relink", "../work", "--yes"]).success();
    assert!(
        run.stdout.starts_with("Took over 3 checkpoints of "),
        "{run}"
    );
    let listed = in_dir(&sandbox, &moved, &["list", "--json"]).success();
    assert_eq!(ids(&listed), before);
    assert_eq!(codes(&listed), [""; 0]);
    let pinned: Vec<bool> = listed.data()["checkpoints"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| c["pinned"] == true)
        .collect();
    assert_eq!(pinned, [false, false, false, true]);
    in_dir(&sandbox, &moved, &["undo", "--yes"]).success();
    assert_eq!(
        std::fs::read_to_string(moved.join("src/main.rs")).expect("a file"),
        "three"
    );
    assert!(place::store(&sandbox.base(), &moved).join("HEAD").is_file());
    assert!(!place::store(&sandbox.base(), &old).exists());
}

#[test]
fn a_create_in_the_new_place_offers_it_and_its_checkpoint_comes_after_the_old_ones() {
    let sandbox = project();
    let before = ids(&sandbox.run(&["list", "--json"]).success());
    let moved = move_away(&sandbox);
    let run = in_dir(&sandbox, &moved, &["create", "-r", "first here", "--json"]).success();
    assert_eq!(codes(&run), ["project_moved"]);
    let first = run.data()["id"].as_str().expect("an id").to_owned();
    std::fs::write(moved.join("notes"), "changed").expect("a file");
    let second = in_dir(&sandbox, &moved, &["create", "-r", "second here", "--json"]).success();
    assert_eq!(codes(&second), [""; 0], "it is said once");
    let second = second.data()["id"].as_str().expect("an id").to_owned();
    in_dir(&sandbox, &moved, &["pin", "first here"]).success();
    let run = in_dir(&sandbox, &moved, &["relink", "../work", "--yes", "--json"]).success();
    assert_eq!(
        (&run.data()["checkpoint_count"], &run.data()["already_here"]),
        (&3.into(), &2.into())
    );
    let listed = in_dir(&sandbox, &moved, &["list", "--json"]).success();
    let expected: Vec<String> = [second, first].into_iter().chain(before).collect();
    assert_eq!(ids(&listed), expected);
    assert_eq!(listed.data()["checkpoints"][1]["pinned"], true);
    in_dir(&sandbox, &moved, &["restore", "two", "--yes"]).success();
    assert_eq!(
        std::fs::read_to_string(moved.join("src/main.rs")).expect("a file"),
        "two"
    );
    in_dir(&sandbox, &moved, &["undo", "--yes"]).success();
    in_dir(&sandbox, &moved, &["undo", "--yes"]).success();
    assert_eq!(
        std::fs::read_to_string(moved.join("src/main.rs")).expect("a file"),
        "three"
    );
    in_dir(&sandbox, &moved, &["prune"]).success();
}

#[test]
fn a_project_copied_elsewhere_and_removed_is_known_by_what_it_holds() {
    let sandbox = Sandbox::bare();
    sandbox
        .real_clock()
        .write("a", "1")
        .write("b/c", "2")
        .create("one");
    let copy = sandbox.top().join("copy");
    fixtures::copy_tree(sandbox.root(), &copy);
    assert!(
        !in_dir(&sandbox, &copy, &["list"])
            .success()
            .stderr
            .contains("relink"),
        "the original is still there"
    );
    sandbox.remove("");
    assert!(
        in_dir(&sandbox, &copy, &["list"])
            .success()
            .stderr
            .contains("checkpoint relink ")
    );
    std::fs::write(copy.join("a"), "other").expect("a write");
    assert!(
        !in_dir(&sandbox, &copy, &["list"])
            .success()
            .stderr
            .contains("relink"),
        "it holds something else now"
    );
    in_dir(&sandbox, &copy, &["relink", "../work", "--yes"]).success();
    assert_eq!(
        ids(&in_dir(&sandbox, &copy, &["list", "--json"]).success()).len(),
        1,
        "the user's word is enough"
    );
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
        in_dir(&sandbox, &copy, &["relink", typed, "--yes"]).success();
        assert_eq!(
            ids(&in_dir(&sandbox, &copy, &["list", "--json"]).success()).len(),
            1
        );
        in_dir(&sandbox, &copy, &["verify", "--full"]).success();
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
        let run = in_dir(&sandbox, &other, &["list"]).success();
        assert!(!run.stderr.contains("relink"), "{run}");
    }
}

#[test]
fn a_place_that_is_still_there_keeps_its_checkpoints() {
    let sandbox = project();
    let other = sandbox.top().join("other");
    std::fs::create_dir(&other).expect("a directory");
    let store = Tree::capture(&sandbox.store());
    let run = in_dir(&sandbox, &other, &["relink", "../work", "--yes", "--json"]);
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (4, "relink_refused"),
        "{run}"
    );
    let run = in_dir(
        &sandbox,
        sandbox.root(),
        &["relink", ".", "--yes", "--json"],
    );
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (4, "relink_refused"),
        "{run}"
    );
    Tree::capture(&sandbox.store()).assert_is(&store, "after both refusals");
    let run = in_dir(
        &sandbox,
        &other,
        &["relink", "../nowhere", "--yes", "--json"],
    );
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (3, "no_store"),
        "{run}"
    );
}

#[test]
fn two_histories_that_ran_side_by_side_are_not_mixed() {
    let sandbox = project();
    let other = sandbox.top().join("other");
    std::fs::create_dir(&other).expect("a directory");
    std::fs::write(other.join("x"), "1").expect("a file");
    in_dir(&sandbox, &other, &["create"]).success();
    sandbox.remove("");
    let run = in_dir(&sandbox, &other, &["relink", "../work", "--yes", "--json"]);
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (4, "relink_refused"),
        "{run}"
    );
    in_dir(&sandbox, &other, &["delete", "--all", "--yes"]).success();
    in_dir(&sandbox, &other, &["relink", "../work", "--yes"]).success();
    assert_eq!(
        ids(&in_dir(&sandbox, &other, &["list", "--json"]).success()).len(),
        4
    );
}

#[test]
fn a_path_reused_by_another_project_leaves_the_moved_one_its_history() {
    let sandbox = project();
    let moved = move_away(&sandbox);
    std::fs::create_dir(sandbox.root()).expect("a new project in the old place");
    std::fs::write(sandbox.root().join("x"), "other project").expect("a file");
    let run = in_dir(&sandbox, &moved, &["list"]).success();
    assert!(run.stderr.contains("checkpoint relink "), "{run}");
    in_dir(&sandbox, &moved, &["relink", "../work", "--yes"]).success();
    assert_eq!(
        ids(&in_dir(&sandbox, &moved, &["list", "--json"]).success()).len(),
        4
    );
    assert_eq!(
        ids(&in_dir(&sandbox, sandbox.root(), &["list", "--json"]).success()).len(),
        0
    );
}

#[test]
fn a_dry_run_moves_nothing() {
    let sandbox = project();
    let store = Tree::capture(&sandbox.base());
    let moved = move_away(&sandbox);
    in_dir(&sandbox, &moved, &["relink", "../work", "--dry-run"])
        .success()
        .stdout_has("Would take over 3 checkpoints");
    Tree::capture(&sandbox.base()).assert_is(&store, "after a dry run");
}

#[test]
fn a_relink_killed_at_any_call_loses_nothing() {
    if !crate::bench::strace::available() {
        return;
    }
    for nth in 1..60 {
        let sandbox = project();
        let before = ids(&sandbox.run(&["list", "--json"]).success());
        let old = sandbox.root().display().to_string();
        let moved = move_away(&sandbox);
        let first = in_dir(&sandbox, &moved, &["create", "-r", "here", "--json"]).success();
        let first = first.data()["id"].as_str().expect("an id").to_owned();
        let calls = "/^(rename|unlink|link|fsync)";
        let moved_text = moved.display().to_string();
        let run = crate::bench::strace::kill_at(
            &sandbox,
            calls,
            nth,
            &["-C", &moved_text, "relink", &old, "--yes"],
        );
        if run.code != 0 {
            let again = in_dir(&sandbox, &moved, &["relink", "../work", "--yes"]);
            assert!(matches!(again.code, 0 | 3), "{again}");
        }
        let listed = ids(&in_dir(&sandbox, &moved, &["list", "--json"]).success());
        let expected: Vec<String> = std::iter::once(first).chain(before).collect();
        assert_eq!(listed, expected, "killed at call {nth}");
        in_dir(&sandbox, &moved, &["restore", "two", "--yes"]).success();
        if run.code == 0 {
            return;
        }
    }
    panic!("the relink made more calls than were tried");
}

#[test]
fn a_create_in_the_moment_of_a_relink_loses_nothing() {
    if !crate::bench::strace::available() {
        return;
    }
    for nth in 1..8 {
        let sandbox = project();
        let moved = move_away(&sandbox);
        let old = sandbox.root().display().to_string();
        let (here, text) = (moved.display().to_string(), moved.join("notes"));
        let first = in_dir(&sandbox, &moved, &["create", "-q", "-r", "here"])
            .success()
            .stdout;
        let home = sandbox.home().to_path_buf();
        std::thread::scope(|scope| {
            let (home, here, old) = (&home, &here, &old);
            let relink = scope.spawn(move || {
                let inject = format!("inject=/^rename:delay_enter=300000:when={nth}");
                let wrapper = [
                    "/usr/bin/strace",
                    "-f",
                    "-qq",
                    "-o",
                    "/dev/null",
                    "-e",
                    "trace=/^rename",
                    "-e",
                    &inject,
                ];
                let mut command = std::process::Command::new(wrapper[0]);
                command
                    .args(&wrapper[1..])
                    .arg(Sandbox::binary())
                    .args(["-C", here, "relink", old, "--yes"]);
                Run::of({
                    command.env_clear().env("HOME", home);
                    command
                })
            });
            std::thread::sleep(std::time::Duration::from_millis(150));
            std::fs::write(&text, "changed").expect("a file");
            let mut create = std::process::Command::new(Sandbox::binary());
            create
                .args(["-C", here, "create", "-q", "-r", "during"])
                .env_clear()
                .env("HOME", home);
            let during = Run::of(create).success().stdout;
            relink.join().expect("no panic").success();
            let listed = ids(&in_dir(&sandbox, &moved, &["list", "--json"]).success());
            for id in [&first, &during] {
                assert!(
                    listed.iter().any(|known| known.starts_with(id.trim())),
                    "{id} is gone at call {nth}: {listed:?}"
                );
            }
            assert_eq!(listed.len(), 6, "call {nth}");
        });
    }
}

#[test]
fn a_store_in_the_new_place_of_which_something_is_lost_is_not_taken_over() {
    let sandbox = project();
    let moved = move_away(&sandbox);
    in_dir(&sandbox, &moved, &["create", "-r", "first here"]).success();
    let here = place::store(&sandbox.base(), &moved);
    crate::bench::fixtures::remove(&here.join("objects/pack"));
    let relink = ["relink", "../work", "--yes", "--json"];
    assert_eq!(
        in_dir(&sandbox, &moved, &relink).code(6).error_code(),
        "damaged"
    );
    let old = place::store(&sandbox.base(), sandbox.root());
    assert!(
        old.join("HEAD").is_file() && here.join("HEAD").is_file(),
        "a store went"
    );
    in_dir(&sandbox, &moved, &["verify", "--repair"]).code(6);
    in_dir(&sandbox, &moved, &relink).success();
    in_dir(&sandbox, &moved, &["verify"]).success();
}
