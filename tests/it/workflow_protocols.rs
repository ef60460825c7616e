//! The three protocols of other programs, each followed from beginning to end by commands: after
//! each step its file is as the protocol demands.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PIPELINE, Play as _, commit, phase_is, pipeline, registry};

#[test]
fn five_phases_by_commands() {
    let sandbox = Sandbox::new();
    sandbox
        .at("2026-03-24T12:00:00Z")
        .go("workflow init --profile phases --preset dotagent");
    let file = phase_is(&sandbox, "REQUIREMENTS", "pending", &[]);
    assert_eq!(
        (&file["started_at"], &file["user_checkpoints"]),
        (&"2026-03-24T12:00:00Z".into(), &json!([]))
    );
    sandbox.go("phase start");
    phase_is(&sandbox, "REQUIREMENTS", "in_progress", &[]);
    assert_eq!(
        sandbox.fails(4, "phase done --json").error_code(),
        "outputs_missing"
    );
    sandbox
        .write("memory/reports/demand.json", "{}")
        .go("phase done REQUIREMENTS");
    let file = phase_is(&sandbox, "ARCHITECTURE", "in_progress", &["REQUIREMENTS"]);
    assert_eq!(
        file["completed_phases"][0]["output"],
        "memory/reports/demand.json"
    );
    assert_eq!(
        file["completed_phases"][0]["completed_at"],
        file["last_updated"]
    );
    sandbox.go("phase start ARCHITECTURE");
    sandbox
        .write("memory/reports/designs/a.json", "{}")
        .write("memory/reports/final_design.json", "{}");
    assert_eq!(sandbox.go("phase done")["status"], "awaiting_approval");
    phase_is(&sandbox, "ARCHITECTURE", "in_progress", &["REQUIREMENTS"]);
    assert_eq!(sandbox.fails(4, "phase start --json").json()["ok"], false);
    sandbox.go("phase approve ARCHITECTURE");
    let file = phase_is(
        &sandbox,
        "IMPLEMENTATION",
        "in_progress",
        &["REQUIREMENTS", "ARCHITECTURE"],
    );
    assert_eq!(file["user_checkpoints"][0]["phase"], "ARCHITECTURE");
    assert_eq!(
        file["user_checkpoints"][0]["approved_at"],
        file["last_updated"]
    );
    sandbox.go("phase start");
    tasks(&sandbox);
    sandbox.go("phase done");
    sandbox.go("phase start VERIFICATION");
    sandbox
        .write("memory/reports/verification.json", "{}")
        .go("phase done");
    let four = [
        "REQUIREMENTS",
        "ARCHITECTURE",
        "IMPLEMENTATION",
        "VERIFICATION",
    ];
    phase_is(&sandbox, "REFLECTION", "in_progress", &four);
    sandbox.go("phase start");
    sandbox.write("memory/reports/reflection-1.json", "{}");
    assert_eq!(sandbox.go("phase done")["status"], "complete");
    phase_is(
        &sandbox,
        "REFLECTION",
        "complete",
        &[&four[..], &["REFLECTION"]].concat(),
    );
    sandbox.ok("workflow check");
}

