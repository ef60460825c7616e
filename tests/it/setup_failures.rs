//! `setup` where a file cannot be written: what was done and what was not is told file by file, and
//! the record says no more than what was done.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::bench::{Run, Sandbox, Tree, strace};

const OTHERS: &str = "{\n  \"hooks\": { \"Stop\": [] }\n}\n";
const RENAMES: &str = "rename,renameat,renameat2";

/// Returns what became of each file of an agent, with its path in the home directory.
fn outcomes(run: &Run, sandbox: &Sandbox, agent: &str) -> Vec<(String, String)> {
    let data = run.data();
    let agents = data["agents"].as_array().expect("agents").iter();
    let mut agents = agents.filter(|one| one["agent"] == agent);
    let files = &agents.next().expect("the agent")["files"];
    let outcome = |file: &Value| {
        let path = Path::new(file["file"].as_str().expect("a path"));
        let path = path.strip_prefix(sandbox.home()).expect("below the home");
        let outcome = file["outcome"].as_str().expect("an outcome");
        assert_eq!(outcome == "failed", file["why"].is_string(), "{file}");
        (path.display().to_string(), outcome.to_owned())
    };
    let files = files.as_array().expect("files").iter();
    files.map(outcome).collect()
}

/// Returns the files that the record holds.
fn recorded(sandbox: &Sandbox) -> Vec<String> {
    let path = sandbox.home().join(".config/checkpoint/setup.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        return Vec::new();
    };
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let files = record["files"].as_object().expect("files").keys();
    let home = format!("{}/", sandbox.home().display());
    files.map(|file| file.replace(&home, "")).collect()
}

#[test]
fn a_write_that_fails_leaves_what_came_before_it_and_no_trace_of_the_rest() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".codex/hooks.json");
    sandbox.write(&hooks, OTHERS);
    // Where a folder should be, there is a file.
    sandbox.write(sandbox.home().join(".codex/rules"), "mine");
    let before = Tree::capture(sandbox.home());
    let args = ["setup", "codex", "gemini", "--yes", "--json"];
    let run = sandbox.run(&args).code(1);
    let told = outcomes(&run, &sandbox, "codex");
    let skills = [
        ".agents/skills/checkpoint/SKILL.md",
        ".agents/skills/resume-workflow/SKILL.md",
    ];
    let expected = [
        (skills[0], "created"),
        (skills[1], "created"),
        (".codex/rules/checkpoint.rules", "failed"),
        (".codex/hooks.json", "failed"),
    ];
    let expected = expected.map(|(file, outcome)| (file.to_owned(), outcome.to_owned()));
    assert_eq!(told, expected);
    let gemini = outcomes(&run, &sandbox, "gemini");
    assert!(gemini.iter().all(|(_, outcome)| outcome == "created"));
    assert_eq!(sandbox.read(&hooks), OTHERS);
    assert!(
        !hooks
            .with_file_name("hooks.json.before-checkpoint")
            .exists()
    );
    let codex = recorded(&sandbox);
    let codex: Vec<_> = codex
        .iter()
        .filter(|file| !file.contains("gemini"))
        .collect();
    assert_eq!(codex, skills.iter().collect::<Vec<_>>());
    let run = sandbox.run(&["setup", "codex", "--yes"]).code(1);
    let lines = run.stdout.lines().filter(|line| line.contains("failed"));
    assert_eq!(lines.count(), 2, "{run}");
    assert!(!run.stdout.contains("changed"), "{run}");
    sandbox.run(&["setup", "--remove", "--yes"]).success();
    assert_eq!(Tree::capture(sandbox.home()), before);
}

#[test]
fn a_removal_that_fails_forgets_what_is_gone_and_goes_on_the_next_time() {
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".codex/hooks.json");
    sandbox.write(&hooks, OTHERS);
    let before = Tree::capture(sandbox.home());
    sandbox.run(&["setup", "codex", "--yes"]).success();
    let all = recorded(&sandbox);
    let remove = ["setup", "codex", "--remove", "--yes", "--json"];
    let run = strace::failing_nth(&sandbox, RENAMES, "EROFS", 1, &remove).code(1);
    let told = outcomes(&run, &sandbox, "codex");
    assert_eq!(told.len(), 4, "{run}");
    assert!(told.iter().all(|(_, outcome)| outcome == "failed"), "{run}");
    assert_eq!(recorded(&sandbox), all);
    let skill = sandbox.home().join(".agents/skills/checkpoint/SKILL.md");
    let run = strace::failing_at_path(&sandbox, &skill, "unlink,unlinkat", "EACCES", "1", &remove);
    let told = outcomes(&run.code(1), &sandbox, "codex");
    let told: Vec<&str> = told.iter().map(|(_, outcome)| outcome.as_str()).collect();
    assert_eq!(told, ["changed", "removed", "removed", "failed"]);
    assert_eq!(sandbox.read(&hooks), OTHERS);
    assert_eq!(recorded(&sandbox), [".agents/skills/checkpoint/SKILL.md"]);
    sandbox.run(&remove).success();
    assert_eq!(Tree::capture(sandbox.home()), before);
}

