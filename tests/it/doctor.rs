//! `doctor`: what it finds, what it mends, and what it leaves to the user.

use std::fs;

use serde_json::Value;

use crate::bench::{Run, Sandbox, skipped, strace};
use crate::hook::Agent;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox
}

/// Calls by which a restore moves away what it deletes.
const REMOVALS: &str = "unlink,unlinkat,rename,renameat,renameat2";

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
    for subject in ["directory", "writing", "room", "store"] {
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
    let lost = refs.join("1234567890123456789012345678901234567890");
    fs::write(&lost, "1234567890123456789012345678901234567890\n").expect("a ref");
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
fn a_hold_and_a_bad_setting_are_named() {
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

#[test]
fn what_a_killed_process_lost_is_named_and_put_right_by_fix() {
    let sandbox = project();
    let store = sandbox.store();
    fs::remove_dir_all(store.join("refs")).expect("refs");
    fs::remove_file(store.join("HEAD")).expect("HEAD");
    let data = sandbox.run(&["doctor", "--json"]).success().json()["data"].clone();
    let (level, remedy) = check(&data, "derived").expect("a check");
    assert_eq!(level, "note");
    assert!(remedy.contains("checkpoint doctor --fix"), "{remedy}");
    let data = sandbox.run(&["doctor", "--fix", "--json"]).success().json()["data"].clone();
    assert_eq!(check(&data, "derived"), None, "{data}");
    assert!(store.join("HEAD").exists());
}

#[test]
fn a_restore_that_was_interrupted_is_named_with_both_ways_out() {
    if !strace::available() {
        return;
    }
    let mut killed = (1..60).map(|nth| {
        let sandbox = project();
        for number in 0..5 {
            sandbox.write(format!("new-{number}"), "x");
        }
        strace::kill_at(&sandbox, REMOVALS, nth, &["restore", "first", "--yes"]);
        sandbox
    });
    let is_pending = |sandbox: &Sandbox| !sandbox.status()["pending"].is_null();
    let sandbox = killed
        .find(is_pending)
        .expect("some kill leaves a pending restore");
    let run = sandbox.run(&["doctor", "--json"]).code(1);
    let (level, remedy) = check(&run.json()["data"], "restore").expect("a check");
    assert_eq!(level, "problem");
    for way in ["checkpoint restore --resume", "checkpoint undo"] {
        assert!(remedy.contains(way), "{remedy}");
    }
    sandbox.run(&["undo", "--yes"]).success();
    sandbox.run(&["doctor"]).success();
}

#[cfg(unix)]
#[test]
fn a_store_that_a_sandbox_makes_read_only_is_one_message_with_the_ways_out() {
    let sandbox = project();
    let base = sandbox.home().join(".claude");
    let script = format!(
        "mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}' && exec \"$@\"",
        base.display()
    );
    let wrapper = ["/usr/bin/unshare", "-m", "/bin/sh", "-c", &script, "sh"];
    if Run::of(sandbox.command(&wrapper, &["--version"])).code != 0 {
        skipped("needs unshare and the right to mount");
        return;
    }
    let run = Run::of(sandbox.command(&wrapper, &["doctor", "--fix", "--json"])).code(1);
    let data = run.json()["data"].clone();
    assert_eq!(data["problem_count"], 1, "{data}");
    let (level, remedy) = check(&data, "writing").expect("a check");
    assert_eq!(level, "problem");
    assert!(remedy.contains("CHECKPOINT_HOME"), "{remedy}");
    let folder = format!("let the sandbox write {}", base.display());
    assert!(remedy.starts_with(&folder), "{remedy}");
}

#[test]
fn many_stray_stages_are_one_short_line_and_what_is_no_folder_of_ours_is_left() {
    let sandbox = project();
    for number in 0..1000 {
        let name = format!(".checkpoint-stage-{number:016x}");
        fs::create_dir(sandbox.root().join(name)).expect("a stage");
    }
    let run = sandbox.run(&["doctor"]).code(1).stdout_has("and 999 more");
    assert!(
        run.stdout.lines().all(|line| line.chars().count() < 200),
        "{}",
        run.stdout
    );
    sandbox.run(&["doctor", "--fix"]).success();
    sandbox.write(".checkpoint-stage-0000000000000001", "");
    sandbox
        .run(&["doctor", "--fix"])
        .code(1)
        .stdout_has("by hand");
    assert!(
        sandbox
            .root()
            .join(".checkpoint-stage-0000000000000001")
            .exists()
    );
}

#[test]
fn each_agent_is_looked_at_and_what_is_wrong_with_its_hooks_is_named() {
    let sandbox = project();
    sandbox.write(sandbox.home().join(".gemini/settings.json"), "{}");
    let doctor = || sandbox.run(&["doctor", "--json"]).data();
    let (level, remedy) = check(&doctor(), "gemini").expect("a check");
    assert_eq!(
        (level.as_str(), remedy.contains("setup gemini")),
        ("note", true),
        "{remedy}"
    );
    sandbox
        .run(&["setup", "claude", "codex", "gemini", "--yes"])
        .success();
    let data = doctor();
    for agent in ["claude", "gemini"] {
        assert_eq!(check(&data, agent).expect("a check").0, "good", "{data}");
    }
    let codex = data["checks"].as_array().expect("checks").iter();
    let codex = codex.filter(|check| check["subject"] == "codex");
    assert!(
        codex
            .clone()
            .any(|check| check.to_string().contains("/hooks")),
        "{data}"
    );
    let agent = Agent {
        sandbox: &sandbox,
        name: "claude",
        session: "s",
    };
    agent.prompt("one");
    sandbox
        .run(&["doctor"])
        .success()
        .stdout_has("the last one here");
    let hooks = sandbox
        .home()
        .join(".claude/skills/checkpoint/hooks/hooks.json");
    fs::write(&hooks, "{}").expect("it can be written");
    let run = sandbox.run(&["doctor", "--json"]).code(1);
    assert_eq!(
        check(&run.data(), "claude").expect("a check").0,
        "problem",
        "{run}"
    );
}

#[test]
fn what_was_set_up_for_the_project_alone_is_looked_at_too() {
    let sandbox = project();
    sandbox
        .run(&["setup", "cursor", "--project", "--yes"])
        .success();
    let doctor = || sandbox.run(&["doctor", "--json"]).data();
    let data = doctor();
    assert_eq!(check(&data, "cursor").expect("a check").0, "good", "{data}");
    sandbox
        .run(&["doctor"])
        .success()
        .stdout_has("for this project: ");
    sandbox.write(".cursor/hooks.json", "{}");
    let (level, remedy) = check(&doctor(), "cursor").expect("a check");
    assert_eq!(level, "problem");
    assert!(remedy.contains("setup cursor --project"), "{remedy}");
}

#[cfg(unix)]
#[test]
fn hooks_that_call_another_program_or_stand_twice_are_named_with_their_mend() {
    let sandbox = project();
    let other = crate::setup::linked(&sandbox, "other");
    let claude = sandbox.home().join(".claude");
    for agent in ["claude", "opencode"] {
        crate::setup::run_as(&sandbox, &other, &["setup", agent, "--yes"]).success();
        let run = sandbox.run(&["doctor"]).code(1);
        let calls = format!("calls {}, and this program is", other.display());
        run.stdout_has(&calls)
            .stdout_has(&format!("checkpoint setup {agent}"));
        sandbox.run(&["setup", agent, "--yes"]).success();
        sandbox.run(&["doctor"]).success();
    }
    let plugin = sandbox.read(claude.join("skills/checkpoint/hooks/hooks.json"));
    sandbox.write(claude.join("settings.json"), plugin);
    let run = sandbox.run(&["doctor"]).code(1);
    run.stdout_has("settings.json has hooks of ours beside")
        .stdout_has("checkpoint setup claude");
    sandbox.run(&["setup", "claude", "--yes"]).success();
    sandbox.run(&["doctor"]).success();
    assert!(!claude.join("settings.json").exists());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_small_file_blocks_nobody() {
    let sandbox = project();
    let config = ".config/checkpoint/config.toml";
    let files = [
        config,
        ".codex/hooks.json",
        ".codex/config.toml",
        ".claude/settings.json",
    ];
    for file in files {
        let path = sandbox.home().join(file);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        sandbox.fifo(&path);
    }
    for args in [
        &["doctor"][..],
        &["doctor", "--fix"],
        &["list"],
        &["config"],
        &["setup", "codex", "--print"],
    ] {
        // Whatever it says, it ends: the sandbox limits the time.
        let _ = sandbox.run(args);
    }
    sandbox.run(&["create"]).code(1).stderr_has("config.toml");
}

#[test]
fn the_file_system_is_told_to_keep_names_apart_that_differ_by_case() {
    let sandbox = project();
    let data = sandbox.run(&["doctor", "--json"]).success().data();
    let checks = data["checks"].as_array().expect("a list");
    let named = checks.iter().find(|one| one["subject"] == "file system");
    let named = named.expect("a check");
    sandbox.write("lower-case", "");
    let folds = sandbox.exists("LOWER-CASE");
    let level = if folds { "note" } else { "good" };
    assert_eq!(named["level"], level, "{named}");
}
