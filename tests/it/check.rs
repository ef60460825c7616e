//! Signals while the check of a restore runs; `stories/check.md` has the rest.

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
