//! Tests of phase documents and their tasks.

use serde_json::{Value, json};

use super::edited::{edited, one, refused};
use crate::workflow::profiles::dispatch::{export, take};
use crate::workflow::profiles::example_tests::{PHASES, ROOT, begun, phases, written};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::phase::Task;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};

#[test]
fn phases_that_were_advanced_by_hand_are_advanced() {
    let value = phases("ARCHITECTURE", "in_progress");
    let workflow = edited(Profile::Phases, PHASES, &value, |value| {
        let entry = json!({"phase": "ARCHITECTURE", "completed_at": "2026-02-19T12:00:00Z", "output": "d.json", "k": 1});
        value["completed_phases"]
            .as_array_mut()
            .unwrap()
            .push(entry);
        value["current_phase"] = "IMPLEMENTATION".into();
        value["phase_status"] = "complete".into();
        value["last_updated"] = "2026-02-19T12:00:00Z".into();
        value["user_checkpoints"] =
            json!([{"phase": "ARCHITECTURE", "approved_at": "2026-02-19T11:59:00Z"}]);
    });
    let words: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.status.into_str())
        .collect();
    assert_eq!(
        words,
        ["complete", "complete", "pending", "pending", "pending"]
    );
    assert_eq!(
        (workflow.word(), &*workflow.phases[1].outputs[0].path),
        ("in_progress", "d.json")
    );
    assert_eq!(
        (
            workflow.phases[0].approved_ms,
            workflow.phases[1].approved_ms.is_some()
        ),
        (None, true)
    );
}

#[test]
fn between_two_phases_the_document_says_that_it_can_go_on() {
    let mut value = phases("ARCHITECTURE", "running");
    value["x"] = json!({"k": null});
    value["completed_phases"][0]["by"] = json!("me");
    let mut workflow = begun(Profile::Phases, PHASES, &value);
    workflow.phases[1].status = PhaseStatus::AwaitingApproval;
    assert_eq!(written(&workflow, PHASES)["phase_status"], "running");
    for at in 1..5 {
        (workflow.phases[at].status, workflow.phases[at].completed_ms) =
            (PhaseStatus::Complete, Some(workflow.updated_ms));
        workflow.updated_ms += 1_000;
        let written = written(&workflow, PHASES);
        let (current, status) = if at < 4 {
            (at + 1, "running")
        } else {
            (4, "complete")
        };
        assert_eq!(
            written["current_phase"],
            workflow.phases[current].id.as_str()
        );
        assert_eq!(written["phase_status"], status);
        assert_eq!(
            (&written["x"], &written["completed_phases"][0]["by"]),
            (&json!({"k": null}), &json!("me"))
        );
        let mut again = workflow.clone();
        workflow
            .documents
            .insert(PHASES.to_owned(), written.clone());
        take(&mut again, Profile::Phases, PHASES, &written, ROOT).unwrap();
        assert_eq!(again.phases, workflow.phases);
    }
    let end = written(&workflow, PHASES);
    assert_eq!(
        end["completed_phases"][2]["output"],
        "memory/state/execution.json"
    );
    assert_eq!(end["completed_phases"][4].get("output"), None);
}

#[test]
fn what_is_wrong_with_phases_is_said() {
    let with = |edit: fn(&mut Value)| {
        refused(
            Profile::Phases,
            PHASES,
            &phases("ARCHITECTURE", "in_progress"),
            edit,
        )
    };
    assert_eq!(
        with(|value| value["phase_status"] = json!("odd")),
        one("unknown_status", "phase_status")
    );
    assert_eq!(
        with(|value| value["interruption_safe"] = json!("no")),
        one("wrong_type", "interruption_safe")
    );
    assert_eq!(
        with(|value| value["current_phase"] = json!(" ")),
        one("bad_name", "current_phase")
    );
    assert_eq!(
        with(|value| value["workflow_id"] = json!("other")),
        one("other_run", "workflow_id")
    );
    assert_eq!(
        with(|value| value["completed_phases"][0]["completed_at"] = json!("ISO-8601")),
        one("bad_time", "completed_phases[0].completed_at")
    );
    assert_eq!(
        with(|value| value["user_checkpoints"] = json!([1])),
        one("wrong_type", "user_checkpoints[0]")
    );
}

#[test]
fn a_write_that_was_cut_off_is_read_and_ends_with_the_next_transition() {
    let mut value = phases("ARCHITECTURE", "in_progress");
    value["interruption_safe"] = json!(false);
    let workflow = begun(Profile::Phases, PHASES, &value);
    assert_eq!(written(&workflow, PHASES)["interruption_safe"], false);
    let next = workflow
        .after(&Change::new("resume", ""), workflow.updated_ms)
        .unwrap();
    assert_eq!(written(&next, PHASES)["interruption_safe"], true);
}

#[test]
fn a_task_that_moves_on_changes_itself_alone_and_the_time() {
    let path = "memory/state/execution.json";
    let mut workflow = begun(
        Profile::Phases,
        PHASES,
        &phases("IMPLEMENTATION", "in_progress"),
    );
    assert!(
        !export(&workflow, Profile::Phases, "/")
            .iter()
            .any(|document| document.path == path)
    );
    let task = json!({"id": "t", "status": "in_progress", "started_at": "2026-02-19T10:00:00.000Z", "note": null, "z": 1});
    let value = json!({"tasks": [task], "updated_at": "2026-02-19T10:00:00Z", "k": 1});
    take(&mut workflow, Profile::Phases, path, &value, ROOT).unwrap();
    workflow.tasks[0].status = TaskStatus::Complete;
    workflow.tasks[0].completed_ms = Some(1_771_500_000_123);
    workflow.tasks.push(Task::new("u"));
    let expected = json!({
        "tasks": [
            {"id": "t", "status": "complete", "started_at": "2026-02-19T10:00:00.000Z",
             "completed_at": "2026-02-19T11:20:00Z", "note": null, "z": 1},
            {"id": "u", "status": "pending", "attempts": 0},
        ],
        "updated_at": "2026-02-19T10:00:00Z", "k": 1,
    });
    assert_eq!(written(&workflow, path).to_string(), expected.to_string());
    workflow.updated_ms += 3_600_000;
    assert_eq!(
        written(&workflow, path)["updated_at"],
        "2026-02-19T11:00:00Z"
    );
}
