//! What is in the place of the files of runs; `stories/workflow_files.md` has the rest.

use serde_json::{Value, json};

use crate::bench::sandbox::words;
use crate::bench::{Sandbox, given, os, strace};

const PHASES: &str = "memory/state/phase.json";
const PIPELINE: &str = ".claude/pipeline-state.json";

/// A run with a phase under way.
fn begun(profile: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("f", "hi");
    let phases = "--phase a --phase b:B:a --phase c";
    sandbox.ok(format!(
        "workflow init --id r1 --profile {profile} {phases}"
    ));
    sandbox.ok("phase start a");
    sandbox
}

#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_a_state_file_and_is_none_can_be_put_aside() {
    for kind in ["link", "directory"] {
        for (is_known, take) in [(false, "none"), (true, "none"), (true, "state")] {
            let sandbox = Sandbox::new();
            let document = include_str!("formats/phases-begun.json");
            sandbox.write(PHASES, document).write("kept", "theirs");
            if is_known {
                sandbox.ok("workflow status");
            }
            sandbox.remove(PHASES);
            if kind == "link" {
                os::symlink("../../kept", sandbox.path(PHASES)).unwrap();
            } else {
                sandbox.mkdir(PHASES).write(format!("{PHASES}/inside"), "1");
            }
            let recover = format!("workflow recover {PHASES}");
            sandbox.says(
                "phase done",
                6,
                format!("checkpoint {recover} --take {take}"),
            );
            sandbox.fails(6, format!("{recover} -n"));
            let data = sandbox.json(format!("{recover} --take {take}"));
            let aside = sandbox.path(data["put_aside"].as_str().unwrap());
            let aside = std::fs::symlink_metadata(aside).unwrap();
            assert_eq!(
                (aside.is_symlink(), aside.is_dir()),
                (kind == "link", kind != "link")
            );
            assert_eq!(sandbox.read("kept"), "theirs");
            assert_eq!(sandbox.exists(PHASES), is_known, "{kind} {take}");
            // An archived run is in the way of no later one.
            for _ in 0..6 {
                if sandbox.exists(PHASES) {
                    let ended = sandbox.ok("workflow end --abandon --json");
                    assert_eq!(ended.warning_codes(), [""; 0]);
                }
                sandbox.ok("workflow init --profile phases --phase a");
            }
        }
    }
}

#[test]
fn a_state_file_below_the_root_is_told_and_nothing_is_changed_beside_it() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --phase a --id above");
    let document = include_str!("formats/pipeline-dashboard.json");
    sandbox.write(format!("sub/{PIPELINE}"), document);
    let sub = sandbox.path("sub");
    let in_sub = |words: &[&str]| sandbox.run_in(&sub, words);
    let read = in_sub(&["workflow", "next", "--json"]).success();
    assert_eq!(read.warning_codes(), ["state_file_below"]);
    assert_eq!(read.data()["id"], "above");
    for words in [["phase", "start"], ["workflow", "end"]] {
        let refused = in_sub(&words)
            .code(4)
            .stderr_has("this directory has a state file of its own");
        let (here, above) = (
            "'checkpoint --here workflow status'",
            sandbox.root().display(),
        );
        let above = format!("'checkpoint -C {above} workflow status'");
        refused.stderr_has(here).stderr_has(&above);
    }
    let here = in_sub(&["--here", "workflow", "next", "--json"]).success();
    assert_eq!(
        (here.data()["phase_count"].clone(), here.warning_codes()),
        (json!(5), vec!["below_root".to_owned()])
    );
    sandbox.ok("phase start");
}

#[test]
fn a_run_that_cannot_begin_is_not_said_to_be_begun() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    let init = "workflow init --profile pipeline --phase one";
    let init: Vec<&str> = init.split(' ').collect();
    let run = strace::failing_from(&sandbox, "renameat2", "EACCES", 1, &init).code(1);
    assert!(!run.stderr.contains("done, but"), "{run}");
    sandbox.run(&init).success();
}

#[test]
fn a_rewind_whose_state_cannot_be_written_says_that_the_files_are_back() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile pipeline --phase one");
    sandbox.write("f", "1");
    sandbox.ok("phase start one");
    sandbox.write("f", "2");
    let (folder, rewind) = (sandbox.path(".claude"), "workflow rewind one --both --yes");
    let rewind: Vec<&str> = rewind.split(' ').collect();
    strace::failing_at_path(&sandbox, &folder, "renameat2", "EACCES", "1+", &rewind)
        .code(1)
        .stderr_has("the files are rewound, and the state is not: ")
        .stderr_has("'checkpoint undo'");
    sandbox.ok("undo --yes");
    assert_eq!(sandbox.read("f"), "2");
}

