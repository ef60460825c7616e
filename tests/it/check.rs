//! `restore --check`: the user's own command after a restore. It is reported and undoes nothing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::{Run, Sandbox, os};

fn with_edit() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    sandbox.write("a", "2");
    (sandbox, id)
}

#[cfg(unix)]
#[test]
fn a_check_that_passes_is_0_and_its_output_goes_to_stderr() {
    let (sandbox, id) = with_edit();
    let run = sandbox
        .run(&[
            "restore",
            &id,
            "--yes",
            "--check",
            "echo out; echo err >&2; cat a",
        ])
        .success();
    let run = run
        .stderr_has("out\nerr\n1")
        .stderr_has("check passed")
        .stdout_has("Restored to checkpoint");
    assert!(!run.stdout.contains("out"), "{run}");
}

#[cfg(unix)]
#[test]
fn a_check_that_fails_is_5_names_undo_and_takes_nothing_back() {
    let (sandbox, id) = with_edit();
    let run = sandbox
        .run(&["restore", &id, "--yes", "--check", "test \"$(cat a)\" = 2"])
        .code(5);
    run.stderr_has("exit 1")
        .stderr_has("checkpoint undo")
        .stdout_has("Restored to checkpoint");
    assert_eq!(sandbox.read("a"), "1");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "2");
}

#[cfg(unix)]
#[test]
fn quiet_hides_a_passed_check_and_no_failed_one() {
    let (sandbox, id) = with_edit();
    let run = sandbox
        .run(&["restore", &id, "--yes", "-q", "--check", "true"])
        .success();
    assert_eq!(run.stderr, "");
    sandbox
        .run(&["restore", &id, "--yes", "-q", "--check", "exit 7"])
        .code(5)
        .stderr_has("exit 7");
}

#[cfg(unix)]
#[test]
fn a_check_that_a_signal_ends_or_that_is_not_found_has_failed() {
    let (sandbox, id) = with_edit();
    let check = |line: &str| {
        let run = sandbox
            .run(&["restore", &id, "--yes", "--json", "--check", line])
            .code(5);
        run.data()["check"]["exit"].clone()
    };
    assert_eq!(check("kill -9 $$"), 137);
    assert_eq!(check("no-such-command-at-all"), 127);
}

#[cfg(unix)]
#[test]
fn the_check_has_the_environment_of_the_user_and_runs_in_the_root() {
    let (sandbox, id) = with_edit();
    sandbox.env("PATH", "/usr/bin:/bin").env("MINE", "yes");
    let line =
        "env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= -e ^OLDPWD= | sort > env.log; pwd > pwd.log";
    sandbox
        .run(&["restore", &id, "--yes", "--check", line])
        .success();
    assert_eq!(
        sandbox.read("pwd.log").trim(),
        sandbox.root().display().to_string()
    );
    let log = sandbox.read("env.log");
    let names: Vec<&str> = log
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert_eq!(names, ["CHECKPOINT_NOW", "HOME", "MINE", "PATH", "TZ"]);
}

#[cfg(unix)]
#[test]
fn with_to_the_check_runs_in_that_directory() {
    let (sandbox, id) = with_edit();
    let dir = sandbox.top().join("other");
    let line = "test \"$(cat a)\" = 1 && pwd";
    let run = sandbox
        .run(&[
            "restore",
            &id,
            "--to",
            &dir.display().to_string(),
            "--check",
            line,
        ])
        .success();
    run.stderr_has(&dir.display().to_string());
    let run = sandbox.run(&[
        "restore",
        &id,
        "--to",
        &sandbox.top().join("2").display().to_string(),
        "--check",
        "false",
    ]);
    let run = run.code(5).stderr_has("stays in");
    assert!(!run.stderr.contains("undo"), "{run}");
    assert_eq!(sandbox.read("a"), "2");
}

#[cfg(unix)]
#[test]
fn the_lock_is_free_while_the_check_runs_and_the_check_does_not_inherit_it() {
    let (sandbox, id) = with_edit();
    let binary = Sandbox::binary().display().to_string();
    let line = format!("'{binary}' create --lock-timeout 0 --reason during");
    sandbox.env("PATH", "/usr/bin:/bin");
    sandbox
        .run(&["restore", &id, "--yes", "--check", &line])
        .success();
    assert_eq!(sandbox.listed()[0]["reason"], "during");
    // A process that outlives the check must not keep the store open.
    let open =
        "ls -l /proc/self/fd | grep -c -e checkpoints/ -e objects > fds.log; (sleep 5 >&- 2>&- &)";
    if std::path::Path::new("/proc/self/fd").exists() {
        sandbox
            .run(&["restore", &id, "--yes", "--check", &format!("{open}; true")])
            .success();
        assert_eq!(sandbox.read("fds.log"), "0\n");
        sandbox
            .run(&["create", "--lock-timeout", "0", "--reason", "after"])
            .success();
    }
}

#[test]
fn what_makes_no_sense_together_is_2() {
    let (sandbox, id) = with_edit();
    sandbox
        .run(&["restore", &id, "--dry-run", "--check", "true"])
        .code(2);
    sandbox
        .run(&["restore", "--resume", "--check", "true"])
        .code(2);
    sandbox
        .run(&["restore", &id, "--yes", "--check", ""])
        .code(2);
    assert_eq!(sandbox.read("a"), "2");
}

#[test]
fn a_restore_that_is_refused_runs_no_check() {
    let (sandbox, _) = with_edit();
    sandbox
        .run(&["restore", "no-such", "--yes", "--check", "touch ran"])
        .code(3);
    assert!(!sandbox.exists("ran"));
}

/// Starts a restore with a long check and sends signals to the program alone.
fn interrupted(json: bool, line: &str, signals: usize) -> (Sandbox, i32, String, String, Duration) {
    let (sandbox, id) = with_edit();
    sandbox.env("PATH", "/usr/bin:/bin");
    let mut args = vec!["restore", &id, "--yes", "--check", line];
    if json {
        args.push("--json");
    }
    let mut command = sandbox.command(&[], &args);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let started = Instant::now();
    while !sandbox.exists("began") {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "the check did not begin"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let began = Instant::now();
    for _ in 0..signals {
        os::signal(child.id(), os::Signal::Interrupt);
        std::thread::sleep(Duration::from_millis(200));
    }
    let run = Run::ended("a restore with a check".to_owned(), child);
    (sandbox, run.code, run.stdout, run.stderr, began.elapsed())
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_check_and_says_that_the_restore_is_done() {
    let (sandbox, code, out, err, took) = interrupted(false, "touch began; exec sleep 60", 1);
    assert_eq!(code, 130, "{out}\n{err}");
    assert!(
        out.contains("Restored to checkpoint")
            && err.contains("interrupted: ")
            && err.contains("is done"),
        "{err}"
    );
    assert!(
        err.contains("checkpoint undo") && took < Duration::from_secs(30),
        "{err}"
    );
    assert_eq!(sandbox.read("a"), "1");
    let (_, code, out, _, _) = interrupted(true, "touch began; exec sleep 60", 1);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &document["exit"], &document["error"]["code"]),
        (130, &130.into(), &"interrupted".into())
    );
}

#[cfg(unix)]
#[test]
fn a_check_that_ignores_the_signal_is_killed_by_a_second_one() {
    let (_, code, _, err, took) = interrupted(false, "trap '' INT; touch began; exec sleep 60", 2);
    assert_eq!(code, 130, "{err}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}
