//! `bisect` beside signals, kills, damage and git; `stories/bisect.md` has the rest.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::{Sandbox, fixtures, given, limit, os, place};

/// A project with its own test, broken from its third checkpoint on.
fn project(checkpoints: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.env("PATH", "/usr/bin:/bin");
    let test = "#!/bin/sh\ntest \"$(cat version)\" -lt 2\n";
    sandbox.write("test.sh", test).chmod("test.sh", 0o755);
    let make = |at: usize| {
        sandbox.write("version", at.to_string());
        sandbox.create(&format!("step {at}"))
    };
    let ids = (0..checkpoints).map(make).collect();
    (sandbox, ids)
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
    let (sandbox, ids) = project(3);
    if crate::bench::Git::find(sandbox.root()).is_none() {
        return;
    }
    let line = "git rev-parse --git-dir && exit 1; ./test.sh";
    let args = ["bisect", &ids[0], &ids[2], "--", "sh", "-c", line];
    let run = sandbox.run(&args).success();
    assert_eq!(run.stdout.trim(), ids[2], "{run}");
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
    let (sandbox, ids) = project(4);
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
    let (sandbox, ids) = project(4);
    let (child, scratch) = waiting(&sandbox, &ids);
    sandbox.create("while it runs");
    let args = ["bisect", &ids[0], &ids[3], "--", "./test.sh"];
    sandbox.run(&args).success();
    assert!(scratch.join("tree/test.sh").exists());
    os::kill(child.id());
    limit::output_of("bisect", child);
    assert!(scratch.exists());
    sandbox.create("after it was killed");
    assert_eq!(leftovers(&sandbox).len(), 0);
}

#[test]
fn a_full_disk_ends_it_with_1_and_the_scratch_directory_goes() {
    given!(if crate::bench::strace::available());
    let (sandbox, ids) = project(4);
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
