//! `bisect` beside signals, kills, damage and git; `stories/bisect.md` has the rest.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Run, Sandbox, fixtures, limit, os, place};

/// A small project with its own test, broken from one of its checkpoints on and edited in all of them.
fn project(checkpoints: usize, first_bad: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.env("PATH", "/usr/bin:/bin");
    sandbox
        .write(
            "test.sh",
            "#!/bin/sh\n. ./lib/add.sh\ntest \"$(add 2 3)\" = 5\n",
        )
        .chmod("test.sh", 0o755);
    let mut ids = Vec::new();
    for at in 0..checkpoints {
        let sign = if at < first_bad { '+' } else { '-' };
        sandbox.write(
            "lib/add.sh",
            format!("# version {at}\nadd() {{ echo $(($1 {sign} $2)); }}\n"),
        );
        ids.push(sandbox.create(&format!("step {at}")));
    }
    (sandbox, ids)
}

#[must_use]
fn bisect(sandbox: &Sandbox, good: &str, bad: &str, options: &[&str], command: &[&str]) -> Run {
    sandbox.run(&[&["bisect", good, bad], options, &["--"], command].concat())
}

fn leftovers(sandbox: &Sandbox) -> Vec<PathBuf> {
    let own = std::fs::read_dir(place::store(&sandbox.base(), sandbox.root()).join("checkpoint"))
        .unwrap();
    let paths = own.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("bisect-")
        })
        .collect()
}

#[test]
fn git_in_the_command_finds_no_repository_around_the_copy() {
    let (sandbox, ids) = project(3, 2);
    if crate::bench::Git::find(sandbox.root()).is_none() {
        return;
    }
    let line = "git rev-parse --git-dir && exit 1; ./test.sh";
    let run = bisect(&sandbox, &ids[0], &ids[2], &[], &["sh", "-c", line]).success();
    assert_eq!(run.stdout.trim(), ids[2], "{run}");
}

/// Four checkpoints of which the last is bad and the second shares no object with the others.
fn with_nothing_in_common() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.env("PATH", "/usr/bin:/bin");
    let test = "#!/bin/sh\ntest \"$(cat result)\" != bad\n";
    let make = |result: &str| {
        sandbox
            .write("result", result)
            .write("test.sh", test)
            .chmod("test.sh", 0o755);
        sandbox.create(result)
    };
    let ids = ["first", "second", "third", "bad"].map(make).to_vec();
    (sandbox, ids)
}

/// A command that damages the pack of the second checkpoint in place, then tests.
fn spoiling(sandbox: &Sandbox, first: &str) -> String {
    let mut packs = fixtures::files_below(&sandbox.store().join("objects/pack"));
    packs.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "pack")
    });
    packs.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    let length = packs[1].metadata().unwrap().len() - 12;
    format!(
        "{first}; head -c {length} /dev/zero | dd of='{}' bs=1 seek=12 conv=notrunc 2>/dev/null; exec ./test.sh",
        packs[1].display()
    )
}

#[track_caller]
fn assert_second_is_skipped(sandbox: &Sandbox, ids: &[String], line: &str, word: &str) {
    let run = bisect(sandbox, &ids[0], &ids[3], &["--json"], &["sh", "-c", line]).success();
    assert_eq!(run.data()["first_bad"]["short"], ids[3].as_str(), "{run}");
    let tested = run.data()["tested"].as_array().unwrap().clone();
    let is_second = |one: &Value| one["checkpoint"]["short"] == ids[1].as_str();
    let second = tested.iter().find(|one| is_second(one));
    assert_eq!(second.expect("it is named")["verdict"], "skip", "{run}");
    assert!(
        run.warning_codes().contains(&"passed_over".to_owned()) && run.stdout.contains(word),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn a_damaged_checkpoint_between_is_skipped_with_a_warning() {
    let (sandbox, ids) = with_nothing_in_common();
    assert_second_is_skipped(&sandbox, &ids, &spoiling(&sandbox, "true"), "damaged");
}

#[cfg(unix)]
#[test]
fn a_checkpoint_between_that_was_evicted_meanwhile_is_skipped_with_a_warning() {
    let (sandbox, ids) = with_nothing_in_common();
    let refs = sandbox
        .store()
        .join("refs/checkpoints")
        .display()
        .to_string();
    let line = spoiling(&sandbox, &format!("rm -f '{refs}'/{}*", ids[1]));
    assert_second_is_skipped(&sandbox, &ids, &line, "evicted meanwhile");
}

/// Starts a bisect whose command waits; returns it with the scratch directory once that runs.
fn waiting(sandbox: &Sandbox, ids: &[String]) -> (std::process::Child, PathBuf) {
    let began = sandbox.top().join("began");
    let _ = std::fs::remove_file(&began);
    let line = format!(
        "sleep 60 & echo $! >'{0}.part'; mv '{0}.part' '{0}'; wait",
        began.display()
    );
    let mut command = sandbox.command(&[], &["bisect", &ids[0], &ids[3], "--", "sh", "-c", &line]);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !began.exists() {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "the command did not begin"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    (
        child,
        leftovers(sandbox).pop().expect("a scratch directory"),
    )
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_and_the_scratch_directory_goes() {
    let (sandbox, ids) = project(4, 2);
    let (child, scratch) = waiting(&sandbox, &ids);
    assert_eq!(fixtures::mode_of(&scratch), 0o700);
    let number = std::fs::read_to_string(sandbox.top().join("began")).expect("a number");
    os::signal(child.id(), os::Signal::Terminate);
    assert_eq!(limit::output_of("bisect", child).status.code(), Some(143));
    assert!(!scratch.exists());
    os::wait_for_end(&number);
}

#[cfg(unix)]
#[test]
fn a_scratch_directory_in_use_is_left_alone_and_one_of_a_killed_run_is_cleared_away() {
    let (sandbox, ids) = project(4, 2);
    let (child, scratch) = waiting(&sandbox, &ids);
    sandbox.create("while it runs");
    bisect(&sandbox, &ids[0], &ids[3], &[], &["./test.sh"]).success();
    assert!(scratch.join("tree/test.sh").exists());
    os::kill(child.id());
    limit::output_of("bisect", child);
    assert!(scratch.exists());
    sandbox.create("after it was killed");
    assert_eq!(leftovers(&sandbox).len(), 0);
}

#[test]
fn a_full_disk_ends_it_with_1_and_the_scratch_directory_goes() {
    if !crate::bench::strace::available() {
        return;
    }
    let (sandbox, ids) = project(4, 2);
    // The first symlinks that a run creates are those of the copies.
    sandbox.symlink("link", "x");
    let last = sandbox.create("with a link");
    let args = ["bisect", &ids[0], &last, "--", "./test.sh"];
    let run = crate::bench::strace::failing_nth(&sandbox, "symlinkat,symlink", "ENOSPC", 1, &args);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stderr.contains("link") && leftovers(&sandbox).is_empty(),
        "{run}"
    );
}
