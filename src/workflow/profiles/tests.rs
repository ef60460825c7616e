//! Documents of the formats: read, written back, edited by hand and moved on.

use serde_json::{Value, json};

use crate::workflow::plan::DOTAGENT;
use crate::workflow::profiles::dispatch::{begin, export, take};
use crate::workflow::profiles::pipeline::PIPELINE_SCHEMA;
use crate::workflow::rules::workflow::PhaseStatus::{
    AwaitingApproval, Complete, Failed, InProgress, Pending, Skipped,
};
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::{
    Change, Found, Phase, PhaseStatus, Profile, RunStatus, Task, TaskStatus, Workflow,
};

const ROOT: &str = "/project";
const PIPELINE: &str = ".claude/pipeline-state.json";
const REGISTRY: &str = ".claude/checkpoints/orchestrate_auth_system_20251003_184530.json";
const PROFILES: [Profile; 3] = [Profile::Phases, Profile::Pipeline, Profile::Registry];
const STATUSES: [PhaseStatus; 6] = [
    Pending,
    InProgress,
    AwaitingApproval,
    Complete,
    Failed,
    Skipped,
];

fn path_of(profile: Profile) -> &'static str {
    match profile {
        Profile::Phases => PHASE_FILE,
        Profile::Pipeline => PIPELINE,
        Profile::Registry => REGISTRY,
    }
}

/// An example of each format.
fn example(profile: Profile) -> Value {
    let text = match profile {
        Profile::Phases => include_str!("../../../tests/it/formats/phases.json"),
        Profile::Pipeline => include_str!("../../../tests/it/formats/pipeline.json"),
        Profile::Registry => include_str!("../../../tests/it/formats/registry.json"),
    };
    serde_json::from_str(text).unwrap()
}

/// Applies edits `POINTER VALUE; …` to the example. `-` as the last key appends to a list, and as
/// the value removes.
fn edited(profile: Profile, edits: &str) -> Value {
    let mut document = example(profile);
    for edit in edits.split("; ").filter(|edit| !edit.is_empty()) {
        let (pointer, new) = edit.split_once(' ').unwrap();
        let new: Value = serde_json::from_str(new).unwrap_or(json!("-"));
        let (above, key) = pointer.rsplit_once('/').unwrap();
        match document.pointer_mut(above).unwrap() {
            Value::Array(list) if key == "-" => list.push(new),
            Value::Array(list) => list[key.parse::<usize>().unwrap()] = new,
            Value::Object(map) if new == "-" => drop(map.shift_remove(key)),
            place => place[key] = new,
        }
    }
    document
}

/// Reads a table: each line with a profile, the edits of its example, and what comes of them.
fn rows(table: &str) -> impl Iterator<Item = (Profile, Value, &str)> {
    table.trim().lines().map(|line| {
        let (profile, rest) = line.trim().split_once(' ').unwrap();
        let (edits, expected) = rest.split_once("=>").unwrap();
        let profile: Profile = profile.parse().unwrap();
        (profile, edited(profile, edits.trim()), expected.trim())
    })
}

fn begun(profile: Profile, value: &Value) -> Workflow {
    begin(profile, Some(path_of(profile)), value, ROOT).unwrap()
}

fn written(run: &Workflow, path: &str) -> Value {
    let files = export(run, run.profile.unwrap(), ROOT);
    files
        .into_iter()
        .find(|(known, _)| known == path)
        .unwrap()
        .1
}

/// The findings of a refused document, each as its code and place.
fn found<T: std::fmt::Debug>(refused: Found<T>) -> String {
    let findings = refused.unwrap_err().into_iter();
    let findings = findings.map(|one| format!("{} {}", one.code, one.place));
    findings.collect::<Vec<_>>().join(", ")
}

fn words(run: &Workflow) -> String {
    let words: Vec<&str> = run
        .phases
        .iter()
        .map(|phase| phase.status.into_str())
        .collect();
    words.join(" ")
}

