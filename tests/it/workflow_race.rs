//! Concurrent commands on runs: each transition is made once, runs do not affect each other, and an
//! agent's edit of a file during a command is imported or stays as it is.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::sandbox::words;
use crate::bench::{Run, Sandbox, cases, given, os, strace};

const FILE: &str = ".claude/pipeline-state.json";
const CALLS: &str = "renameat2,renameat,rename,fsync,fdatasync";

fn spawn(sandbox: &Sandbox, wrapper: &[&str], args: &[&str]) -> (String, Child) {
    let mut command = sandbox.command(wrapper, args);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = piped.stdin(Stdio::null()).spawn();
    let shown = format!("{command:?}");
    (shown, child.expect("the program can be started"))
}

/// Runs all commands at once.
fn run_all(sandbox: &Sandbox, lines: &[String]) -> Vec<Run> {
    let started = lines.iter().map(|line| spawn(sandbox, &[], &words(line)));
    let started: Vec<_> = started.collect();
    let ended = started.into_iter();
    ended
        .map(|(shown, child)| Run::ended(shown, child))
        .collect()
}

#[track_caller]
fn log(sandbox: &Sandbox, id: &str) -> Vec<Value> {
    let shown = sandbox.ok(format!("workflow show {id} --json"));
    shown.data()["log"].as_array().unwrap().clone()
}

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let phases = "--phase=one --phase=two --phase=three --phase=four";
    sandbox.json(format!("workflow init --profile pipeline --id r {phases}"));
    sandbox.json("phase start one");
    sandbox
}

#[test]
fn of_all_who_end_a_phase_at_once_one_does() {
    for many in [2, 8].into_iter().cycle().take(cases(4)) {
        let sandbox = story();
        sandbox.write("a", "2");
        let runs = run_all(&sandbox, &vec!["phase done one --json".to_owned(); many]);
        let (won, lost): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.code == 0);
        assert_eq!((won.len(), lost.len()), (1, many - 1));
        for run in lost {
            let (error, code) = (run.json()["error"].clone(), run.error_code());
            assert!(["already_complete", "moved_on"].contains(&&*code), "{run}");
            assert_eq!((run.code, &error["run"]["id"]), (4, &"r".into()), "{run}");
            let done = error["run"]["completed"] == json!(["one"]);
            assert!(done || code == "moved_on", "{run}");
        }
        let log = log(&sandbox, "r");
        let done = log.iter().filter(|event| event["verb"] == "phase done");
        assert_eq!(done.count(), 1, "{log:?}");
        let done = sandbox.json_of(FILE)["completed_phases"].clone();
        assert_eq!(done.as_array().map(Vec::len), Some(1));
        sandbox.cmd("verify").success();
    }
}

#[test]
fn an_answer_is_taken_beside_notes_of_others() {
    let sandbox = story();
    for _ in 0..cases(3) {
        let note = "workflow note --decision d".to_owned();
        let mut lines = vec!["workflow resume --choose y".to_owned(); 3];
        lines.extend(vec![note; 3]);
        for run in run_all(&sandbox, &lines) {
            run.success();
        }
    }
}

#[test]
fn the_last_phase_is_ended_once_too_and_the_others_see_the_end() {
    let sandbox = Sandbox::new();
    sandbox.json("workflow init --phase=one --id r");
    sandbox.json("phase start one");
    let runs = run_all(&sandbox, &vec!["phase done one -w r --json".to_owned(); 4]);
    assert_eq!(runs.iter().filter(|run| run.code == 0).count(), 1);
    for run in runs.iter().filter(|run| run.code != 0) {
        let status = run.json()["error"]["run"]["status"].clone();
        assert_eq!((run.code, status), (4, "complete".into()), "{run}");
    }
}

#[test]
fn who_expects_another_revision_changes_nothing() {
    let sandbox = story();
    let seen = sandbox.json("workflow show")["revision"].clone();
    let seen = seen.as_str().unwrap();
    sandbox.json("phase progress half");
    // An empty revision, as from a failed script, protects from nothing.
    sandbox.cmd("phase done --expect ''").code(2);
    let run = sandbox.cmd(format!("phase done --expect {seen} --json"));
    let run = run.code(4);
    let current = &run.json()["error"]["run"]["current"];
    assert_eq!((&*run.error_code(), current), ("moved_on", &"one".into()));
}

#[test]
fn two_runs_in_one_store_are_in_nobodys_way() {
    let sandbox = story();
    let other = "workflow init --profile registry --type t --project p --phase=one --phase=two";
    let id = sandbox.json(other)["id"].as_str().unwrap().to_owned();
    sandbox.json(format!("phase start one -w {id}"));
    let ids = ["r", &id];
    let texts: Vec<String> = (0..6).map(|number| format!("n{number}")).collect();
    let on = |id| {
        let lines = texts.iter();
        lines.map(move |text| format!("phase progress {text} -w {id} --json"))
    };
    for run in run_all(&sandbox, &ids.into_iter().flat_map(on).collect::<Vec<_>>()) {
        run.success();
    }
    for id in ids {
        let log = log(&sandbox, id);
        let notes = log.iter().filter_map(|event| event["note"].as_str());
        let mut notes: Vec<&str> = notes.filter(|note| note.starts_with('n')).collect();
        notes.sort_unstable();
        assert_eq!(notes, texts, "{id}");
    }
    let ends = ids.map(|id| format!("phase done one -w {id} --json"));
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
    let wrapper = format!("/usr/bin/strace -f -qq -e {trace} -e {inject} -o {shown}");
    let (shown, mut child) = spawn(sandbox, &words(&wrapper), args);
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
    given!(if strace::available());
    let step = step.div_ceil(cases(1)).max(1);
    for nth in (1..=200).step_by(step) {
        let sandbox = story();
        let what = format!("decision {nth}");
        let run = stopped_at(&sandbox, nth, args, || {
            decide(&sandbox, &what, nth % 2 == 0);
        });
        let Some(run) = run else {
            assert!(nth > 4, "it was stopped nowhere");
            return;
        };
        assert!(matches!(run.code, 0 | 4 | 5), "at {nth}\n{run}");
        settled(&sandbox, &run, &what);
    }
    panic!("more than 200 calls");
}

/// Removes the registry's checkpoint when its run succeeds, unless another process has just written
/// to it.
#[test]
fn a_file_that_is_edited_while_its_run_ends_stays() {
    given!(if strace::available());
    let mut edits = 0;
    for nth in (1..=200).step_by(3_usize.div_ceil(cases(1)).max(1)) {
        let sandbox = Sandbox::new();
        let begin = "workflow init --profile registry --type t --project p --phase=one";
        let id = sandbox.json(begin)["id"].as_str().unwrap().to_owned();
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
        let Some(run) = run else {
            assert!(edits > 1, "it was edited {edits} times");
            return;
        };
        assert!(matches!(run.code, 0 | 4 | 5), "at {nth}\n{run}");
        if let Some(text) = left {
            edits += 1;
            let known = sandbox.json(format!("workflow show {id}"))["last_error"] == "by hand";
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
