//! The example documents of the formats are read without findings and written back unchanged.

use serde_json::{Value, json};

use super::dispatch::{begin, export, take};
use super::pipeline_schema;
use crate::workflow::plan::{self, DOTAGENT};
use crate::workflow::profiles::dispatch::Document;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

pub const ROOT: &str = "/project";

pub const PIPELINE: &str = ".claude/pipeline-state.json";
pub const REGISTRY: &str = ".claude/checkpoints/orchestrate_auth_system_20251003_184530.json";
pub const PHASES: &str = "memory/state/phase.json";

pub fn pipeline() -> Value {
    json!({
        "completed_phases": [
            {"id": "create-issues", "name": "Create GitHub Issues", "timestamp": "2026-02-19T10:05:00Z"},
            {
                "id": "scaffold-commit",
                "name": "Commit Initial Scaffold",
                "timestamp": "2026-02-19T10:20:00Z",
                "commit_sha": "a1b2c3d"
            }
        ],
        "current_phase": {
            "id": "write-source",
            "name": "Write Source Files",
            "progress_description": "auth module done, starting billing"
        },
        "remaining_phases": [
            {"id": "write-tests", "name": "Write Tests", "dependencies": ["write-source"]},
            {"id": "final-commit", "name": "Final Commit", "dependencies": ["write-source", "write-tests"]}
        ],
        "context_summary": {
            "branch": "feat/issue-42-dashboard",
            "key_decisions": ["REST over GraphQL", "Postgres for storage"],
            "file_paths": ["/project/src/auth/login.ts"]
        },
        "created_at": "2026-02-19T10:00:00Z",
        "updated_at": "2026-02-19T10:22:00Z"
    })
}

pub fn registry() -> Value {
    json!({
        "checkpoint_id": "orchestrate_auth_system_20251003_184530",
        "workflow_type": "orchestrate",
        "workflow_description": "Implement authentication system",
        "created_at": "2025-10-03T18:45:30Z",
        "updated_at": "2025-10-03T18:52:15Z",
        "status": "in_progress",
        "current_phase": 2,
        "total_phases": 5,
        "completed_phases": [1],
        "workflow_state": {
            "project_name": "auth_system",
            "artifact_registry": {"plan": "p.md"},
            "research_results": ["x"],
            "plan_path": "specs/plans/022_auth_implementation.md"
        },
        "last_error": null
    })
}

pub fn phases(current: &str, status: &str) -> Value {
    json!({
        "workflow_id": "develop-1",
        "started_at": "2026-02-19T10:00:00Z",
        "last_updated": "2026-02-19T11:00:00.5+01:00",
        "current_phase": current,
        "phase_status": status,
        "completed_phases": [
            {"phase": "REQUIREMENTS", "completed_at": "2026-02-19T10:05:00Z", "output": "memory/reports/demand.json"}
        ],
        "user_checkpoints": [{"phase": "REQUIREMENTS", "approved_at": "2026-02-19T10:06:00Z"}],
        "interruption_safe": true
    })
}

/// Returns the run from a document, which must be written back unchanged.
#[track_caller]
pub fn begun(profile: Profile, path: &str, value: &Value) -> Workflow {
    let workflow = begin(profile, path, value, ROOT).unwrap();
    assert_eq!(written(&workflow, path).to_string(), value.to_string());
    workflow
}

#[track_caller]
pub fn written(workflow: &Workflow, path: &str) -> Value {
    let documents: Vec<Document> = workflow
        .profiles
        .iter()
        .flat_map(|profile| export(workflow, *profile, ROOT))
        .collect();
    documents
        .into_iter()
        .find(|document| document.path == path)
        .unwrap()
        .value
}

pub fn codes(findings: &[Finding]) -> Vec<(&str, &str)> {
    findings
        .iter()
        .map(|finding| (finding.code, finding.place.as_str()))
        .collect()
}

#[test]
fn the_pipeline_of_the_format_comes_back() {
    let workflow = begun(Profile::Pipeline, PIPELINE, &pipeline());
    assert_eq!(
        (&*workflow.kind, &*workflow.project),
        ("pipeline", "project")
    );
    assert_eq!(workflow.id, "pipeline_project_20260219_100000");
    let statuses: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.status.into_str())
        .collect();
    assert_eq!(
        statuses,
        ["complete", "complete", "in_progress", "pending", "pending"]
    );
    assert_eq!(workflow.phases[1].commit_sha.as_deref(), Some("a1b2c3d"));
    assert_eq!(
        workflow.phases[2].progress.as_deref(),
        Some("auth module done, starting billing")
    );
    assert_eq!(workflow.context.file_paths, ["src/auth/login.ts"]);
    assert_eq!(workflow.next().unwrap().id, "write-source");
}

