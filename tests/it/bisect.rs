//! `bisect`: finds the first checkpoint for which a command fails, in copies; the working directory
//! is not touched.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bench::{Run, Sandbox, fixtures, limit, os, place};

const PAGES: usize = 5;

/// A small project with its own test, broken at one of its checkpoints and edited in all of them.
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
        sandbox.write(format!("doc/page{}.md", at % PAGES), format!("page {at}\n"));
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

fn tested(run: &Run) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tested = run.data()["tested"].as_array().unwrap().clone();
    tested
        .iter()
        .map(|one| (text(&one["checkpoint"]["short"]), text(&one["verdict"])))
        .collect()
}

#[cfg(unix)]
#[test]
fn the_command_that_shows_what_changed_works_as_printed() {
    let (sandbox, ids) = project(3, 1);
    let root = sandbox.root().display().to_string();
    let args = ["-C", &root, "bisect", &ids[0], &ids[2], "--", "./test.sh"];
    let run = sandbox.run_in(&sandbox.top(), &args).success();
    let diff = format!("checkpoint -C {root} diff {} {}", ids[0], ids[1]);
    run.stderr_has(&format!("to see what changed: {diff}\n"));
}

#[cfg(unix)]
#[test]
fn the_first_bad_one_of_fifty_is_found_by_halves_and_nothing_else_changes() {
    let (sandbox, ids) = project(50, 33);
    sandbox.write("lib/add.sh", "uncommitted");
    let before = sandbox.tree();
    let listed = sandbox.listed_ids();
    let run = bisect(&sandbox, &ids[0], &ids[49], &[], &["./test.sh"]).success();
    assert_eq!(run.stdout, format!("{}\n", ids[33]), "{run}");
    let said = format!(
        "first bad checkpoint: {} (step 33); the good one before it: {} (step 32)",
        ids[33], ids[32]
    );
    let hint = format!("checkpoint diff {} {}", ids[32], ids[33]);
    let run = run
        .stderr_has(&said)
        .stderr_has(&hint)
        .stderr_has("(step 0): good");
    assert!(run.stderr.matches("testing ").count() <= 2 + 6, "{run}");
    sandbox.tree().assert_is(&before, "the working directory");
    assert_eq!(
        (sandbox.listed_ids(), leftovers(&sandbox).len()),
        (listed, 0)
    );
}

#[test]
fn fifty_checkpoints_are_searched_for_paths_and_texts_too() {
    let (sandbox, ids) = project(50, 33);
    sandbox.remove("doc/page2.md");
    let gone = sandbox
        .run(&["create", "--reason", "gone", "--keep", "100", "--yes"])
        .success()
        .stdout
        .trim()
        .to_owned();
    let run = sandbox.run(&["find", "doc/page2.md"]).success();
    run.stdout_has(&format!("last in {}, deleted by {gone}", ids[49]));
    let run = sandbox
        .run(&["find", "--text", "$1 - $2", "--json"])
        .success();
    let matches = run.data()["matches"].as_array().unwrap().clone();
    assert_eq!(
        (matches.len(), &matches[16]["first_in"]["short"]),
        (17, &ids[33].as_str().into())
    );
}

#[cfg(unix)]
#[test]
fn every_border_is_found() {
    for (count, first_bad) in [(2, 1), (3, 1), (3, 2), (8, 1), (8, 7), (9, 4)] {
        let (sandbox, ids) = project(count, first_bad);
        let run = bisect(&sandbox, &ids[0], &ids[count - 1], &[], &["./test.sh"]).success();
        assert_eq!(
            run.stdout.trim(),
            ids[first_bad],
            "{count} {first_bad}\n{run}"
        );
    }
}