#[test]
fn settings_that_cannot_be_written_are_named_with_what_was_done_and_the_way_on() {
    if !strace::available() {
        return;
    }
    let cases = [
        ("ENOSPC", "free some space"),
        ("EROFS", "may not write there"),
        ("EACCES", "may not write there"),
        ("EIO", "run: checkpoint setup"),
    ];
    for (error, advice) in cases {
        let sandbox = Sandbox::new();
        let alone = sandbox.home().join(".copilot/hooks/checkpoint.json");
        let args = ["setup", "copilot", "--yes"];
        // The first is that of the record.
        let run = strace::failing_nth(&sandbox, RENAMES, error, 2, &args).code(1);
        let said = format!(
            "nothing of copilot was changed: cannot write {}: ",
            alone.display()
        );
        let run = run.stderr_has(&said).stderr_has(advice);
        let run = run.stderr_has("checkpoint setup copilot --yes");
        for word in ["store", "CHECKPOINT_HOME", "prune", "-tmp-"] {
            assert!(!run.stderr.contains(word), "{run}");
        }
        // The record, two skills and the rules come before the hooks.
        let args = ["setup", "codex", "--yes", "--json"];
        let run = strace::failing_nth(&sandbox, RENAMES, error, 5, &args).code(1);
        let agent = &run.data()["agents"][0];
        let failure = agent["failure"].as_str().expect("a failure");
        let start = "of codex, 3 files are done and 1 not: cannot write ";
        assert!(failure.starts_with(start), "{run}");
        let hint = agent["hint"].as_str().expect("a hint");
        assert!(hint.contains("checkpoint setup codex --yes"), "{run}");
        sandbox.run(&["setup", "codex", "--yes"]).success();
    }
}

#[test]
fn two_at_once_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write(sandbox.home().join(".codex/hooks.json"), OTHERS);
    sandbox.write(sandbox.home().join(".cursor/hooks.json"), OTHERS);
    let before = Tree::capture(sandbox.home());
    let agents = ["codex", "cursor", "gemini", "windsurf", "codex", "cursor"];
    let at_once = |words: &[&str]| {
        let start = |agent: &&str| {
            let mut command = sandbox.command(&[], &[&["setup", agent, "--yes"], words].concat());
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("a process")
        };
        let started: Vec<_> = agents.iter().map(start).collect();
        for child in started {
            Run::ended("setup".to_owned(), child).success();
        }
    };
    at_once(&[]);
    let files = recorded(&sandbox);
    for file in [
        ".codex/hooks.json",
        ".cursor/hooks.json",
        ".gemini/extensions/checkpoint/hooks/hooks.json",
        ".codeium/windsurf/hooks.json",
    ] {
        assert!(files.iter().any(|known| known == file), "{files:?}");
        let text = sandbox.read(sandbox.home().join(file));
        assert!(text.contains(" hook --agent "), "{file}: {text}");
    }
    at_once(&["--remove"]);
    assert_eq!(Tree::capture(sandbox.home()), before);
}

#[test]
fn in_a_project_no_copy_is_left_that_could_be_committed() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.path(".codex/hooks.json");
    sandbox.write(&hooks, OTHERS);
    sandbox
        .run(&["setup", "codex", "--project", "--yes"])
        .success()
        .stdout_has("changed");
    let folder = hooks.parent().expect("a folder");
    let names = folder.read_dir().expect("a folder").map(|entry| {
        let name = entry.expect("an entry").file_name();
        name.to_string_lossy().into_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["hooks.json", "rules"]);
    assert_ne!(sandbox.read(&hooks), OTHERS);
    sandbox
        .run(&["setup", "codex", "--project", "--remove", "--yes"])
        .success();
    assert_eq!(sandbox.read(&hooks), OTHERS);
}
