//! A plan that was shown, as consent to just this plan.

use serde_json::Value;

use crate::bench::{Run, Sandbox};

/// Variables by which each agent is recognized.
const AGENTS: [&str; 9] = [
    "CLAUDECODE",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "COPILOT_CLI",
    "COPILOT_AGENT",
    "OPENCODE",
    "AI_AGENT",
    "AGENT",
];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("dir/b", "1");
    sandbox.create("first");
    sandbox.write("a", "2");
    sandbox.create("second");
    sandbox.write("a", "3");
    sandbox
}

fn digest(run: &Run) -> String {
    let digest = run.data()["plan_digest"].clone();
    digest.as_str().expect("a digest").to_owned()
}

fn planned(sandbox: &Sandbox, words: &[&str]) -> String {
    digest(
        &sandbox
            .run(&[words, &["--dry-run", "--json"]].concat())
            .success(),
    )
}

#[test]
fn with_agent_restore_plan_an_agent_needs_the_plan_of_a_dry_run() {
    for agent in AGENTS {
        let sandbox = project();
        sandbox
            .user_config("agent_restore = \"plan\"")
            .env(agent, "1");
        let before = sandbox.tree();
        let refused = sandbox.fails(4, "restore first --yes");
        assert!(
            refused
                .stderr
                .contains("checkpoint restore first --dry-run"),
            "{refused}"
        );
        sandbox.tree().assert_is(&before, agent);
        let plan = planned(&sandbox, &["restore", "first"]);
        sandbox
            .run(&["restore", "first", "--plan", &plan, "--yes"])
            .success();
        assert_eq!(sandbox.read("a"), "1");
        sandbox.fails(4, "undo --yes");
        let plan = planned(&sandbox, &["undo"]);
        sandbox.run(&["undo", "--plan", &plan, "--yes"]).success();
        sandbox.fails(4, "redo --yes");
        let plan = planned(&sandbox, &["redo"]);
        sandbox.run(&["redo", "--plan", &plan, "--yes"]).success();
        for more in ["3", "4"] {
            sandbox.write("a", more).create(more);
        }
        sandbox.fails(4, "prune --keep 1 --yes");
        sandbox.ok("prune");
        sandbox.fails(4, "delete first --yes");
        let plan = planned(&sandbox, &["delete", "first"]);
        sandbox
            .run(&["delete", "second", "--plan", &plan, "--yes"])
            .code(4);
        sandbox
            .run(&["delete", "first", "--plan", &plan, "--yes"])
            .code(0);
        let to = sandbox.home().join("elsewhere");
        sandbox
            .run(&["restore", "second", "--to", &to.to_string_lossy()])
            .success();
    }
}

/// Changes the directory.
type Step = fn(&Sandbox);

#[test]
fn a_plan_is_refused_once_anything_has_moved() {
    let changes: &[(&str, Step)] = &[
        ("content", |sandbox| _ = sandbox.write("dir/b", "2")),
        #[cfg(unix)]
        ("mode", |sandbox| _ = sandbox.chmod("dir/b", 0o755)),
        ("new file", |sandbox| _ = sandbox.write("new", "")),
        ("deleted", |sandbox| _ = sandbox.remove("dir/b")),
        ("directory", |sandbox| _ = sandbox.mkdir("empty")),
    ];
    for &(name, change) in changes {
        let sandbox = project();
        let plan = planned(&sandbox, &["restore", "first"]);
        change(&sandbox);
        let before = sandbox.tree();
        let checkpoints = sandbox.listed_ids();
        let words = ["restore", "first", "--plan", &plan, "--yes", "--json"];
        let refused = sandbox.run(&words).code(4);
        assert_eq!(refused.error_code(), "consent_needed", "{name}");
        let message = refused.json()["error"]["message"].clone();
        let now = planned(&sandbox, &["restore", "first"]);
        assert!(
            message.as_str().is_some_and(|text| text.contains(&now)),
            "{name}: {message}"
        );
        sandbox.tree().assert_is(&before, name);
        assert_eq!(sandbox.listed_ids(), checkpoints, "{name}");
        sandbox
            .run(&["restore", "first", "--plan", &now, "--yes"])
            .success();
    }
}

