//! Files of runs that are not what they should be: of another run, damaged, no files at all, or of
//! an earlier run.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PHASES, Play as _};

fn document(id: &str) -> Value {
    let done = |phase: &str, output: &str| json!({"phase": phase, "completed_at": "2026-03-24T11:00:00Z", "output": output});
    json!({
        "workflow_id": id, "started_at": "2026-03-24T10:00:00Z", "last_updated": "2026-03-24T11:30:00Z",
        "current_phase": "IMPLEMENTATION", "phase_status": "in_progress",
        "completed_phases": [done("REQUIREMENTS", "memory/reports/demand.json"),
                             done("ARCHITECTURE", "memory/reports/final_design.json")],
        "user_checkpoints": [{"phase": "ARCHITECTURE", "approved_at": "2026-03-24T11:00:00Z"}],
        "interruption_safe": true,
    })
}

/// A run in its third phase, with the outputs of the first two.
fn with(document: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("memory/reports/demand.json", "{}")
        .write("memory/reports/final_design.json", "{}");
    sandbox
        .write(PHASES, document.to_string())
        .at("2026-03-24T12:00:00Z");
    sandbox
}

fn tasks_of(id: &str) -> String {
    json!({"workflow_id": id, "tasks": [{"id": "b", "status": "running"}]}).to_string()
}

#[test]
fn task_list_of_another_run_is_not_read_and_kept_aside() {
    let sandbox = with(&document("wf-42"));
    let text = tasks_of("OTHER");
    sandbox.write(EXECUTION, &text);
    for args in [
        &["task", "list"][..],
        &["workflow", "list"],
        &["workflow", "status"],
        &["phase", "progress", "half"],
    ] {
        let run = sandbox.run(args).success();
        run.stderr_has("memory/state/execution.json belongs to another workflow and is not read");
        assert_eq!(sandbox.read(EXECUTION), text);
    }
    assert_eq!(sandbox.stands()["tasks"], json!([]));
    sandbox.go("task add zz");
    assert_eq!(sandbox.json_of(EXECUTION)["tasks"][0]["id"], "zz");
    let kept = std::fs::read_dir(sandbox.path("memory/state/.archive")).unwrap();
    let kept = kept.map(|entry| entry.unwrap().path().join("execution.json"));
    let kept: Vec<_> = kept
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(kept, [text]);
    // Such an edit of the list of this run is none.
    sandbox.edit(EXECUTION, |file| {
        file["workflow_id"] = "wf-43".into();
        file["tasks"][0]["status"] = "complete".into();
    });
    let listed = sandbox.ok("task list");
    listed.stdout_has("pending").stderr_has("is not read");
}

#[test]
fn both_files_of_a_run_can_be_replaced_by_those_of_another() {
    let sandbox = with(&document("wf-42"));
    sandbox.write(EXECUTION, tasks_of("wf-42"));
    sandbox.stands();
    sandbox
        .write(PHASES, document("wf-43").to_string())
        .write(EXECUTION, tasks_of("wf-43").replace("\"b\"", "\"c\""));
    let stands = sandbox.stands();
    assert_eq!(
        (&stands["id"], &stands["tasks"][0]["id"]),
        (&json!("wf-43"), &json!("c")),
        "{stands}"
    );
    sandbox.ok("task done c");
    // The first file alone: the tasks of the earlier run do not belong to this one.
    let sandbox = with(&document("wf-42"));
    sandbox.write(EXECUTION, tasks_of("wf-42"));
    sandbox.go("task done b");
    sandbox.write(PHASES, document("wf-43").to_string());
    assert_eq!(sandbox.stands()["tasks"], json!([]));
    sandbox.go("task add d");
    assert_eq!(sandbox.json_of(EXECUTION)["tasks"][0]["id"], "d");
}

