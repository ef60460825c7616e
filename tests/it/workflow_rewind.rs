//! `workflow rewind`: goes back to right before a phase began: the files, the state, or both.

use serde_json::Value;

use crate::bench::play::Play as _;
use crate::bench::{Sandbox, Tree};

const REGISTRY: &str = ".claude/checkpoints/t_p_20260324_120000.json";

/// A run whose second phase has begun, with checkpoints made before and after the program knew the
/// file of its profile. Returns the tree and the state right before that phase.
fn story() -> (Sandbox, Tree, Value) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("dir/b", "1")
        .create("before the run");
    sandbox.ok(
        "workflow init --type t --project p --id t_p_20260324_120000 --profile registry \
         --phase one --phase two::one --phase three",
    );
    for args in [&["phase", "start", "one"][..], &["phase", "done"]] {
        sandbox.run(args).success();
    }
    sandbox
        .write("a", "2")
        .chmod("a", 0o755)
        .symlink("link", "a");
    let then = (own(&sandbox), state(&sandbox));
    sandbox.ok("phase start two");
    (sandbox, then.0, then.1)
}

/// All files but that of the profile.
fn own(sandbox: &Sandbox) -> Tree {
    let aside = tempfile::tempdir().unwrap();
    let moved = aside.path().join("state");
    if sandbox.exists(REGISTRY) {
        std::fs::rename(sandbox.path(REGISTRY), &moved).unwrap();
    }
    let tree = sandbox.tree();
    if moved.exists() {
        std::fs::rename(moved, sandbox.path(REGISTRY)).unwrap();
    }
    tree
}

