//! Tests of pipeline documents.

use serde_json::{Value, json};

use super::edited::{edited, one, refused};
use crate::workflow::profiles::dispatch::take;
use crate::workflow::profiles::example_tests::{PIPELINE, ROOT, begun, pipeline, written};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// Moves the current phase to the completed ones, as the checklist of the format says.
fn advance(value: &mut Value, more: &Value) {
    let mut entry = value["current_phase"].clone();
    entry
        .as_object_mut()
        .unwrap()
        .shift_remove("progress_description");
    entry["timestamp"] = "2026-02-19T10:45:00.000Z".into();
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    value["completed_phases"]
        .as_array_mut()
        .unwrap()
        .push(entry);
    let mut next = value["remaining_phases"].as_array_mut().unwrap().remove(0);
    next.as_object_mut().unwrap().remove("dependencies");
    value["current_phase"] = next;
    value["updated_at"] = "2026-02-19T10:45:00Z".into();
}

#[test]
fn a_pipeline_that_was_advanced_by_hand_is_advanced() {
    let workflow = edited(Profile::Pipeline, PIPELINE, &pipeline(), |value| {
        advance(
            value,
            &json!({"commit_sha": "0f0f0f0", "status": "pending"}),
        );
        value["context_summary"]["file_paths"]
            .as_array_mut()
            .unwrap()
            .push("src/./x".into());
        value["context_summary"]["key_decisions"] = json!(["one"]);
        value["context_summary"]["branch"] = json!("main");
    });
    let done = &workflow.phases[2];
    assert_eq!(
        (done.status, done.commit_sha.as_deref()),
        (PhaseStatus::Complete, Some("0f0f0f0"))
    );
    assert_eq!(
        done.progress.as_deref(),
        Some("auth module done, starting billing")
    );
    assert_eq!(workflow.phases[3].status, PhaseStatus::InProgress);
    assert_eq!(
        (
            workflow.phases[3].attempts,
            &workflow.phases[3].dependencies[..]
        ),
        (1, &["write-source".to_owned()][..])
    );
    assert_eq!(workflow.context.branch.as_deref(), Some("main"));
}

#[test]
fn phases_that_were_never_begun_can_come_go_and_change_places() {
    let workflow = edited(Profile::Pipeline, PIPELINE, &pipeline(), |value| {
        value["remaining_phases"] = json!([
            {"id": "docs", "name": "Docs", "dependencies": [], "k": 1},
            {"id": "final-commit", "name": "Final", "dependencies": ["docs"]},
        ]);
    });
    let ids: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.as_str())
        .collect();
    assert_eq!(
        ids,
        [
            "create-issues",
            "scaffold-commit",
            "write-source",
            "docs",
            "final-commit"
        ]
    );
    let workflow = edited(Profile::Pipeline, PIPELINE, &pipeline(), |value| {
        value["remaining_phases"].as_array_mut().unwrap().reverse();
        value["current_phase"]
            .as_object_mut()
            .unwrap()
            .remove("progress_description");
    });
    assert_eq!(
        (&*workflow.phases[3].id, &workflow.phases[2].progress),
        ("final-commit", &None)
    );
}

#[test]
fn what_a_pipeline_may_not_lose_is_a_finding() {
    let with = |edit: fn(&mut Value)| refused(Profile::Pipeline, PIPELINE, &pipeline(), edit);
    assert_eq!(
        with(|value| value["completed_phases"] = json!([])),
        [
            one("append_only", "completed_phases"),
            one("append_only", "completed_phases")
        ]
        .concat()
    );
    assert_eq!(
        with(|value| value["created_at"] = json!(5)),
        one("wrong_type", "created_at")
    );
    assert_eq!(
        with(|value| value["completed_phases"][1]["timestamp"] = json!("x")),
        one("bad_time", "completed_phases[1].timestamp")
    );
    assert_eq!(
        with(|value| value["current_phase"]["id"] = json!("write-tests")),
        one("duplicate_id", "remaining_phases[0].id")
            .into_iter()
            .chain(one(
                "unknown_dependency",
                "remaining_phases[0].dependencies[0]"
            ))
            .chain(one(
                "unknown_dependency",
                "remaining_phases[1].dependencies[0]"
            ))
            .collect::<Vec<_>>()
    );
    assert_eq!(
        with(|value| value["remaining_phases"][0]["dependencies"] = json!(["final-commit"])),
        one("cycle", "remaining_phases")
    );
    assert_eq!(with(|value| *value = json!([])), one("wrong_type", ""));
    assert_eq!(
        with(|value| {
            value.as_object_mut().unwrap().remove("updated_at");
        }),
        one("missing_field", "updated_at")
    );
    assert_eq!(
        with(|value| {
            value["current_phase"] = json!(null);
            value["remaining_phases"] = json!([]);
        }),
        one("phase_vanished", "current_phase")
    );
    let another = with(|value| {
        value["completed_phases"] = json!([]);
        value["created_at"] = json!("2026-02-20T10:00:00Z");
    });
    assert_eq!(another, one("other_run", "created_at"));
}

