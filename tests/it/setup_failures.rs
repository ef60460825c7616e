//! `setup` where a file cannot be written, or was moved, edited or owned by others meanwhile: what was
//! done is told file by file, and what is theirs stays.

use crate::bench::os::{MetadataExt as _, chown};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::bench::{Run, Sandbox, Tree, given, skipped, strace};

const OTHERS: &str = "{\n  \"hooks\": { \"Mine\": [] }\n}\n";
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

#[test]
fn a_removal_that_fails_goes_on_the_next_time() {
    given!(if strace::available());
    for text in [OTHERS, "{}\n"] {
        let sandbox = Sandbox::new();
        let hooks = sandbox.home().join(".codex/hooks.json");
        sandbox.write(&hooks, text);
        let before = Tree::capture(sandbox.home());
        sandbox.ok("setup codex --yes");
        let remove = ["setup", "codex", "--remove", "--yes", "--json"];
        let run = strace::failing_nth(&sandbox, RENAMES, "EROFS", 1, &remove).code(1);
        let told = outcomes(&run, &sandbox, "codex");
        let outcomes_of = |told: &[(String, String)]| -> Vec<String> {
            told.iter().map(|(_, outcome)| outcome.clone()).collect()
        };
        assert_eq!(outcomes_of(&told), ["failed"; 5], "{run}");
        // The copy and three files go before the last one.
        let run = strace::failing_nth(&sandbox, "unlink,unlinkat", "EACCES", 5, &remove);
        let told = outcomes(&run.code(1), &sandbox, "codex");
        assert_eq!(
            outcomes_of(&told),
            ["changed", "removed", "removed", "removed", "failed"]
        );
        assert_eq!(sandbox.read(&hooks), text);
        sandbox.run(&remove).success();
        assert_eq!(Tree::capture(sandbox.home()), before);
    }
}

#[test]
fn settings_that_cannot_be_written_are_named_with_what_was_done_and_the_way_on() {
    given!(if strace::available());
    let cases = [
        ("ENOSPC", "free some space"),
        ("EROFS", "may not write there"),
        ("EACCES", "may not write there"),
        ("EIO", "run: checkpoint setup"),
    ];
    for (error, advice) in cases {
        let sandbox = Sandbox::new();
        let alone = sandbox.home().join(".copilot/mcp-config.json");
        let args = ["setup", "copilot", "--yes"];
        let run = strace::failing_nth(&sandbox, RENAMES, error, 1, &args).code(1);
        let said = format!(
            "nothing of copilot was changed: cannot write {}: ",
            alone.display()
        );
        let run = run.stderr_has(&said).stderr_has(advice);
        let run = run.stderr_has("checkpoint setup copilot --yes");
        for word in ["store", "CHECKPOINT_HOME", "prune", "-tmp-"] {
            assert!(!run.stderr.contains(word), "{run}");
        }
        // Two skills and the rules come before the server and the hooks, each with its folder.
        let args = ["setup", "codex", "--yes", "--json"];
        let run = strace::failing_nth(&sandbox, RENAMES, error, 7, &args).code(1);
        let error = run.json()["error"].clone();
        let failure = error["message"].as_str().expect("a failure");
        let start = "of codex, 3 files are done and 2 not: cannot write ";
        assert!(failure.starts_with(start), "{run}");
        let hint = error["hint"].as_str().expect("a hint");
        assert!(hint.contains("checkpoint setup codex --yes"), "{run}");
        sandbox.ok("setup codex --yes");
    }
}

#[test]
fn settings_that_cannot_be_read_are_named_and_stay() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".codex/hooks.json");
    sandbox.write(&hooks, OTHERS);
    let before = Tree::capture(sandbox.home());
    sandbox.ok("setup codex --yes");
    let copy = hooks.with_file_name("hooks.json.before-checkpoint");
    let skill = sandbox.home().join(".agents/skills/checkpoint/SKILL.md");
    let texts = || [&hooks, &copy, &skill].map(|path| sandbox.read(path));
    let written = texts();
    for (path, error, words) in [
        (&hooks, "EIO", "-v"),
        (&hooks, "EACCES", "--remove"),
        (&skill, "EROFS", "--remove"),
        (&copy, "EIO", "--remove"),
    ] {
        let args = ["setup", "codex", "--yes", words];
        let run = strace::failing_at_path(&sandbox, path, "openat", error, "1", &args).code(1);
        run.stdout_has(&format!("left     {}: ", path.display()));
        sandbox.ok("setup codex --yes");
        assert_eq!(texts(), written, "{}", path.display());
    }
    sandbox.ok("setup codex --remove --yes");
    assert_eq!(Tree::capture(sandbox.home()), before);
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
    for file in [
        ".codex/hooks.json",
        ".cursor/hooks.json",
        ".gemini/extensions/checkpoint/hooks/hooks.json",
        ".codeium/windsurf/hooks.json",
    ] {
        let text = sandbox.read(sandbox.home().join(file));
        assert!(text.contains(" hook --agent "), "{file}: {text}");
    }
    at_once(&["--remove"]);
    assert_eq!(Tree::capture(sandbox.home()), before);
}

