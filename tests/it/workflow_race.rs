//! Concurrent commands on runs: each transition is made once, runs do not affect each other, and an
//! agent's edit of a file during a command is imported or stays as it is.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Run, Sandbox, cases, os, strace};

const FILE: &str = ".claude/pipeline-state.json";
const CALLS: &str = "renameat2,renameat,rename,fsync,fdatasync";

fn spawn(sandbox: &Sandbox, wrapper: &[&str], args: &[&str]) -> (String, Child) {
    let mut command = sandbox.command(wrapper, args);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    (
        format!("{command:?}"),
        child.expect("the program can be started"),
    )
}

/// Runs all commands at once.
fn run_all(sandbox: &Sandbox, commands: &[Vec<&str>]) -> Vec<Run> {
    let started: Vec<_> = commands
        .iter()
        .map(|args| spawn(sandbox, &[], args))
        .collect();
    started
        .into_iter()
        .map(|(shown, child)| Run::ended(shown, child))
        .collect()
}

#[track_caller]
fn log(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    sandbox
        .cmd(format!("workflow show {id} --json"))
        .success()
        .data()["log"]
        .as_array()
        .unwrap()
        .clone()
}

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    let phases = [
        "--phase=one",
        "--phase=two",
        "--phase=three",
        "--phase=four",
    ];
    sandbox.write("a", "1");
    sandbox
        .run(
            &[
                &["workflow", "init", "--profile", "pipeline", "--id", "r"],
                &phases[..],
            ]
            .concat(),
        )
        .success();
    sandbox.ok("phase start one");
    sandbox
}

#[test]
fn of_all_who_end_a_phase_at_once_one_does() {
    for many in [2, 8].into_iter().cycle().take(cases(4)) {
        let sandbox = story();
        sandbox.write("a", "2");
        let runs = run_all(
            &sandbox,
            &vec![vec!["phase", "done", "one", "--json"]; many],
        );
        let won = runs.iter().filter(|run| run.code == 0).count();
        assert_eq!(
            won,
            1,
            "{}",
            runs.iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        );
        for run in runs.iter().filter(|run| run.code != 0) {
            assert_eq!(run.code, 4, "{run}");
            assert!(
                ["wrong_state", "moved_on"].contains(&&*run.error_code()),
                "{run}"
            );
            let error = run.json()["error"].clone();
            assert_eq!(error["run"]["id"], "r", "{run}");
            if run.error_code() == "wrong_state" {
                assert_eq!(error["run"]["completed"], json!(["one"]), "{run}");
            }
        }
        let log = log(&sandbox, "r");
        assert_eq!(
            log.iter()
                .filter(|event| event["verb"] == "phase done")
                .count(),
            1,
            "{log:?}"
        );
        let file: Value = serde_json::from_str(&sandbox.read(FILE)).unwrap();
        assert_eq!(file["completed_phases"].as_array().map(Vec::len), Some(1));
        sandbox.ok("verify");
    }
}

#[test]
fn the_last_phase_is_ended_once_too_and_the_others_see_the_end() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --phase=one --id r");
    sandbox.ok("phase start one");
    let runs = run_all(
        &sandbox,
        &vec![vec!["phase", "done", "one", "-w", "r", "--json"]; 4],
    );
    assert_eq!(runs.iter().filter(|run| run.code == 0).count(), 1);
    for run in runs.iter().filter(|run| run.code != 0) {
        assert_eq!(
            (run.code, run.json()["error"]["run"]["status"].clone()),
            (4, "complete".into()),
            "{run}"
        );
    }
}

#[test]
fn who_expects_another_revision_changes_nothing() {
    let sandbox = story();
    let seen = sandbox.ok("workflow show --json").data()["revision"].clone();
    sandbox.ok("phase progress half");
    // An empty revision, as from a failed script, protects from nothing.
    sandbox.fails(2, "phase done --expect ''");
    let run = sandbox
        .run(&[
            "phase",
            "done",
            "--expect",
            seen.as_str().unwrap(),
            "--json",
        ])
        .code(4);
    assert_eq!(
        (&*run.error_code(), &run.json()["error"]["run"]["current"]),
        ("moved_on", &"one".into())
    );
}

#[test]
fn two_runs_in_one_store_are_in_nobodys_way() {
    let sandbox = story();
    let other = [
        "workflow",
        "init",
        "--profile",
        "registry",
        "--type",
        "t",
        "--project",
        "p",
        "--phase=one",
        "--phase=two",
    ];
    let id = sandbox
        .run(&[&other[..], &["--json"]].concat())
        .success()
        .data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    sandbox.cmd(format!("phase start one -w {id}")).success();
    let texts: Vec<String> = (0..6).map(|number| format!("n{number}")).collect();
    let on = |id, text| vec!["phase", "progress", text, "-w", id, "--json"];
    let mut commands: Vec<Vec<&str>> = texts.iter().map(|text| on("r", text)).collect();
    commands.extend(texts.iter().map(|text| on(&id, text)));
    for run in run_all(&sandbox, &commands) {
        run.success();
    }
    for id in ["r", &id] {
        let log = log(&sandbox, id);
        let mut notes: Vec<&str> = log
            .iter()
            .filter_map(|event| event["note"].as_str())
            .collect();
        notes.retain(|note| note.starts_with('n'));
        notes.sort_unstable();
        assert_eq!(notes, texts, "{id}");
    }
    let ends = [
        vec!["phase", "done", "one", "-w", "r", "--json"],
        vec!["phase", "done", "one", "-w", &id, "--json"],
    ];
    for run in run_all(&sandbox, &ends) {
        assert_eq!(run.success().data()["phase"]["status"], "complete");
    }
    sandbox.ok("verify");
}

