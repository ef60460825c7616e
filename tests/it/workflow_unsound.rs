//! Unsound runs resumed without a terminal: the program is told all that a user would be told, and
//! nothing goes on unless it says so.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::bench::play::{EXECUTION, PHASES, PIPELINE, Play as _};

const AT: &str = "2026-03-24T12:00:00Z";

fn phases(current: &str, completed: &[(&str, &str)]) -> Value {
    let entry = |(phase, output): &(&str, &str)| json!({"output": output, "phase": phase, "completed_at": "2026-03-24T11:00:00Z"});
    json!({
        "interruption_safe": true, "phase_status": "in_progress", "current_phase": current,
        "completed_phases": completed.iter().map(entry).collect::<Vec<_>>(), "user_checkpoints": [],
        "last_updated": "2026-03-24T11:30:00Z", "started_at": "2026-03-24T10:00:00Z", "workflow_id": "wf-42",
    })
}

fn with(document: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(PHASES, document.to_string()).at(AT);
    sandbox
}

/// A run in its fourth phase with none done before, begun eight days ago.
fn unsound() -> Sandbox {
    let mut document = phases("IMPLEMENTATION", &[]);
    document["started_at"] = "2026-03-16T12:00:00Z".into();
    document["last_updated"] = "2026-03-16T13:00:00Z".into();
    with(&document)
}

fn codes(findings: &Value) -> Vec<&str> {
    findings
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["code"].as_str().unwrap())
        .collect()
}

#[test]
fn a_program_is_told_all_that_a_person_would_be_told() {
    let sandbox = unsound();
    let run = sandbox.fails(4, "workflow resume --json");
    let error = run.json()["error"].clone();
    assert_eq!(error["code"], "decision_needed");
    let detail = &error["detail"];
    assert_eq!(
        detail["question"],
        "State appears corrupted. Start fresh? [y/N]"
    );
    assert_eq!(
        (&detail["valid"], codes(&detail["errors"])),
        (&json!(false), vec!["out_of_order"])
    );
    assert_eq!(codes(&detail["remarks"]), ["stale", "idle"]);
    assert_eq!(error["run"]["updated_at"], "2026-03-16T13:00:00.000Z");
    assert!(
        detail["next"]["words"].is_string() && detail["drift"].is_null(),
        "{run}"
    );
    let told = sandbox.fails(4, "workflow resume");
    let told = told
        .stderr_has("State appears corrupted. Start fresh? [y/N]\n")
        .stderr_has("wrong: ");
    let told = told
        .stderr_has("it was started 8 d ago")
        .stderr_has("nothing has happened in it for 7 d");
    told.stderr_has("Resume workflow from IMPLEMENTATION? [Y/n]")
        .stderr_has("--choose y --anyway");
    assert_eq!(
        sandbox
            .fails(4, "workflow resume -q")
            .stderr
            .lines()
            .count(),
        1
    );
    let next = sandbox.json("workflow next");
    assert_eq!(
        (codes(&next["errors"]), codes(&next["remarks"])),
        (vec!["out_of_order"], vec!["stale", "idle"])
    );
}

#[test]
fn a_run_that_is_not_sound_is_gone_on_with_only_where_that_is_said() {
    let sandbox = unsound();
    for answer in ["y", "pick:VERIFICATION"] {
        let before = sandbox.ok("workflow export --format state").stdout;
        let run = sandbox
            .run(&["workflow", "resume", "--choose", answer, "--json"])
            .code(4);
        assert_eq!(run.error_code(), "unsound", "{run}");
        assert_eq!(
            codes(&run.json()["error"]["detail"]["errors"]),
            ["out_of_order"]
        );
        assert_eq!(sandbox.cmd("workflow export --format state").stdout, before);
    }
    sandbox
        .fails(4, "workflow resume --choose y")
        .stderr_has("wrong: ")
        .stderr_has("--anyway");
    let data = sandbox.json("workflow resume --choose y --anyway");
    assert_eq!(
        (&data["done"], &data["valid"]),
        (&json!("resumed"), &json!(false))
    );
    assert_eq!(codes(&data["remarks"]), ["stale", "idle"]);
    let sandbox = unsound();
    let run = sandbox.ok("workflow resume --choose y --anyway");
    run.stderr_has("wrong: ")
        .stderr_has("it was started 8 d ago")
        .stdout_has("Next: ");
    unsound().ok("workflow resume --choose n");
}