/// Writes the run and reads that again, which changes nothing.
#[track_caller]
fn saved(run: &mut Workflow, profile: Profile) -> Value {
    let value = written(run, path_of(profile));
    let mut again = run.clone();
    take(&mut again, path_of(profile), &value, ROOT).unwrap();
    assert_eq!(again.phases, run.phases, "{value}");
    let found = (again.status, again.updated_ms);
    assert_eq!(found, (run.status, run.updated_ms));
    *run = again;
    let found = written(run, path_of(profile)).to_string();
    assert_eq!(found, value.to_string());
    value
}

#[test]
fn unchanged_run_is_written_as_the_document_was() {
    for (profile, value, _) in rows(include_str!("tests/unchanged.txt")) {
        let mut run = begun(profile, &value);
        assert_eq!(saved(&mut run, profile).to_string(), value.to_string());
    }
}

#[test]
fn example_is_read_with_all_that_it_says() {
    let run = begun(Profile::Pipeline, &example(Profile::Pipeline));
    assert_eq!(run.id, "pipeline_project_20260219_100000");
    assert_eq!(run.phases[1].commit_sha.as_deref(), Some("a1b2c3d"));
    let found = run.phases[2].progress.as_deref();
    assert_eq!(found, Some("auth module done, starting billing"));
    assert_eq!(run.file_paths, ["src/auth/login.ts"]);
    let run = begun(Profile::Registry, &example(Profile::Registry));
    assert_eq!((&*run.kind, &*run.project), ("orchestrate", "auth_system"));
    assert_eq!(run.description, "Implement authentication system");
    assert_eq!(&*run.phases[1].name, "Phase 2");
    assert_eq!(run.state["project_name"], "auth_system");
    let run = begun(Profile::Phases, &example(Profile::Phases));
    assert!(run.phases[0].approved_ms.is_some() && !run.phases[1].is_unplanned);
    let odd = edited(
        Profile::Registry,
        r#"/checkpoint_id "../x"; /workflow_state {}"#,
    );
    let run = begun(Profile::Registry, &odd);
    assert_eq!(run.id, "orchestrate_project_20251003_184530");
}

#[test]
fn document_of_any_stage_is_understood() {
    for (profile, value, expected) in rows(include_str!("tests/stages.txt")) {
        let mut run = begun(profile, &value);
        assert_eq!(words(&run), expected, "{value}");
        saved(&mut run, profile);
    }
    let over = edited(
        Profile::Phases,
        r#"/current_phase "REFLECTION"; /phase_status "done""#,
    );
    assert_eq!(begun(Profile::Phases, &over).status, RunStatus::Complete);
}

#[test]
fn edit_by_hand_moves_the_run_and_stays() {
    for (profile, value, expected) in rows(include_str!("tests/edits.txt")) {
        let mut run = begun(profile, &example(profile));
        run.phases[0].before_id = Some("b".repeat(40));
        take(&mut run, path_of(profile), &value, ROOT).unwrap();
        let written = written(&run, path_of(profile));
        assert_eq!(written.to_string(), value.to_string());
        assert_eq!(words(&run), expected, "{value}");
        assert_eq!(run.phases[0].before_id, Some("b".repeat(40)));
    }
}

#[test]
fn edit_changes_what_it_names() {
    let edit = |profile: Profile, edits: &str| {
        let mut run = begun(profile, &example(profile));
        run.phases[2].status = match profile {
            Profile::Phases => AwaitingApproval,
            _ => run.phases[2].status,
        };
        let value = edited(profile, edits);
        take(&mut run, path_of(profile), &value, ROOT).unwrap();
        run
    };
    let run = edit(
        Profile::Pipeline,
        r#"/context_summary/file_paths/- "src/./x"; /context_summary/branch "main"; /current_phase/progress_description -; /remaining_phases [{"id": "final-commit", "name": "C"}, {"id": "write-tests", "name": "T"}]"#,
    );
    assert_eq!(run.branch.as_deref(), Some("main"));
    assert_eq!(run.file_paths, ["src/auth/login.ts", "src/./x"]);
    let found = (&*run.phases[3].id, &run.phases[2].progress);
    assert_eq!(found, ("final-commit", &None));
    let run = edit(
        Profile::Registry,
        r#"/status "paused"; /last_error "x"; /workflow_state {"a": 1.50}"#,
    );
    assert_eq!(run.last_error, Some(json!("x")));
    assert!(run.interrupted.is_some());
    assert_eq!(run.state["a"].to_string(), "1.50");
    let run = edit(
        Profile::Phases,
        r#"/user_checkpoints [{"phase": "IMPLEMENTATION", "approved_at": "2026-03-24T11:59:00Z"}]"#,
    );
    let found = (run.phases[0].approved_ms, run.phases[2].status);
    assert_eq!(found, (None, InProgress));
}

