//! What `setup` writes for each agent; `stories/setup.md` has the rest.

use crate::bench::os::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{Run, Sandbox, Tree, os, skipped, terminal};

pub const AGENTS: [&str; 12] = [
    "claude", "codex", "gemini", "cursor", "copilot", "opencode", "amp", "cline", "windsurf",
    "vscode", "zed", "goose",
];
/// Settings of agents that others write too, by their place in the home directory.
pub const SHARED: [(&str, &str); 3] = [
    ("codex", ".codex/hooks.json"),
    ("cursor", ".cursor/hooks.json"),
    ("windsurf", ".codeium/windsurf/hooks.json"),
];
/// The same in a project.
const SHARED_IN_PROJECT: [(&str, &str); 4] = [
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
    ("windsurf", ".windsurf/hooks.json"),
];
const OTHERS: &str =
    "{\n  // mine\n  \"version\": 1,\n  \"hooks\": { \"enabled\": true, \"Mine\": [] },\n}\n";

/// Returns the program under another name of its path, as an upgrade would leave it.
pub fn linked(sandbox: &Sandbox, folder: &str) -> PathBuf {
    let folder = sandbox.top().join(folder);
    os::installed(Sandbox::binary(), &folder)
}

/// Runs the program by another path.
pub fn run_as(sandbox: &Sandbox, program: &Path, args: &[&str]) -> Run {
    let mut command = Command::new(program);
    let usual = sandbox.command(&[], &[]);
    command.args(args).env_clear().current_dir(sandbox.root());
    for (name, value) in usual.get_envs() {
        command.env(name, value.expect("a value"));
    }
    Run::of(command)
}

/// Each file below a folder, with what changes when it is written.
fn stamps(folder: &Path) -> Vec<(PathBuf, u64, i64, i64)> {
    let files = crate::bench::fixtures::files_below(folder);
    let stamp = |path: PathBuf| {
        let found = path.symlink_metadata().expect("a file");
        let stamp = (found.ino(), found.mtime(), found.mtime_nsec());
        (path, stamp.0, stamp.1, stamp.2)
    };
    files.into_iter().map(stamp).collect()
}

#[test]
fn for_each_agent_twice_is_once_and_removal_leaves_no_trace() {
    for in_project in [false, true] {
        // Goose gets no file.
        for agent in AGENTS.into_iter().filter(|agent| *agent != "goose") {
            let sandbox = Sandbox::new();
            let shared: &[(&str, &str)] = if in_project {
                &SHARED_IN_PROJECT
            } else {
                &SHARED
            };
            let top = if in_project {
                sandbox.root()
            } else {
                sandbox.home()
            };
            for (_, file) in shared {
                sandbox.write(top.join(file), OTHERS);
            }
            let (before, home) = (Tree::capture(top), Tree::capture(sandbox.home()));
            let flag = if in_project { &["--project"][..] } else { &[] };
            let run = |words: &[&str]| sandbox.run(&[&["setup"], words, flag].concat());
            run(&[agent, "--yes"]).success().stdout_has("created");
            let written = stamps(&sandbox.top());
            assert_ne!(Tree::capture(top), before, "{agent}");
            run(&[agent, "--yes"])
                .success()
                .stdout_has("already set up");
            run(&[agent]).success().stdout_has("already set up");
            assert_eq!(
                stamps(&sandbox.top()),
                written,
                "{agent}: nothing is written again"
            );
            run(&["--remove", "--yes"]).success().stdout_has("removed");
            assert_eq!(Tree::capture(top), before, "{agent}");
            assert_eq!(Tree::capture(sandbox.home()), home, "{agent}");
            let again = run(&["--remove", "--yes"]).success();
            assert!(again.stderr.contains("nothing that setup wrote"), "{again}");
        }
    }
}