#[test]
fn a_run_that_was_left_alone_for_a_day_says_so() {
    for (now, expected) in [
        ("2026-03-25T11:29:50Z", &[][..]),
        ("2026-03-25T11:30:00Z", &["idle"]),
        ("2026-03-31T10:00:00Z", &["stale", "idle"]),
    ] {
        let sandbox = with(&phases("REQUIREMENTS", &[]));
        let data = sandbox.at(now).fails(4, "workflow resume --json").json();
        assert_eq!(
            codes(&data["error"]["detail"]["remarks"]),
            expected,
            "{now}"
        );
        let data = sandbox.at(now).json("workflow resume --choose y");
        assert_eq!(
            (&data["valid"], codes(&data["remarks"])),
            (&json!(true), expected.to_vec()),
            "{now}"
        );
    }
}

#[test]
fn what_changed_and_what_would_be_mended_is_told_too() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").at(AT);
    sandbox.go("workflow init --id w --phase one --profile pipeline");
    sandbox.go("phase start");
    sandbox.go("task add t --output out.json");
    sandbox.go("task start t");
    sandbox.write("a", "2");
    let run = sandbox.fails(4, "workflow resume --json");
    let detail = run.json()["error"]["detail"].clone();
    assert_eq!(
        (&detail["drift"]["changes"], &detail["drift"]["phase_id"]),
        (
            &json!([{"path": "a", "path_hex": null, "change": "modified"}]),
            &json!("one")
        ),
        "{run}"
    );
    assert!(
        detail["recover"][0]
            .as_str()
            .is_some_and(|what| what.contains("task t")),
        "{run}"
    );
    assert_eq!(detail["question"], "Resume from \"One\"? (y/n/restart)");
    let run = sandbox
        .fails(4, "workflow resume")
        .stderr_has("1 file changed since one began");
    let run = run
        .stderr_has("to recover: task t was running")
        .stderr_has("Resume from \"One\"? (y/n/restart)\n");
    run.stderr_has("Pipeline: One\n");
    let run = sandbox.ok("workflow resume --choose y");
    run.stderr_has("1 file changed since one began")
        .stderr_has("recovered: task t was running");
}

#[test]
fn a_write_that_was_cut_off_is_a_question_and_no_dead_end() {
    let document = || {
        let mut document = phases("REQUIREMENTS", &[]);
        document["interruption_safe"] = false.into();
        document
    };
    let sandbox = with(&document());
    let before = sandbox.read(PHASES);
    assert_eq!(
        codes(&sandbox.fails(6, "workflow check --json").data()["errors"]),
        ["interrupted_write"]
    );
    sandbox
        .ok("workflow status")
        .stderr_has("interruption_safe is false");
    assert_eq!(
        sandbox.read(PHASES),
        before,
        "its writer may still be at it"
    );
    assert_eq!(
        sandbox
            .fails(4, "workflow resume --choose y --json")
            .error_code(),
        "unsound"
    );
    sandbox.ok("workflow resume --choose y --anyway");
    assert_eq!(sandbox.json_of(PHASES)["interruption_safe"], true);
    sandbox.ok("workflow check");
    let sandbox = with(&document());
    sandbox.ok("workflow status");
    sandbox.edit(PHASES, |file| file["interruption_safe"] = true.into());
    sandbox.ok("workflow check");
    let sandbox = with(&document());
    sandbox.ok("workflow resume --choose n");
    assert_eq!(sandbox.json_of(PHASES)["completed_phases"], json!([]));
    assert_ne!(sandbox.json_of(PHASES)["workflow_id"], "wf-42");
}