#[test]
fn two_users_at_once_in_a_project_lose_nothing() {
    let sandbox = Sandbox::new();
    let before = Tree::capture(&sandbox.top());
    for words in [&[][..], &["--remove"]] {
        let start = |number: usize| {
            let args = ["setup", "cursor", "codex", "gemini", "--project", "--yes"];
            let mut command = sandbox.command(&[], &[&args, words].concat());
            command.env("HOME", sandbox.home().join(number.to_string()));
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("a process")
        };
        let started: Vec<_> = (0..6).map(start).collect();
        for child in started {
            Run::ended("setup".to_owned(), child).success();
        }
    }
    assert_eq!(Tree::capture(&sandbox.top()), before);
}

#[test]
fn under_root_a_file_and_its_copy_stay_their_owners() {
    if !crate::bench::os::is_root() {
        skipped("needs root");
        return;
    }
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".cursor/hooks.json");
    sandbox.write(&hooks, OTHERS).chmod(&hooks, 0o640);
    chown(&hooks, Some(1234), Some(1235)).expect("root may");
    let is_theirs = |file: &Path| {
        let found = file.metadata().expect("a file");
        let owner = (found.uid(), found.gid(), found.mode() & 0o777);
        assert_eq!(owner, (1234, 1235, 0o640), "{}", file.display());
    };
    sandbox.ok("setup cursor --yes");
    is_theirs(&hooks);
    is_theirs(&hooks.with_file_name("hooks.json.before-checkpoint"));
    sandbox.ok("setup --remove --yes");
    is_theirs(&hooks);
    assert_eq!(sandbox.read(&hooks), OTHERS);
}

#[test]
fn a_version_of_ours_goes_with_our_hooks_unless_others_came_to_need_it() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".cursor/hooks.json");
    for text in [
        "{ \"mine\": 1 }\n",
        "{ \"hooks\": { \"mine\": [] }, \"version\": 1 }\n",
    ] {
        sandbox.write(&hooks, text);
        sandbox.ok("setup cursor --yes");
        sandbox.write(&hooks, format!("// later\n{}", sandbox.read(&hooks)));
        sandbox.ok("setup --remove --yes");
        assert_eq!(sandbox.read(&hooks), format!("// later\n{text}"));
    }
    sandbox.write(&hooks, "{ \"hooks\": {} }\n");
    sandbox.ok("setup cursor --yes");
    let mut settings: Value = serde_json::from_str(&sandbox.read(&hooks)).expect("JSON");
    let stop = settings["hooks"]["stop"].as_array_mut().expect("a list");
    stop.push(serde_json::json!({ "command": "theirs" }));
    sandbox.write(&hooks, settings.to_string());
    sandbox.ok("setup --remove --yes");
    let left: Value = serde_json::from_str(&sandbox.read(&hooks)).expect("JSON");
    let expected = serde_json::json!({
        "hooks": { "stop": [{ "command": "theirs" }] },
        "version": 1,
    });
    assert_eq!(left, expected);
}

/// Runs a script that may replace `/etc` for itself; `None` where that is not permitted.
fn with_managed_settings(sandbox: &Sandbox, script: &str) -> Option<Run> {
    let start = "mount -t tmpfs none /etc || exit 99; mkdir -p /etc/claude-code/managed-settings.d";
    let script = format!("{start}\nm=/etc/claude-code/managed-settings.json\n{script}");
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", &script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        skipped("needs the right to mount");
        return None;
    }
    Some(run.success())
}

#[cfg(unix)]
#[test]
fn where_plugins_are_forbidden_the_hooks_go_into_the_settings_and_back() {
    let sandbox = Sandbox::new();
    let settings = sandbox.home().join(".claude/settings.json");
    sandbox.write(&settings, "{\n  // mine\n  \"model\": \"x\"\n}\n");
    let before = Tree::capture(sandbox.home());
    let script = r#"
        "$0" setup claude --yes
        echo '{"blockedMarketplaces": [{"source": "skills-dir"}]}' > /etc/claude-code/managed-settings.d/1.json
        "$0" doctor > d || true; ! grep twice d; grep -q 'setup claude' d
        "$0" setup claude --yes
        grep -q 'hook --agent claude' "$HOME/.claude/settings.json"
        ! test -e "$HOME/.claude/skills/checkpoint/hooks"
        "$0" setup claude | grep 'already set up'
        rm /etc/claude-code/managed-settings.d/1.json
        "$0" setup claude --yes
        ! grep 'hook --agent' "$HOME/.claude/settings.json"
        test -e "$HOME/.claude/skills/checkpoint/hooks/hooks.json"
        ! test -e "$HOME/.claude/skills/checkpoint/SKILL.md"
        echo '{"allowManagedHooksOnly": true}' > $m
        "$0" doctor > d || true; grep -q 'setup claude --remove' d
        "$0" setup --remove --yes
        code=0; "$0" setup claude --yes > d || code=$?; echo "forbidden $code"
        grep "$m: its allowManagedHooksOnly" d"#;
    let run = given!(with_managed_settings(&sandbox, script));
    let said = "blockedMarketplaces in /etc/claude-code/managed-settings.d/1.json";
    let run = run.stdout_has(said).stdout_has("forbidden 1");
    assert_eq!(Tree::capture(sandbox.home()), before, "{run}");
}
