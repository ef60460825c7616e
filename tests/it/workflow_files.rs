//! The files of runs among the other files of a project.

use serde_json::{Value, json};

use crate::bench::{Git, Run, Sandbox, os};

const PHASES: &str = "memory/state/phase.json";
const PIPELINE: &str = ".claude/pipeline-state.json";

#[test]
fn a_file_that_went_with_the_whole_directory_comes_back_with_the_next_transition() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.ok("workflow init --profile pipeline --phase a --phase b");
    sandbox.ok("phase start");
    let root = sandbox.root().display().to_string();
    std::fs::remove_dir_all(sandbox.root()).unwrap();
    sandbox.ok(format!("-C {root} restore latest --yes"));
    assert!(sandbox.exists(PIPELINE), "it is written again");
    sandbox.ok("phase done");
    assert_eq!(sandbox.json_of(PIPELINE)["completed_phases"][0]["id"], "a");
}

#[test]
fn many_files_that_a_phase_made_are_not_noted() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile pipeline --phase a");
    sandbox.ok("phase start");
    for at in 0..60 {
        sandbox.write(format!("many/{at}"), "1");
    }
    let warnings = sandbox.ok("phase done --json").warning_codes();
    assert_eq!(warnings, ["bookkeeping"]);
    let noted = &sandbox.json_of(PIPELINE)["context_summary"]["file_paths"];
    assert_eq!(noted, &json!([]));
}

#[test]
fn init_names_the_line_that_keeps_a_state_file_out_of_git() {
    let sandbox = Sandbox::bare();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let begin = |profile: &str, description: &str| {
        let words = format!("--profile {profile} --description '{description}'");
        let run = sandbox
            .cmd(format!("workflow init --phase a --json {words}"))
            .success();
        let warnings = run.json()["warnings"].as_array().unwrap().clone();
        warnings
            .iter()
            .filter(|one| one["code"] == "state_file_not_ignored")
            .cloned()
            .collect::<Vec<Value>>()
    };
    assert_eq!(begin("registry", "no repository"), [json!(null); 0]);
    git.run(&["init", "-q"]).success();
    // The last line of the file has no newline.
    sandbox.write(".gitignore", "*.log");
    for (profile, path) in [
        ("phases", PHASES),
        ("pipeline", PIPELINE),
        ("registry", ".claude/checkpoints/a_b_20261122_100000.json"),
    ] {
        let said = begin(profile, profile);
        let words = said[0]["message"].as_str().unwrap();
        let command = words.split_once("to ignore it: ").unwrap().1;
        git.run(&["check-ignore", path]).code(1);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).current_dir("/");
        Run::of(shell).success();
        git.run(&["check-ignore", path, "x.log"]).success();
        sandbox.ok("workflow end --abandon");
        assert_eq!(begin(profile, profile), [json!(null); 0]);
        sandbox.ok("workflow end --abandon");
    }
}

#[test]
fn state_files_of_other_programs_are_left_alone_before_any_workflow_command_saw_them() {
    let sandbox = Sandbox::new();
    let state = |completed: Value| {
        json!({"created_at": "2026-11-22T08:00:00Z", "updated_at": "2026-11-22T08:00:00Z", "context_summary": {},
            "completed_phases": completed, "current_phase": null, "remaining_phases": []})
    };
    let run = ".claude/checkpoints/t_p_20261122_100000.json";
    let files = |number: u64| {
        [
            (
                PIPELINE,
                state(json!([{"id": "a", "name": number.to_string()}])),
            ),
            (
                run,
                json!({"checkpoint_id": "x", "workflow_type": "t", "current_phase": number}),
            ),
            (
                PHASES,
                json!({"phase_status": "in_progress", "current_phase": number.to_string()}),
            ),
            (
                "memory/state/execution.json",
                json!({"tasks": [{"id": number.to_string()}]}),
            ),
        ]
    };
    let write = |number: u64| {
        for (path, value) in files(number) {
            sandbox.write(path, value.to_string());
        }
    };
    write(1);
    // Other files in the same folders.
    sandbox
        .write(".claude/settings.json", "1")
        .write(".claude/checkpoints/README.json", "1")
        .write("a", "1");
    let first = sandbox.create_data(&["-r", "pre-wave-1"]);
    assert_eq!(first["counts"]["file_count"], 3, "{first}");
    sandbox.write("a", "2").write(".claude/settings.json", "2");
    write(2);
    sandbox
        .ok("diff --name-only")
        .stdout_is(".claude/settings.json\na\n");
    sandbox.restore("pre-wave-1").success();
    for (path, value) in files(2) {
        assert_eq!(sandbox.json_of(path), value, "{path}");
    }
    assert_eq!(
        (sandbox.read("a"), sandbox.read(".claude/settings.json")),
        ("1".into(), "1".into())
    );
    sandbox
        .run(&["restore", "pre-wave-1", PIPELINE, "--yes"])
        .code(4);
    sandbox.undo().success();
    assert_eq!(sandbox.json_of(PIPELINE), files(2)[0].1);
    // A document of another form is a file like any other.
    sandbox.write(PIPELINE, "{}").create("plain");
    sandbox.write(PIPELINE, "[]").restore("plain").success();
    assert_eq!(sandbox.read(".claude/pipeline-state.json"), "{}");
}

#[test]
fn what_other_programs_put_aside_is_left_alone_too() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("pre");
    let registry = json!({"checkpoint_id": "x", "workflow_type": "t", "current_phase": 1});
    let phases = json!({"phase_status": "in_progress", "current_phase": "1"});
    let aside = [
        (
            ".claude/checkpoints/failed/implement_auth_20261122_120000.json",
            registry,
        ),
        ("memory/state/.archive/x_20261122_100000/phase.json", phases),
        (
            "memory/state/.archive/x_20261122_100000/execution.json",
            json!({"tasks": []}),
        ),
    ];
    for (path, value) in &aside {
        sandbox.write(path, value.to_string());
    }
    sandbox.write("a", "2").restore("pre").success();
    for (path, value) in &aside {
        assert_eq!(sandbox.json_of(path), *value, "{path}");
    }
    // A document of another form is a file like any other.
    for (path, _) in &aside {
        sandbox.write(path, "{}");
    }
    sandbox.restore("pre").success();
    assert!(aside.iter().all(|(path, _)| !sandbox.exists(path)));
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
fn files_named_in_a_subdirectory_are_those_that_are_there() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile pipeline --phase a --phase b");
    sandbox.ok("phase start");
    sandbox.write("sub/deep/new.rs", "1");
    let deep = sandbox.path("sub/deep");
    let done = ["phase", "done", "--file", "new.rs", "--file", "new.rs"];
    sandbox.run_in(&deep, &done).success();
    let noted = ["workflow", "note", "--file", "../other.rs"];
    sandbox.run_in(&deep, &noted).success();
    let paths = ["sub/deep/new.rs", "sub/other.rs"].map(|path| sandbox.path(path));
    let named = &sandbox.json_of(PIPELINE)["context_summary"]["file_paths"];
    assert_eq!(*named, json!(paths));
    sandbox.write(PIPELINE, "{");
    let recover = ["workflow", "recover", "../../.claude/pipeline-state.json"];
    let taken = [&recover[..], &["--take", "state"]].concat();
    sandbox.run_in(&deep, &taken).success();
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
