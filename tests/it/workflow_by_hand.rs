//! The three protocols of other programs, each followed by an agent that edits the file itself, as
//! it is told to.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PHASES, PIPELINE, Play as _, phase_is, pipeline, registry};

fn push(list: &mut Value, value: Value) {
    list.as_array_mut().unwrap().push(value);
}

#[test]
fn five_phases_by_hand() {
    let sandbox = Sandbox::new();
    sandbox
        .at("2026-03-24T12:00:00Z")
        .go("workflow init --profile phases --preset dotagent");
    sandbox.go("phase start");
    sandbox.write("memory/reports/demand.json", "{}");
    // "Add to completed_phases, advance current_phase, set phase_status = complete".
    let text = sandbox.edit(PHASES, |file| {
        let entry = json!({"phase": "REQUIREMENTS", "completed_at": "2026-03-24T12:00:01Z",
                           "output": "memory/reports/demand.json", "by": "pm"});
        push(&mut file["completed_phases"], entry);
        file["current_phase"] = "ARCHITECTURE".into();
        file["phase_status"] = "complete".into();
        file["last_updated"] = "2026-03-24T12:00:01Z".into();
    });
    let stands = sandbox.stands();
    assert_eq!(stands["completed"], json!(["REQUIREMENTS"]), "{stands}");
    assert_eq!(stands["phases"][1]["status"], "pending");
    assert_eq!(sandbox.read(PHASES), text);
    sandbox.go("phase start");
    let file = phase_is(&sandbox, "ARCHITECTURE", "in_progress", &["REQUIREMENTS"]);
    assert_eq!(file["completed_phases"][0]["by"], "pm");
    sandbox.write("memory/reports/final_design.json", "{}");
    sandbox.edit(PHASES, |file| {
        push(
            &mut file["user_checkpoints"],
            json!({"phase": "ARCHITECTURE", "approved_at": "2026-03-24T12:00:03Z"}),
        );
    });
    sandbox.write(
        EXECUTION,
        json!({"tasks": [{"id": "t", "status": "complete"}], "owner": "x"}).to_string(),
    );
    assert_eq!(
        sandbox.go("phase done")["completed"],
        json!(["REQUIREMENTS", "ARCHITECTURE"])
    );
    assert_eq!(sandbox.go("task list")["tasks"][0]["status"], "complete");
    for (phase, output) in [
        ("IMPLEMENTATION", EXECUTION),
        ("VERIFICATION", "memory/reports/verification.json"),
    ] {
        sandbox.edit(PHASES, |file| {
            push(
                &mut file["completed_phases"],
                json!({"phase": phase, "completed_at": "2026-03-24T12:00:09Z", "output": output}),
            );
            file["current_phase"] = if phase == "VERIFICATION" {
                "REFLECTION"
            } else {
                "VERIFICATION"
            }
            .into();
        });
        sandbox.stands();
    }
    let end = sandbox.edit(PHASES, |file| file["phase_status"] = "complete".into());
    assert_eq!(sandbox.stands()["status"], "complete");
    assert_eq!(
        (
            sandbox.read(PHASES),
            sandbox.json_of(EXECUTION)["owner"].clone()
        ),
        (end, "x".into())
    );
}

#[test]
fn a_pipeline_by_hand() {
    let sandbox = pipeline();
    for at in 0..4 {
        let text = sandbox.edit(PIPELINE, |file| {
            let mut entry = file["current_phase"].clone();
            entry
                .as_object_mut()
                .unwrap()
                .remove("progress_description");
            entry["timestamp"] = format!("2026-03-24T12:00:0{at}Z").into();
            push(&mut file["completed_phases"], entry);
            let remaining = file["remaining_phases"].as_array_mut().unwrap();
            let mut next = if remaining.is_empty() {
                Value::Null
            } else {
                remaining.remove(0)
            };
            if let Some(next) = next.as_object_mut() {
                next.remove("dependencies");
                next.insert("progress_description".into(), "begun".into());
            }
            file["current_phase"] = next;
            file["updated_at"] = format!("2026-03-24T12:00:0{at}Z").into();
            push(
                &mut file["context_summary"]["file_paths"],
                format!("/elsewhere/{at}").into(),
            );
        });
        let stands = sandbox.stands();
        assert_eq!(
            stands["completed"].as_array().map(Vec::len),
            Some(at + 1),
            "{stands}"
        );
        assert_eq!(sandbox.read(PIPELINE), text);
        let words = sandbox.ok("workflow status").stdout;
        assert!(
            words.contains(&format!("Completed ({} phases)", at + 1)) || at == 0 || at == 3,
            "{words}"
        );
    }
    assert_eq!(sandbox.stands()["status"], "complete");
    assert_eq!(
        sandbox.fails(4, "phase start --json").error_code(),
        "workflow_ended"
    );
}

#[test]
fn a_checkpoint_of_the_registry_by_hand() {
    let (sandbox, path) = registry();
    let text = sandbox.edit(&path, |file| {
        file["completed_phases"] = json!([1]);
        file["current_phase"] = 2.into();
        file["updated_at"] = "2025-10-03T18:52:15Z".into();
        file["workflow_state"]["plan_path"] = "specs/1.md".into();
        file["schema_note"] = "x".into();
    });
    let stands = sandbox.stands();
    assert_eq!(
        (&stands["completed"], &stands["state"]["plan_path"]),
        (&json!(["1"]), &"specs/1.md".into()),
        "{stands}"
    );
    assert_eq!(sandbox.read(&path), text);
    assert_eq!(
        stands["phases"][1]["status"], "in_progress",
        "it was said to be the current one"
    );
    sandbox.go("workflow note --set a=1");
    assert_eq!(sandbox.json_of(&path)["schema_note"], "x");
    sandbox.edit(&path, |file| {
        file["completed_phases"] = json!([1, 2]);
        file["status"] = "completed".into();
    });
    assert_eq!(sandbox.stands()["status"], "complete");
    assert!(
        !sandbox.exists(&path),
        "a checkpoint goes when its run succeeds"
    );
}
