//! `relink`, killed, beside a create, and of another system's store; `stories/relink.md` has the rest.

use std::path::{Path, PathBuf};

use crate::bench::{Run, Sandbox, fixtures};

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
