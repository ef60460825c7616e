//! The small scripts that skills call, as the page about workflows prints them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Run, Sandbox};

const DIR: &str = ".claude/utils";

/// A project with the program on the search path, as the scripts need it.
fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    let dir = Sandbox::binary()
        .parent()
        .unwrap_or(Path::new("/"))
        .display()
        .to_string();
    sandbox.env("PATH", format!("{dir}:/usr/bin:/bin"));
    let page = include_str!("../../src/docs/workflows.md");
    let block = page.split("```sh\n").nth(1).expect("the scripts");
    let block = block.split("```").next().expect("its end");
    let scripts: Vec<&str> = block.split("# ").skip(1).collect();
    assert_eq!(scripts.len(), 6);
    for script in scripts {
        let (name, _) = script.split_once(' ').expect("a name");
        let (_, lines) = script.split_once('\n').expect("lines");
        let path = format!("{DIR}/{name}");
        sandbox
            .write(&path, format!("#!/bin/sh\n{lines}"))
            .chmod(&path, 0o755);
    }
    sandbox
}

fn shim(sandbox: &Sandbox, name: &str, args: &[&str]) -> Run {
    let usual = sandbox.command(&[], &[]);
    let mut command = Command::new(sandbox.path(DIR).join(name));
    command.args(args).env_clear().current_dir(sandbox.root());
    command.envs(
        usual
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    Run::of(command)
}

fn document(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("no JSON: {error}\n{run}"))
}

#[cfg(unix)]
#[test]
fn a_pipeline_begins_with_a_skeleton_that_is_understood() {
    let sandbox = story();
    let run = shim(&sandbox, "init-pipeline.sh", &["feat/a b"]).success();
    let mut state = document(&run);
    assert_eq!(state["context_summary"]["branch"], "feat/a b");
    assert_eq!(
        (&state["completed_phases"], &state["current_phase"]),
        (&json!([]), &Value::Null)
    );
    sandbox.write("skeleton.json", &run.stdout);
    sandbox.ok("workflow import skeleton.json");
    let data = sandbox.json("workflow status");
    assert_eq!(
        (&data["branch"], &data["status"]),
        (&json!("feat/a b"), &json!("pending"))
    );

    let sandbox = story();
    state["remaining_phases"] = json!([{"id": "one", "name": "The First", "dependencies": []}]);
    sandbox.write(".claude/pipeline-state.json", state.to_string());
    let shown = shim(&sandbox, "show-status.sh", &[]).success();
    shown
        .stdout_has("Branch: feat/a b\n")
        .stdout_has("  · Phase 1: The First\n");
}

#[cfg(unix)]
#[test]
fn the_status_of_any_state_file_is_shown_and_nothing_is_recorded() {
    let sandbox = story();
    let mut state = document(&shim(&sandbox, "init-pipeline.sh", &["main"]).success());
    state["current_phase"] =
        json!({"id": "one", "name": "The First", "progress_description": "half of it"});
    sandbox.write("else where.json", state.to_string());
    let before = sandbox.tree();
    let run = shim(&sandbox, "show-status.sh", &["else where.json"]).success();
    run.stdout_has("  → Phase 1: The First\n    Progress: half of it\n")
        .stdout_has("\nNext: continue The First (half of it)\n");
    let data = sandbox.json("workflow status --file 'else where.json'");
    assert_eq!(
        (&data["current"], &data["revision"]),
        (&json!("one"), &Value::Null)
    );
    assert_eq!(sandbox.tree(), before);
    sandbox.ok("workflow list").stdout_is("");
    assert!(!sandbox.store().exists(), "nothing was recorded");
    sandbox.write("torn.json", "{");
    shim(&sandbox, "show-status.sh", &["torn.json"])
        .code(6)
        .stderr_has("State file is malformed");
    assert_ne!(shim(&sandbox, "show-status.sh", &["none.json"]).code, 0);
}

