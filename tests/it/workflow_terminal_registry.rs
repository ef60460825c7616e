//! The question before a run of the registry is resumed, at a terminal: each of its answers.

use serde_json::{Value, json};

use crate::bench::screen::screen;
use crate::bench::terminal::dialogue;
use crate::bench::{Run, Sandbox, fixtures};

const FOLDER: &str = ".claude/checkpoints";
const ID: &str = "orchestrate_auth_system_20251003_184530";
const FILE: &str = ".claude/checkpoints/orchestrate_auth_system_20251003_184530.json";
const CHOICE: &str = "Choice [r/s/v/d]:";
const DELETE: &str = "Delete the corrupted checkpoint? It is kept in the archive. [y/N]";

fn document(id: &str, description: &str, updated_at: &str) -> Value {
    json!({
        "checkpoint_id": id, "workflow_type": "orchestrate", "workflow_description": description,
        "created_at": "2025-10-03T18:45:30Z", "updated_at": updated_at, "status": "in_progress",
        "current_phase": 3, "total_phases": 5, "completed_phases": [1, 2],
        "workflow_state": {"project_name": "auth_system", "plan_path": "specs/plans/022.md", "artifact_registry": {}},
        "last_error": null,
    })
}

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    let document = document(
        ID,
        "Implement authentication system",
        "2025-10-03T18:52:15Z",
    );
    sandbox
        .write(FILE, document.to_string())
        .write("specs/plans/022.md", "plan")
        .at("2025-10-03T18:57:30Z");
    sandbox
}

fn resume(sandbox: &Sandbox, answers: &[(&str, &str)]) -> Option<Run> {
    dialogue(sandbox, "$checkpoint workflow resume", answers)
}

fn json_in(sandbox: &Sandbox, path: &str) -> Value {
    serde_json::from_str(&sandbox.read(path)).unwrap()
}

