//! Interrupted runs of five phases, at a terminal: what is asked, reported and repaired.

use std::fs;

use serde_json::{Value, json};

use crate::bench::terminal::dialogue;
use crate::bench::{Run, Sandbox};

const PHASE: &str = "memory/state/phase.json";
const EXECUTION: &str = "memory/state/execution.json";
const ARCHIVE: &str = "memory/state/.archive";
const CORRUPTED: &str = "State appears corrupted. Start fresh? [y/N]";
const PHASES: [(&str, &str); 5] = [
    ("REQUIREMENTS", "memory/reports/demand.json"),
    ("ARCHITECTURE", "memory/reports/final_design.json"),
    ("IMPLEMENTATION", EXECUTION),
    ("VERIFICATION", "memory/reports/verification.json"),
    ("REFLECTION", "memory/reports/reflection.json"),
];

/// A run in a phase, as other programs write it; those before it are done and have their outputs.
fn begun(current: &str, started_at: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let before: Vec<_> = PHASES.iter().take_while(|(id, _)| *id != current).collect();
    for (_, output) in &before {
        sandbox.write(output, "{}");
    }
    let at = "2026-03-24T11:00:00Z";
    let completed: Vec<Value> = before
        .iter()
        .map(|(id, output)| json!({"phase": id, "completed_at": at, "output": output}))
        .collect();
    let document = json!({
        "workflow_id": "wf-1", "started_at": started_at, "last_updated": "2026-03-24T11:30:00Z",
        "current_phase": current, "phase_status": "in_progress", "completed_phases": completed,
        "user_checkpoints": [], "interruption_safe": true,
    });
    sandbox.write(PHASE, document.to_string());
    sandbox
}

fn in_phase(current: &str) -> Sandbox {
    begun(current, "2026-03-24T10:00:00Z")
}

fn with_task(status: &str) -> Sandbox {
    let sandbox = in_phase("IMPLEMENTATION");
    let task = json!({"id": "task-001", "status": status, "attempts": 1, "output": "memory/reports/task-001.json"});
    sandbox.write(
        EXECUTION,
        json!({"workflow_id": "wf-1", "tasks": [task]}).to_string(),
    );
    sandbox
}

fn resume(sandbox: &Sandbox, answers: &[(&str, &str)]) -> Option<Run> {
    dialogue(sandbox, "$checkpoint workflow resume", answers)
}

fn json_in(sandbox: &Sandbox, path: &str) -> Value {
    serde_json::from_str(&sandbox.read(path)).unwrap()
}

fn archives(sandbox: &Sandbox) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sandbox.path(ARCHIVE)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn is_archive_of(name: &str, id: &str) -> bool {
    let time = name
        .strip_prefix(id)
        .and_then(|rest| rest.strip_prefix('_'))
        .unwrap_or_default();
    time.len() == 15
        && time
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'_')
}

#[test]
fn ctrl_c_during_a_task_tries_it_again() {
    let sandbox = with_task("running");
    let Some(run) = resume(
        &sandbox,
        &[("Resume workflow from IMPLEMENTATION? [Y/n]", "y\\n")],
    ) else {
        return;
    };
    let run = run
        .code(0)
        .stdout_has("Detected interrupted workflow: wf-1 (started 2026-03-24T10:00:00Z)\n");
    let run = run.stdout_has("\nResuming workflow wf-1 from IMPLEMENTATION phase\n");
    let run = run.stdout_has("\nLast activity: 2026-03-24T11:30:00Z\n");
    let run = run.stdout_has("\nCompleted: REQUIREMENTS, ARCHITECTURE\n");
    run.stdout_has("\nNext: continue execution loop (0 of 1 tasks complete)\n");
    let task = &json_in(&sandbox, EXECUTION)["tasks"][0];
    assert_eq!(
        (&task["status"], &task["attempts"]),
        (&json!("pending"), &json!(2))
    );
}