#[test]
fn an_end_that_fails_at_the_second_file_leaves_the_first_one() {
    given!(if strace::available());
    for mode in ["", " --purge --yes"] {
        let sandbox = Sandbox::new();
        sandbox.ok("workflow init --id r1 --profile phases --phase one");
        sandbox.ok("phase start one");
        sandbox.ok("task add first --phase one");
        let tasks = "memory/state/execution.json";
        let before = [PHASES, tasks].map(|file| sandbox.read(file));
        let (folder, end) = (
            sandbox.path("memory/state"),
            format!("workflow end r1{mode}"),
        );
        let end: Vec<&str> = end.split(' ').collect();
        // The task list is the first one.
        strace::failing_at_path(&sandbox, &folder, "renameat2", "EACCES", "2", &end).code(1);
        assert_eq!(
            [PHASES, tasks].map(|file| sandbox.read(file)),
            before,
            "{mode}"
        );
        assert!(!sandbox.exists("memory/state/.archive"), "{mode}");
        sandbox.run(&end).success();
    }
}

#[test]
fn what_can_be_read_is_answered_while_a_file_cannot_be_moved() {
    given!(if strace::available());
    let (sandbox, restart) = (begun("pipeline"), "workflow resume --choose restart");
    let folder = sandbox.path(".claude");
    let stuck = |when: &str, line: &str| {
        strace::failing_at_path(&sandbox, &folder, "renameat2", "EACCES", when, &words(line))
    };
    // The file is written first.
    stuck("2+", restart).code(1);
    for line in ["list --all", "status r1", "show r1"] {
        let run = stuck("1+", &format!("workflow {line} --json")).success();
        assert_eq!(run.warning_codes(), ["bookkeeping"], "{run}");
    }
    stuck("1+", "workflow init --profile pipeline --phase a").code(1);
    sandbox.ok(restart);
    assert_eq!(sandbox.json("workflow show")["status"], "pending");
}

#[test]
fn what_is_said_to_be_unchanged_is_and_a_checkpoint_that_was_made_is_named() {
    given!(if strace::available());
    let recover = format!("workflow recover {PIPELINE} --take state");
    for (profile, folder, line) in [
        ("pipeline", ".claude", "phase done"),
        ("pipeline", ".claude", "workflow end r1"),
        ("pipeline", ".claude", &recover),
        ("phases", "memory/state", "phase done --force"),
    ] {
        for nth in 1.. {
            let sandbox = begun(profile);
            match line {
                "phase done --force" => {
                    sandbox.ok("task add t");
                }
                "phase done" => {
                    sandbox.write("f", "2");
                }
                "workflow end r1" => {}
                _ => {
                    sandbox.write(PIPELINE, "{");
                }
            }
            let (tree, listed) = (sandbox.tree(), sandbox.listed().len());
            let (folder, when) = (sandbox.path(folder), nth.to_string());
            let calls = "renameat2,renameat,rename";
            let run =
                strace::failing_at_path(&sandbox, &folder, calls, "EACCES", &when, &words(line));
            if !strace::has_struck(&sandbox) {
                assert!(nth > 1, "{run}");
                break;
            }
            if run.code != 0 {
                assert!(sandbox.tree() == tree, "{line} at {nth}\n{run}");
                let made = &sandbox.listed()[..];
                let is_named = |one: &Value| run.stderr.contains(one["short"].as_str().unwrap());
                assert_eq!(made.len() > listed, made.iter().any(is_named), "{run}");
                let is_more = run.stderr.contains("nothing more was changed");
                assert_eq!(made.len() > listed, is_more, "{run}");
            }
        }
    }
}

#[test]
fn a_purge_takes_folders_along_that_are_empty() {
    for (profile, is_left) in [("registry", false), ("phases", false), ("pipeline", true)] {
        for end in ["--abandon", "--delete"] {
            let sandbox = begun(profile);
            sandbox.ok(format!("workflow end r1 {end}"));
            sandbox.ok("workflow end r1 --purge --yes");
            let left = [".claude", "memory"].map(|folder| sandbox.exists(folder));
            assert_eq!(left, [is_left, false], "{profile} {end}");
            assert!(!sandbox.exists(".claude/.archive"), "{profile} {end}");
        }
    }
}