#[cfg(unix)]
#[test]
fn what_is_saved_is_loaded_again() {
    let sandbox = story();
    let state = |project: &str, step: u32| json!({"project_name": project, "plan_path": "specs/a b's.md", "step": step});
    let save = |kind: &str, state: &Value| {
        shim(&sandbox, "save-checkpoint.sh", &[kind, &state.to_string()]).success()
    };
    let load = |args: &[&str]| document(&shim(&sandbox, "load-checkpoint.sh", args).success());
    save("orchestrate", &state("auth", 1));
    save("orchestrate", &state("billing", 2));
    save("test-all", &state("auth", 3));
    let loaded = load(&["orchestrate", "auth"]);
    assert_eq!(loaded["workflow_state"], state("auth", 1), "{loaded}");
    assert_eq!(
        (&loaded["workflow_type"], &loaded["status"]),
        (&json!("orchestrate"), &json!("in_progress"))
    );
    let id = loaded["checkpoint_id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("orchestrate_auth_20260324_"), "{id}");
    assert!(sandbox.exists(format!(".claude/checkpoints/{id}.json")));
    assert_eq!(
        load(&["orchestrate"])["workflow_state"],
        state("billing", 2),
        "the latest of the type"
    );
    assert_eq!(load(&["test-all"])["workflow_state"], state("auth", 3));
    save("orchestrate", &state("auth", 4));
    assert_eq!(
        load(&["orchestrate", "auth"])["workflow_state"],
        state("auth", 4)
    );
    assert_eq!(
        load(&["orchestrate", "auth"])["checkpoint_id"],
        id.as_str(),
        "it is the same run"
    );
    shim(&sandbox, "load-checkpoint.sh", &["orchestrate", "none"]).code(3);
    shim(&sandbox, "load-checkpoint.sh", &["none"]).code(3);

    let all = shim(&sandbox, "list-checkpoints.sh", &[])
        .success()
        .stdout_has("test-all_auth_");
    assert_eq!(all.stdout.lines().count(), 4, "{all}");
    let some = shim(&sandbox, "list-checkpoints.sh", &["orchestrate"])
        .success()
        .stdout_has("orchestrate_billing_");
    assert_eq!(some.stdout.lines().count(), 3, "{some}");
}

#[cfg(unix)]
#[test]
fn a_whole_document_is_saved_as_it_is() {
    let sandbox = story();
    let document = json!({
        "checkpoint_id": "orchestrate_auth_20251003_184530", "workflow_type": "orchestrate",
        "workflow_description": "Implement it", "created_at": "2025-10-03T18:45:30Z",
        "updated_at": "2025-10-03T18:52:15Z", "status": "in_progress", "current_phase": 2, "total_phases": 5,
        "completed_phases": [1], "workflow_state": {"project_name": "auth"}, "last_error": null,
    });
    shim(
        &sandbox,
        "save-checkpoint.sh",
        &["orchestrate", &document.to_string()],
    )
    .success();
    let loaded = shim(&sandbox, "load-checkpoint.sh", &["orchestrate"]).success();
    assert_eq!(self::document(&loaded), document);
    shim(&sandbox, "save-checkpoint.sh", &["orchestrate", "{"])
        .code(6)
        .stderr_has("State file is malformed");
}

#[cfg(unix)]
#[test]
fn two_runs_of_one_type_and_project_are_both_saved() {
    let sandbox = story();
    sandbox.at("2025-10-03T19:00:00Z");
    let document = |id: &str, phase: u64| {
        json!({
            "checkpoint_id": id, "workflow_type": "implement", "workflow_description": id,
            "created_at": "2025-10-03T18:45:30Z", "updated_at": "2025-10-03T18:52:15Z", "status": "in_progress",
            "current_phase": phase, "total_phases": 5, "completed_phases": (1..phase).collect::<Vec<_>>(),
            "workflow_state": {"project_name": "auth"}, "last_error": null,
        })
    };
    let (one, two) = (
        "implement_auth_20251003_120000",
        "implement_auth_20251003_130000",
    );
    for (id, phase) in [(one, 2), (two, 2), (one, 3)] {
        shim(
            &sandbox,
            "save-checkpoint.sh",
            &["implement", &document(id, phase).to_string()],
        )
        .success();
    }
    for (id, phase) in [(one, 3), (two, 2)] {
        let exported = sandbox.run(&["workflow", "export", id]).success();
        assert_eq!(self::document(&exported)["current_phase"], phase, "{id}");
    }
}

#[test]
fn an_archived_run_is_exported_by_its_id_alone_which_is_named() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile phases --phase one --id run-1");
    sandbox.ok("workflow end run-1 --abandon --yes");
    let said = sandbox.run(&["workflow", "export", "run"]).code(3);
    let _ = said.stderr_has("no open workflow 'run'; 'checkpoint workflow export run-1' exports");
    sandbox.ok("workflow export run-1");
}

#[cfg(unix)]
#[test]
fn old_ones_are_cleaned_up() {
    let sandbox = story();
    shim(
        &sandbox,
        "save-checkpoint.sh",
        &["orchestrate", r#"{"project_name": "a"}"#],
    )
    .success();
    sandbox.at("2026-03-27T12:00:00Z");
    shim(&sandbox, "cleanup-checkpoints.sh", &[])
        .success()
        .stdout_is("Nothing to clean up.\n");
    shim(&sandbox, "cleanup-checkpoints.sh", &["2"])
        .success()
        .stdout_has("Archived orchestrate_a_");
    let active = std::fs::read_dir(sandbox.path(".claude/checkpoints")).unwrap();
    assert!(
        active
            .map(|entry| entry.unwrap().path())
            .all(|path| path.is_dir()),
        "only what was put aside is left"
    );
    shim(&sandbox, "load-checkpoint.sh", &["orchestrate"]).code(3);
}