#[test]
fn whatever_shows_a_run_says_that_a_file_of_it_is_damaged() {
    let sandbox = with(&document("wf-42"));
    sandbox.stands();
    sandbox.write(EXECUTION, "{\"tasks\":[{\"id\":\"b\"");
    for args in [
        &["task", "list"][..],
        &["workflow", "show"],
        &["workflow", "export", "--format", "state"],
        &["workflow", "export"],
    ] {
        sandbox
            .run(args)
            .success()
            .stderr_has(&format!("State file is malformed: {EXECUTION}"));
        let data = sandbox.run(&[args, &["--json"]].concat()).success().data();
        assert_eq!(data["troubles"][0]["file"], EXECUTION, "{args:?}");
    }
}

#[test]
fn a_phase_whose_complete_task_left_nothing_is_not_done() {
    for (output, flaw) in [
        (
            None,
            "task t is complete, and its output is missing (out.json)",
        ),
        (Some("{"), "its output is not valid"),
        (
            Some("{\"status\": \"failed\"}"),
            "its output says 'failed' (out.json)",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.go("workflow init --id w --phase a --phase b");
        sandbox.go("phase start");
        sandbox.go("task add t --output out.json");
        sandbox.go("task start t");
        sandbox.go("task done t");
        if let Some(output) = output {
            sandbox.write("out.json", output);
        }
        let run = sandbox.fails(4, "phase done --json");
        assert_eq!(run.error_code(), "outputs_missing");
        sandbox.fails(4, "phase done").stderr_has(flaw);
        sandbox.ok("phase done --force");
    }
}

#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_a_state_file_and_is_none_can_be_put_aside() {
    let put = |sandbox: &Sandbox, kind: &str| {
        if kind == "link" {
            crate::bench::os::symlink("../../kept", sandbox.path(PHASES)).unwrap();
        } else {
            sandbox.mkdir(PHASES).write(format!("{PHASES}/inside"), "1");
        }
    };
    for kind in ["link", "directory"] {
        for (is_known, take) in [(false, "none"), (true, "none"), (true, "state")] {
            let sandbox = with(&document("wf-42"));
            sandbox.write("kept", "theirs");
            if is_known {
                sandbox.stands();
            }
            sandbox.remove(PHASES);
            put(&sandbox, kind);
            let command = format!("checkpoint workflow recover {PHASES} --take {take}");
            sandbox.fails(6, "phase done").stderr_has(&command);
            sandbox.run(&["workflow", "recover", PHASES, "-n"]).code(6);
            let run = sandbox
                .run(&["workflow", "recover", PHASES, "--take", take, "--json"])
                .success();
            let aside = run.data()["put_aside"].as_str().unwrap().to_owned();
            let stands = std::fs::symlink_metadata(sandbox.path(&aside)).unwrap();
            assert_eq!(
                (stands.is_symlink(), stands.is_dir()),
                (kind == "link", kind == "directory")
            );
            assert_eq!(sandbox.read("kept"), "theirs");
            assert_eq!(sandbox.exists(PHASES), is_known, "{kind} {take}");
            // An archived run is in the way of no later one.
            for _ in 0..6 {
                if sandbox.exists(PHASES) {
                    assert_eq!(
                        sandbox.ok("workflow end --abandon --json").warning_codes(),
                        [""; 0]
                    );
                }
                sandbox.go("workflow init --profile phases --phase a");
            }
        }
    }
}

#[test]
fn what_is_to_be_settled_cannot_be_tried_first() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile pipeline --phase a");
    sandbox.write(".claude/pipeline-state.json", "{");
    let before = sandbox.cmd("workflow list --all").stdout;
    for take in ["none", "state"] {
        let args = [
            "workflow",
            "recover",
            ".claude/pipeline-state.json",
            "--take",
            take,
            "--dry-run",
        ];
        sandbox.run(&args).code(2).stderr_has("--dry-run");
    }
    assert_eq!(sandbox.cmd("workflow list --all").stdout, before);
}