#[test]
fn a_pipeline_with_nothing_under_way_comes_back_however_it_says_so() {
    for nothing in [json!(null), json!({}), json!({"id": "", "name": ""})] {
        let mut value = pipeline();
        value["current_phase"] = nothing.clone();
        value["remaining_phases"] = json!([]);
        let workflow = begun(Profile::Pipeline, PIPELINE, &value);
        assert!(workflow.is_all_settled());
        value["remaining_phases"] = json!([{"id": "x", "name": "X", "status": "pending"}]);
        begun(Profile::Pipeline, PIPELINE, &value);
    }
    let mut value = pipeline();
    value["completed_phases"] = json!([]);
    value["current_phase"] = json!({"id": "c", "name": "C", "status": "pending"});
    value["remaining_phases"] = json!([]);
    assert_eq!(
        begun(Profile::Pipeline, PIPELINE, &value).phases[0].status,
        PhaseStatus::Pending
    );
}

#[test]
fn the_registry_of_the_format_comes_back() {
    let workflow = begun(Profile::Registry, REGISTRY, &registry());
    assert_eq!(workflow.id, "orchestrate_auth_system_20251003_184530");
    assert_eq!(
        (&*workflow.kind, &*workflow.project),
        ("orchestrate", "auth_system")
    );
    assert_eq!(workflow.description, "Implement authentication system");
    let names: Vec<_> = workflow
        .phases
        .iter()
        .map(|phase| (&*phase.id, &*phase.name, phase.status.into_str()))
        .collect();
    assert_eq!(names[0], ("1", "Phase 1", "complete"));
    assert_eq!(names[1], ("2", "Phase 2", "in_progress"));
    assert_eq!((names.len(), names[4]), (5, ("5", "Phase 5", "pending")));
    assert_eq!(workflow.state["project_name"], "auth_system");
}

#[test]
fn a_registry_comes_back_at_every_stage() {
    for status in [
        "in_progress",
        "pending",
        "running",
        "paused",
        "failed",
        "completed",
        "abandoned",
    ] {
        for (current, completed) in [
            (0, json!([])),
            (1, json!([])),
            (2, json!([2, 1])),
            (5, json!([1, 2, 3, 4, 5])),
        ] {
            let mut value = registry();
            value["status"] = status.into();
            value["current_phase"] = current.into();
            value["completed_phases"] = completed;
            begun(Profile::Registry, REGISTRY, &value);
        }
    }
    let mut value = registry();
    (value["checkpoint_id"], value["workflow_state"]) = ("../x".into(), json!({}));
    let workflow = begun(
        Profile::Registry,
        ".claude/checkpoints/orchestrate_odd_20251003_184530.json",
        &value,
    );
    assert_eq!(workflow.id, "orchestrate_project_20251003_184530");
}

#[test]
fn every_phase_in_every_status_comes_back() {
    for current in DOTAGENT {
        for status in ["pending", "in_progress", "complete", "failed"] {
            let value = phases(current, status);
            let workflow = begun(Profile::Phases, PHASES, &value);
            assert_eq!(workflow.phases.len(), 5, "{current} {status}");
            let is_over = (current, status) == ("REFLECTION", "complete");
            assert_eq!(
                workflow.status == RunStatus::Complete,
                is_over,
                "{current} {status}"
            );
            let of = |id: &str| workflow.phase(id).unwrap().status.into_str();
            let expected = match status {
                "in_progress" | "failed" => status,
                "complete" if is_over => "complete",
                _ if current == "REQUIREMENTS" => "complete",
                _ => "pending",
            };
            assert_eq!(of(current), expected, "{current} {status}");
            // Reading it again changes nothing.
            let mut again = workflow.clone();
            take(&mut again, Profile::Phases, PHASES, &value, ROOT).unwrap();
            assert_eq!(again, workflow, "{current} {status}");
        }
    }
}

#[test]
fn phases_of_other_names_come_back() {
    let mut value = phases("build", "in_progress");
    value["completed_phases"][0]["phase"] = "design".into();
    value["user_checkpoints"] = json!([]);
    let workflow = begun(Profile::Phases, PHASES, &value);
    let ids: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.as_str())
        .collect();
    assert_eq!(ids, ["design", "build"]);
    value.as_object_mut().unwrap().remove("user_checkpoints");
    value.as_object_mut().unwrap().remove("interruption_safe");
    begun(Profile::Phases, PHASES, &value);
}

#[test]
fn phases_in_small_letters_are_the_known_ones_and_come_back_as_they_were_written() {
    for status in ["pending", "in_progress", "complete", "failed"] {
        let mut value = phases("architecture", status);
        value["completed_phases"][0]["phase"] = "Requirements".into();
        value["user_checkpoints"][0]["phase"] = "requirements".into();
        let mut workflow = begun(Profile::Phases, PHASES, &value);
        let ids: Vec<&str> = workflow
            .phases
            .iter()
            .map(|phase| phase.id.as_str())
            .collect();
        assert_eq!(
            (ids.as_slice(), workflow.phases[0].status),
            (&DOTAGENT[..], PhaseStatus::Complete),
            "{status}"
        );
        assert!(workflow.phases[0].approved_ms.is_some() && !workflow.phases[1].is_unplanned);
        let before = workflow.clone();
        take(&mut workflow, Profile::Phases, PHASES, &value, ROOT).unwrap();
        assert_eq!(workflow, before, "{status}");
        let again = value["completed_phases"][0].clone();
        value["completed_phases"]
            .as_array_mut()
            .unwrap()
            .push(again);
        value["completed_phases"][1]["phase"] = "REQUIREMENTS".into();
        let findings = begin(Profile::Phases, PHASES, &value, ROOT).unwrap_err();
        assert_eq!(
            codes(&findings),
            [("duplicate_id", "completed_phases[1].phase")]
        );
    }
}

