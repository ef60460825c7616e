//! The questions before a pipeline is resumed, at a terminal: every branch of them.

use serde_json::{Value, json};

use crate::bench::screen::screen;
use crate::bench::terminal::{at_a_terminal, dialogue};
use crate::bench::{Run, Sandbox};

const FILE: &str = ".claude/pipeline-state.json";
const QUESTION: &str = "Resume from \"Write Source Files\"? (y/n/restart)";
const OTHERWISE: &str = "Abandon pipeline or pick a different phase?";
const MALFORMED: &str = "Attempt manual recovery or start fresh?";

fn document() -> Value {
    json!({
        "completed_phases": [
            {"id": "create-issues", "name": "Create GitHub Issues", "timestamp": "2026-02-19T10:05:00Z"},
            {"id": "scaffold-commit", "name": "Commit Scaffold", "timestamp": "2026-02-19T10:20:00Z",
             "commit_sha": "a1b2c3d"},
        ],
        "current_phase": {"id": "write-source", "name": "Write Source Files",
                          "progress_description": "auth module done, starting billing"},
        "remaining_phases": [
            {"id": "write-tests", "name": "Write Tests", "dependencies": ["write-source"]},
            {"id": "write-docs", "name": "Write Docs", "dependencies": []},
        ],
        "context_summary": {"branch": "feat/issue-42-dashboard", "key_decisions": ["REST over GraphQL"],
                            "file_paths": [], "task_description": "Build the dashboard"},
        "created_at": "2026-02-19T10:00:00Z", "updated_at": "2026-02-19T10:22:00Z",
    })
}

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write(FILE, document().to_string())
        .at("2026-02-19T10:30:00Z");
    sandbox
}

fn resume(sandbox: &Sandbox, answers: &[(&str, &str)]) -> Option<Run> {
    dialogue(sandbox, "$checkpoint workflow resume", answers)
}

fn state(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(FILE)).unwrap()
}

/// Ids and status of all runs, archived ones too.
fn runs(sandbox: &Sandbox) -> Vec<(bool, String)> {
    let data = sandbox.json("workflow list --all");
    let word = |run: &Value| {
        (
            run["is_archived"] == true,
            run["status"].as_str().unwrap().to_owned(),
        )
    };
    data["workflows"]
        .as_array()
        .unwrap()
        .iter()
        .map(word)
        .collect()
}

