//! The example documents of the formats: imported, found where they lie, and exported as they were.

use serde_json::{Value, json};

use crate::bench::Sandbox;

const PHASES: &str = "memory/state/phase.json";
const PIPELINE: &str = ".claude/pipeline-state.json";
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
fn plan_comes_back_whether_imported_or_begun_with() {
    let plan = example(include_str!("formats/plan.json"));
    for value in [with_more(&plan), plan] {
        let sandbox = project();
        sandbox.write("plan.json", value.to_string());
        sandbox.ok("workflow import plan.json");
        is_valid_and_comes_back(&sandbox, "plan", &value);
        let sandbox = project();
        sandbox.write("plan.json", value.to_string());
        sandbox.ok("workflow init --profile pipeline --plan plan.json");
        is_valid_and_comes_back(&sandbox, "plan", &value);
    }
}

#[test]
fn only_the_words_of_success_in_an_output_are_success() {
    for (expected, outputs) in [
        (
            "complete",
            r#""complete" "completed" "done" "success" "Completed" "DONE" [] {"success":true} {"findings":[]}"#,
        ),
        (
            "failed",
            r#""failed" "error" "timeout" "cancelled" "timed-out" "aborted" {"success":false} {"success":false,"status":"complete"}"#,
        ),
        (
            "pending",
            r#""in_progress" "in-progress" "running" "pending" "partial" "blocked" "odd" "" "not-done" null 0 {"success":"yes"} {"status":{"code":"complete"}}"#,
        ),
    ] {
        for output in outputs.split(' ') {
            let says = match output.get(..1) {
                Some("[" | "{") => output.to_owned(),
                _ => format!("{{\"status\": {output}}}"),
            };
            let sandbox = Sandbox::new();
            let tasks = r#"{"tasks": [{"id": "t", "status": "running", "output": "t.json"}]}"#;
            sandbox
                .write(PHASES, include_str!("formats/phases-third.json"))
                .write("memory/state/execution.json", tasks)
                .write("t.json", &says);
            sandbox.ok("workflow recover");
            let status = sandbox.json("workflow status")["tasks"][0]["status"].clone();
            assert_eq!(status, expected, "{says}");
        }
    }
}