#[test]
fn tasks_come_back_in_either_shape() {
    let path = "memory/state/execution.json";
    let task = json!({"z": 1, "id": "task-001", "status": "Completed", "started_at": null, "attempts": 2, "x": {}});
    let by_id =
        json!({"task-001": {"status": "running", "output": "o.json"}, "b": {"status": "todo"}});
    for tasks in [
        json!([task]),
        by_id,
        json!([{"task_id": "t", "status": "blocked"}]),
        json!([]),
        json!(null),
    ] {
        let mut workflow = begun(
            Profile::Phases,
            PHASES,
            &phases("IMPLEMENTATION", "in_progress"),
        );
        let value = json!({"workflow_id": "other", "k": [1], "tasks": tasks, "updated_at": "2026-02-19T12:00:00Z"});
        take(&mut workflow, Profile::Phases, path, &value, ROOT).unwrap();
        assert_eq!(written(&workflow, path).to_string(), value.to_string());
        assert_eq!(
            written(&workflow, PHASES).to_string(),
            phases("IMPLEMENTATION", "in_progress").to_string()
        );
    }
}

#[test]
fn the_plans_of_the_format_are_read_and_judged() {
    let judged = |value: &Value| {
        let mut workflow = Workflow::new("x".into(), "pipeline".into(), "b".into(), 0);
        workflow.phases = plan::from_document(value).unwrap();
        workflow
            .documents
            .insert(plan::PLAN.to_owned(), value.clone());
        assert_eq!(plan::to_document(&workflow).to_string(), value.to_string());
        plan::lint(&workflow)
    };
    let plan = json!({"phases": [
        {"id": "create-issues", "name": "Create GitHub Issues", "dependencies": [], "status": "pending"},
        {"id": "commit-scaffold", "name": "Commit Scaffold", "dependencies": [], "status": "pending"},
        {"id": "write-source", "name": "Write Source Files", "dependencies": ["commit-scaffold"], "status": "pending"}
    ]});
    assert_eq!(judged(&plan), []);
    let incorrect = json!({"phases": [
        {"id": "write-files", "name": "Write all source files"},
        {"id": "create-issues", "name": "Create GitHub issues"},
        {"id": "commit", "name": "Commit changes"}
    ]});
    assert_eq!(
        codes(&judged(&incorrect)),
        [("phase_order", "phases[1]"), ("phase_order", "phases[2]")]
    );
    let correct = json!({"phases": [
        {"id": "create-issues", "name": "Create GitHub issues"},
        {"id": "commit-scaffold", "name": "Commit initial scaffold"},
        {"id": "write-files", "name": "Write all source files"},
        {"id": "commit-final", "name": "Commit completed work"}
    ]});
    assert_eq!(judged(&correct), []);
}

#[test]
fn the_schema_takes_what_we_write_and_the_example() {
    let schema: Value = serde_json::from_str(pipeline_schema::PIPELINE_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut workflow = Workflow::new("x".into(), "pipeline".into(), "b".into(), 0);
    workflow.profiles = vec![Profile::Pipeline];
    workflow.phases = ["a", "b"].map(|id| Phase::new(id, id)).to_vec();
    workflow.phases[0].commit_sha = Some("a1b2c3d".to_owned());
    for value in [pipeline(), written(&workflow, PIPELINE)] {
        assert!(
            validator.is_valid(&value),
            "{:?}",
            validator.iter_errors(&value).collect::<Vec<_>>()
        );
    }
    workflow.phases[0].status = PhaseStatus::Complete;
    workflow.phases[1].status = PhaseStatus::Skipped;
    assert!(
        validator.is_valid(&written(&workflow, PIPELINE))
            && written(&workflow, PIPELINE)["current_phase"].is_null()
    );
    let mut odd = pipeline();
    odd["remaining_phases"][0]["status"] = "pending".into();
    odd["current_phase"] = json!({});
    assert!(validator.is_valid(&odd));
    for (place, wrong) in [
        ("/more", json!(1)),
        ("/created_at", json!("noon")),
        ("/current_phase", json!({"id": ""})),
    ] {
        let mut value = pipeline();
        value[place.trim_start_matches('/')] = wrong;
        assert!(!validator.is_valid(&value), "{place}");
    }
}
