//! Recovery after an interruption: only what the files prove counts as done.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PHASES, Play as _};

const AT: &str = "2026-03-24T12:00:00Z";
const OUTPUT: &str = "memory/reports/t1.json";

/// A run in a phase, with those before it done and their outputs present.
fn in_phase(current: &str, user_checkpoints: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let all = [
        ("REQUIREMENTS", "memory/reports/demand.json"),
        ("ARCHITECTURE", "memory/reports/final_design.json"),
        ("IMPLEMENTATION", EXECUTION),
    ];
    let before: Vec<_> = all.iter().take_while(|(id, _)| *id != current).collect();
    for (_, output) in &before {
        sandbox.write(output, "{}");
    }
    let entry = |(phase, output): &&(&str, &str)| json!({"phase": phase, "completed_at": "2026-03-24T11:00:00Z", "output": output});
    let document = json!({
        "workflow_id": "wf-1", "started_at": "2026-03-24T10:00:00Z", "last_updated": "2026-03-24T11:30:00Z",
        "current_phase": current, "phase_status": "in_progress",
        "completed_phases": before.iter().map(entry).collect::<Vec<_>>(), "user_checkpoints": user_checkpoints,
    });
    sandbox.write(PHASES, document.to_string()).at(AT);
    sandbox
}

fn with_task(task: &Value) -> Sandbox {
    let sandbox = in_phase("IMPLEMENTATION", &json!([]));
    sandbox.write(EXECUTION, json!({"tasks": [task]}).to_string());
    sandbox
}

fn recovered(says: &str) -> Value {
    let sandbox =
        with_task(&json!({"id": "t1", "status": "running", "attempts": 1, "output": OUTPUT}));
    sandbox.write(OUTPUT, says);
    sandbox.ok("workflow recover");
    sandbox.stands()["tasks"][0]["status"].clone()
}

