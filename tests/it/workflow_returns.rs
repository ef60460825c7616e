//! Documents that were there before: a run that has ended, and its file that comes back.

use serde_json::json;

use crate::bench::Sandbox;

const PIPELINE: &str = ".claude/pipeline-state.json";
const PHASES: &str = "memory/state/phase.json";
const REGISTRY: &str = ".claude/checkpoints/orchestrate_auth_20260324_114530.json";

fn statuses(sandbox: &Sandbox) -> Vec<(String, bool)> {
    let listed = sandbox.json("workflow list --all");
    let runs = listed["workflows"].as_array().unwrap().iter();
    runs.map(|run| {
        (
            run["status"].as_str().unwrap().to_owned(),
            run["is_archived"] == true,
        )
    })
    .collect()
}

fn registry_document() -> String {
    json!({
        "version": "1.0", "checkpoint_id": "orchestrate_auth_20260324_114530",
        "created_at": "2026-03-24T11:45:30Z", "updated_at": "2026-03-24T11:45:30Z",
        "workflow_type": "orchestrate", "workflow_description": "Auth", "status": "in_progress", "last_error": null, "total_phases": 3, "completed_phases": [1],
        "current_phase": 2, "workflow_state": {"project_name": "auth"},
    })
    .to_string()
}

#[test]
fn document_of_a_run_that_was_given_up_stays_when_it_comes_back() {
    for (profile, path) in [("pipeline", PIPELINE), ("phases", PHASES)] {
        let sandbox = Sandbox::new();
        sandbox.ok(format!(
            "workflow init --profile {profile} --phase a --phase b"
        ));
        sandbox.ok("phase start");
        sandbox.ok("phase progress half");
        let document = sandbox.read(path);
        sandbox.ok("workflow end --abandon");
        assert!(!sandbox.exists(path), "{profile}");
        sandbox.write(path, &document);
        for _ in 0..2 {
            let next = sandbox.json("workflow next");
            assert_eq!(next["status"], "in_progress", "{profile}");
            assert_eq!(sandbox.read(path), document, "{profile}");
        }
        let open = ("in_progress".to_owned(), false);
        let given_up = ("abandoned".to_owned(), true);
        assert_eq!(statuses(&sandbox), [open, given_up], "{profile}");
        sandbox.ok("phase done");
        sandbox.ok("verify");
    }
}

#[test]
fn older_version_of_a_document_begins_a_run_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile pipeline --phase a --phase b");
    sandbox.ok("phase start");
    let older = sandbox.read(PIPELINE);
    sandbox.ok("phase done");
    sandbox.ok("workflow end");
    sandbox.write(PIPELINE, &older);
    let run = sandbox.run(&["workflow", "next", "--json"]).success();
    assert_eq!(run.warning_codes(), Vec::<String>::new(), "{run}");
    assert_eq!(sandbox.read(PIPELINE), older);
    assert_eq!(statuses(&sandbox).len(), 2);
    sandbox.ok("phase done");
}

#[test]
fn two_runs_of_one_document_have_two_names() {
    let sandbox = Sandbox::new();
    sandbox.write(REGISTRY, registry_document());
    sandbox.ok("workflow next");
    std::fs::rename(
        sandbox.path(REGISTRY),
        sandbox.path(".claude/checkpoints/renamed_x_20260324_114530.json"),
    )
    .unwrap();
    let first = sandbox.ok("workflow next");
    let advice = first.stderr.split("'checkpoint ").nth(1).unwrap();
    let reopens = advice.split('\'').next().unwrap();
    let listed = sandbox.ok("workflow list --all").stdout;
    let mut names: Vec<&str> = listed
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2, "{listed}");
    sandbox.ok(reopens);
    let open = statuses(&sandbox)
        .into_iter()
        .filter(|(_, is_archived)| !is_archived);
    assert_eq!(open.count(), 2);
}

#[test]
fn archived_run_is_exported_by_its_id_alone() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --profile phases --phase a --id wf");
    let document = sandbox.read(PHASES);
    for _ in 0..2 {
        sandbox.write(PHASES, &document);
        sandbox.ok("workflow next");
        sandbox.ok("workflow end --abandon");
    }
    sandbox.ok("workflow export wf");
    sandbox.ok("workflow export wf-2");
    sandbox.fails(3, "workflow export w");
}

#[test]
fn file_in_the_folder_of_failed_runs_keeps_no_run_from_its_end() {
    let sandbox = Sandbox::new();
    sandbox.write(REGISTRY, registry_document());
    sandbox.ok("workflow next");
    sandbox.ok("workflow end");
    let failed = REGISTRY.replace("checkpoints/", "checkpoints/failed/");
    sandbox.write(REGISTRY, sandbox.read(&failed));
    sandbox.ok("workflow next");
    sandbox.ok("workflow end");
    assert!(sandbox.exists(&failed) && !sandbox.exists(REGISTRY));
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
fn plan_of_a_run_that_is_complete_begins_anew() {
    let sandbox = Sandbox::new();
    sandbox.ok("workflow init --phase a --phase b");
    for id in ["a", "b"] {
        sandbox.cmd(format!("phase start {id}")).success();
        sandbox.cmd(format!("phase done {id}")).success();
    }
    let plan = sandbox.ok("workflow export --format plan").stdout;
    sandbox.write("plan.json", plan);
    sandbox.ok("workflow init --plan plan.json --id again");
    assert_eq!(sandbox.json("workflow status again")["completed_count"], 0);
}
