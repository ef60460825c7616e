//! `doctor` after a kill and in a sandbox; `stories/doctor.md` has the rest.

use serde_json::Value;

use crate::bench::{Run, Sandbox, given, skipped, strace};

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox
}

/// Calls by which a restore moves away what it deletes.
const REMOVALS: &str = "unlink,unlinkat,rename,renameat,renameat2";

/// Returns the level and the remedy of the check of a subject.
fn check(data: &Value, subject: &str) -> Option<(String, String)> {
    let checks = data["checks"].as_array().expect("a list");
    let found = checks.iter().find(|check| check["subject"] == subject)?;
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    Some((text("level"), text("remedy")))
}

#[test]
fn a_restore_that_was_interrupted_is_named_with_both_ways_out() {
    given!(if strace::available());
    let mut killed = (1..60).map(|nth| {
        let sandbox = project();
        for number in 0..5 {
            sandbox.write(format!("new-{number}"), "x");
        }
        strace::kill_at(&sandbox, REMOVALS, nth, &["restore", "first", "--yes"]);
        sandbox
    });
    let is_pending = |sandbox: &Sandbox| !sandbox.status()["pending"].is_null();
    let sandbox = killed
        .find(is_pending)
        .expect("some kill leaves a pending restore");
    let run = sandbox.fails(1, "doctor --json");
    let (level, remedy) = check(&run.json()["data"], "restore").expect("a check");
    assert_eq!(level, "problem");
    for way in ["checkpoint restore --resume", "checkpoint undo"] {
        assert!(remedy.contains(way), "{remedy}");
    }
    sandbox.ok("undo --yes");
    sandbox.ok("doctor");
}

#[cfg(unix)]
#[test]
fn a_store_that_a_sandbox_makes_read_only_is_one_message_with_the_ways_out() {
    let sandbox = project();
    let base = sandbox.home().join(".claude");
    let script = format!(
        "mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}' && exec \"$@\"",
        base.display()
    );
    let wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", &script, "sh"];
    if Run::of(sandbox.command(&wrapper, &["--version"])).code != 0 {
        skipped("needs unshare and the right to mount");
        return;
    }
    let run = Run::of(sandbox.command(&wrapper, &["doctor", "--fix", "--json"])).code(1);
    let data = run.json()["data"].clone();
    assert_eq!(data["problem_count"], 1, "{data}");
    let (level, remedy) = check(&data, "writing").expect("a check");
    assert_eq!(level, "problem");
    assert!(remedy.contains("CHECKPOINT_HOME"), "{remedy}");
    let folder = format!("let the sandbox write {}", base.display());
    assert!(remedy.starts_with(&folder), "{remedy}");
}

#[test]
fn the_file_system_is_told_to_keep_names_apart_that_differ_by_case() {
    let sandbox = project();
    let data = sandbox.json("doctor");
    let checks = data["checks"].as_array().expect("a list");
    let named = checks.iter().find(|one| one["subject"] == "file system");
    let named = named.expect("a check");
    sandbox.write("lower-case", "");
    let folds = sandbox.exists("LOWER-CASE");
    let level = if folds { "note" } else { "good" };
    assert_eq!(named["level"], level, "{named}");
}
