//! A transition killed at any moment: the run is at its old or its new state, never behind what was
//! printed; its file in the project follows with the next command, and no phase is done twice.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bench::{Git, Run, Sandbox, cases, strace};

const CALLS: &str = "renameat2,renameat,rename,linkat,unlinkat,fsync,fdatasync";
const FILE: &str = ".claude/pipeline-state.json";
/// Upper bound on the calls of these kinds in one transition.
const MOST_CALLS: usize = 400;

/// Call numbers at which to kill: all of them, or as many as there is time for, chosen by the seed.
fn some_of(all: usize, seed: usize) -> Vec<usize> {
    let step = all.div_ceil(cases(9)).max(1);
    (1..=all).skip(seed % step).step_by(step).collect()
}

fn kill(sandbox: &Sandbox, nth: usize, args: &[&str]) -> Run {
    let run = strace::kill_at(sandbox, CALLS, nth, &[args, &["--json"]].concat());
    assert!(matches!(run.code, 0 | 137), "at {nth}\n{run}");
    run
}

/// Number of calls of an undisturbed run, in the thread with the most: the tracer counts each
/// thread apart.
fn count(sandbox: &Sandbox, args: &[&str]) -> usize {
    kill(sandbox, MOST_CALLS, args).success();
    let log = std::fs::read_to_string(sandbox.top().join("strace.log")).unwrap();
    let mut counts = BTreeMap::<&str, usize>::new();
    for thread in log
        .lines()
        .filter(|line| line.contains('('))
        .filter_map(|line| line.split_whitespace().next())
    {
        *counts.entry(thread).or_default() += 1;
    }
    counts.into_values().max().expect("it makes such calls")
}

fn init(phases: usize) -> Vec<String> {
    let mut args = ["workflow", "init", "--profile", "pipeline"]
        .map(str::to_owned)
        .to_vec();
    args.extend((1..=phases).map(|number| format!("--phase=p{number}")));
    args
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// A run of that many phases, with a file that each phase can change.
fn story(phases: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "0").run(&words(&init(phases))).success();
    sandbox
}

/// The present state: reading it is the next command, after which the file agrees with it.
#[track_caller]
fn stands(sandbox: &Sandbox, when: &str) -> Value {
    let data = sandbox.json("workflow show");
    assert_eq!(
        (&data["troubles"], &data["log_broken"]),
        (&json!([]), &Value::Null),
        "{when}"
    );
    let told = sandbox.ok("workflow export --format pipeline").stdout;
    assert_eq!(
        sandbox.read(FILE),
        told,
        "{when}: the file has not followed"
    );
    data
}

#[track_caller]
fn phase<'d>(data: &'d Value, id: &str) -> &'d Value {
    data["phases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|phase| phase["id"] == id)
        .unwrap()
}

/// Kills one transition; returns whether it had happened.
#[track_caller]
fn is_after(
    sandbox: &Sandbox,
    nth: usize,
    args: &[&str],
    happened: impl Fn(&Value) -> bool,
) -> bool {
    let before = stands(sandbox, "before");
    assert!(!happened(&before));
    let run = kill(sandbox, nth, args);
    let when = format!("{args:?} killed at {nth}\n{run}");
    let after = stands(sandbox, &when);
    let has = happened(&after);
    assert!(
        has || after["revision"] == before["revision"],
        "{when}: something else happened\n{after}"
    );
    assert!(
        has || run.stdout.is_empty(),
        "{when}: it was printed and did not happen"
    );
    assert!(has || run.code == 137, "{when}");
    has
}

fn finish(sandbox: &Sandbox, phases: usize) {
    for id in (1..=phases).map(|number| format!("p{number}")) {
        let stands = stands(sandbox, "finishing");
        match phase(&stands, &id)["status"].as_str() {
            Some("complete") => continue,
            Some("pending") => drop(sandbox.cmd(format!("phase start {id}")).success()),
            _ => {}
        }
        sandbox.cmd(format!("phase done {id}")).success();
    }
    let data = stands(sandbox, "at its end");
    assert_eq!(data["status"], "complete");
    let log = data["log"].as_array().unwrap();
    for id in (1..=phases).map(|number| format!("p{number}")) {
        let done = log
            .iter()
            .filter(|event| event["verb"] == "phase done" && event["phase_id"] == id.as_str())
            .count();
        assert_eq!(done, 1, "{id}\n{data}");
    }
    let file: Value = serde_json::from_str(&sandbox.read(FILE)).unwrap();
    assert_eq!(
        file["completed_phases"].as_array().map(Vec::len),
        Some(phases),
        "{file}"
    );
    sandbox.ok("verify");
    if let Some(git) = Git::find(sandbox.home()) {
        let fsck = git
            .with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
        assert!(
            !fsck.stdout.contains("missing") && !fsck.stderr.contains("error"),
            "{fsck}"
        );
    }
}