#[test]
fn a_phase_that_is_complete_and_in_progress_contradicts_itself() {
    let mut document = phases(
        "REQUIREMENTS",
        &[("REQUIREMENTS", "memory/reports/demand.json")],
    );
    let sandbox = with(&document);
    sandbox.write("memory/reports/demand.json", "{}");
    let data = sandbox.fails(6, "workflow check --json").data();
    assert_eq!(codes(&data["errors"])[0], "done_and_under_way");
    document["completed_phases"] = json!([]);
    sandbox.write(PHASES, document.to_string());
    sandbox.ok("workflow check");
    assert_eq!(
        sandbox.json_of(PHASES)["completed_phases"],
        json!([]),
        "what is done again is not complete"
    );
}

#[test]
fn a_skipped_phase_is_not_listed_as_finished() {
    for (profile, path) in [
        ("phases", PHASES),
        ("pipeline", PIPELINE),
        ("registry", ".claude/checkpoints/t_p_20260324_120000.json"),
    ] {
        let sandbox = Sandbox::new();
        let plan = ["--phase", "a", "--phase", "b::a", "--phase", "c::b"];
        let words = [
            &[
                "workflow",
                "init",
                "--id",
                "t_p_20260324_120000",
                "--profile",
                profile,
            ],
            &plan[..],
        ]
        .concat();
        sandbox.at(AT).step(&words);
        sandbox.go("phase start a");
        sandbox.go("phase done a");
        let skipped = sandbox.ok("phase skip b");
        assert!(
            skipped.stdout.contains("1 of 3 phases done, 1 skipped"),
            "{skipped}"
        );
        let id = |entry: &Value| match profile {
            "phases" => entry["phase"].clone(),
            "pipeline" => entry["id"].clone(),
            _ => entry.clone(),
        };
        let file = sandbox.json_of(path);
        let done: Vec<Value> = file["completed_phases"]
            .as_array()
            .unwrap()
            .iter()
            .map(id)
            .collect();
        let first = if profile == "registry" {
            json!(1)
        } else {
            json!("a")
        };
        assert_eq!(done, [first], "{profile}: {file}");
        let next = if profile == "registry" {
            json!(3)
        } else {
            json!("c")
        };
        let current = &file["current_phase"];
        assert_eq!(
            current.get("id").unwrap_or(current),
            &next,
            "{profile}: {file}"
        );
        // A write by another program does not revive it: a skipped phase stays skipped.
        sandbox.edit(path, |file| file["updated_by"] = "me".into());
        let stands = sandbox.stands();
        assert_eq!(
            (&stands["phases"][1]["status"], &stands["current"]),
            (&json!("skipped"), &Value::Null),
            "{profile}"
        );
        sandbox.go("phase start c");
        let stands = sandbox.go("phase done c");
        assert_eq!(
            (&stands["status"], &stands["completed"]),
            (&json!("complete"), &json!(["a", "c"])),
            "{profile}"
        );
    }
    let sandbox = Sandbox::new();
    sandbox.go("workflow init --id w --phase a --phase b");
    sandbox.ok("phase skip a");
    let shown = sandbox.ok("workflow status");
    shown
        .stdout_has("Remaining (1 phase):\n  · Phase 2: B\n\nSkipped (1 phase):\n  - Phase 1: A\n");
}

#[test]
fn a_phase_that_is_advanced_by_hand_past_a_skipped_one_leaves_it_skipped() {
    let sandbox = Sandbox::new();
    let plan = [
        "--phase",
        "a",
        "--phase",
        "b::a",
        "--phase",
        "c::b",
        "--profile",
        "phases",
    ];
    sandbox
        .at(AT)
        .step(&[&["workflow", "init", "--id", "w"], &plan[..]].concat());
    sandbox.go("phase start a");
    sandbox.go("phase done a");
    sandbox.go("phase skip b");
    sandbox.edit(PHASES, |file| {
        let entry = json!({"phase": "c", "completed_at": "2026-03-24T12:10:00Z"});
        file["completed_phases"].as_array_mut().unwrap().push(entry);
        file["phase_status"] = "complete".into();
    });
    let stands = sandbox.stands();
    assert_eq!(
        (&stands["status"], &stands["phases"][1]["status"]),
        (&json!("complete"), &json!("skipped"))
    );
    assert_eq!(stands["completed"], json!(["a", "c"]));
}