#[test]
fn an_edit_and_a_transition_one_after_the_other_are_both_there() {
    let sandbox = story();
    decide(&sandbox, "by hand", true);
    sandbox.ok("phase done one");
    let file: Value = serde_json::from_str(&sandbox.read(FILE)).unwrap();
    assert_eq!(file["context_summary"]["key_decisions"], json!(["by hand"]));
    assert_eq!(file["completed_phases"][0]["id"], "one");
}

/// Notes a decision in the file as an agent does; in place, or by renaming a new file over it.
fn decide(sandbox: &Sandbox, what: &str, in_place: bool) -> String {
    let mut file: Value = serde_json::from_str(&sandbox.read(FILE)).unwrap();
    file["context_summary"]["key_decisions"]
        .as_array_mut()
        .unwrap()
        .push(what.into());
    let text = file.to_string();
    if in_place {
        sandbox.write(FILE, &text);
    } else {
        sandbox.write("new", &text);
        std::fs::rename(sandbox.path("new"), sandbox.path(FILE)).unwrap();
    }
    text
}

/// Stops the program behind the `nth` of its calls, does something, and continues it. `None` if it
/// makes fewer calls.
fn stopped_at(
    sandbox: &Sandbox,
    nth: usize,
    args: &[&str],
    meanwhile: impl FnOnce(),
) -> Option<Run> {
    let log = sandbox.top().join("stop.log");
    let _ = std::fs::remove_file(&log);
    let (trace, inject) = (
        format!("trace={CALLS}"),
        format!("inject={CALLS}:signal=STOP:when={nth}"),
    );
    let shown = log.display().to_string();
    let wrapper = [
        "/usr/bin/strace",
        "-f",
        "-qq",
        "-e",
        &trace,
        "-e",
        &inject,
        "-o",
        &shown,
    ];
    let (shown, mut child) = spawn(sandbox, &wrapper, args);
    let patience = Instant::now() + Duration::from_mins(1);
    while !std::fs::read_to_string(&log)
        .unwrap_or_default()
        .contains("--- stopped by SIGSTOP")
    {
        if child.try_wait().unwrap().is_some() {
            Run::ended(shown, child).success();
            return None;
        }
        assert!(Instant::now() < patience, "{shown} neither stops nor ends");
        std::thread::sleep(Duration::from_millis(2));
    }
    meanwhile();
    // The tracer counts the calls of each thread: another one may stop it again.
    let text = std::fs::read_to_string(&log).unwrap();
    let pids = text
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok());
    let pid = pids.min().expect("the tracer names the process");
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < patience, "{shown} does not end");
        os::signal(pid, os::Signal::Continue);
        std::thread::sleep(Duration::from_millis(2));
    }
    Some(Run::ended(shown, child))
}

/// Checks that the decision was imported, if not before then by the next command.
#[track_caller]
fn settled(sandbox: &Sandbox, run: &Run, what: &str) {
    let shown = sandbox.ok("workflow show --json");
    let decisions = shown.data()["key_decisions"].clone();
    let is_there = decisions.as_array().unwrap().iter().any(|one| *one == what);
    assert!(is_there, "{what} is lost\n{run}\n{shown}");
    assert_eq!(shown.data()["troubles"], json!([]), "{run}");
}

fn sweep(args: &[&str], step: usize) {
    if !strace::available() {
        return;
    }
    let step = step.div_ceil(cases(1)).max(1);
    for nth in (1..=200).step_by(step) {
        let sandbox = story();
        let what = format!("decision {nth}");
        let run = stopped_at(&sandbox, nth, args, || {
            decide(&sandbox, &what, nth % 2 == 0);
        });
        let Some(run) = run else { return };
        assert!(matches!(run.code, 0 | 4 | 5), "at {nth}\n{run}");
        settled(&sandbox, &run, &what);
    }
    panic!("more than 200 calls");
}

/// Removes the registry's checkpoint when its run succeeds, unless another process has just written
/// to it.
#[test]
fn a_file_that_is_edited_while_its_run_ends_stays() {
    if !strace::available() {
        return;
    }
    for nth in (1..=200).step_by(3_usize.div_ceil(cases(1)).max(1)) {
        let sandbox = Sandbox::new();
        let words = [
            "workflow",
            "init",
            "--profile",
            "registry",
            "--type",
            "t",
            "--project",
            "p",
            "--phase=one",
            "--json",
        ];
        let id = sandbox.run(&words).success().data()["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let path = format!(".claude/checkpoints/{id}.json");
        sandbox.ok("phase start one");
        let mut left = None;
        let run = stopped_at(
            &sandbox,
            nth,
            &["phase", "done", "one", "--no-snapshot"],
            || {
                if sandbox.exists(&path) {
                    let text = sandbox
                        .read(&path)
                        .replace("\"last_error\": null", "\"last_error\": \"by hand\"");
                    left = Some(text.clone());
                    sandbox.write(&path, text);
                }
            },
        );
        let Some(run) = run else { return };
        assert!(matches!(run.code, 0 | 4 | 5), "at {nth}\n{run}");
        if let Some(text) = left {
            let known = sandbox
                .cmd(format!("workflow show {id} --json"))
                .success()
                .data()["last_error"]
                == "by hand";
            assert!(
                known || sandbox.read(&path) == text,
                "at {nth}: what was written by hand is gone\n{run}"
            );
        }
    }
    panic!("more than 200 calls");
}

#[test]
fn an_edit_in_the_midst_of_a_note_is_never_lost() {
    sweep(&["phase", "progress", "half"], 2);
}

#[test]
fn an_edit_in_the_midst_of_a_transition_is_never_lost() {
    sweep(&["phase", "done", "one"], 4);
}
