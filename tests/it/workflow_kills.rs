//! Transitions killed in a row, with no command in between that could repair, and one whose file cannot
//! be read; `tests/siege` kills each of them.

use serde_json::{Value, json};

use crate::bench::sandbox::words;
use crate::bench::{Sandbox, given, strace};

const FILE: &str = ".claude/pipeline-state.json";
const CALLS: &str = "renameat2,renameat,rename,linkat,unlinkat,fsync,fdatasync";

#[test]
fn kills_in_a_row_lose_nothing_that_was_printed() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("a", "0");
    sandbox.ok("workflow init --profile pipeline --phase p1 --phase p2");
    sandbox.ok("phase start");
    let (mut printed, mut killed) = (None, 0);
    for nth in 1..14 {
        let text = format!("row {nth}");
        let args = ["phase", "progress", &text, "--json"];
        let run = strace::kill_at(&sandbox, CALLS, nth, &args);
        assert!(matches!(run.code, 0 | 137), "at {nth}\n{run}");
        killed += usize::from(run.code == 137);
        if !run.stdout.is_empty() {
            printed = Some(text);
        }
    }
    assert!(killed > 5, "only {killed} were killed");
    let data = sandbox.json("workflow show");
    assert_eq!(
        (&data["troubles"], &data["log_broken"]),
        (&json!([]), &Value::Null)
    );
    let log = data["log"].as_array().expect("a log");
    assert!(
        printed.is_none_or(|text| log.iter().any(|event| event["note"] == text.as_str())),
        "{data}"
    );
    let told = sandbox.ok("workflow export --format pipeline").stdout;
    assert_eq!(sandbox.read(FILE), told);
    for line in ["phase done", "phase start", "phase done", "verify"] {
        sandbox.ok(line);
    }
    assert_eq!(sandbox.json("workflow show")["status"], "complete");
}

#[test]
fn a_restart_begins_nothing_while_the_file_of_the_old_run_is_there() {
    given!(if strace::available());
    for nth in 1.. {
        let sandbox = Sandbox::new();
        sandbox.ok("workflow init --profile pipeline --phase p1 --phase p2");
        sandbox.ok("phase start");
        let folder = sandbox.path(".claude");
        let restart = ["workflow", "resume", "--choose", "restart"];
        let when = nth.to_string();
        let run = strace::failing_at_path(&sandbox, &folder, "openat", "EIO", &when, &restart);
        if !strace::has_struck(&sandbox) {
            assert!(nth > 4, "{run}");
            return;
        }
        let listed = sandbox.json("workflow list --all")["workflows"].clone();
        let runs = listed.as_array().expect("runs").iter();
        let states: Vec<_> = runs
            .map(|run| (&run["status"], &run["is_archived"]))
            .collect();
        let (old, new) = (json!("abandoned"), json!("pending"));
        let (is, is_not) = (json!(true), json!(false));
        let before = json!("in_progress");
        let known = [
            vec![(&before, &is_not)],
            vec![(&old, &is)],
            vec![(&new, &is_not), (&old, &is)],
        ];
        assert!(known.contains(&states), "open {nth}: {states:?}\n{run}");
    }
}

/// Kills a command at each of its calls of a kind, each time on a new sandbox.
fn killed_at_each(calls: &str, begun: &dyn Fn(&Sandbox), line: &str, then: &dyn Fn(&Sandbox)) {
    given!(if strace::available());
    for nth in 1.. {
        let sandbox = Sandbox::new();
        begun(&sandbox);
        let run = strace::kill_at(&sandbox, calls, nth, &words(line));
        if run.code != 137 {
            assert!(nth > 2, "{run}");
            return;
        }
        println!("killed at {nth} of {calls}: {line}");
        then(&sandbox);
    }
}

#[test]
fn the_schema_of_a_killed_beginning_is_there_and_nothing_beside_it() {
    let init = "workflow init --id r1 --profile pipeline --phase one";
    let then = |sandbox: &Sandbox| {
        assert!([0, 4].contains(&sandbox.cmd(init).code));
        let schemas = std::fs::read_dir(sandbox.path(".claude/schemas")).unwrap();
        let names: Vec<_> = schemas.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["pipeline-state.schema.json"]);
    };
    for calls in ["renameat2", "fsync"] {
        killed_at_each(calls, &|_| (), init, &then);
    }
}

#[test]
fn a_recovery_that_was_killed_leaves_no_failed_file() {
    let begun = |sandbox: &Sandbox| {
        for line in [
            "workflow init --id r1 --profile registry --phase one",
            "phase start one",
            "workflow end r1 --abandon",
        ] {
            sandbox.ok(line);
        }
    };
    let then = |sandbox: &Sandbox| {
        sandbox.ok("workflow recover r1");
        let failed = sandbox.path(".claude/checkpoints/failed");
        let failed = std::fs::read_dir(failed).into_iter().flatten();
        assert_eq!(failed.count(), 0);
        assert_eq!(sandbox.json("workflow show r1")["status"], "in_progress");
    };
    for calls in ["rename", "unlink,unlinkat", "fsync"] {
        killed_at_each(calls, &begun, "workflow recover r1", &then);
    }
}

#[test]
fn a_restart_that_was_killed_is_done_when_asked_for_again() {
    let begun = |sandbox: &Sandbox, text: Option<&str>| {
        sandbox.ok("workflow init --id r1 --profile pipeline --phase one");
        sandbox.ok("phase start one");
        text.map(|text| sandbox.write(FILE, text));
    };
    let recover = format!("workflow recover {FILE} --take none");
    for (line, text) in [
        ("workflow resume --choose restart", None),
        (&recover, Some("{")),
    ] {
        let then = |sandbox: &Sandbox| {
            let again = sandbox.cmd(line);
            let data = sandbox.json("workflow list");
            let live = data["workflows"].as_array().unwrap();
            let live: Vec<&Value> = live.iter().map(|run| &run["status"]).collect();
            assert_eq!(live, [&json!("pending")], "{again}");
            // It may have found that the killed one had written the file of the new run.
            assert!(
                again.code == 0 || again.code == 3 && text.is_some(),
                "{again}"
            );
        };
        killed_at_each("rename", &|sandbox| begun(sandbox, text), line, &then);
    }
}

#[test]
fn a_run_is_purged_whole_or_not_at_all_if_the_roll_cannot_be_read() {
    given!(if strace::available());
    let mut struck = 0;
    for when in 1..12 {
        let sandbox = Sandbox::new();
        sandbox.ok("workflow init --id r1 --profile pipeline --phase p1");
        let roll = sandbox.store().join("checkpoint/workflows");
        let purge = words("workflow end r1 --purge --yes");
        let when = when.to_string();
        let run = strace::failing_at_path(&sandbox, &roll, "openat", "EIO", &when, &purge);
        let listed = sandbox.json("workflow list --all")["workflows"].clone();
        let is_there = listed.as_array().is_some_and(|runs| !runs.is_empty());
        assert_eq!(is_there, run.code != 0, "openat {when}\n{run}");
        struck += usize::from(strace::has_struck(&sandbox));
    }
    assert!(struck > 2, "the roll is opened {struck} times");
}
