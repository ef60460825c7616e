//! Documents as other programs write them: odd ids, other fields, editors' marks, many phases.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PHASES, PIPELINE, Play as _};

const REGISTRY: &str = ".claude/checkpoints";

fn registered(sandbox: &Sandbox) -> Vec<String> {
    let names = std::fs::read_dir(sandbox.path(REGISTRY)).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn init(sandbox: &Sandbox, args: &str) -> Value {
    sandbox.go(format!("workflow init {args}"))
}

#[test]
fn a_run_of_the_registry_has_a_file_whatever_its_id() {
    let sandbox = Sandbox::new();
    let words = "--type t --project 'My App' --profile registry --phase a --phase b";
    sandbox.at("2026-11-22T10:00:00Z");
    let made = init(&sandbox, &format!("--id f1 {words}"));
    assert_eq!(made["id"], "f1");
    let path = format!("{REGISTRY}/t_my_app_20261122_100000.json");
    assert_eq!(registered(&sandbox), ["t_my_app_20261122_100000.json"]);
    assert_eq!(sandbox.json_of(&path)["checkpoint_id"], "f1");
    sandbox.go("phase start a");
    sandbox.edit(&path, |file| {
        file["workflow_state"]["plan_path"] = "p.md".into();
    });
    assert_eq!(sandbox.go("phase done")["state"]["plan_path"], "p.md");
    assert_eq!(sandbox.json_of(&path)["completed_phases"], json!([1]));
    // Another run without a name, in the same second, would need the same file.
    sandbox.at("2026-11-22T10:00:00Z");
    let refused = sandbox
        .cmd(format!("workflow init --id f2 --json {words}"))
        .code(4);
    assert_eq!(refused.error_code(), "workflow_open");
}

#[test]
fn two_runs_of_one_second_have_a_file_each() {
    let sandbox = Sandbox::new();
    let words = "--type t --project p --profile registry --phase a --description";
    for (description, id) in [
        ("one", "t_p_20261122_100000"),
        ("two", "t_p-2_20261122_100000"),
    ] {
        sandbox.at("2026-11-22T10:00:00Z");
        let made = init(&sandbox, &format!("{words} {description}"));
        assert_eq!(made["id"], id);
    }
    assert_eq!(
        registered(&sandbox),
        ["t_p-2_20261122_100000.json", "t_p_20261122_100000.json"]
    );
}

#[test]
fn the_registry_names_the_project_in_its_id_and_its_state() {
    let sandbox = Sandbox::new();
    sandbox.at("2026-11-22T10:00:00Z");
    let made = init(
        &sandbox,
        "--type implement --project 'My Proj-X.é' --profile registry --phase a",
    );
    assert_eq!(
        (&made["id"], &made["project"]),
        (
            &"implement_my_proj_x_20261122_100000".into(),
            &"My Proj-X.é".into()
        )
    );
    let path = format!("{REGISTRY}/implement_my_proj_x_20261122_100000.json");
    assert_eq!(
        sandbox.json_of(&path)["workflow_state"],
        json!({"project_name": "my_proj_x"})
    );
    sandbox.go("workflow note --set plan_path=p.md");
    let state = json!({"project_name": "my_proj_x", "plan_path": "p.md"});
    assert_eq!(sandbox.json_of(&path)["workflow_state"], state);
    // Scripts save and load by that name.
    sandbox.write(
        "../state.json",
        json!({"workflow_state": {"project_name": "my_proj_x", "n": 1}}).to_string(),
    );
    let saved = sandbox.go("workflow import ../state.json --type implement --profile registry");
    assert_eq!(
        (&saved["id"], &saved["state"]["n"]),
        (&made["id"], &1.into())
    );
    for name in ["my_proj_x", "My Proj-X.é"] {
        let loaded = sandbox.go(format!("workflow export '{name}'"));
        assert_eq!(loaded["document"]["workflow_state"]["n"], 1);
        assert_eq!(
            sandbox.go(format!("workflow status '{name}'"))["id"],
            made["id"]
        );
    }
}

#[test]
fn an_imported_run_with_an_odd_id_is_kept_in_a_file_from_then_on() {
    let sandbox = Sandbox::new();
    let document = json!({"last_error": null, "workflow_state": {"x": "é"}, "completed_phases": [1], "total_phases": 300,
        "current_phase": 2, "status": "in_progress", "updated_at": "2026-11-22T09:00:00+01:00", "zusatz": {"b": 1, "a": 2},
        "created_at": "2026-11-22T08:00:00Z", "workflow_description": "Ünïcode — «task»", "workflow_type": "test-all",
        "checkpoint_id": "my run №1"});
    sandbox
        .at("2026-11-22T10:00:00Z")
        .write("../document.json", document.to_string());
    let made = sandbox.go("workflow import ../document.json --keep-files");
    assert_eq!(made["phases"].as_array().map(Vec::len), Some(300));
    let names = registered(&sandbox);
    assert_eq!(names.len(), 1, "{names:?}");
    let path = format!("{REGISTRY}/{}", names[0]);
    assert_eq!(sandbox.json_of(&path), document);
    let found = sandbox.go("phase done 2 -w 'ünïcode — «task»'");
    assert_eq!(
        found["completed"],
        json!(["1", "2"]),
        "it is found by its description"
    );
    let written = sandbox.json_of(&path);
    assert_eq!(
        (&written["checkpoint_id"], &written["zusatz"]),
        (&document["checkpoint_id"], &document["zusatz"])
    );
}

#[test]
fn both_files_of_the_phases_name_the_run_as_its_writer_does() {
    let sandbox = Sandbox::new();
    let phase = json!({"interruption_safe": true, "current_phase": "REQUIREMENTS", "phase_status": "in_progress",
        "completed_phases": [], "started_at": "2026-11-22T08:00:00Z", "last_updated": "2026-11-22T08:00:00Z",
        "workflow_id": "wf – ünï/№1"});
    sandbox
        .at("2026-11-22T10:00:00Z")
        .write(PHASES, phase.to_string());
    sandbox.go("task add t");
    assert_eq!(sandbox.json_of(PHASES)["workflow_id"], "wf – ünï/№1");
    assert_eq!(sandbox.json_of(EXECUTION)["workflow_id"], "wf – ünï/№1");
    sandbox.go("task start t");
    assert_eq!(sandbox.stands()["valid"], true);
}

#[test]
fn a_task_names_its_output_in_the_words_of_its_writer() {
    for key in ["output", "output_file", "output_path"] {
        let sandbox = Sandbox::new();
        let phase = json!({"workflow_id": "w", "current_phase": "IMPLEMENTATION", "phase_status": "in_progress",
            "completed_phases": [], "started_at": "2026-11-22T08:00:00Z", "last_updated": "2026-11-22T08:00:00Z"});
        sandbox
            .at("2026-11-22T10:00:00Z")
            .write(PHASES, phase.to_string());
        let tasks = json!({"tasks": [{"id": "t", "status": "running", key: "out/t.json"}]});
        sandbox
            .write(EXECUTION, tasks.to_string())
            .write("out/t.json", r#"{"status": "complete"}"#);
        sandbox.says("workflow recover", 0, "out/t.json");
        let task = sandbox.json_of(EXECUTION)["tasks"][0].clone();
        assert_eq!(
            (&task[key], &task["status"]),
            (&"out/t.json".into(), &"complete".into()),
            "{task}"
        );
        assert_eq!(
            ["output", "output_file", "output_path"]
                .iter()
                .filter(|key| task.get(**key).is_some())
                .count(),
            1
        );
    }
}

#[test]
fn what_a_plan_calls_its_dependencies_counts() {
    for key in ["dependencies", "depends_on", "dependsOn", "deps"] {
        let sandbox = Sandbox::new();
        let plan = json!({"phases": [{"id": "a"}, {"id": "b", key: ["a"]}]});
        sandbox.write("../plan.json", plan.to_string());
        init(&sandbox, "--plan ../plan.json --profile pipeline");
        assert_eq!(sandbox.refused("phase start b", 4), "dependencies_unmet");
        assert_eq!(
            sandbox.go("workflow export --format plan")["document"],
            plan
        );
        let remaining = sandbox.json_of(PIPELINE)["remaining_phases"].clone();
        assert_eq!(
            remaining,
            json!([{"id": "b", "name": "b", "dependencies": ["a"]}])
        );
    }
    let sandbox = Sandbox::new();
    let state = json!({"completed_phases": [], "current_phase": null, "context_summary": {},
        "remaining_phases": [{"id": "a", "name": "A"}, {"id": "b", "name": "B", "depends_on": ["a"]}],
        "created_at": "2026-11-22T08:00:00Z", "updated_at": "2026-11-22T08:00:00Z"});
    sandbox.write(PIPELINE, state.to_string());
    assert_eq!(sandbox.refused("phase start b", 4), "dependencies_unmet");
    sandbox.go("phase start a");
    assert_eq!(
        sandbox.json_of(PIPELINE)["remaining_phases"][0],
        state["remaining_phases"][1]
    );
    let twice = json!({"phases": [{"id": "a"}, {"id": "c"}, {"id": "b", "deps": ["a"], "dependencies": ["c"]}]});
    sandbox.write("../plan.json", twice.to_string());
    sandbox.says("workflow init --plan ../plan.json", 2, "phases[2]");
}

#[test]
fn a_byte_order_mark_is_no_damage() {
    let sandbox = Sandbox::new();
    let marked = |text: String| format!("\u{feff}{text}\r\n");
    let state = json!({"completed_phases": [], "current_phase": {"id": "a", "name": "A"}, "context_summary": {},
        "remaining_phases": [], "created_at": "2026-11-22T08:00:00Z", "updated_at": "2026-11-22T08:00:00Z"});
    sandbox
        .at("2026-11-22T10:00:00Z")
        .write(PIPELINE, marked(state.to_string()));
    assert_eq!(sandbox.stands()["current"], "a");
    assert_eq!(
        sandbox.read(PIPELINE),
        marked(state.to_string()),
        "what says the same stays as it was written"
    );
    sandbox.go("phase done");
    sandbox.write(
        "../plan.json",
        marked(json!({"phases": [{"id": "x"}]}).to_string()),
    );
    init(&sandbox, "--plan ../plan.json");
    sandbox.write("../state.json", marked(state.to_string()));
    sandbox.go("workflow import ../state.json");
}

#[test]
fn a_plan_of_which_all_is_done_begins_no_run_that_could_never_end() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "../plan.json",
        json!({"phases": [{"id": "a", "status": "complete"}]}).to_string(),
    );
    assert_eq!(
        init(&sandbox, "--plan ../plan.json --profile phases")["status"],
        "complete"
    );
    assert_eq!(sandbox.json_of(PHASES)["phase_status"], "complete");
    sandbox.says("workflow next", 0, "workflow complete");
    init(&sandbox, "--phase b --profile phases");
}