#[test]
fn only_the_words_of_success_are_success() {
    for word in [
        "complete",
        "completed",
        "done",
        "success",
        "Completed",
        "DONE",
    ] {
        assert_eq!(
            recovered(&json!({"status": word}).to_string()),
            "complete",
            "{word}"
        );
    }
    for word in [
        "failed",
        "error",
        "timeout",
        "cancelled",
        "timed-out",
        "aborted",
    ] {
        assert_eq!(
            recovered(&json!({"status": word}).to_string()),
            "failed",
            "{word}"
        );
    }
    for word in [
        "in_progress",
        "in progress",
        "running",
        "pending",
        "partial",
        "blocked",
        "odd",
        "",
        "not done",
    ] {
        assert_eq!(
            recovered(&json!({"status": word}).to_string()),
            "pending",
            "{word}"
        );
    }
    let others = [
        (r#"{"success":false}"#, "failed"),
        (r#"{"success":false,"status":"complete"}"#, "failed"),
        (r#"{"success":true}"#, "complete"),
        (r#"{"success":"yes"}"#, "pending"),
        (r#"{"status":null}"#, "pending"),
        (r#"{"status":0}"#, "pending"),
        (r#"{"status":{"code":"complete"}}"#, "pending"),
        (r#"{"findings":[]}"#, "complete"),
        ("[]", "complete"),
        ("", "pending"),
        (r#"{"status":"comp"#, "pending"),
    ];
    for (says, expected) in others {
        assert_eq!(recovered(says), expected, "{says}");
    }
}

#[test]
fn a_phase_whose_output_says_that_it_goes_on_is_not_done() {
    for (word, words) in [
        ("in_progress", "re-spawn PM agent"),
        ("approved", "advance to ARCHITECTURE"),
    ] {
        let sandbox = in_phase("REQUIREMENTS", &json!([]));
        sandbox.write(
            "memory/reports/demand.json",
            json!({"status": word}).to_string(),
        );
        sandbox
            .ok("workflow next")
            .stdout_is(&format!("REQUIREMENTS: {words}\n"));
        let data = sandbox.ok("workflow resume --choose y --json").data();
        assert_eq!(
            data["completed"].as_array().unwrap().is_empty(),
            word == "in_progress",
            "{data}"
        );
    }
}

#[test]
fn a_task_that_is_complete_without_its_output_is_no_basis_to_go_on() {
    let cases = [
        (None, "output_missing"),
        (Some(""), "output_missing"),
        (Some("{"), "output_broken"),
        (Some(r#"{"status":"in_progress"}"#), "output_contradicts"),
        (Some(r#"{"success":false}"#), "output_contradicts"),
    ];
    for (says, code) in cases {
        let sandbox = with_task(&json!({"id": "t1", "status": "complete", "output": OUTPUT}));
        if let Some(says) = says {
            sandbox.write(OUTPUT, says);
        }
        let data = sandbox.fails(6, "workflow check --json").data();
        let finding = &data["errors"][0];
        assert_eq!(
            (&finding["code"], &finding["place"]),
            (&json!(code), &json!(OUTPUT)),
            "{data}"
        );
        assert_eq!(
            data["next"]["words"],
            "continue execution loop (0 of 1 tasks complete)"
        );
        assert_eq!(
            sandbox
                .fails(4, "workflow resume --choose y --json")
                .error_code(),
            "unsound"
        );
        let data = sandbox
            .ok("workflow resume --choose y --anyway --json")
            .data();
        assert_eq!(
            (&data["current"], &data["recovered"]),
            (&json!("IMPLEMENTATION"), &json!([])),
            "{says:?}"
        );
    }
    for says in [r#"{"status":"passed"}"#, r#"{"status":"done"}"#, "{}"] {
        let sandbox = with_task(&json!({"id": "t1", "status": "complete", "output": OUTPUT}));
        sandbox.write(OUTPUT, says);
        sandbox.ok("workflow check");
    }
}

#[test]
fn an_output_is_found_by_its_absolute_path_and_one_elsewhere_is_left_to_its_owner() {
    let sandbox = in_phase("IMPLEMENTATION", &json!([]));
    let absolute = sandbox.path(OUTPUT).display().to_string();
    let tasks = json!({"tasks": [
        {"id": "t1", "status": "running", "output": absolute},
        {"id": "t2", "status": "running", "output": "./memory/reports/t1.json"},
        {"id": "t3", "status": "complete", "output": "/elsewhere/t3.json"},
        {"id": "t4", "status": "running", "output": "../t4.json"},
    ]});
    sandbox
        .write(EXECUTION, tasks.to_string())
        .write(OUTPUT, r#"{"status":"success"}"#);
    sandbox.ok("workflow check");
    let answer = sandbox.ok("workflow recover --json").data();
    let words: Vec<&Value> = answer["run"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["status"])
        .collect();
    assert_eq!(
        json!(words),
        json!(["complete", "complete", "complete", "pending"])
    );
    assert!(
        answer["recovered"][2]
            .as_str()
            .is_some_and(|what| what.contains("outside this directory")),
        "{answer}"
    );
}

#[test]
fn an_output_is_found_behind_dots_and_one_elsewhere_is_not_called_gone() {
    let outputs = [
        ("memory/state/../reports/demand.json", ""),
        ("../demand.json", "output_outside"),
    ];
    for (output, code) in outputs {
        let sandbox = in_phase("ARCHITECTURE", &json!([]));
        let document = sandbox
            .read(PHASES)
            .replace("memory/reports/demand.json", output);
        sandbox.write(PHASES, document);
        let data = sandbox.ok("workflow check --json").data();
        let is_told = |finding: &Value| finding["code"] == code;
        assert_eq!(
            data["remarks"].as_array().unwrap().iter().any(is_told),
            !code.is_empty(),
            "{data}"
        );
    }
}

#[test]
fn a_phase_with_open_tasks_is_not_done() {
    let sandbox = Sandbox::new();
    sandbox.go("workflow init --id w --phase a --phase b");
    sandbox.go("phase start a");
    sandbox.go("task add t1");
    sandbox.go("task add t2");
    sandbox.go("task add later --phase b");
    sandbox.go("task start t1");
    let run = sandbox.fails(4, "phase done --json");
    assert_eq!(run.error_code(), "tasks_open");
    assert!(
        run.stdout.contains("t1 (running), t2 (pending)") && !run.stdout.contains("later ("),
        "{run}"
    );
    sandbox.go("task done t1");
    sandbox
        .fails(4, "phase done")
        .stderr_has("t2 (pending)")
        .stderr_has("--force");
    sandbox.ok("phase done --force");
    let data = sandbox.ok("workflow check --json").data();
    assert_eq!(
        (&data["remarks"][0]["code"], &data["remarks"][0]["place"]),
        (&json!("tasks_open"), &json!("tasks.t2"))
    );
}

#[test]
fn tasks_of_no_phase_belong_to_the_phase_of_tasks() {
    let sandbox = in_phase("REQUIREMENTS", &json!([]));
    sandbox.write(
        EXECUTION,
        r#"{"tasks":[{"id":"t1","status":"pending","phase":"impl"}]}"#,
    );
    sandbox.write("memory/reports/demand.json", "{}");
    sandbox.ok("phase done");
    let sandbox = with_task(&json!({"id": "t1", "status": "pending", "phase": "impl"}));
    assert_eq!(
        sandbox.fails(4, "phase done --json").error_code(),
        "tasks_open"
    );
}

#[test]
fn what_was_cut_off_counts_one_attempt_more_and_its_next_start_none() {
    let sandbox = with_task(&json!({"id": "t1", "status": "pending"}));
    let attempts = |words: &[&str]| sandbox.step(words)["tasks"][0]["attempts"].clone();
    assert_eq!(attempts(&["task", "start", "t1"]), 1);
    assert_eq!(attempts(&["workflow", "resume", "--choose", "y"]), 2);
    assert_eq!(attempts(&["task", "reset", "t1"]), 2);
    assert_eq!(attempts(&["task", "start", "t1"]), 2);
    assert_eq!(attempts(&["workflow", "recover"]), 3);
    assert_eq!(attempts(&["task", "start", "t1"]), 3);
    assert_eq!(attempts(&["task", "fail", "t1", "--error", "x"]), 3);
    assert_eq!(attempts(&["task", "start", "t1"]), 4);
    assert_eq!(attempts(&["task", "done", "t1"]), 4);
    assert_eq!(sandbox.json_of(EXECUTION)["tasks"][0]["attempts"], 4);
}

#[test]
fn what_is_malformed_is_not_called_missing() {
    for (says, words) in [
        (None, "memory/reports/demand.json is missing"),
        (Some(""), "memory/reports/demand.json is empty"),
        (Some("{broken"), "memory/reports/demand.json is not valid: "),
    ] {
        let sandbox = in_phase("REQUIREMENTS", &json!([]));
        if let Some(says) = says {
            sandbox.write("memory/reports/demand.json", says);
        }
        sandbox.fails(4, "phase done").stderr_has(words);
        let data = sandbox.ok("workflow check --json").data();
        let is_told = data["remarks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|finding| finding["code"] == "output_broken");
        assert_eq!(is_told, says == Some("{broken"), "{data}");
    }
}

#[test]
fn next_and_resume_agree_at_an_approval_and_name_it() {
    let command = "checkpoint phase approve ARCHITECTURE -w wf-1";
    let sandbox = in_phase("ARCHITECTURE", &json!([]));
    sandbox.write("memory/reports/final_design.json", "{}");
    let words = format!(
        "ARCHITECTURE: have ARCHITECTURE approved ('{command}'), then advance to IMPLEMENTATION\n"
    );
    sandbox.ok("workflow next").stdout_is(&words);
    let run = sandbox.ok("workflow resume --choose y");
    let run = run.stderr_has("all that it had to write is there: it waits for its approval");
    assert!(!run.stderr.contains("it is done"), "{run}");
    run.stdout_has(command);
    for words in [
        &["phase", "done"][..],
        &["phase", "start"],
        &["phase", "start", "IMPLEMENTATION"],
    ] {
        sandbox
            .run(words)
            .code(4)
            .stderr_has(&format!("'{command}' approves it"));
    }
    sandbox.ok("workflow next").stdout_has(command);
    sandbox.ok("phase approve ARCHITECTURE -w wf-1");
    sandbox.ok("workflow next").stdout_has("IMPLEMENTATION: ");

    let approved = json!([{"phase": "ARCHITECTURE", "approved_at": "2026-03-24T11:20:00Z"}]);
    let sandbox = in_phase("ARCHITECTURE", &approved);
    sandbox.write("memory/reports/final_design.json", "{}");
    sandbox
        .ok("workflow next")
        .stdout_is("ARCHITECTURE: advance to IMPLEMENTATION\n");
    sandbox
        .ok("workflow resume --choose y")
        .stderr_has("is there: it is done");

    let sandbox = in_phase("ARCHITECTURE", &json!([]));
    sandbox.write("memory/reports/final_design.json", "{}");
    sandbox
        .ok("phase done")
        .stderr_has(&format!("waits for its approval: {command}"));
}