#[test]
fn each_agent_is_asked_for_at_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write(sandbox.home().join(".gemini/settings.json"), "{}");
    sandbox.write(sandbox.home().join(".codex/config.toml"), "");
    let answers = [
        ("Write this for codex?", "n\\n"),
        ("Write this for gemini?", "y\\n"),
    ];
    let Some(run) = terminal::dialogue(&sandbox, "\"$checkpoint\" setup", &answers) else {
        return;
    };
    let run = run.code(0);
    assert!(run.stdout.contains("codex: left as it is"), "{run}");
    assert!(!sandbox.home().join(".codex/hooks.json").exists());
    let extension = sandbox.home().join(".gemini/extensions/checkpoint");
    assert!(extension.join("gemini-extension.json").is_file());
    let answers = [("Take this back from gemini?", "n\\n")];
    terminal::dialogue(&sandbox, "\"$checkpoint\" setup --remove", &answers)
        .expect("a terminal, as before")
        .code(4);
    assert!(extension.is_dir());
}

#[test]
fn what_others_put_before_and_behind_our_entries_stays() {
    let sandbox = Sandbox::new();
    for (agent, file) in SHARED {
        let path = sandbox.home().join(file);
        sandbox.run(&["setup", agent, "--yes"]).success();
        let mut settings: serde_json::Value =
            serde_json::from_str(&sandbox.read(&path)).expect("JSON");
        let other = serde_json::json!({ "command": "checkpoint", "hooks": [{ "command": "x" }] });
        let events = settings["hooks"].as_object_mut().expect("an object");
        for (at, (_, list)) in events.iter_mut().enumerate() {
            let list = list.as_array_mut().expect("a list");
            let place = if at % 2 == 0 { 0 } else { list.len() };
            list.insert(place, other.clone());
        }
        let count = events.len();
        for text in [settings.to_string(), format!("{settings:#}")] {
            sandbox.write(&path, text);
            sandbox.run(&["setup", agent, "--yes"]).success();
            sandbox.ok("setup --remove --yes");
            let left = sandbox.read(&path);
            let left: serde_json::Value = serde_json::from_str(&left).expect(&left);
            let lists = left["hooks"].as_object().expect("an object").values();
            let expected = serde_json::json!([other]);
            assert_eq!(
                lists.filter(|list| **list == expected).count(),
                count,
                "{left:#}"
            );
        }
    }
}

/// Programs that may stand where the written line calls one.
const STAND_INS: [Option<&str>; 4] = [
    None,
    Some("#!/bin/sh\nexec /bin/false\n"),
    // Version 0.1.0 does not know the command.
    Some("#!/bin/sh\necho \"checkpoint: no command 'hook'\" >&2\nexit 2\n"),
    Some("no program"),
];

#[cfg(unix)]
#[test]
fn each_written_line_ends_well_and_says_nothing_whatever_the_program_is() {
    let sandbox = Sandbox::new();
    let program = linked(&sandbox, "it's \"here\" $HOME");
    for agent in AGENTS {
        run_as(&sandbox, &program, &["setup", agent, "--yes"]).success();
    }
    let mut lines = std::collections::BTreeSet::new();
    for file in crate::bench::fixtures::files_below(sandbox.home()) {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if file.extension().is_some_and(|end| end == "json") {
            let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            collect(&value, &mut lines);
        }
    }
    let calls = lines.iter().filter(|line| line.contains(" hook --agent "));
    assert_eq!(calls.count(), 11, "{lines:?}");
    for stand_in in STAND_INS {
        crate::bench::fixtures::remove(&program);
        if let Some(text) = stand_in {
            sandbox.write(&program, text).chmod(&program, 0o755);
        }
        for line in &lines {
            for shell in ["/bin/sh", "/bin/bash", "/bin/dash"] {
                if !Path::new(shell).exists() {
                    skipped("needs all of sh, bash and dash");
                    continue;
                }
                let mut command = Command::new(shell);
                command
                    .args(["-c", line])
                    .env_clear()
                    .current_dir(sandbox.root());
                let run = Run::of(command).success();
                assert_eq!((&*run.stdout, &*run.stderr), ("", ""), "{shell}: {line}");
            }
        }
    }
}

/// Collects every line for a shell of the kind of sh.
fn collect(value: &serde_json::Value, lines: &mut std::collections::BTreeSet<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match value.as_str() {
            Some(line) if (key == "command" || key == "bash") && line.contains(" hook ") => {
                lines.insert(line.to_owned());
            }
            _ => collect(value, lines),
        }
    }
    for value in value.as_array().into_iter().flatten() {
        collect(value, lines);
    }
}
