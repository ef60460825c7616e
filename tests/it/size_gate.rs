//! The size gate: too many files make no checkpoint and no failure, once for a session.

use crate::bench::Sandbox;

fn with_files(count: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    add(&sandbox, count, |at| format!("d{}/f{at}", at % 3));
    sandbox
}

fn add(sandbox: &Sandbox, count: usize, name: impl Fn(usize) -> String) {
    for at in 0..count {
        sandbox.write(name(at), "1");
    }
}

fn skipped(sandbox: &Sandbox, args: &[&str]) -> bool {
    let data = sandbox
        .run(&[&["create", "--json"], args].concat())
        .success()
        .data();
    let skipped = data["skipped"] == "too_many_files";
    assert_eq!(skipped, data["id"].is_null(), "{data}");
    assert_eq!(skipped, data["short"].is_null(), "{data}");
    skipped
}

#[test]
fn over_the_limit_nothing_is_made_and_the_sentence_is_said() {
    let sandbox = with_files(7);
    let run = sandbox.ok("create --max-files 3").stdout_is("");
    let mut lines = run.stderr.lines();
    let sentence = "Directory has >3 files — checkpoints disabled for performance.";
    assert!(
        lines.next().is_some_and(|line| line.ends_with(sentence)),
        "{run}"
    );
    assert!(
        lines.next().is_some_and(|line| line.contains("d0")),
        "the largest folders are named\n{run}"
    );
    assert_eq!(sandbox.listed().len(), 0);
}

#[test]
fn with_require_a_script_stops_where_no_checkpoint_holds_the_present_state() {
    let sandbox = with_files(7);
    let over = ["create", "--require", "--max-files", "3"];
    let run = sandbox.run(&over).code(4).stdout_is("");
    run.stderr_has("Directory has >3 files — checkpoints disabled for performance.\n")
        .stderr_has("; --max-files N raises the limit\n")
        .stderr_has("checkpoint: no checkpoint holds the present state; --max-files N");
    let run = sandbox.run(&[&over[..], &["--json"]].concat()).code(4);
    assert_eq!(run.error_code(), "not_recorded");
    let answer = run.json();
    assert_eq!(answer["data"]["skipped"], "too_many_files", "{answer}");
    let quiet = sandbox.run(&[&over[..], &["-q"]].concat()).code(4);
    quiet.stderr_has("no checkpoint holds the present state");
    sandbox.env("CHECKPOINT_DISABLE", "1");
    let run = sandbox.fails(4, "create --require").stdout_is("");
    run.stderr_has("CHECKPOINT_DISABLE is set");
    sandbox.env("CHECKPOINT_DISABLE", "");
    // What was made, or is equal, holds it; what holds a part of it is another code.
    let made = || {
        sandbox.at("2026-03-24T12:00:00Z");
        let run = sandbox.cmd("create --require -m x");
        run.success().stdout
    };
    assert_eq!(made(), made());
    sandbox.ok("hold x --for 1h");
    sandbox.fails(4, "create --require").stdout_is("");
}

#[test]
fn the_default_limit_is_written_with_a_comma() {
    let sandbox = with_files(1001);
    let run = sandbox.ok("create --max-files 1000");
    run.stderr_has("Directory has >1,000 files — checkpoints disabled for performance.");
}

#[test]
fn exactly_the_limit_passes_and_zero_is_no_limit() {
    let sandbox = with_files(3);
    assert!(!skipped(&sandbox, &["--max-files", "3"]));
    sandbox.write("one-more", "1");
    assert!(skipped(&sandbox, &["--max-files", "3"]));
    assert!(!skipped(&sandbox, &["--max-files", "0"]));
}

#[test]
fn only_what_would_be_captured_counts() {
    let sandbox = with_files(3);
    add(&sandbox, 50, |at| format!("node_modules/m{at}"));
    assert!(!skipped(&sandbox, &["--max-files", "3"]));
}

#[test]
fn a_session_that_began_under_the_limit_goes_on() {
    let sandbox = with_files(3);
    sandbox.env("CLAUDE_CODE_SESSION_ID", "one");
    assert!(!skipped(&sandbox, &["--max-files", "3"]));
    sandbox.write("more/a", "1").write("more/b", "1");
    assert!(!skipped(&sandbox, &["--max-files", "3"]));
    assert!(skipped(&sandbox, &["--max-files", "3", "--session", "two"]));
    assert!(
        skipped(&sandbox, &["--max-files", "4"]),
        "another limit asks again"
    );
}

#[test]
fn a_session_that_began_over_the_limit_stays_out() {
    let sandbox = with_files(5);
    assert!(skipped(&sandbox, &["--max-files", "3", "--session", "one"]));
    sandbox.remove("d0").remove("d1");
    assert!(skipped(&sandbox, &["--max-files", "3", "--session", "one"]));
    let other = ["--max-files", "3", "--session", "two"];
    assert!(!skipped(&sandbox, &other));
}

#[test]
fn without_a_session_each_create_counts() {
    let sandbox = with_files(5);
    assert!(skipped(&sandbox, &["--max-files", "3"]));
    sandbox.remove("d0");
    assert!(!skipped(&sandbox, &["--max-files", "3"]));
}

#[test]
fn force_and_safety_checkpoints_pass_the_gate() {
    let sandbox = with_files(3);
    sandbox.user_config("max_files = 3\n");
    let id = sandbox.create("small");
    add(&sandbox, 5, |at| format!("big/{at}"));
    let before = sandbox.tree();
    assert!(skipped(&sandbox, &[]));
    sandbox.restore(&id).success();
    assert!(!sandbox.exists("big"));
    sandbox.undo().success();
    sandbox.tree().assert_is(&before, "after undo");
    assert!(!skipped(&sandbox, &["--force"]));
}
