//! Tests of registry documents.

use serde_json::{Value, json};

use super::edited::{edited, one, refused};
use crate::workflow::profiles::example_tests::{REGISTRY, begun, registry, written};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::{Interruption, Workflow};

#[test]
fn a_registry_that_was_advanced_by_hand_is_advanced() {
    let workflow = edited(Profile::Registry, REGISTRY, &registry(), |value| {
        value["completed_phases"] = json!([1, 2, 3]);
        value["current_phase"] = json!(4);
        value["total_phases"] = json!(6);
        value["updated_at"] = json!("2025-10-03T19:00:00Z");
        value["workflow_state"] = json!({"b": 1, "a": {"z": 1.5, "y": []}});
        value["last_error"] = json!({"message": "x"});
        value["more"] = json!(1);
    });
    let words: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.status.into_str())
        .collect();
    assert_eq!(
        words,
        [
            "complete",
            "complete",
            "complete",
            "in_progress",
            "pending",
            "pending"
        ]
    );
    assert_eq!(workflow.last_error, Some(json!({"message": "x"})));
    let workflow = edited(Profile::Registry, REGISTRY, &registry(), |value| {
        value["status"] = json!("failed");
        value["total_phases"] = json!(2);
    });
    assert_eq!(
        (
            workflow.status,
            workflow.phases[1].status,
            workflow.phases.len()
        ),
        (RunStatus::Failed, PhaseStatus::Failed, 2)
    );
    let workflow = edited(Profile::Registry, REGISTRY, &registry(), |value| {
        value["status"] = json!("paused");
    });
    assert_eq!(
        workflow.interrupted.map(|why| why.reason).as_deref(),
        Some("paused")
    );
}

#[test]
fn a_registry_goes_on_by_numbers() {
    let mut workflow = begun(Profile::Registry, REGISTRY, &registry());
    let facts = |workflow: &Workflow| {
        let value = written(workflow, REGISTRY);
        (
            value["current_phase"].clone(),
            value["completed_phases"].clone(),
            value["status"].clone(),
        )
    };
    workflow.phases[1].status = PhaseStatus::Complete;
    workflow.phases[1].completed_ms = Some(workflow.updated_ms);
    assert_eq!(
        facts(&workflow),
        (json!(3), json!([1, 2]), json!("in_progress"))
    );
    workflow.interrupted = Some(Interruption {
        reason: "limit".to_owned(),
        at_ms: 0,
    });
    assert_eq!(facts(&workflow).2, "in_progress");
    for phase in &mut workflow.phases {
        phase.status = PhaseStatus::Complete;
    }
    workflow.status = RunStatus::Complete;
    assert_eq!(facts(&workflow).0, 5);
    assert_eq!(facts(&workflow).2, "complete");
    let mut ours = Workflow::new("a_b_20260101_000000".into(), "a".into(), "b".into(), 0);
    ours.profiles = vec![Profile::Registry];
    assert_eq!(
        written(&ours, ".claude/checkpoints/a_b_20260101_000000.json")["workflow_state"],
        json!({"project_name": "b"})
    );
}

#[test]
fn what_is_wrong_with_a_registry_is_said() {
    let with = |edit: fn(&mut Value)| refused(Profile::Registry, REGISTRY, &registry(), edit);
    assert_eq!(
        with(|value| value["current_phase"] = json!(6)),
        one("out_of_range", "current_phase")
    );
    assert_eq!(
        with(|value| value["completed_phases"] = json!([1, 9])),
        one("out_of_range", "completed_phases[1]")
    );
    assert_eq!(
        with(|value| value["completed_phases"] = json!([1, 1])),
        one("duplicate_id", "completed_phases[1]")
    );
    assert_eq!(
        with(|value| value["total_phases"] = json!(100_000)),
        one("out_of_range", "total_phases")
    );
    assert_eq!(
        with(|value| value["total_phases"] = json!(-1)),
        one("wrong_type", "total_phases")
    );
    assert_eq!(
        with(|value| value["status"] = json!("odd")),
        one("unknown_status", "status")
    );
    assert_eq!(
        with(|value| value["schema_version"] = json!("2.0")),
        one("version_mismatch", "schema_version")
    );
    assert_eq!(
        with(|value| value["checkpoint_id"] = json!("x")),
        one("other_run", "checkpoint_id")
    );
    assert_eq!(
        with(|value| {
            value.as_object_mut().unwrap().remove("workflow_state");
        }),
        one("missing_field", "workflow_state")
    );
    let shorter = with(|value| {
        value["total_phases"] = json!(1);
        value["current_phase"] = json!(1);
    });
    assert_eq!(shorter, one("phase_vanished", "total_phases"));
}