#[test]
fn what_a_pipeline_has_besides_goes_along_through_a_whole_run() {
    let mut value = pipeline();
    value["x"] = json!({"b": 1, "a": [2]});
    value["context_summary"]["z"] = json!(1);
    value["context_summary"]["task"] = json!("Build it");
    value["completed_phases"][0]["k"] = json!(0);
    value["current_phase"]["k"] = json!(1);
    value["remaining_phases"][0]["k"] = json!({"deep": null});
    value["remaining_phases"][0]["status"] = json!("todo");
    value["created_at"] = json!("2026-02-19T11:00:00.000+01:00");
    let mut workflow = begun(Profile::Pipeline, PIPELINE, &value);
    assert_eq!(workflow.description, "Build it");
    let save = |workflow: &mut Workflow| {
        workflow.updated_ms += 60_000;
        let value = written(workflow, PIPELINE);
        workflow
            .documents
            .insert(PIPELINE.to_owned(), value.clone());
        value
    };
    (workflow.phases[2].status, workflow.phases[2].completed_ms) =
        (PhaseStatus::Complete, Some(1_771_500_000_123));
    workflow.context.file_paths.push("src/new.ts".to_owned());
    let between = save(&mut workflow);
    assert_eq!(
        between["completed_phases"][2].to_string(),
        r#"{"id":"write-source","name":"Write Source Files","timestamp":"2026-02-19T11:20:00Z","k":1}"#
    );
    assert_eq!(
        between["current_phase"].to_string(),
        r#"{"id":"write-tests","name":"Write Tests","k":{"deep":null},"status":"todo"}"#
    );
    assert_eq!(
        between["context_summary"]["file_paths"],
        json!(["/project/src/auth/login.ts", "/project/src/new.ts"])
    );
    // Reading it back changes nothing: the next phase has not begun.
    let mut again = workflow.clone();
    take(&mut again, Profile::Pipeline, PIPELINE, &between, ROOT).unwrap();
    assert_eq!(again, workflow);
    (workflow.phases[3].status, workflow.phases[3].progress) =
        (PhaseStatus::InProgress, Some("half".to_owned()));
    let under_way = save(&mut workflow);
    assert_eq!(under_way["current_phase"]["status"], "in_progress");
    assert_eq!(under_way["current_phase"]["progress_description"], "half");
    for at in [3, 4] {
        (workflow.phases[at].status, workflow.phases[at].completed_ms) =
            (PhaseStatus::Complete, Some(workflow.updated_ms));
        save(&mut workflow);
    }
    let end = save(&mut workflow);
    assert_eq!(
        (&end["current_phase"], &end["remaining_phases"]),
        (&json!(null), &json!([]))
    );
    assert_eq!(end["completed_phases"][3]["k"], json!({"deep": null}));
    assert_eq!(end["completed_phases"][3]["status"], "complete");
    assert_eq!(end["context_summary"]["z"], json!(1));
    assert!(["x", "created_at"].iter().all(|key| end[key] == value[key]));
    // A completed phase that is reset gets its dependencies back.
    workflow.phases[4].reset();
    workflow.phases[3].reset();
    let back = save(&mut workflow);
    assert_eq!(
        back["remaining_phases"][0]["dependencies"],
        json!(["write-source", "write-tests"])
    );
    assert_eq!(back["current_phase"].get("timestamp"), None);
}

#[test]
fn phases_side_by_side_are_all_in_the_document() {
    let mut workflow = begun(Profile::Pipeline, PIPELINE, &pipeline());
    workflow.phases[3].status = PhaseStatus::InProgress;
    workflow.phases.swap(2, 3);
    let value = written(&workflow, PIPELINE);
    assert_eq!(
        (
            &value["current_phase"]["id"],
            &value["remaining_phases"][0]["id"]
        ),
        (&json!("write-source"), &json!("write-tests"))
    );
    let mut again = workflow.clone();
    take(&mut again, Profile::Pipeline, PIPELINE, &value, ROOT).unwrap();
    assert_eq!(again.phases, workflow.phases);
}
