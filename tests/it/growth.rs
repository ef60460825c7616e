//! Work grows linearly, not quadratically, with the number of names in one directory.
//!
//! Measured in processor time and compared with the first create of the same tree, which holds on a
//! slow disk and on a busy machine.

use std::time::Duration;

use crate::bench::Sandbox;

const NAMES: usize = 20_000;
/// Fewer names for deletions, each of which costs a few system calls.
const NAMES_THAT_GO: usize = 8_000;
/// Upper bound on the ratio to a create. Two and a half is measured; quadratic work exceeds it by far.
const MOST_TIMES_A_CREATE: u32 = 6;

/// A sandbox with that many files in one directory.
fn full(names: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("other", "1").create("empty");
    for number in 0..names {
        sandbox.write(format!("d/{number:06}"), number.to_string());
    }
    sandbox
}

/// Processor time of the program and of the system for it; the shell reports both for its children.
fn times(sandbox: &Sandbox, args: &[&str]) -> [Duration; 2] {
    let run = sandbox
        .run_under(&["/bin/sh", "-c", r#""$@" && times >&2"#, "sh"], args)
        .success();
    let mut times = run
        .stderr
        .lines()
        .last()
        .unwrap_or_default()
        .split_whitespace()
        .map(|time| {
            let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
            Some(Duration::from_secs_f64(
                60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?,
            ))
        });
    let mut next = || {
        times
            .next()
            .flatten()
            .unwrap_or_else(|| panic!("the shell tells no times\n{run}"))
    };
    [next(), next()]
}

fn spent(sandbox: &Sandbox, args: &[&str]) -> Duration {
    times(sandbox, args).into_iter().sum()
}

#[test]
fn one_directory_of_many_names_costs_no_command_more_than_its_first_create() {
    let sandbox = full(NAMES);
    let first = spent(&sandbox, &["create", "--max-files", "0", "-r", "full"]);
    sandbox.write("d/000777", "edited");
    let second = spent(&sandbox, &["create", "--max-files", "0", "-r", "edited"]);
    let show = spent(&sandbox, &["show", "edited"]);
    sandbox
        .restore("full")
        .success()
        .stderr_has("1 file modified");
    let undo = spent(&sandbox, &["undo", "--yes"]);
    assert_eq!(sandbox.read("d/000777"), "edited");
    // Twice, since hashing is optimized in a build for tests and the rest is not.
    for (what, time) in [("second create", second), ("show", show), ("undo", undo)] {
        assert!(
            time <= first * 2,
            "{what}: {time:?}, first create: {first:?}"
        );
    }
}

#[test]
fn an_undo_that_deletes_many_names_grows_with_their_number() {
    let sandbox = full(NAMES_THAT_GO);
    let [create, _] = times(&sandbox, &["create", "-r", "full"]);
    sandbox.ok("restore empty --yes");
    sandbox.restore("full").success();
    let [undo, _] = times(&sandbox, &["undo", "--yes"]);
    assert!(!sandbox.exists("d"));
    println!("undo {undo:?}, first create {create:?}");
    // The system's own cost per deleted name is not ours, and more than for one that is read.
    assert!(
        undo <= create * MOST_TIMES_A_CREATE,
        "in the program: undo {undo:?}, first create {create:?}"
    );
}

/// Many empty directories in one: nothing may compare or move each for each other.
#[test]
fn empty_directories_grow_with_their_number() {
    let sandbox = Sandbox::new();
    sandbox.write("other", "1").create("empty");
    for number in 0..2 * NAMES_THAT_GO {
        sandbox.mkdir(format!("d/{number:06}"));
    }
    let create = spent(&sandbox, &["create", "--max-files", "0", "-r", "full"]);
    let most = create * MOST_TIMES_A_CREATE + Duration::from_secs(1);
    for args in [
        &["diff", "empty", "--stat"][..],
        &["status"],
        &["restore", "empty", "--yes"],
        &["undo", "--yes"],
        &["diff", "empty", "full"],
        &["ls", "full", "d"],
    ] {
        let [spent, _] = times(&sandbox, args);
        assert!(
            spent <= most,
            "{args:?}: {spent:?}, first create: {create:?}"
        );
    }
    assert!(sandbox.exists("d/000000"));
}

/// The time of a transition among that many tasks, which have a list of their own in the project.
fn task_start(tasks: usize) -> Duration {
    let sandbox = Sandbox::new();
    let list: Vec<String> = (0..tasks)
        .map(|at| format!(r#"{{"id": "t{at}", "status": "pending"}}"#))
        .collect();
    sandbox
        .write(
            "memory/state/phase.json",
            include_str!("formats/phases-third.json"),
        )
        .write(
            "memory/state/execution.json",
            format!(r#"{{"tasks": [{}]}}"#, list.join(",")),
        );
    sandbox.ok("workflow recover");
    spent(&sandbox, &["task", "start", &format!("t{}", tasks - 1)])
}

#[test]
fn a_list_of_tasks_costs_a_transition_by_its_length() {
    let (few, many) = (task_start(1_000), task_start(8_000));
    // Eight times as many; quadratic work is sixty-four times as much.
    assert!(many < few * 20, "{few:?} for 1,000, {many:?} for 8,000");
}