#[test]
fn each_command_of_workflows_says_what_it_does() {
    let help = Sandbox::new().ok("workflow --help").stdout;
    assert!(!help.contains("Which run"), "{help}");
    for (command, words) in [
        ("check", "Check the plan,"),
        ("end", "End a run and archive it"),
    ] {
        let line = help
            .lines()
            .find(|line| line.trim_start().starts_with(&format!("{command} ")));
        assert!(
            line.is_some_and(|line| line.contains(words)),
            "{command}\n{help}"
        );
    }
}

#[test]
fn three_hundred_phases_are_advised_on_in_a_few_lines() {
    let phases: Vec<Value> = (0..300)
        .map(|at| json!({"id": format!("phase {at}"), "name": format!("№ {at}")}))
        .collect();
    let sandbox = Sandbox::new();
    sandbox
        .write("plan.json", json!({"phases": phases}).to_string())
        .at(AT);
    sandbox.go("workflow init --profile pipeline --plan plan.json");
    let run = sandbox.fails(4, "workflow resume --choose n");
    assert!(run.stderr.len() < 2_000, "{run}");
    let run = sandbox
        .fails(3, "phase start nope")
        .stderr_has("and 290 more");
    assert!(run.stderr.len() < 2_000, "{run}");
}

#[test]
fn a_phase_that_is_named_before_its_turn_is_found_whatever_word_stands_beside_it() {
    for (current, status) in [
        ("REFLECTION", "pending"),
        ("IMPLEMENTATION", "complete"),
        ("VERIFICATION", "todo"),
    ] {
        let mut document = phases(current, &[]);
        document["phase_status"] = status.into();
        let sandbox = with(&document);
        let run = sandbox.fails(6, "workflow check --json");
        assert_eq!(
            codes(&run.data()["errors"]),
            ["out_of_order"],
            "{current} {status}"
        );
        assert_eq!(
            run.data()["errors"][0]["place"],
            format!("phases.{current}"),
            "{run}"
        );
    }
    for (current, status) in [
        ("REQUIREMENTS", "pending"),
        ("ARCHITECTURE", "complete"),
        ("ARCHITECTURE", "pending"),
    ] {
        let done = [("REQUIREMENTS", "memory/reports/demand.json")];
        let mut document = phases(
            current,
            if current == "REQUIREMENTS" {
                &[]
            } else {
                &done
            },
        );
        document["phase_status"] = status.into();
        let sandbox = with(&document);
        sandbox.write("memory/reports/demand.json", "{}");
        sandbox.ok("workflow check");
    }
}

