//! `doctor`: what it finds, what it mends, and what it leaves to the user.

use std::fs;

use serde_json::Value;

use crate::bench::Sandbox;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox
}

/// Returns the level and the remedy of the check of a subject.
fn check(data: &Value, subject: &str) -> Option<(String, String)> {
    let checks = data["checks"].as_array().expect("a list");
    let found = checks.iter().find(|check| check["subject"] == subject)?;
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    Some((text("level"), text("remedy")))
}

#[test]
fn a_sound_store_has_no_problem_and_nothing_is_left_behind() {
    let sandbox = project();
    let before = fs::read_dir(sandbox.store()).expect("a store").count();
    let run = sandbox.run(&["doctor", "--json"]).success();
    let data = run.json()["data"].clone();
    assert_eq!(data["problem_count"], 0, "{data}");
    for subject in ["directory", "writing", "store", "file system"] {
        assert_eq!(check(&data, subject).expect(subject).0, "good", "{subject}");
    }
    let after = fs::read_dir(sandbox.store()).expect("a store").count();
    assert_eq!(before, after, "what it tried out is removed");
    sandbox.run(&["doctor"]).success().stdout_has("latest");
}

#[test]
fn where_there_is_no_store_doctor_makes_none() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["doctor", "--fix", "--json"]).success();
    assert_eq!(
        check(&run.json()["data"], "store").expect("a check").0,
        "note"
    );
    assert_eq!(sandbox.status()["exists"], false);
}

#[test]
fn a_damaged_checkpoint_is_a_problem_with_the_command_that_mends_it() {
    let sandbox = project();
    let refs = sandbox.store().join("refs/checkpoints");
    let known = fs::read_dir(&refs)
        .expect("refs")
        .next()
        .expect("a ref")
        .expect("a ref");
    let lost = refs.join("1234567890123456789012345678901234567890");
    fs::write(&lost, "1234567890123456789012345678901234567890\n").expect("a ref");
    assert!(known.path().exists());
    let run = sandbox.run(&["doctor", "--json"]).code(1);
    let (state, remedy) = check(&run.json()["data"], "store").expect("a check");
    assert_eq!(state, "problem");
    assert!(remedy.contains("checkpoint verify --repair"), "{remedy}");
}

#[test]
fn an_empty_stage_is_removed_by_fix_and_one_with_content_is_left_to_the_user() {
    let sandbox = project();
    let (empty, full) = (
        sandbox.root().join(".checkpoint-stage-0123456789abcdef"),
        sandbox.root().join(".checkpoint-stage-fedcba9876543210"),
    );
    fs::create_dir(&empty).expect("a stage");
    let run = sandbox.run(&["doctor", "--json"]).code(1);
    let (state, remedy) = check(&run.json()["data"], "stray files").expect("a check");
    assert_eq!(
        (state.as_str(), remedy.contains("checkpoint doctor --fix")),
        ("problem", true)
    );
    let run = sandbox.run(&["doctor", "--fix", "--json"]).success();
    assert_eq!(
        check(&run.json()["data"], "stray files")
            .expect("a check")
            .0,
        "fixed"
    );
    assert!(!empty.exists());
    fs::create_dir(&full).expect("a stage");
    fs::write(full.join("0"), "kept").expect("a file");
    let run = sandbox.run(&["doctor", "--fix", "--json"]).code(1);
    assert_eq!(
        check(&run.json()["data"], "stray files")
            .expect("a check")
            .0,
        "problem"
    );
    assert_eq!(fs::read_to_string(full.join("0")).expect("a file"), "kept");
}

#[test]
fn an_interrupted_restore_a_hold_and_a_bad_setting_are_named() {
    let sandbox = project();
    sandbox.run(&["hold", "wave"]).success();
    sandbox.write(".checkpoint.toml", "nonsense = 1\n");
    let run = sandbox.run(&["doctor", "--json"]).code(1);
    let data = run.json()["data"].clone();
    assert_eq!(check(&data, "hold").expect("a check").0, "note");
    let (state, remedy) = check(&data, "settings").expect("a check");
    assert_eq!(state, "problem");
    assert!(remedy.contains("checkpoint config"), "{remedy}");
}