/// Kills in a new phase each time, so that leftovers of the one before are there too.
fn sweep(verb: &str, status: &str) {
    if !strace::available() {
        return;
    }
    let (starts, ends) = (verb == "start", verb == "done");
    let sandbox = story(1);
    if ends {
        sandbox.ok("phase start");
    }
    let all = count(sandbox.write("a", "1"), &["phase", verb, "p1"]);
    let kills = some_of(all + if ends { all / 2 } else { 0 }, verb.len());
    // The last phase stays open, or the run would end.
    let sandbox = story(kills.len() + 1);
    let mut happened = 0;
    for (nth, number) in kills.iter().zip(1..) {
        let id = format!("p{number}");
        if !starts {
            sandbox.cmd(format!("phase start {id}")).success();
        }
        sandbox.write("a", number.to_string());
        let has = is_after(&sandbox, *nth, &["phase", verb, &id], |data| {
            phase(data, &id)["status"] == status
        });
        happened += usize::from(has);
        sandbox.ok("workflow resume --choose y");
        if !has {
            sandbox.cmd(format!("phase {verb} {id}")).success();
        }
        if starts {
            sandbox.cmd(format!("phase done {id}")).success();
        }
    }
    println!(
        "phase {verb}: {} of {all} calls, {happened} had happened",
        kills.len()
    );
    finish(&sandbox, kills.len() + 1);
}

#[test]
fn a_start_killed_anywhere_has_begun_the_phase_or_not() {
    sweep("start", "in_progress");
}

#[test]
fn a_done_killed_anywhere_has_ended_the_phase_or_not() {
    sweep("done", "complete");
}

#[test]
fn a_note_of_progress_killed_anywhere_is_there_or_not() {
    if !strace::available() {
        return;
    }
    let sandbox = story(2);
    sandbox.ok("phase start");
    let all = count(&sandbox, &["phase", "progress", "0"]);
    for nth in some_of(all, 0) {
        let text = nth.to_string();
        let has = is_after(&sandbox, nth, &["phase", "progress", &text], |data| {
            phase(data, "p1")["progress"] == text
        });
        if !has {
            sandbox.cmd(format!("phase progress {text}")).success();
        }
    }
    finish(&sandbox, 2);
}

#[test]
fn an_init_killed_anywhere_has_begun_the_run_or_not() {
    if !strace::available() {
        return;
    }
    let (args, fresh) = (init(3), Sandbox::new());
    let all = count(fresh.write("a", "0"), &words(&args));
    for nth in some_of(all, 1) {
        let sandbox = Sandbox::new();
        let run = kill(sandbox.write("a", "0"), nth, &words(&args));
        let listed = sandbox.json("workflow list");
        let runs = listed["workflows"].as_array().unwrap().len();
        assert!(
            runs == 1 || (runs == 0 && run.stdout.is_empty()),
            "at {nth}\n{run}\n{listed}"
        );
        if runs == 0 {
            assert!(!sandbox.exists(FILE), "at {nth}: a file of no run");
            sandbox.run(&words(&args)).success();
        }
        let data = stands(&sandbox, &format!("init killed at {nth}"));
        assert_eq!(
            data["log"].as_array().map(Vec::len),
            Some(1),
            "at {nth}: {data}"
        );
        finish(&sandbox, 3);
    }
}

#[test]
fn end_killed_anywhere_leaves_the_run_open_or_archived() {
    if !strace::available() {
        return;
    }
    let args = ["workflow", "end", "--abandon"];
    let all = count(&story(1), &args);
    for nth in some_of(all, 2) {
        let sandbox = story(1);
        let run = kill(&sandbox, nth, &args);
        let listed = sandbox.json("workflow list --all");
        let runs = listed["workflows"].as_array().unwrap();
        assert_eq!(runs.len(), 1, "at {nth}\n{run}\n{listed}");
        let is_archived = runs[0]["is_archived"] == true;
        assert_eq!(is_archived, !sandbox.exists(FILE), "at {nth}\n{run}");
        assert!(is_archived || run.code == 137, "at {nth}\n{run}");
    }
}