#[test]
fn a_last_change_before_the_beginning_is_told_of_the_field_that_says_it() {
    let mut document = phases("REQUIREMENTS", &[]);
    document["last_updated"] = "2020-01-01T00:00:00Z".into();
    let registered = json!({
        "checkpoint_id": "t_p_20260324_100000", "workflow_type": "t", "workflow_description": "d",
        "created_at": "2026-03-24T10:00:00Z", "updated_at": "2020-01-01T00:00:00Z", "status": "in_progress",
        "current_phase": 1, "total_phases": 2, "completed_phases": [], "workflow_state": {}, "last_error": null,
    });
    let path = ".claude/checkpoints/t_p_20260324_100000.json";
    for (path, document, key, answer) in [
        (PHASES, document, "last_updated", "y"),
        (path, registered, "updated_at", "r"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(path, document.to_string()).at(AT);
        let run = sandbox.fails(6, "workflow check --json");
        let errors = run.data()["errors"].clone();
        assert_eq!(
            (codes(&errors), &errors[0]["place"]),
            (vec!["time_unlikely"], &json!(key)),
            "{run}"
        );
        sandbox
            .run(&["workflow", "resume", "--choose", answer, "--anyway"])
            .success();
        sandbox.ok("workflow check");
    }
}

const DONE: [(&str, &str); 2] = [
    ("REQUIREMENTS", "memory/reports/demand.json"),
    ("ARCHITECTURE", "memory/reports/final_design.json"),
];

fn with_done(current: &str) -> Sandbox {
    let sandbox = with(&phases(current, &DONE));
    for (_, output) in DONE {
        sandbox.write(output, "{}");
    }
    sandbox
}

#[test]
fn a_phase_that_is_none_of_the_five_is_found_and_does_not_end_the_run() {
    let sandbox = with_done("IMPLEMENTATON");
    let errors = sandbox.fails(6, "workflow check --json").data()["errors"].clone();
    assert_eq!(
        (codes(&errors), &errors[0]["place"]),
        (vec!["unknown_phase"], &json!("phases.IMPLEMENTATON"))
    );
    let what = errors[0]["what"].as_str().unwrap();
    let named = "'IMPLEMENTATON', which is none of REQUIREMENTS, ARCHITECTURE, IMPLEMENTATION, VERIFICATION, REFLECTION;";
    assert!(what.contains(named), "{what}");
    assert_eq!(
        sandbox
            .fails(4, "workflow resume --choose y --json")
            .error_code(),
        "unsound"
    );
    // What was done under its id is not what the five still need.
    let stands = sandbox.go("phase done");
    assert_eq!(
        (&stands["status"], &stands["remaining"][0]),
        (&json!("in_progress"), &json!("IMPLEMENTATION"))
    );
    sandbox
        .fails(6, "workflow check")
        .stderr_has("IMPLEMENTATON");
}

#[test]
fn a_name_that_is_mended_or_skipped_leaves_nothing_behind() {
    let sandbox = with_done("IMPLEMENTATON");
    sandbox.fails(6, "workflow check");
    sandbox.edit(PHASES, |file| {
        file["current_phase"] = "IMPLEMENTATION".into();
    });
    sandbox.ok("workflow check");
    let stands = sandbox.stands();
    assert_eq!(
        (
            &stands["current"],
            stands["phases"].as_array().unwrap().len()
        ),
        (&json!("IMPLEMENTATION"), 5)
    );
    let sandbox = with_done("IMPLEMENTATON");
    sandbox.ok("phase skip IMPLEMENTATON");
    sandbox.ok("workflow check");
    assert_eq!(sandbox.json_of(PHASES)["current_phase"], "IMPLEMENTATION");
    let sandbox = with_done("IMPLEMENTATON");
    sandbox.ok("workflow resume --choose n");
    sandbox.ok("workflow check");
    assert_eq!(sandbox.stands()["phases"].as_array().unwrap().len(), 5);
}

#[test]
fn a_phase_is_known_in_small_letters_and_stays_written_in_them() {
    let sandbox = with(&phases(
        "implementation",
        &[("Requirements", DONE[0].1), ("architecture", DONE[1].1)],
    ));
    for (_, output) in DONE {
        sandbox.write(output, "{}");
    }
    let written = sandbox.read(PHASES);
    sandbox.ok("workflow check");
    assert_eq!(sandbox.read(PHASES), written);
    let stands = sandbox.stands();
    assert_eq!(
        (
            &stands["current"],
            stands["phases"].as_array().unwrap().len()
        ),
        (&json!("IMPLEMENTATION"), 5)
    );
    sandbox.write(EXECUTION, json!({"tasks": []}).to_string());
    sandbox.go("phase done");
    let file = sandbox.json_of(PHASES);
    let done = file["completed_phases"].as_array().unwrap().iter();
    let names: Vec<&str> = done.map(|entry| entry["phase"].as_str().unwrap()).collect();
    assert_eq!(
        (names, &file["current_phase"]),
        (
            vec!["Requirements", "architecture", "IMPLEMENTATION"],
            &json!("VERIFICATION")
        )
    );
}

#[test]
fn the_phases_of_a_plan_of_ones_own_are_known_in_the_file_of_the_five() {
    let sandbox = Sandbox::new();
    let plan = [
        "--phase",
        "build",
        "--phase",
        "Ship::build",
        "--profile",
        "phases",
    ];
    sandbox
        .at(AT)
        .step(&[&["workflow", "init", "--id", "w"], &plan[..]].concat());
    sandbox.go("phase start");
    sandbox.ok("workflow check");
    sandbox.edit(PHASES, |file| file["current_phase"] = "bild".into());
    sandbox
        .fails(6, "workflow check")
        .stderr_has("'bild', which is none of build, Ship;");
    sandbox.edit(PHASES, |file| file["current_phase"] = "BUILD".into());
    sandbox.ok("workflow check");
}
