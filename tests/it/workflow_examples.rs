//! The documents that other programs' formats give as examples: each is imported, valid, and
//! exported as the same text with all unknown fields; and one that is merely in its place is
//! imported by the next command.

use serde_json::{Value, json};

use crate::bench::Sandbox;

const PHASES: &str = "memory/state/phase.json";
const PIPELINE: &str = ".claude/pipeline-state.json";
const REGISTRY: &str = ".claude/checkpoints/orchestrate_auth_system_20251003_184530.json";

/// The five phases, and the file that each writes.
const FIVE: [(&str, &str); 5] = [
    ("REQUIREMENTS", "memory/reports/demand.json"),
    ("ARCHITECTURE", "memory/reports/final_design.json"),
    ("IMPLEMENTATION", "memory/state/execution.json"),
    ("VERIFICATION", "memory/reports/verification.json"),
    ("REFLECTION", "memory/reports/reflection.json"),
];

fn phases(at: usize, status: &str) -> Value {
    let entry = |(phase, output): &(&str, &str)| json!({"phase": phase, "completed_at": "2026-03-20T10:05:00Z", "output": output});
    json!({
        "workflow_id": "develop-1",
        "started_at": "2026-03-20T10:00:00Z",
        "last_updated": "2026-03-20T10:30:00Z",
        "current_phase": FIVE[at].0,
        "phase_status": status,
        "completed_phases": FIVE[..at].iter().map(entry).collect::<Vec<_>>(),
        "user_checkpoints": FIVE[..at].iter().take(1).map(|(phase, _)| {
            json!({"phase": phase, "approved_at": "2026-03-20T10:06:00Z"})
        }).collect::<Vec<_>>(),
        "interruption_safe": true,
    })
}

fn pipeline() -> Value {
    json!({
        "completed_phases": [
            {"id": "create-issues", "name": "Create GitHub Issues", "timestamp": "2026-02-19T10:05:00Z"},
            {"id": "scaffold-commit", "name": "Commit Initial Scaffold", "timestamp": "2026-02-19T10:20:00Z",
             "commit_sha": "a1b2c3d"},
        ],
        "current_phase": {"id": "write-source", "name": "Write Source Files",
                          "progress_description": "auth module done, starting billing"},
        "remaining_phases": [
            {"id": "write-tests", "name": "Write Tests", "dependencies": ["write-source"]},
            {"id": "final-commit", "name": "Final Commit", "dependencies": ["write-source", "write-tests"]},
        ],
        "context_summary": {
            "branch": "feat/issue-42-dashboard",
            "key_decisions": ["REST over GraphQL", "Postgres for storage"],
            "file_paths": ["/project/src/auth/login.ts"],
        },
        "created_at": "2026-02-19T10:00:00Z",
        "updated_at": "2026-02-19T10:22:00Z",
    })
}

fn registry() -> Value {
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
            "artifact_registry": {"plan": "p.md", "design": null},
            "research_results": [{"z": 1, "a": 2}],
            "plan_path": "specs/plans/022_auth_implementation.md",
        },
        "last_error": null,
    })
}

fn plans() -> [Value; 3] {
    let bare = |phases: &[(&str, &str)]| {
        let phase = |(id, name): &(&str, &str)| json!({"id": id, "name": name});
        json!({"phases": phases.iter().map(phase).collect::<Vec<_>>()})
    };
    [
        json!({"phases": [
            {"id": "create-issues", "name": "Create GitHub Issues", "dependencies": [], "status": "pending"},
            {"id": "commit-scaffold", "name": "Commit Scaffold", "dependencies": [], "status": "pending"},
            {"id": "write-source", "name": "Write Source Files", "dependencies": ["commit-scaffold"],
             "status": "pending"},
        ]}),
        bare(&[
            ("write-files", "Write all source files"),
            ("create-issues", "Create GitHub issues"),
            ("commit", "Commit changes"),
        ]),
        bare(&[
            ("create-issues", "Create GitHub issues"),
            ("commit-scaffold", "Commit initial scaffold"),
            ("write-files", "Write all source files"),
            ("commit-final", "Commit completed work"),
        ]),
    ]
}

/// Puts an unknown field into every object.
fn with_more(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut more: serde_json::Map<_, _> = map
                .iter()
                .map(|(key, value)| (key.clone(), with_more(value)))
                .collect();
            more.insert("x_more".into(), json!({"z": [1, null], "a": "b"}));
            Value::Object(more)
        }
        Value::Array(list) => list.iter().map(with_more).collect(),
        other => other.clone(),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

/// A project with the files that the phases of the first format write.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for (_, output) in FIVE
        .iter()
        .filter(|(_, output)| !output.starts_with("memory/state"))
    {
        sandbox.write(output, "{}");
    }
    sandbox.write("specs/plans/022_auth_implementation.md", "plan");
    sandbox
}

#[track_caller]
fn is_valid_and_comes_back(sandbox: &Sandbox, format: &str, value: &Value) {
    sandbox.ok("workflow check");
    let run = sandbox
        .run(&["workflow", "export", "--format", format])
        .success();
    assert_eq!(run.stdout, pretty(value), "{run}");
}