#[test]
fn a_crash_after_the_write_takes_the_status_from_the_output() {
    for (says, status) in [
        (r#"{"status": "failed"}"#, "failed"),
        (r#"{"status": "completed"}"#, "complete"),
    ] {
        let sandbox = with_task("running");
        sandbox.write("memory/reports/task-001.json", says);
        let Some(run) = resume(&sandbox, &[("? [Y/n]", "\\n")]) else {
            return;
        };
        run.code(0)
            .stdout_has("its output memory/reports/task-001.json is there");
        let task = &json_in(&sandbox, EXECUTION)["tasks"][0];
        assert_eq!(
            (&task["status"], &task["attempts"]),
            (&json!(status), &json!(1)),
            "{says}"
        );
    }
}

#[test]
fn what_waits_for_approval_is_shown_again_and_not_made_again() {
    let sandbox = in_phase("ARCHITECTURE");
    sandbox.write("memory/reports/designs/one.md", "a design");
    for _ in 0..2 {
        let Some(run) = resume(
            &sandbox,
            &[("Resume workflow from ARCHITECTURE? [Y/n]", "Y\\n")],
        ) else {
            return;
        };
        let run = run
            .code(0)
            .stdout_has("\nNext: show again what ARCHITECTURE made, and have it approved (");
        assert!(!run.stdout.contains("Architects"), "{run}");
        assert_eq!(
            sandbox.cmd("workflow status --json").data()["status"],
            "awaiting_approval"
        );
    }
    assert_eq!(
        json_in(&sandbox, PHASE)["phase_status"],
        "in_progress",
        "readers know no other word"
    );
    sandbox.ok("phase approve ARCHITECTURE");
    sandbox
        .ok("workflow next")
        .stdout_is("ARCHITECTURE: spawn Roundtable\n");
}

#[test]
fn an_old_run_is_told_and_may_be_archived() {
    let old = || {
        let sandbox = begun("ARCHITECTURE", "2026-03-17T11:59:00Z");
        sandbox.write(EXECUTION, r#"{"workflow_id": "wf-1", "tasks": []}"#);
        sandbox
    };
    let sandbox = old();
    let question = "Resume workflow from ARCHITECTURE? [Y/n]";
    let Some(run) = resume(&sandbox, &[(question, "y\\n")]) else {
        return;
    };
    let run = run
        .code(0)
        .stdout_has("it was started 7 d ago")
        .stdout_has("answer n to archive it and start fresh");
    run.stdout_has("\nResuming workflow wf-1 from ARCHITECTURE phase\n");

    let sandbox = old();
    let run = resume(&sandbox, &[(question, "n\\n")])
        .expect("a terminal")
        .code(0);
    let names = archives(&sandbox);
    assert!(
        names.len() == 1 && is_archive_of(&names[0], "wf-1"),
        "{names:?}\n{run}"
    );
    for file in ["phase.json", "execution.json"] {
        assert_eq!(
            json_in(&sandbox, &format!("{ARCHIVE}/{}/{file}", names[0]))["workflow_id"],
            "wf-1",
            "{file}"
        );
    }
    let new = json_in(&sandbox, PHASE);
    assert!(
        new["workflow_id"] != "wf-1" && new["completed_phases"] == json!([]),
        "{new}"
    );
    assert_eq!(new["current_phase"], "REQUIREMENTS");
}

#[test]
fn an_output_that_is_gone_is_told_before_anything_is_asked() {
    let lost = || {
        let sandbox = in_phase("ARCHITECTURE");
        sandbox.remove("memory/reports/demand.json");
        sandbox
    };
    let sandbox = lost();
    let Some(run) = resume(&sandbox, &[(CORRUPTED, "y\\n")]) else {
        return;
    };
    run.code(0)
        .stdout_has("memory/reports/demand.json: phase REQUIREMENTS wrote it, and it is missing");
    let names = archives(&sandbox);
    assert!(
        names.len() == 1 && is_archive_of(&names[0], "wf-1"),
        "{names:?}"
    );

    let sandbox = lost();
    let answers = [
        (CORRUPTED, "\\n"),
        ("Resume workflow from ARCHITECTURE? [Y/n]", "y\\n"),
    ];
    resume(&sandbox, &answers)
        .expect("a terminal")
        .code(0)
        .stdout_has("Resuming workflow wf-1");
    let sandbox = lost();
    for answers in [
        &[(CORRUPTED, "")][..],
        &[(CORRUPTED, "n\\n"), ("? [Y/n]", "")],
    ] {
        let before = sandbox.read(PHASE);
        resume(&sandbox, answers).expect("a terminal").code(4);
        assert_eq!(
            (sandbox.read(PHASE), archives(&sandbox)),
            (before, Vec::new()),
            "the input ended"
        );
    }
}

#[test]
fn a_torn_file_is_never_lost() {
    let torn = r#"{"workflow_id": "wf-1", "current_ph"#;
    for is_known in [false, true] {
        let sandbox = with_task("running");
        if is_known {
            sandbox.ok("workflow status");
        }
        sandbox.write(PHASE, torn);
        let Some(run) = resume(&sandbox, &[(CORRUPTED, "n\\n")]) else {
            return;
        };
        run.code(4).stdout_has(torn);
        assert_eq!(
            (sandbox.read(PHASE).as_str(), archives(&sandbox)),
            (torn, Vec::new())
        );
        let run = resume(&sandbox, &[(CORRUPTED, "y\\n")])
            .expect("a terminal")
            .code(0);
        let names = archives(&sandbox);
        let id = if is_known { "wf-1" } else { "corrupt" };
        assert!(
            names.len() == 1 && is_archive_of(&names[0], id),
            "{names:?}\n{run}"
        );
        assert_eq!(
            sandbox.read(format!("{ARCHIVE}/{}/phase.json", names[0])),
            torn
        );
        assert!(
            sandbox.exists(format!("{ARCHIVE}/{}/execution.json", names[0])),
            "{run}"
        );
        if is_known {
            assert!(json_in(&sandbox, PHASE)["workflow_id"] != "wf-1");
        } else {
            assert!(!sandbox.exists(PHASE) && !sandbox.exists(EXECUTION));
        }
    }
}

#[test]
fn five_archives_are_kept() {
    let sandbox = in_phase("REQUIREMENTS");
    for _ in 0..7 {
        sandbox.ok("workflow resume --choose n");
    }
    let names = archives(&sandbox);
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(
        !names.iter().any(|name| is_archive_of(name, "wf-1")),
        "the oldest went: {names:?}"
    );
    let data = sandbox.json("workflow list --all");
    assert_eq!(
        data["workflows"].as_array().unwrap().len(),
        8,
        "their transitions stay"
    );
}

#[test]
fn each_phase_has_its_next_step() {
    let steps: [(&str, &[&str], &str); 10] = [
        ("REQUIREMENTS", &[], "re-spawn PM agent"),
        (
            "REQUIREMENTS",
            &["memory/reports/demand.json"],
            "advance to ARCHITECTURE",
        ),
        ("ARCHITECTURE", &[], "re-spawn Architects"),
        (
            "ARCHITECTURE",
            &["memory/reports/designs/a.json"],
            "spawn Roundtable",
        ),
        (
            "ARCHITECTURE",
            &["memory/reports/final_design.json"],
            "have ARCHITECTURE approved ('checkpoint phase approve ARCHITECTURE -w wf-1'), then advance to IMPLEMENTATION",
        ),
        (
            "IMPLEMENTATION",
            &[],
            "continue execution loop (0 of 0 tasks complete)",
        ),
        ("VERIFICATION", &[], "re-spawn QA"),
        (
            "VERIFICATION",
            &["memory/reports/verification.json"],
            "advance to REFLECTION",
        ),
        ("REFLECTION", &[], "re-spawn Reflector"),
        (
            "REFLECTION",
            &["memory/reports/reflection-1.json"],
            "workflow complete",
        ),
    ];
    for (phase, files, words) in steps {
        let sandbox = in_phase(phase);
        for file in files {
            sandbox.write(file, "{}");
        }
        sandbox
            .ok("workflow next")
            .stdout_is(&format!("{phase}: {words}\n"));
    }
    for (status, words) in [
        ("running", "continue execution loop (0 of 1 tasks complete)"),
        ("complete", "advance to VERIFICATION"),
    ] {
        let sandbox = with_task(status);
        sandbox.write("memory/reports/task-001.json", "{}");
        sandbox
            .ok("workflow next")
            .stdout_is(&format!("IMPLEMENTATION: {words}\n"));
    }
}

#[test]
fn an_empty_list_of_tasks_is_no_work_that_was_done() {
    let sandbox = in_phase("IMPLEMENTATION");
    sandbox.write(EXECUTION, r#"{"workflow_id": "wf-1", "tasks": []}"#);
    let data = sandbox.json("workflow resume --choose y");
    assert_eq!(
        (&data["current"], &data["recovered"]),
        (&json!("IMPLEMENTATION"), &json!([]))
    );
}