#[test]
fn a_rewind_keeps_what_was_added_to_the_file_since() {
    for (profile, path) in [("pipeline", PIPELINE), ("phases", PHASES)] {
        let sandbox = begun(profile);
        let mut file = sandbox.json_of(path);
        file["mine"] = json!({ "kept": 1 });
        sandbox.write(path, file.to_string());
        sandbox.ok("phase progress half");
        sandbox.ok("workflow rewind a --state --yes");
        let file = sandbox.json_of(path);
        assert_eq!(file["mine"], json!({ "kept": 1 }), "{file}");
        assert!(!file.to_string().contains("half"), "{file}");
        sandbox.ok("phase start a");
    }
}

#[test]
fn a_transition_whose_ref_cannot_be_changed_leaves_the_files_as_they_were() {
    given!(if strace::available());
    let mut failed = 0;
    for profile in ["pipeline", "phases", "registry"] {
        for line in [
            "phase done",
            "phase fail",
            "workflow end run --delete",
            "workflow end run --abandon",
            "workflow end run --purge --yes",
        ] {
            for nth in 1..6 {
                let sandbox = Sandbox::new();
                let run = "workflow init --id run --phase a --phase b --profile";
                sandbox.ok(format!("{run} {profile}"));
                sandbox.ok("phase start a");
                let state = || {
                    (
                        sandbox.tree(),
                        sandbox.json("workflow list")["workflows"].clone(),
                    )
                };
                let before = state();
                let calls = "rename,unlink";
                let run = strace::failing_nth(&sandbox, calls, "EACCES", nth, &words(line));
                let after = state();
                let differs = before.0.diff(&after.0);
                let is_same = run.code == 0 || before == after;
                assert!(is_same, "{profile}, {nth}\n{run}\n{differs:?}\n{}", after.1);
                failed += usize::from(run.code != 0);
            }
        }
    }
    assert!(failed > 15, "only {failed} failed");
}

#[test]
fn a_transition_that_cannot_be_taken_back_takes_its_files_along() {
    given!(if strace::available());
    let state = |sandbox: &Sandbox| {
        let listed = sandbox.json("workflow list --all")["workflows"].clone();
        let of = |run: &Value| [&run["id"], &run["status"], &run["is_archived"]].map(Value::clone);
        let listed = listed.as_array().unwrap().iter().map(of);
        let file = std::fs::read_to_string(sandbox.path(PIPELINE)).ok();
        (listed.collect::<Vec<_>>(), file)
    };
    let failed = Some("phase fail a --error broken --final");
    for (more, line) in [
        (None, "workflow end run --abandon"),
        (None, "workflow end run --delete"),
        (None, "workflow end run --purge --yes"),
        (failed, "workflow end run"),
    ] {
        let begun = || {
            let sandbox = Sandbox::new();
            sandbox.ok("workflow init --id run --profile pipeline --phase a --phase b");
            sandbox.ok("phase start a");
            if let Some(more) = more {
                sandbox.ok(more);
            }
            sandbox
        };
        // A look that is refused stays so; a flush may fail once.
        for (calls, count) in [("statx", 11), ("fsync", 8)] {
            let failing = if calls == "statx" {
                strace::failing_from
            } else {
                strace::failing_nth
            };
            let sandbox = begun();
            let before = state(&sandbox);
            failing(&sandbox, calls, "EACCES", 60_000, &words(line)).success();
            let (last, after) = (strace::traced(&sandbox), state(&sandbox));
            let mut struck = [0, 0];
            for nth in last.saturating_sub(count).max(1)..=last {
                let sandbox = begun();
                let run = failing(&sandbox, calls, "EACCES", nth, &words(line));
                let has_struck = strace::has_struck(&sandbox);
                let now = state(&sandbox);
                let end = if run.code == 0 { &after } else { &before };
                assert!(now == *end, "{nth} of {last} {calls}\n{run}\n{now:?}");
                struck[usize::from(run.code == 0)] += usize::from(has_struck);
            }
            // Some before the ref was changed, and some looks after it.
            let are_both = struck[0] > 0 && (struck[1] > 0 || calls != "statx");
            assert!(are_both, "{line}, {calls}: {struck:?}");
            println!("{line}, {calls}: {struck:?}");
        }
    }
}
