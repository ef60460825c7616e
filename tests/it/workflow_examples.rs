//! The example documents of the formats: imported, found where they lie, and exported as they were.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{PHASES, PIPELINE};

const REGISTRY: &str = ".claude/checkpoints/orchestrate_auth_system_20251003_184530.json";
/// Outputs of the five phases, and what the state of the registry names.
const OUTPUTS: [&str; 6] = [
    "memory/reports/demand.json",
    "memory/reports/final_design.json",
    "memory/state/execution.json",
    "memory/reports/verification.json",
    "memory/reports/reflection.json",
    "specs/plans/022_auth_implementation.md",
];

fn example(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Each format with its path and an example.
fn examples() -> [(&'static str, &'static str, Value); 3] {
    let phases = example(include_str!("formats/phases.json"));
    let pipeline = example(include_str!("formats/pipeline.json"));
    let registry = example(include_str!("formats/registry.json"));
    [
        ("phases", PHASES, phases),
        ("pipeline", PIPELINE, pipeline),
        ("registry", REGISTRY, registry),
    ]
}

/// Puts an unknown field into every object.
fn with_more(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(key, value)| (key.clone(), with_more(value)));
            let more = ("x_more".to_owned(), json!({"z": [1, null], "a": "b"}));
            Value::Object(fields.chain([more]).collect())
        }
        Value::Array(list) => list.iter().map(with_more).collect(),
        other => other.clone(),
    }
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for output in OUTPUTS {
        sandbox.write(output, "{}");
    }
    sandbox
}

#[track_caller]
fn is_valid_and_comes_back(sandbox: &Sandbox, format: &str, value: &Value) {
    sandbox.ok("workflow check");
    let run = sandbox.ok(format!("workflow export --format {format}"));
    assert_eq!(run.stdout, format!("{value:#}\n"), "{run}");
}

#[test]
fn example_comes_back_whether_imported_or_found() {
    for (format, path, example) in examples() {
        for value in [with_more(&example), example] {
            let sandbox = project();
            sandbox.write("given.json", value.to_string());
            sandbox.ok("workflow import given.json");
            is_valid_and_comes_back(&sandbox, format, &value);
            let sandbox = project();
            sandbox.write(path, value.to_string());
            sandbox.ok("workflow status");
            is_valid_and_comes_back(&sandbox, format, &value);
            // What means the same is not written anew, and each file is read in once.
            assert_eq!(sandbox.read(path), value.to_string());
            let log = sandbox.json("workflow show")["log"].clone();
            let files = if format == "phases" { 2 } else { 1 };
            assert_eq!(log.as_array().map(Vec::len), Some(files), "{log}");
        }
    }
}

#[test]
fn plan_comes_back_from_a_run_that_began_with_it() {
    let plan = example(include_str!("formats/plan.json"));
    for value in [with_more(&plan), plan] {
        let sandbox = project();
        sandbox.write("plan.json", value.to_string());
        sandbox.ok("workflow init --profile pipeline --plan plan.json");
        is_valid_and_comes_back(&sandbox, "plan", &value);
    }
}

#[test]
fn phase_without_its_output_is_not_valid() {
    let sandbox = project();
    let (_, path, phases) = &examples()[0];
    sandbox.remove(OUTPUTS[0]).write(path, phases.to_string());
    let run = sandbox.fails(6, "workflow check --json");
    assert!(
        run.stdout.contains("output_missing") && run.stdout.contains(OUTPUTS[0]),
        "{run}"
    );
    sandbox.write(OUTPUTS[0], "{}");
    sandbox.ok("workflow check");
}

#[test]
fn old_run_is_valid_with_a_remark() {
    for (_, path, value) in &examples()[1..] {
        let sandbox = project();
        sandbox.write(path, value.to_string());
        let run = sandbox.ok("workflow check --json");
        assert!(run.stdout.contains("\"stale\""), "{run}");
    }
}

#[test]
fn several_of_one_kind_lie_side_by_side() {
    let sandbox = project();
    let [_, _, (_, _, registry)] = examples();
    let mut other = registry.clone();
    other["checkpoint_id"] = "implement_dark_mode_20251003_192230".into();
    other["workflow_type"] = "implement".into();
    let folder = ".claude/checkpoints";
    sandbox
        .write(REGISTRY, registry.to_string())
        .write(
            format!("{folder}/implement_dark_mode_20251003_192230.json"),
            other.to_string(),
        )
        .write(format!("{folder}/README.md"), "# Checkpoints")
        .write(format!("{folder}/x.json"), "{");
    let listed = sandbox.json("workflow list");
    assert_eq!(
        listed["workflows"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    assert_eq!(listed["troubles"], json!([]));
    for (kind, value) in [("orchestrate", registry), ("implement", other)] {
        let run = sandbox.ok(format!("workflow export {kind} --format registry"));
        assert_eq!(run.stdout, format!("{value:#}\n"));
    }
}