#[test]
fn a_run_is_known_by_the_id_that_its_file_says() {
    for (id, ours) in [("Zoë’s run", "Zo_s_run"), ("a/b", "a_b"), ("wf 1", "wf_1")] {
        let sandbox = with(&document(id));
        let run = sandbox.cmd(format!("workflow resume '{id}'")).code(4);
        run.stderr_has(&format!("Detected interrupted workflow: {id} (started "));
        assert_eq!(sandbox.go(format!("workflow status '{id}'"))["id"], ours);
        sandbox
            .cmd(format!("workflow resume '{id}' --choose n"))
            .success();
        let folder = format!("memory/state/.archive/{ours}_20260324_1200");
        let kept = std::fs::read_dir(sandbox.path("memory/state/.archive"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let kept: Vec<_> = kept.collect();
        assert!(
            kept.len() == 1 && kept[0].starts_with(sandbox.path("memory")),
            "{kept:?}"
        );
        let kept_in = kept[0].to_str().unwrap().replace('\\', "/");
        assert!(kept_in.contains(&folder), "{kept:?}");
    }
    // An id without any usable letter gets a generated name.
    let sandbox = with(&document("走"));
    let status = sandbox.go("workflow status 走");
    assert!(
        status["id"].as_str().unwrap().starts_with("develop_"),
        "{status}"
    );
}

#[test]
fn a_file_that_comes_back_under_the_id_of_a_run_that_was_put_aside_is_the_one_that_is_meant() {
    let sandbox = with(&document("wf-42"));
    let text = sandbox.read(PHASES);
    sandbox.ok("workflow resume --choose n");
    sandbox.ok("workflow end --abandon");
    sandbox.write(PHASES, &text);
    let run = sandbox.fails(4, "workflow resume wf-42");
    run.stderr_has("Detected interrupted workflow: wf-42 (started ");
    assert_eq!(sandbox.go("workflow status wf-42")["status"], "in_progress");
    let ended = sandbox.ok("workflow resume wf-42 --choose y --json").data();
    assert_eq!(ended["id"], "wf-42-2");
}

#[test]
fn what_an_earlier_run_left_is_no_step_of_one_that_has_not_begun() {
    let sandbox = Sandbox::new();
    sandbox.write("memory/reports/demand.json", "{}");
    sandbox.go("workflow init --preset dotagent --profile phases --id n1");
    let next = sandbox.ok("workflow next --json").data();
    assert_eq!(next["next"]["action"], "start");
    sandbox
        .ok("workflow next")
        .stdout_has("is there already, from before it was begun");
    sandbox.go("phase start");
    assert_eq!(sandbox.go("workflow next")["next"]["action"], "advance");
}

#[test]
fn what_others_keep_in_a_file_of_a_run_keeps_its_value_and_its_digits() {
    let foreign = r#""version": 3, "big": 18446744073709551617, "cost": 2.50, "small": 1e3, "huge": 1E400, "none": -0.0"#;
    let text = document("wf-42")
        .to_string()
        .replacen('{', &format!("{{{foreign},"), 1);
    let sandbox = with(&document("wf-42"));
    sandbox.write(PHASES, &text);
    sandbox.go("phase progress half");
    sandbox.go("phase done --force");
    sandbox.go("workflow resume --choose y --anyway");
    let written = sandbox.read(PHASES);
    for field in foreign.split(", ") {
        assert!(written.contains(field), "{field}: {written}");
    }
    let tasks = r#"{"version": "2.1", "tasks": [{"id": "b", "status": "pending", "usd": 0.10}]}"#;
    sandbox.write(EXECUTION, tasks).go("task start b");
    assert!(
        sandbox.read(EXECUTION).contains("\"usd\": 0.10"),
        "{}",
        sandbox.read(EXECUTION)
    );
    sandbox
        .ok("workflow export --format state")
        .stdout_has("18446744073709551617");
}

#[test]
fn a_list_of_nothing_but_damaged_files_names_them() {
    let sandbox = Sandbox::new();
    let path = ".claude/checkpoints/implement_a_20261122_120000.json";
    sandbox.write(path, "{b");
    for args in [&["workflow", "list"][..], &["workflow", "list", "--all"]] {
        sandbox
            .run(args)
            .success()
            .stderr_has(&format!("State file is malformed: {path}"));
    }
}