/// The state without times and the count of resumes, which a rewind keeps.
fn state(sandbox: &Sandbox) -> Value {
    let raw = sandbox.ok("workflow export --format state").stdout;
    let mut state: Value = serde_json::from_str(&raw).unwrap();
    strip(&mut state);
    state
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let is_time =
                |key: &str| key.ends_with("_at") || key.ends_with("_ms") || key == "timestamp";
            map.retain(|key, _| !is_time(key) && key != "resume_count");
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

fn ruin(sandbox: &Sandbox) {
    sandbox
        .write("a", "ruined")
        .chmod("a", 0o644)
        .remove("link")
        .remove("dir")
        .write("new/file", "x");
    sandbox.ok("phase progress 'all of it is ruined'");
    sandbox.ok("workflow note --decision 'a bad one'");
    sandbox.ok("workflow note --set key=1");
    sandbox.ok("workflow resume --choose r");
}

fn rewind(sandbox: &Sandbox, args: &[&str]) -> crate::bench::Run {
    sandbox.run(&[&["workflow", "rewind"], args].concat())
}

fn profile_bytes(sandbox: &Sandbox) -> String {
    sandbox.read(REGISTRY)
}

#[test]
fn both_are_as_they_were_and_an_undo_brings_the_files_back() {
    let (sandbox, tree, before) = story();
    ruin(&sandbox);
    let ruined = own(&sandbox);
    rewind(&sandbox, &["two", "--both", "--yes"])
        .success()
        .stdout_has("'checkpoint undo' takes this back");
    assert_eq!(own(&sandbox), tree);
    assert_eq!(state(&sandbox), before);
    let data = sandbox.go("workflow status");
    assert_eq!(
        (&data["resume_count"], &data["current"]),
        (&1.into(), &Value::Null),
        "that it was resumed stays known"
    );
    assert_eq!(sandbox.json_of(REGISTRY)["current_phase"], 2);
    let kept = profile_bytes(&sandbox);
    sandbox.undo().success();
    assert_eq!(own(&sandbox), ruined);
    assert_eq!((state(&sandbox), profile_bytes(&sandbox)), (before, kept));
    sandbox.ok("workflow check");
    sandbox.ok("phase start two");
}

#[test]
fn files_alone_leave_the_state_and_state_alone_the_files() {
    let (sandbox, tree, before) = story();
    ruin(&sandbox);
    let (ruined, moved_on, kept) = (own(&sandbox), state(&sandbox), profile_bytes(&sandbox));
    rewind(&sandbox, &["two", "--files", "--yes"]).success();
    assert_eq!(
        (own(&sandbox), state(&sandbox), profile_bytes(&sandbox)),
        (tree, moved_on, kept)
    );
    sandbox.undo().success();
    rewind(&sandbox, &["two", "--state", "--yes"]).success();
    assert_eq!((own(&sandbox), state(&sandbox)), (ruined, before));
}

#[test]
fn a_run_that_is_complete_can_be_taken_back_to_its_beginning() {
    let (sandbox, ..) = story();
    sandbox.ok("phase done");
    sandbox.ok("phase start three");
    sandbox.ok("phase done");
    assert!(!sandbox.exists(REGISTRY), "it is complete");
    rewind(&sandbox, &["one", "--both", "--yes"]).success();
    let data = sandbox.go("workflow status");
    assert_eq!(
        (&data["status"], &data["percent"]),
        (&"pending".into(), &0.into())
    );
    let registry: Value = serde_json::from_str(&sandbox.read(REGISTRY)).unwrap();
    assert_eq!(
        registry["completed_phases"].as_array().map(Vec::len),
        Some(0)
    );
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn no_restore_changes_the_files_of_a_profile() {
    let (sandbox, ..) = story();
    sandbox.write("a", "3").create("with the files there");
    let kept = profile_bytes(&sandbox);
    for id in sandbox.listed_ids() {
        sandbox.write("a", "an edit");
        sandbox.restore(&id).success();
        assert_eq!(profile_bytes(&sandbox), kept, "{id}");
        sandbox.undo().success();
        assert_eq!(profile_bytes(&sandbox), kept, "the undo of {id}");
    }
}

#[test]
fn a_checkpoint_that_is_gone_is_told() {
    let (sandbox, ..) = story();
    ruin(&sandbox);
    let before = (sandbox.tree(), state(&sandbox));
    let data = sandbox.go("workflow status");
    let id = data["phases"][1]["before_id"].as_str().unwrap().to_owned();
    sandbox.run(&["delete", &id[..8], "--yes"]).success();
    for what in ["--both", "--files"] {
        let run = rewind(&sandbox, &["two", what, "--yes", "--json"]).code(3);
        assert_eq!(run.error_code(), "no_checkpoint", "{run}");
        rewind(&sandbox, &["two", what, "--yes"])
            .code(3)
            .stderr_has(&id[..8])
            .stderr_has("--state");
    }
    assert_eq!((sandbox.tree(), state(&sandbox)), before);
    let run = rewind(&sandbox, &["three", "--both", "--yes"]).code(3);
    run.stderr_has("never started a phase three");
    rewind(&sandbox, &["two", "--yes"]).code(2);
}

#[test]
fn a_phase_without_a_checkpoint_has_no_files_to_go_back_to() {
    let (sandbox, ..) = story();
    sandbox.ok("phase done");
    sandbox.ok("phase start three --no-snapshot");
    rewind(&sandbox, &["three", "--both", "--yes"])
        .code(3)
        .stderr_has("no checkpoint was made before phase three");
    rewind(&sandbox, &["three", "--state", "--yes"]).success();
}

#[test]
fn a_dry_run_and_a_missing_consent_change_nothing() {
    let (sandbox, ..) = story();
    ruin(&sandbox);
    let before = (sandbox.tree(), state(&sandbox), sandbox.listed_ids());
    for (what, said) in [
        ("--both", "Workflow"),
        ("--files", "The files"),
        ("--state", "Workflow"),
    ] {
        rewind(&sandbox, &["two", what, "--dry-run"])
            .success()
            .stdout_has(said)
            .stdout_has("would go back");
        rewind(&sandbox, &["two", what, "--dry-run", "--json"]).success();
        rewind(&sandbox, &["two", what]).code(4);
        assert_eq!(
            (sandbox.tree(), state(&sandbox), sandbox.listed_ids()),
            before,
            "{what}"
        );
    }
}