#[track_caller]
fn imported(format: &str, value: &Value) {
    let sandbox = project();
    if format == "phases" {
        // Once its tasks are known, that file is ours; until then it counts as the user's.
        sandbox.write(FIVE[2].1, "{}");
    }
    sandbox.write("given.json", value.to_string());
    sandbox.ok("workflow import given.json");
    is_valid_and_comes_back(&sandbox, format, value);
}

#[track_caller]
fn found(format: &str, path: &str, value: &Value) {
    let sandbox = project();
    if format == "phases" {
        sandbox.write(FIVE[2].1, "{}");
    }
    sandbox.write(path, value.to_string());
    sandbox.ok("workflow status");
    is_valid_and_comes_back(&sandbox, format, value);
    assert_eq!(
        sandbox.read(path),
        value.to_string(),
        "what says the same is not written anew"
    );
    let log = sandbox.json("workflow show")["log"].clone();
    let files = if format == "phases" { 2 } else { 1 };
    assert_eq!(
        log.as_array().map(Vec::len),
        Some(files),
        "each file is taken in once: {log}"
    );
}

#[test]
fn every_phase_in_every_status_comes_in_and_goes_out() {
    for (at, (phase, _)) in FIVE.iter().enumerate() {
        for status in ["pending", "in_progress", "complete", "failed"] {
            println!("{phase} {status}");
            imported("phases", &phases(at, status));
        }
    }
}

#[test]
fn the_file_of_phases_is_taken_in_where_it_lies() {
    for (at, status) in [
        (0, "in_progress"),
        (1, "in_progress"),
        (2, "complete"),
        (3, "failed"),
        (4, "pending"),
    ] {
        found("phases", PHASES, &phases(at, status));
    }
    found("phases", PHASES, &with_more(&phases(3, "in_progress")));
}

#[test]
fn a_phase_whose_output_is_gone_is_rightly_not_valid() {
    let sandbox = project();
    sandbox
        .remove(FIVE[0].1)
        .write(PHASES, phases(1, "in_progress").to_string());
    let run = sandbox.fails(6, "workflow check --json");
    assert!(
        run.stdout.contains("output_missing") && run.stdout.contains(FIVE[0].1),
        "{run}"
    );
    sandbox.write(FIVE[0].1, "{}");
    sandbox.ok("workflow check");
}

#[test]
fn the_pipeline_comes_in_and_goes_out() {
    for value in [pipeline(), with_more(&pipeline())] {
        imported("pipeline", &value);
        found("pipeline", PIPELINE, &value);
    }
}

#[test]
fn the_checkpoint_of_the_registry_comes_in_and_goes_out() {
    for value in [registry(), with_more(&registry())] {
        imported("registry", &value);
        found("registry", REGISTRY, &value);
    }
}

#[test]
fn what_is_old_is_told_and_not_held_against_it() {
    for (path, value) in [(PIPELINE, pipeline()), (REGISTRY, registry())] {
        let sandbox = project();
        sandbox.write(path, value.to_string());
        let run = sandbox.ok("workflow check --json");
        assert!(run.stdout.contains("\"stale\""), "{run}");
    }
}

#[test]
fn plans_come_in_and_go_out() {
    for plan in plans() {
        for value in [with_more(&plan), plan] {
            imported("plan", &value);
            let sandbox = project();
            sandbox.write("plan.json", value.to_string());
            sandbox.ok("workflow init --profile pipeline --plan plan.json");
            is_valid_and_comes_back(&sandbox, "plan", &value);
        }
    }
}

#[test]
fn files_before_issues_are_out_of_order_and_the_other_plan_is_not() {
    for (plan, is_early) in plans().iter().zip([true, false, true]) {
        let sandbox = project();
        sandbox
            .write("plan.json", plan.to_string())
            .ok("workflow import plan.json");
        let checked = sandbox.ok("workflow check --json");
        let order = checked.data()["order"].clone();
        assert_eq!(order == json!([]), is_early, "{order}");
    }
}

#[test]
fn several_of_one_kind_lie_side_by_side() {
    let sandbox = project();
    let mut other = registry();
    other["checkpoint_id"] = "implement_dark_mode_20251003_192230".into();
    other["workflow_type"] = "implement".into();
    sandbox.write(REGISTRY, registry().to_string());
    sandbox.write(
        ".claude/checkpoints/implement_dark_mode_20251003_192230.json",
        other.to_string(),
    );
    sandbox
        .write(".claude/checkpoints/README.md", "# Checkpoints")
        .write(".claude/checkpoints/x.json", "{");
    let listed = sandbox.json("workflow list");
    assert_eq!(
        listed["workflows"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    assert_eq!(listed["troubles"], json!([]));
    for (kind, value) in [("orchestrate", registry()), ("implement", other)] {
        let run = sandbox
            .run(&["workflow", "export", "--type", kind, "--format", "registry"])
            .success();
        assert_eq!(run.stdout, pretty(&value));
    }
}