#[test]
fn edit_between_parallel_phases_leaves_both_under_way() {
    for profile in PROFILES {
        let mut run = begun(profile, &example(profile));
        let at = run
            .phases
            .iter()
            .position(|phase| phase.status == InProgress)
            .unwrap();
        run.phases[at + 1].status = InProgress;
        let mut value = saved(&mut run, profile);
        match profile {
            Profile::Phases => value["current_phase"] = json!("VERIFICATION"),
            Profile::Registry => value["current_phase"] = json!(3),
            Profile::Pipeline => {
                let first = value["current_phase"].clone();
                value["current_phase"] = value["remaining_phases"][0].clone();
                value["remaining_phases"][0] = first;
            }
        }
        take(&mut run, path_of(profile), &value, ROOT).unwrap();
        let under_way = run
            .phases
            .iter()
            .filter(|phase| phase.status == InProgress)
            .count();
        assert_eq!(under_way, 2, "{value}");
        saved(&mut run, profile);
    }
}

#[test]
fn unsound_document_is_refused_with_its_place() {
    for (profile, value, expected) in rows(include_str!("tests/unsound.txt")) {
        let mut run = begun(profile, &example(profile));
        let before = run.clone();
        let told = found(take(&mut run, path_of(profile), &value, ROOT));
        assert_eq!(told, expected);
        assert_eq!(run, before);
    }
    for (edit, what) in [
        (r#"/current_phase "2""#, "it is a text, not a whole number"),
        ("/current_phase 2.0", "it is not a whole number"),
    ] {
        let wrong = edited(Profile::Registry, edit);
        let findings = begin(Profile::Registry, None, &wrong, ROOT).unwrap_err();
        assert_eq!(findings[0].what, what);
    }
    assert!(begin(Profile::Pipeline, None, &json!([]), ROOT).is_err());
}

#[test]
fn all_that_is_wrong_is_named_where_the_document_has_it() {
    for (profile, value, expected) in rows(include_str!("tests/all_wrong.txt")) {
        let refused = begin(profile, None, &value, ROOT);
        assert_eq!(found(refused), expected, "{value}");
    }
    let tasks = |text: &str| -> String {
        let mut run = begun(Profile::Phases, &example(Profile::Phases));
        let tasks = serde_json::from_str(text).unwrap();
        found(take(&mut run, EXECUTION_FILE, &tasks, ROOT))
    };
    for (text, expected) in [
        (
            r#"{"tasks": {"t.1": {"status": "odd"}, "u": 5}}"#,
            "bad_value tasks.t.1.status, bad_value tasks.u",
        ),
        (
            r#"{"tasks": [{"task_id": " ", "status": "done"}, {"id": "a"}, {"id": "a", "status": "done", "outputs": 5}]}"#,
            "bad_value tasks[0].task_id, missing_field tasks[1].status, bad_value tasks[2].outputs, duplicate_id tasks[2]",
        ),
        (
            r#"{"tasks": "none", "updated_at": 5}"#,
            "bad_value tasks, bad_value updated_at",
        ),
    ] {
        assert_eq!(tasks(text), expected);
    }
    let many = json!({"completed_phases": vec![Value::Null; 100_000]});
    assert_eq!(
        begin(Profile::Registry, None, &many, ROOT)
            .unwrap_err()
            .len(),
        100
    );
}

#[test]
fn unknown_fields_go_along_through_a_whole_pipeline() {
    let mut run = begun(
        Profile::Pipeline,
        &edited(
            Profile::Pipeline,
            r#"/x {"b": 1, "a": [2]}; /context_summary/task "Build it"; /current_phase/k 1; /remaining_phases/0/k {"deep": null}; /remaining_phases/0/status "todo""#,
        ),
    );
    assert_eq!(run.description, "Build it");
    (run.phases[2].status, run.phases[2].completed_ms) = (Complete, Some(1_771_500_000_123));
    run.file_paths.push("src/new.ts".to_owned());
    let between = saved(&mut run, Profile::Pipeline);
    assert_eq!(
        between["completed_phases"][2].to_string(),
        r#"{"id":"write-source","name":"Write Source Files","timestamp":"2026-02-19T11:20:00Z","k":1}"#
    );
    assert_eq!(
        between["current_phase"].to_string(),
        r#"{"id":"write-tests","name":"Write Tests","k":{"deep":null},"status":"todo"}"#
    );
    let found = &between["context_summary"]["file_paths"][1];
    assert_eq!(found, "/project/src/new.ts");
    (run.phases[3].status, run.phases[3].progress) = (InProgress, Some("half".to_owned()));
    let under_way = saved(&mut run, Profile::Pipeline);
    assert_eq!(under_way["current_phase"]["status"], "in_progress");
    assert_eq!(under_way["current_phase"]["progress_description"], "half");
    for at in [3, 4] {
        (run.phases[at].status, run.phases[at].completed_ms) = (Complete, Some(run.updated_ms));
    }
    let end = saved(&mut run, Profile::Pipeline);
    let found = (&end["current_phase"], &end["remaining_phases"]);
    assert_eq!(found, (&json!(null), &json!([])));
    assert_eq!(end["completed_phases"][3]["k"], json!({"deep": null}));
    assert_eq!(end["completed_phases"][3]["status"], "complete");
    assert_eq!(end["x"], json!({"b": 1, "a": [2]}));
    // A completed phase that is reset gets its dependencies back.
    run.phases[4].reset();
    run.phases[3].reset();
    let back = written(&run, PIPELINE);
    let found = &back["remaining_phases"][0]["dependencies"];
    assert_eq!(*found, json!(["write-source", "write-tests"]));
    assert_eq!(back["current_phase"].get("timestamp"), None);
}

#[test]
fn phases_between_two_are_shown_as_in_progress() {
    let mut run = begun(
        Profile::Phases,
        &edited(Profile::Phases, r#"/completed_phases/0/by "me""#),
    );
    for at in 2..5 {
        (run.phases[at].status, run.phases[at].completed_ms) = (Complete, Some(run.updated_ms));
        run.updated_ms += 1_000;
        let value = saved(&mut run, Profile::Phases);
        let expected = if at < 4 {
            (DOTAGENT[at + 1], "in_progress")
        } else {
            (DOTAGENT[4], "complete")
        };
        let found = (&value["current_phase"], &value["phase_status"]);
        assert_eq!(found, (&json!(expected.0), &json!(expected.1)));
        assert_eq!(value["completed_phases"][0]["by"], "me");
    }
    let end = written(&run, PHASE_FILE);
    let found = &end["completed_phases"][2]["output"];
    assert_eq!(found, "memory/state/execution.json");
    assert_eq!(end["completed_phases"][4].get("output"), None);
}

#[test]
fn interrupted_write_ends_with_the_next_transition() {
    let value = edited(Profile::Phases, "/interruption_safe false");
    let run = begun(Profile::Phases, &value);
    assert_eq!(written(&run, PHASE_FILE)["interruption_safe"], false);
    let next = run.after(&Change::new("resume"), run.updated_ms).unwrap();
    assert_eq!(written(&next, PHASE_FILE)["interruption_safe"], true);
}

#[test]
fn tasks_are_kept_in_either_shape() {
    let begun = || begun(Profile::Phases, &example(Profile::Phases));
    assert_eq!(export(&begun(), Profile::Phases, ROOT).len(), 1);
    let done = r#""complete", "completed_at": "2026-02-19T11:20:00Z""#;
    for (task, new) in [
        (
            r#"[{"z": 1, "id": "t", "status": "In-Progress", "started_at": null}"#,
            r#", {"id": "u", "status": "pending", "attempts": 0}]"#,
        ),
        (
            r#"{"t": {"outputs": ["o.json"], "x": {}, "status": "In-Progress"}"#,
            r#", "u": {"status": "pending", "attempts": 0}}"#,
        ),
        (
            r#"[{"task_id": "t", "note": "n", "status": "In-Progress"}"#,
            r#", {"id": "u", "status": "pending", "attempts": 0}]"#,
        ),
    ] {
        let document = |tasks: &str, updated: &str| -> Value {
            let text = format!(
                r#"{{"workflow_id": "o", "k": [1], "tasks": {tasks}, "updated_at": "{updated}"}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let end = &new[new.len() - 1..];
        let value = document(&format!("{task}{end}"), "2026-02-19T10:00:00Z");
        let mut run = begun();
        take(&mut run, EXECUTION_FILE, &value, ROOT).unwrap();
        assert_eq!(written(&run, EXECUTION_FILE).to_string(), value.to_string());
        run.tasks[0].status = TaskStatus::Complete;
        run.tasks[0].completed_ms = Some(1_771_500_000_123);
        run.tasks.push(Task {
            id: "u".to_owned(),
            ..Task::default()
        });
        run.updated_ms += 3_600_000;
        let moved = format!("{}{new}", task.replace(r#""In-Progress""#, done));
        let told = written(&run, EXECUTION_FILE);
        assert_eq!(told, document(&moved, "2026-03-24T12:30:00Z"));
    }
    let wrong = json!({"tasks": {"t": {"status": "odd"}}});
    let refused = take(&mut begun(), EXECUTION_FILE, &wrong, ROOT);
    assert_eq!(found(refused), "bad_value tasks.t.status");
}

fn with(statuses: [PhaseStatus; 3], profile: Profile) -> Workflow {
    let mut run = Workflow::new(
        "a_b_20260101_000000".into(),
        "a".into(),
        "b".into(),
        1_234_567,
    );
    run.profile = Some(profile);
    for (status, id) in statuses.into_iter().zip(["x", "y", "z"]) {
        let mut phase = Phase::new(id, id);
        phase.dependencies = run
            .phases
            .last()
            .map(|phase| phase.id.clone())
            .into_iter()
            .collect();
        phase.status = status;
        phase.completed_ms = status.is_settled().then_some(5_678);
        phase.started_ms = (status != Pending).then_some(4_321);
        run.phases.push(phase);
    }
    run
}

/// Whatever a run says, and whatever it said before: its document says nothing new, and fits the
/// schema.
#[test]
fn own_document_changes_nothing_when_read() {
    let schema = serde_json::from_str(PIPELINE_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let three = |at: usize| [at % 6, at / 6 % 6, at / 36].map(|at| STATUSES[at]);
    for profile in PROFILES {
        for at in 0..216 {
            let mut old = with(three(at), profile);
            let document = export(&old, profile, ROOT).remove(0);
            take(&mut old, &document.0, &document.1, ROOT).unwrap();
            assert_eq!(
                old.phases,
                with(three(at), profile).phases,
                "{}",
                document.1
            );
            let mut moved = with(three(215 - at), profile);
            moved.documents = old.documents;
            let value = export(&moved, profile, ROOT).remove(0).1;
            let before = moved.phases.clone();
            take(&mut moved, &document.0, &value, ROOT).unwrap();
            assert_eq!(moved.phases, before, "{value}");
            assert!(
                profile != Profile::Pipeline || validator.is_valid(&value),
                "{value}"
            );
        }
    }
    assert!(validator.is_valid(&example(Profile::Pipeline)));
    for edits in [
        "/more 1",
        r#"/created_at "noon""#,
        r#"/current_phase {"id": ""}"#,
    ] {
        assert!(!validator.is_valid(&edited(Profile::Pipeline, edits)));
    }
}