fn archived(sandbox: &Sandbox) -> Vec<Vec<u8>> {
    let folder = sandbox.path(".claude/.archive");
    if !folder.exists() {
        return Vec::new();
    }
    crate::bench::fixtures::files_below(&folder)
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

#[test]
fn without_a_state_there_is_nothing_to_ask() {
    let Some(run) = resume(&Sandbox::new(), &[]) else {
        return;
    };
    run.code(3)
        .stdout_has("there is no workflow here")
        .stdout_has("workflow init");
}

#[test]
fn the_summary_is_laid_out_as_its_readers_know_it() {
    let sandbox = story();
    let Some(run) = resume(&sandbox, &[(QUESTION, "y\\n")]) else {
        return;
    };
    let shown = screen(&run.clone().code(0).stdout);
    let expected = [
        "Pipeline: Build the dashboard",
        "Branch: feat/issue-42-dashboard",
        "",
        "Completed (2 phases):",
        "  ✓ Phase 1: Create GitHub Issues (10:05)",
        "  ✓ Phase 2: Commit Scaffold (10:20, sha: a1b2c3d)",
        "",
        "In progress:",
        "  → Phase 3: Write Source Files",
        "    Progress: auth module done, starting billing",
        "",
        "Remaining (2 phases):",
        "  · Phase 4: Write Tests",
        "  · Phase 5: Write Docs",
        "",
        "Resume from \"Write Source Files\"? (y/n/restart) y",
    ];
    assert_eq!(shown[..expected.len()], expected, "{run}");
    let run = run
        .stdout_has("\nNext: continue Write Source Files (auth module done, starting billing)\n");
    run.stdout_has("from Write Source Files phase\n")
        .stdout_has("\nLast activity: 2026-02-19T10:22:00Z\n");
    let state = state(&sandbox);
    assert_eq!(state["current_phase"], document()["current_phase"]);
    assert_eq!(state["completed_phases"], document()["completed_phases"]);
}

#[test]
fn times_are_local_at_a_terminal_and_utc_for_a_pipe() {
    let sandbox = story();
    sandbox.env("TZ", "Asia/Tokyo").env("NO_COLOR", "1");
    for (command, local, utc) in [
        ("status", "(19:05)", "(10:05)"),
        (
            "show",
            "log, the newest first:",
            "log, the newest first (utc):",
        ),
        ("list", "updated  ", "updated (utc)"),
    ] {
        let piped = sandbox.run(&["workflow", command]).success().stdout;
        assert!(piped.to_lowercase().contains(utc), "{piped}");
        let line = format!("$checkpoint workflow {command}");
        let Some(run) = at_a_terminal(&sandbox, &line) else {
            return;
        };
        let seen = run.success().stdout.to_lowercase();
        assert!(seen.contains(local) && !seen.contains("utc"), "{seen}");
    }
}

#[test]
fn no_and_abandon_ends_it_and_keeps_it() {
    let sandbox = story();
    let Some(run) = resume(&sandbox, &[(QUESTION, "n\\n"), (OTHERWISE, "abandon\\n")]) else {
        return;
    };
    run.code(0);
    assert!(!sandbox.exists(FILE));
    assert_eq!(runs(&sandbox), [(true, "abandoned".to_owned())]);
    resume(&sandbox, &[]).expect("a terminal").code(3);
}

#[test]
fn no_and_pick_goes_on_with_another_phase() {
    for typed in ["5", "write-docs"] {
        let sandbox = story();
        let typed = format!("{typed}\\n");
        let answers = [
            (QUESTION, "n\\n"),
            (OTHERWISE, "pick\\n"),
            ("Which phase?", &typed),
        ];
        let Some(run) = resume(&sandbox, &answers) else {
            return;
        };
        let run = run
            .code(0)
            .stdout_has("Remaining:\n  4 Write Tests (write-tests, waits for write-source)\n");
        run.stdout_has("\n  5 Write Docs (write-docs)\n");
        let state = state(&sandbox);
        assert_eq!(state["current_phase"]["id"], "write-docs");
        let waits = &state["remaining_phases"][0];
        assert_eq!(waits["id"], "write-source", "{state}");
        let data = sandbox.json("workflow status");
        assert_eq!(
            data["phases"][2]["progress"],
            "auth module done, starting billing"
        );
    }
}

#[test]
fn a_pick_that_cannot_begin_changes_nothing() {
    let sandbox = story();
    sandbox.ok("workflow status");
    let before = (
        sandbox.read(FILE),
        sandbox.ok("workflow export --format state").stdout,
    );
    for typed in [
        "write-tests\\n",
        "4\\n",
        "1\\n",
        "0\\n",
        "9\\n",
        "nothing\\n",
        "\\n",
        "",
    ] {
        let answers = [
            (QUESTION, "n\\n"),
            (OTHERWISE, "pick\\n"),
            ("Which phase?", typed),
        ];
        let Some(run) = resume(&sandbox, &answers) else {
            return;
        };
        assert!([3, 4].contains(&run.code), "{typed}\n{run}");
        let after = (
            sandbox.read(FILE),
            sandbox.ok("workflow export --format state").stdout,
        );
        assert_eq!(after, before, "{typed}");
    }
}

#[test]
fn a_pick_that_cannot_begin_is_asked_for_again() {
    let sandbox = story();
    let answers = [
        (QUESTION, "n\\n"),
        (OTHERWISE, "pick\\n"),
        ("Which phase?", "write-tests\\n"),
        ("Which phase?", "9\\n"),
        ("Which phase?", "5\\n"),
    ];
    let Some(run) = resume(&sandbox, &answers) else {
        return;
    };
    assert_eq!(run.code(0).stdout.matches("Which phase?").count(), 3);
    assert_eq!(state(&sandbox)["current_phase"]["id"], "write-docs");
}

#[test]
fn restart_is_asked_for_twice() {
    let sandbox = story();
    sandbox.ok("workflow status");
    let before = sandbox.read(FILE);
    for answer in ["n\\n", "\\n", ""] {
        let Some(run) = resume(
            &sandbox,
            &[(QUESTION, "restart\\n"), ("again? [y/N]", answer)],
        ) else {
            return;
        };
        run.code(4);
        assert_eq!(sandbox.read(FILE), before);
    }
    let run = resume(
        &sandbox,
        &[(QUESTION, "restart\\n"), ("again? [y/N]", "y\\n")],
    )
    .expect("a terminal")
    .code(0);
    assert_eq!(
        runs(&sandbox),
        [
            (false, "pending".to_owned()),
            (true, "abandoned".to_owned())
        ],
        "{run}"
    );
    let state = state(&sandbox);
    assert_eq!(
        (&state["completed_phases"], &state["current_phase"]["id"]),
        (&json!([]), &json!("create-issues"))
    );
    assert_eq!(state["remaining_phases"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_no_answer_changes_nothing() {
    let sandbox = story();
    sandbox.ok("workflow status");
    let before = sandbox.read(FILE);
    let Some(run) = resume(
        &sandbox,
        &[(QUESTION, "maybe\\n"), (QUESTION, "\\n"), (QUESTION, "")],
    ) else {
        return;
    };
    run.code(4).stdout_has("'maybe' is not a valid answer.");
    resume(&sandbox, &[(QUESTION, "n\\n"), (OTHERWISE, "what\\n")])
        .expect("a terminal")
        .code(4);
    resume(&sandbox, &[(QUESTION, "n\\n"), (OTHERWISE, "")])
        .expect("a terminal")
        .code(4);
    assert_eq!(sandbox.read(FILE), before);
    assert_eq!(runs(&sandbox), [(false, "in_progress".to_owned())]);
}

#[test]
fn an_answer_to_a_further_question_may_be_any_of_the_options() {
    let sandbox = story();
    let answers = [(QUESTION, "n\\n"), (OTHERWISE, "\\n"), (OTHERWISE, "")];
    let Some(run) = resume(&sandbox, &answers) else {
        return;
    };
    run.code(4)
        .stdout_has("checkpoint: cancelled; nothing was changed\n");
    let named = [(QUESTION, "n\\n"), (OTHERWISE, "pick:write-docs\\n")];
    resume(&sandbox, &named).expect("a terminal").code(0);
}

/// Documents that are torn, or JSON of another shape.
fn malformed() -> [String; 2] {
    [
        document().to_string()[..200].to_owned(),
        json!({"completed_phases": 3, "remaining_phases": {}}).to_string(),
    ]
}

#[test]
fn a_malformed_file_is_shown_and_left_where_nobody_decides() {
    for (bytes, is_known) in malformed()
        .iter()
        .flat_map(|bytes| [(bytes, false), (bytes, true)])
    {
        let sandbox = story();
        if is_known {
            sandbox.ok("workflow status");
        }
        sandbox.write(FILE, bytes);
        for answer in ["\\n", "n\\n", "y\\n", "what\\n", ""] {
            let Some(run) = resume(&sandbox, &[(MALFORMED, answer)]) else {
                return;
            };
            let run = run
                .code(4)
                .stdout_has("State file is malformed: .claude/pipeline-state.json");
            run.stdout_has(&format!("  | {bytes}\n"));
            assert_eq!(
                (&sandbox.read(FILE), archived(&sandbox).len()),
                (bytes, 0),
                "{answer}"
            );
        }
        for args in [
            &["workflow", "resume"][..],
            &["workflow", "status"],
            &["phase", "done"],
        ] {
            let _ = sandbox.run(args);
            assert_eq!(&sandbox.read(FILE), bytes, "{args:?}");
        }
    }
}

#[test]
fn a_malformed_file_that_is_settled_is_kept_in_the_archive() {
    let cases = [(true, "recover"), (true, "fresh"), (false, "fresh")];
    for (bytes, (is_known, answer)) in malformed()
        .iter()
        .flat_map(|bytes| cases.map(|case| (bytes, case)))
    {
        let sandbox = story();
        if is_known {
            sandbox.ok("workflow status");
        }
        sandbox.write(FILE, bytes);
        let typed = format!("{answer}\\n");
        let mut answers = vec![(MALFORMED, typed.as_str())];
        if is_known && answer == "recover" {
            answers.push((QUESTION, "y\\n"));
        }
        let Some(run) = resume(&sandbox, &answers) else {
            return;
        };
        let done = match (is_known, answer) {
            (true, "recover") => "Wrote .claude/pipeline-state.json from the recorded state",
            _ => "Put .claude/pipeline-state.json aside; what it said is kept as ",
        };
        let run = run.code(0).stdout_has(done);
        assert_eq!(archived(&sandbox), [bytes.as_bytes()], "{run}");
        match (is_known, answer) {
            (true, "recover") => assert_eq!(
                state(&sandbox)["current_phase"]["id"],
                "write-source",
                "{run}"
            ),
            (true, _) => assert_eq!(state(&sandbox)["completed_phases"], json!([]), "{run}"),
            (false, _) => assert!(!sandbox.exists(FILE), "{run}"),
        }
    }
}

#[test]
fn a_malformed_file_without_a_recorded_state_is_left_to_be_mended() {
    for bytes in malformed() {
        let sandbox = story();
        sandbox.write(FILE, &bytes);
        let Some(run) = resume(&sandbox, &[(MALFORMED, "recover\\n")]) else {
            return;
        };
        run.code(6).stdout_has("the file was not changed");
        assert_eq!((&sandbox.read(FILE), archived(&sandbox).len()), (&bytes, 0));
    }
}