fn tasks(sandbox: &Sandbox) {
    sandbox.go("task add task-001 --output src/a");
    sandbox.go("task add task-002");
    sandbox.go("task start task-001");
    let file = sandbox.json_of(EXECUTION);
    let running = &file["tasks"][0];
    assert_eq!(
        (&running["status"], &running["started_at"]),
        (&"running".into(), &file["updated_at"]),
        "{file}"
    );
    sandbox.write("src/a", "1").go("task done task-001");
    sandbox.go("task start task-002");
    // Interrupted, so tried once more.
    let resumed = sandbox.go("workflow resume --choose y");
    assert_eq!(resumed["tasks"][1]["status"], "pending", "{resumed}");
    assert_eq!(sandbox.json_of(EXECUTION)["tasks"][1]["attempts"], 2);
    sandbox.go("task start task-002");
    sandbox.go("task done task-002");
    assert!(
        sandbox.json_of(EXECUTION)["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .all(|task| task["status"] == "complete")
    );
}

#[track_caller]
fn places(sandbox: &Sandbox) -> (Vec<String>, Value, Vec<String>) {
    let file = sandbox.json_of(PIPELINE);
    let ids = |key: &str| {
        file[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect()
    };
    (
        ids("completed_phases"),
        file["current_phase"]["id"].clone(),
        ids("remaining_phases"),
    )
}

#[test]
fn a_pipeline_by_commands() {
    let sandbox = pipeline();
    let plan = [
        "create-issues",
        "commit-scaffold",
        "write-source",
        "commit-final",
    ];
    let file = sandbox.json_of(PIPELINE);
    assert_eq!(
        (
            &file["context_summary"]["branch"],
            &file["completed_phases"]
        ),
        (&"main".into(), &json!([]))
    );
    for (at, id) in plan.iter().enumerate() {
        sandbox.step(&["phase", "start", id]);
        let (completed, current, remaining) = places(&sandbox);
        assert_eq!(
            (completed, current, remaining),
            (owned(&plan[..at]), Value::from(*id), owned(&plan[at + 1..]))
        );
        sandbox.write("src", id).go("phase progress half");
        assert_eq!(
            sandbox.json_of(PIPELINE)["current_phase"]["progress_description"],
            "half"
        );
        if id.starts_with("commit") {
            commit(&sandbox, if at == 1 { '2' } else { '3' });
        }
        sandbox.step(&["phase", "done", id, "--file", id, "--decision", "d"]);
        let (completed, current, remaining) = places(&sandbox);
        let next = plan.get(at + 1).map_or(Value::Null, |id| Value::from(*id));
        let left = owned(plan.get(at + 2..).unwrap_or_default());
        assert_eq!(
            (completed, current, remaining),
            (owned(&plan[..=at]), next, left)
        );
        assert!(sandbox.listed().len() <= 2 * (at + 1) + 1);
    }
    let file = sandbox.json_of(PIPELINE);
    let shas: Vec<&Value> = (0..4)
        .map(|at| &file["completed_phases"][at]["commit_sha"])
        .collect();
    assert_eq!(json!(shas), json!([null, "2222222", null, "3333333"]));
    assert!(
        (0..4).all(|at| file["completed_phases"][at]["timestamp"].is_string()),
        "{file}"
    );
    assert_eq!(
        file.as_object().unwrap().get("current_phase"),
        Some(&Value::Null)
    );
    assert_eq!(file["context_summary"]["key_decisions"], json!(["d"]));
    let last = sandbox.path("commit-final").display().to_string();
    assert_eq!(file["context_summary"]["file_paths"][3], last.as_str());
    let mini = sandbox
        .listed()
        .into_iter()
        .filter(|one| one["reason"] == "checkpoint: phases 1-3 complete")
        .count();
    assert_eq!(mini, 1);
    assert_eq!(sandbox.stands()["status"], "complete");
}

fn owned(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn counts(sandbox: &Sandbox, path: &str) -> Value {
    let file = sandbox.json_of(path);
    json!([
        file["status"],
        file["current_phase"],
        file["completed_phases"]
    ])
}

#[test]
fn a_checkpoint_of_the_registry_by_commands() {
    let (sandbox, path) = registry();
    let file = sandbox.json_of(&path);
    assert_eq!(
        (&file["total_phases"], &file["last_error"]),
        (&2.into(), &Value::Null)
    );
    assert_eq!(counts(&sandbox, &path), json!(["in_progress", 1, []]));
    sandbox.go("workflow note --set=project_name=auth_system --set=research_results=[1,2] --set=artifact_registry.plan=p.md");
    let state = json!({"project_name": "auth_system", "research_results": [1, 2], "artifact_registry": {"plan": "p.md"}});
    assert_eq!(sandbox.json_of(&path)["workflow_state"], state);
    sandbox.go("phase start");
    sandbox.go("phase done");
    assert_eq!(counts(&sandbox, &path), json!(["in_progress", 2, [1]]));
    sandbox.go("phase start");
    sandbox.step(&["phase", "fail", "--error", "no network"]);
    assert_eq!(sandbox.json_of(&path)["last_error"], "no network");
    sandbox.go("phase start");
    sandbox.go("phase done");
    assert!(!sandbox.exists(&path) && !sandbox.exists(".claude/checkpoints/failed"));
    assert_eq!(sandbox.stands()["status"], "complete");
}

#[test]
fn what_has_failed_for_good_is_kept_apart() {
    let (sandbox, path) = registry();
    sandbox.go("phase start");
    sandbox.go("phase fail --error broken --final");
    assert!(!sandbox.exists(&path));
    let failed = sandbox.json_of(&path.replace("checkpoints/", "checkpoints/failed/"));
    assert_eq!(
        (&failed["status"], &failed["last_error"]),
        (&"failed".into(), &"broken".into())
    );
}