/// What a user can tell apart: each run with its phases, its document, and a file of the work.
fn seen(sandbox: &Sandbox) -> Value {
    let runs = sandbox.json("workflow list --all")["workflows"].clone();
    let run = |run: &Value| {
        let phases = run["phases"].as_array().unwrap().iter();
        let phases: Vec<_> = phases.map(|phase| phase["status"].clone()).collect();
        json!([run["status"], run["is_archived"], phases])
    };
    let runs: Vec<Value> = runs.as_array().unwrap().iter().map(run).collect();
    json!([runs, sandbox.exists(FILE), sandbox.read("a")])
}

/// Kills a command at each call of a run whose second phase is under way: what is there is as
/// before, as after or one of `between`, and the same command again leads to the end, if need be
/// after the first one that its error names.
fn ends_at_either_state(
    args: &[&str],
    seed: usize,
    between: impl Fn(&Value, &Value) -> Vec<Value>,
) {
    if !strace::available() {
        return;
    }
    let under_way = || {
        let sandbox = story(3);
        sandbox.ok("phase start");
        sandbox.write("a", "1").ok("phase done");
        sandbox.ok("phase start");
        sandbox.write("a", "2").ok("phase progress half");
        sandbox.write("a", "3");
        sandbox
    };
    let sandbox = under_way();
    let before = seen(&sandbox);
    let all = count(&sandbox, args);
    let after = seen(&sandbox);
    let allowed = between(&before, &after);
    for nth in some_of(all, seed) {
        let sandbox = under_way();
        let run = kill(&sandbox, nth, args);
        let now = seen(&sandbox);
        assert!(
            now == before || now == after || allowed.contains(&now),
            "{args:?} killed at {nth}\n{run}\n{now}\nbefore {before}\nafter {after}"
        );
        assert!(
            now == after || run.stdout.is_empty(),
            "at {nth}: it was printed and did not happen\n{run}"
        );
        if now != after {
            let again = sandbox.run(args);
            if again.code != 0 {
                let named = again.stderr.split("'checkpoint ").nth(1);
                let named = named.and_then(|rest| rest.split('\'').next());
                sandbox.ok(named.unwrap_or_else(|| panic!("no command leads on\n{again}")));
                sandbox.run(args).success();
            }
            assert_eq!(seen(&sandbox), after, "{args:?} again, killed at {nth}");
        }
        sandbox.ok("verify");
    }
}

fn nothing(_: &Value, _: &Value) -> Vec<Value> {
    Vec::new()
}

#[test]
fn resume_killed_anywhere_leaves_the_phases_as_they_are() {
    ends_at_either_state(&["workflow", "resume", "--choose", "y"], 3, nothing);
}

/// The old run is archived before the new one begins.
#[test]
fn restart_killed_anywhere_is_completed_by_the_commands_that_are_named() {
    let args = ["workflow", "resume", "--choose", "restart"];
    ends_at_either_state(&args, 4, |_, after| {
        vec![json!([[after[0][1]], false, after[2]])]
    });
}

#[test]
fn abandon_killed_anywhere_has_ended_the_run_or_not() {
    let args = ["workflow", "resume", "--choose", "abandon"];
    ends_at_either_state(&args, 5, nothing);
}

#[test]
fn rewind_of_the_state_killed_anywhere_has_rewound_it_or_not() {
    let args = ["workflow", "rewind", "p2", "--state", "--yes"];
    ends_at_either_state(&args, 6, nothing);
}

/// Files and state are two steps; a kill may lie between them.
#[test]
fn rewind_of_both_killed_anywhere_is_completed_by_the_commands_that_are_named() {
    let args = ["workflow", "rewind", "p2", "--both", "--yes"];
    ends_at_either_state(&args, 7, |before, after| {
        vec![
            json!([before[0], true, after[2]]),
            json!([after[0], true, before[2]]),
        ]
    });
}

/// Kills at the worst moments in a row, with no command in between that could repair.
#[test]
fn kills_in_a_row_lose_nothing_that_was_printed() {
    if !strace::available() {
        return;
    }
    let sandbox = story(2);
    sandbox.ok("phase start");
    let mut printed = None;
    for nth in some_of(60, 2) {
        let text = format!("row {nth}");
        let run = kill(&sandbox, nth, &["phase", "progress", &text]);
        if !run.stdout.is_empty() {
            printed = Some(text);
        }
    }
    let data = stands(&sandbox, "after all kills");
    let log = data["log"].as_array().unwrap();
    assert!(
        printed.is_none_or(|text| log.iter().any(|event| event["note"] == text.as_str())),
        "{data}"
    );
    finish(&sandbox, 2);
}