#[cfg(unix)]
#[test]
fn ends_that_are_not_what_they_are_said_to_be_are_2() {
    let (sandbox, ids) = project(6, 3);
    bisect(&sandbox, &ids[5], &ids[0], &[], &["./test.sh"])
        .code(2)
        .stderr_has("not older");
    bisect(&sandbox, &ids[2], &ids[2], &[], &["./test.sh"])
        .code(2)
        .stderr_has("not older");
    bisect(&sandbox, &ids[4], &ids[5], &[], &["./test.sh"])
        .code(2)
        .stderr_has("GOOD")
        .stderr_has(&ids[4]);
    bisect(&sandbox, &ids[0], &ids[2], &[], &["./test.sh"])
        .code(2)
        .stderr_has("BAD")
        .stderr_has(&ids[2]);
    sandbox.run(&["bisect", &ids[0], &ids[5]]).code(2);
    sandbox.run(&["bisect", &ids[0], &ids[5], "true"]).code(2);
    bisect(&sandbox, "no-such", &ids[5], &[], &["true"]).code(3);
    assert_eq!(leftovers(&sandbox).len(), 0);
}

#[cfg(unix)]
#[test]
fn exit_125_skips_and_skips_at_the_border_leave_several_candidates_and_5() {
    let (sandbox, ids) = project(10, 5);
    let skip = |steps: &str| {
        format!("grep -q -e 'version [{steps}]$' lib/add.sh && exit 125; exec ./test.sh")
    };
    let run = bisect(
        &sandbox,
        &ids[0],
        &ids[9],
        &["--json"],
        &["sh", "-c", &skip("45")],
    )
    .code(5);
    let data = run.data();
    let candidates: Vec<&str> = data["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["short"].as_str().unwrap())
        .collect();
    assert_eq!(candidates, [&ids[4], &ids[5], &ids[6]]);
    assert_eq!(
        (
            &data["first_bad"],
            data["tested"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|test| test["verdict"] == "skip")
                .count()
        ),
        (&Value::Null, 2)
    );
    let run = bisect(&sandbox, &ids[0], &ids[9], &[], &["sh", "-c", &skip("45")]).code(5);
    assert_eq!(run.stdout, format!("{}\n{}\n{}\n", ids[4], ids[5], ids[6]));
    let run = bisect(
        &sandbox,
        &ids[0],
        &ids[9],
        &[],
        &["sh", "-c", &skip("2367")],
    )
    .success();
    assert_eq!(run.stdout.trim(), ids[5], "{run}");
}

#[cfg(unix)]
#[test]
fn a_command_that_cannot_be_run_or_dies_decides_nothing() {
    let (sandbox, ids) = project(6, 3);
    for command in [
        &["no-such-command-at-all"][..],
        &["./lib/add.sh"],
        &["sh", "-c", "exit 127"],
    ] {
        bisect(&sandbox, &ids[0], &ids[5], &[], command)
            .code(1)
            .stdout_is("");
    }
    let run = bisect(
        &sandbox,
        &ids[0],
        &ids[5],
        &[],
        &["sh", "-c", "./test.sh || kill -SEGV $$"],
    )
    .code(1);
    run.stderr_has("signal 11").stderr_has(&ids[5]);
    assert_eq!(leftovers(&sandbox).len(), 0);
}

#[cfg(unix)]
#[test]
fn an_equal_state_is_not_tested_twice_and_safety_checkpoints_are_passed_over() {
    let (sandbox, mut ids) = project(3, 9);
    for at in 0..4 {
        ids.push(sandbox.create(&format!("same {at}")));
    }
    sandbox.write("lib/add.sh", "neither");
    sandbox.restore(&ids[0]).success();
    sandbox.write("lib/add.sh", "add() { echo 0; }");
    ids.push(sandbox.create("bad"));
    sandbox.env("LOG", sandbox.top().join("runs.log"));
    let line = "echo run >> \"$LOG\"; exec ./test.sh";
    let run = bisect(
        &sandbox,
        &ids[0],
        ids.last().unwrap(),
        &["--json"],
        &["sh", "-c", line],
    )
    .success();
    assert_eq!(
        run.data()["first_bad"]["short"],
        ids.last().unwrap().as_str()
    );
    let runs = std::fs::read_to_string(sandbox.top().join("runs.log"))
        .unwrap()
        .lines()
        .count();
    assert!(tested(&run).len() > runs && runs <= 4, "{runs} runs\n{run}");
    assert!(
        tested(&run).iter().all(|(short, _)| ids.contains(short)),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn the_command_sees_exactly_what_the_checkpoint_holds_and_nothing_of_the_test_before() {
    let (sandbox, ids) = project(8, 5);
    let line = "test ! -e made && touch made && mkdir closed && chmod 500 closed && touch lib/x && ls -d doc && ./test.sh";
    let run = bisect(&sandbox, &ids[0], &ids[7], &[], &["sh", "-c", line]).success();
    assert_eq!(run.stdout.trim(), ids[5], "{run}");
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

#[cfg(unix)]
#[test]
fn the_store_is_free_while_tests_run_and_packs_that_go_meanwhile_stay_readable() {
    let (sandbox, ids) = project(5, 4);
    let binary = Sandbox::binary().display().to_string();
    let root = sandbox.root().display().to_string();
    let line = format!(
        "'{binary}' -C '{root}' create --lock-timeout 0 --reason during >&2 || exit 99; \
         '{binary}' -C '{root}' prune --keep 1 --yes --lock-timeout 0 >&2 || exit 99; exec ./test.sh"
    );
    let run = bisect(
        &sandbox,
        &ids[0],
        &ids[4],
        &["--json"],
        &["sh", "-c", &line],
    )
    .success();
    assert_eq!(run.data()["first_bad"]["short"], ids[4].as_str(), "{run}");
    assert_eq!(
        (sandbox.listed().len(), &sandbox.listed()[0]["reason"]),
        (1, &"during".into())
    );
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
    assert!(
        tested(&run).contains(&(ids[1].clone(), "skip".to_owned())),
        "{run}"
    );
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

#[cfg(unix)]
#[test]
fn json_has_one_document_and_the_output_of_the_command_goes_to_stderr() {
    let (sandbox, ids) = project(4, 2);
    let run = bisect(
        &sandbox,
        &ids[0],
        &ids[3],
        &["--json"],
        &["sh", "-c", "echo noise; ./test.sh"],
    )
    .success();
    assert_eq!(run.data()["last_good"]["short"], ids[1].as_str());
    assert!(
        run.stderr.contains("noise") && run.stdout.lines().count() == 1,
        "{run}"
    );
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

#[cfg(unix)]
#[test]
fn it_works_when_the_root_is_gone() {
    let (sandbox, ids) = project(4, 2);
    sandbox.remove("");
    let root = sandbox.root().display().to_string();
    let run = sandbox
        .run(&["-C", &root, "bisect", &ids[0], &ids[3], "--", "./test.sh"])
        .success();
    assert_eq!(run.stdout.trim(), ids[2], "{run}");
    assert!(!sandbox.root().exists());
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

#[cfg(unix)]
#[test]
fn the_command_inherits_no_lock_and_no_pack() {
    let (sandbox, ids) = project(3, 2);
    if std::path::Path::new("/proc/self/fd").exists() {
        let line =
            "ls -l /proc/self/fd | grep -e /lock -e /objects/ >&2 && exit 130; exec ./test.sh";
        let run = bisect(&sandbox, &ids[0], &ids[2], &[], &["sh", "-c", line]).success();
        assert_eq!(run.stdout.trim(), ids[2], "{run}");
    }
}

#[test]
fn an_end_that_holds_only_a_part_is_refused() {
    let (sandbox, ids) = project(3, 2);
    sandbox
        .run(&["create", "--scope", "test.sh", "--reason", "part"])
        .success();
    bisect(&sandbox, &ids[0], "part", &[], &["./test.sh"])
        .code(2)
        .stderr_has("only a part");
    bisect(&sandbox, "part", &ids[2], &[], &["./test.sh"]).code(2);
}