#[test]
fn a_plan_is_of_one_checkpoint_with_its_limits() {
    let sandbox = project();
    let plan = planned(&sandbox, &["restore", "first"]);
    for other in [
        &["restore", "second"][..],
        &["restore", "first", "a"],
        &["restore", "first", "--overlay"],
        &["restore", "first", "--glob", "*"],
    ] {
        sandbox
            .run(&[other, &["--plan", &plan, "--yes"]].concat())
            .code(4);
    }
    assert_eq!(sandbox.read("a"), "3");
}

#[test]
fn without_the_setting_an_agent_restores_as_before() {
    let sandbox = project();
    sandbox.env("CLAUDECODE", "1");
    sandbox.ok("restore first --yes");
    sandbox.ok("undo --yes");
    sandbox.ok("redo --yes");
    sandbox.ok("delete second --yes");
}

#[test]
fn a_person_needs_no_plan_and_a_project_cannot_ask_for_one() {
    let sandbox = project();
    sandbox.user_config("agent_restore = \"plan\"");
    sandbox.ok("restore first --yes");
    let sandbox = project();
    sandbox
        .env("CLAUDECODE", "1")
        .write(".checkpoint.toml", "agent_restore = \"plan\"\n");
    sandbox.ok("restore first --yes");
}

#[test]
fn the_command_that_a_dry_run_prints_carries_out_just_this_plan() {
    let sandbox = project();
    let shown = sandbox.ok("restore first --dry-run -- a");
    let (_, command) = shown
        .stderr
        .split_once("to do exactly this: checkpoint ")
        .expect("a command");
    let words: Vec<&str> = command.trim().split(' ').collect();
    sandbox.run(&words).success();
    assert_eq!(sandbox.read("a"), "1");
    let value: Value = sandbox.json("restore second --yes");
    assert!(value["plan_digest"].is_null(), "{value}");
}

#[test]
fn the_dry_run_that_an_agent_is_told_to_look_at_works_as_printed() {
    let sandbox = project();
    sandbox.ok("restore first --yes");
    sandbox.write("a", "4");
    sandbox.ok("restore second --yes");
    sandbox
        .user_config("agent_restore = \"plan\"")
        .env("AI_AGENT", "1");
    let dir = format!("--dir={}", sandbox.root().display());
    for words in [
        &["rm", "first", "--yes"][..],
        &["restore", "first", "--verify", "--yes"],
        &["restore", "first", "--check", "true", "-y"],
        &["restore", "first", "--check=true", "-y"],
        &["undo", "2", "--yes"],
        &["delete", "--all", "--yes"],
        &["restore", &dir, "first", "--yes", "--", "a"],
    ] {
        let refused = sandbox.run(words).code(4);
        let (_, command) = refused
            .stderr
            .split_once("changed; 'checkpoint ")
            .expect("a command");
        let (command, _) = command.split_once("' shows and names it").expect("its end");
        let command: Vec<&str> = command.split(' ').collect();
        let shown = sandbox.run(&command).success();
        assert!(shown.stderr.contains("plan "), "{shown}");
    }
}

#[test]
fn a_directory_that_is_gone_has_a_plan_too() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("first");
    std::fs::remove_dir_all(sandbox.root()).expect("it can be removed");
    let root = sandbox.root().to_string_lossy().into_owned();
    let plan = planned(&sandbox, &["-C", &root, "restore", "first"]);
    sandbox
        .run(&["-C", &root, "restore", "first", "--plan", &plan, "--yes"])
        .success();
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn a_refused_plan_does_not_make_a_directory_that_is_gone() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("one");
    sandbox.write("a", "2");
    let digest = planned(&sandbox, &["restore", "one"]);
    std::fs::remove_dir_all(sandbox.root()).expect("it can be removed");
    let root = sandbox.root().to_str().expect("UTF-8");
    let args = [
        "-C", root, "restore", "one", "--plan", &digest, "--yes", "--json",
    ];
    let run = sandbox.run(&args).code(4);
    assert_eq!(run.error_code(), "consent_needed");
    assert!(!sandbox.root().exists(), "{run}");
}

#[test]
fn a_setting_in_a_file_that_cannot_be_read_still_asks_for_a_plan() {
    let sandbox = project();
    sandbox
        .user_config("agent_restore = \"plan\"\nkeep = [")
        .env("AGENT", "1");
    sandbox.fails(4, "restore first --yes");
    assert_eq!(sandbox.read("a"), "3");
}