/// The files of runs that can be resumed.
fn active(sandbox: &Sandbox) -> Vec<String> {
    let failed = sandbox.path(FOLDER).join("failed");
    let mut files = fixtures::files_below(&sandbox.path(FOLDER));
    files.retain(|path| !path.starts_with(&failed));
    files
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn r_goes_on_after_the_known_layout() {
    let sandbox = story();
    let Some(run) = resume(&sandbox, &[(CHOICE, "r\\n")]) else {
        return;
    };
    let shown = screen(&run.clone().code(0).stdout);
    let expected = [
        "Found existing checkpoint for \"Implement authentication system\"",
        "Created: 2025-10-03 18:45:30 (12 minutes ago)",
        "Progress: Phase 2 of 5 completed",
        "",
        "Options:",
        "  (r)esume - Continue from Phase 3",
        "  (s)tart fresh - Delete checkpoint and restart",
        "  (v)iew details - Show checkpoint contents",
        "  (d)elete - Remove checkpoint without starting",
        "",
        "Choice [r/s/v/d]: r",
    ];
    assert_eq!(shown[..expected.len()], expected, "{run}");
    let state = json_in(&sandbox, FILE);
    assert_eq!(
        (&state["current_phase"], &state["completed_phases"]),
        (&json!(3), &json!([1, 2]))
    );
    assert_eq!(state["workflow_state"]["plan_path"], "specs/plans/022.md");
}

#[test]
fn s_keeps_the_old_run_and_begins_its_plan_anew() {
    let sandbox = story();
    let Some(run) = resume(&sandbox, &[(CHOICE, "s\\n")]) else {
        return;
    };
    run.code(0);
    assert_eq!(
        json_in(&sandbox, &format!("{FOLDER}/failed/{ID}.json"))["completed_phases"],
        json!([1, 2])
    );
    let active = active(&sandbox);
    assert!(
        active.len() == 1 && active[0].starts_with("orchestrate_auth_system_") && active[0] != ID,
        "{active:?}"
    );
    let new = json_in(&sandbox, &format!("{FOLDER}/{}.json", active[0]));
    assert_eq!(
        (&new["completed_phases"], &new["total_phases"]),
        (&json!([]), &json!(5))
    );
    assert_eq!(
        new["workflow_state"],
        json!({"project_name": "auth_system"}),
        "what the old run found out is its own"
    );
}

#[test]
fn v_shows_all_of_it_and_asks_again() {
    let sandbox = story();
    let Some(run) = resume(
        &sandbox,
        &[(CHOICE, "v\\n"), (CHOICE, "V\\n"), (CHOICE, "r\\n")],
    ) else {
        return;
    };
    let run = run
        .code(0)
        .stdout_has("\"plan_path\": \"specs/plans/022.md\"")
        .stdout_has("\"total_phases\": 5");
    assert!(!run.stdout.contains("\"schema\""), "nothing of ours: {run}");
    assert_eq!(run.stdout.matches(CHOICE).count(), 3, "{run}");
    run.stdout_has("Resuming workflow");
}

#[test]
fn d_ends_it_and_starts_nothing() {
    let sandbox = story();
    let Some(run) = resume(&sandbox, &[(CHOICE, "d\\n")]) else {
        return;
    };
    run.code(0);
    assert!(active(&sandbox).is_empty() && sandbox.exists(format!("{FOLDER}/failed/{ID}.json")));
    sandbox
        .run(&["workflow", "show", ID])
        .success()
        .stdout_has("Status: abandoned");
}

#[test]
fn a_wrong_letter_asks_again_and_the_end_of_the_input_changes_nothing() {
    let sandbox = story();
    sandbox.ok("workflow status");
    let before = sandbox.tree();
    let Some(run) = resume(&sandbox, &[(CHOICE, "x\\n"), (CHOICE, "\\n"), (CHOICE, "")]) else {
        return;
    };
    let run = run
        .code(4)
        .stdout_has("'x' is not a valid answer.\nChoice [r/s/v/d]: ");
    assert_eq!(run.stdout.matches(CHOICE).count(), 3, "{run}");
    assert_eq!(sandbox.tree(), before);
    let run = resume(&sandbox, &[(CHOICE, "y\\n"), (CHOICE, "d\\n")]).expect("a terminal");
    run.code(0).stdout_has("'y' is not a valid answer.");
}

#[test]
fn a_corrupted_file_can_be_deleted_and_is_kept() {
    let torn = &document(ID, "x", "2025-10-03T18:52:15Z").to_string()[..120];
    for is_known in [false, true] {
        let sandbox = story();
        if is_known {
            sandbox.ok("workflow status");
        }
        sandbox.write(FILE, torn);
        let run = sandbox.fails(6, "workflow resume --json");
        assert_eq!(run.json()["error"]["detail"]["file"], FILE, "{run}");
        for answer in ["n\\n", "\\n", ""] {
            let Some(run) = resume(&sandbox, &[(DELETE, answer)]) else {
                return;
            };
            run.code(4)
                .stdout_has(&format!("State file is malformed: {FILE}"));
            assert_eq!(sandbox.read(FILE), torn);
        }
        let run = resume(&sandbox, &[(DELETE, "y\\n")])
            .expect("a terminal")
            .code(0);
        assert!(active(&sandbox).is_empty(), "{run}");
        let kept = fixtures::files_below(&sandbox.path(".claude/.archive"));
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert_eq!(std::fs::read(&kept[0]).unwrap(), torn.as_bytes());
        sandbox.fails(3, "workflow resume");
        sandbox.ok("workflow init --type orchestrate --phase one --profile registry");
    }
}

#[test]
fn a_corrupted_file_of_nobody_does_not_keep_a_run_from_being_resumed() {
    let sandbox = story();
    let other = format!("{FOLDER}/implement_dark_mode_20251003_192230.json");
    sandbox.write(&other, "{");
    let Some(run) = resume(&sandbox, &[(CHOICE, "r\\n")]) else {
        return;
    };
    run.code(0)
        .stdout_has(&format!("State file is malformed: {other}"))
        .stdout_has("Resuming workflow");
    assert_eq!(sandbox.read(&other), "{");
    let line = format!("$checkpoint workflow recover {other}");
    let run = dialogue(&sandbox, &line, &[(DELETE, "y\\n")]).expect("a terminal");
    run.code(0);
    assert!(!sandbox.exists(&other));
}

#[test]
fn of_several_the_latest_of_its_type_is_meant() {
    let sandbox = story();
    let other = "orchestrate_auth_system_20251003_185000";
    let newer = document(other, "A newer one", "2025-10-03T18:55:00Z");
    sandbox.write(format!("{FOLDER}/{other}.json"), newer.to_string());
    let mut third = document(
        "implement_x_20251003_185600",
        "Another type",
        "2025-10-03T18:56:00Z",
    );
    third["workflow_type"] = "implement".into();
    sandbox.write(
        format!("{FOLDER}/implement_x_20251003_185600.json"),
        third.to_string(),
    );
    let line = "$checkpoint workflow resume orchestrate";
    let Some(run) = dialogue(&sandbox, line, &[(CHOICE, "d\\n")]) else {
        return;
    };
    run.code(0)
        .stdout_has("Found existing checkpoint for \"A newer one\"");
    let run = dialogue(&sandbox, line, &[(CHOICE, "r\\n")]).expect("a terminal");
    run.code(0)
        .stdout_has("Found existing checkpoint for \"Implement authentication system\"");
}
