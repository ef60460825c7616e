//! `setup`: what it writes for each agent, that twice is once, and that it goes without a trace.

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
fn an_empty_folder_that_was_there_before_stays_when_ours_goes() {
    for (agent, folder) in [
        ("gemini", ".gemini"),
        ("cursor", ".cursor"),
        ("claude", ".claude"),
        ("codex", ".codex"),
    ] {
        let sandbox = Sandbox::new();
        let folder = sandbox.home().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let before = Tree::capture(sandbox.home());
        for _ in 0..2 {
            sandbox.run(&["setup", agent, "--yes"]).success();
            sandbox.run(&["setup", agent, "--yes"]).success();
            sandbox
                .run(&["setup", agent, "--remove", "--yes"])
                .success()
                .stdout_has("removed");
            assert_eq!(Tree::capture(sandbox.home()), before, "{agent}");
        }
    }
}

#[test]
fn an_empty_folder_of_the_user_below_that_of_an_agent_stays_and_ours_go() {
    for (agent, folder) in [
        ("codex", ".codex/rules"),
        ("claude", ".claude/skills"),
        ("gemini", ".gemini/extensions"),
        ("cursor", ".cursor/rules"),
    ] {
        let sandbox = Sandbox::new();
        let other = sandbox.home().join(folder).join("../mine");
        std::fs::create_dir_all(sandbox.home().join(folder)).expect("a folder");
        let empty = Tree::capture(sandbox.home());
        for has_more in [false, true] {
            if has_more {
                std::fs::write(&other, "").expect("a file");
            }
            let before = Tree::capture(sandbox.home());
            sandbox.run(&["setup", agent, "--yes"]).success();
            sandbox
                .run(&["setup", agent, "--remove", "--yes"])
                .success();
            assert_eq!(Tree::capture(sandbox.home()), before, "{agent}");
        }
        std::fs::remove_file(&other).expect("it is there");
        assert_eq!(Tree::capture(sandbox.home()), empty, "{agent}");
    }
}

#[test]
fn without_consent_nothing_is_written_and_the_agents_that_are_here_are_named() {
    let sandbox = Sandbox::new();
    sandbox.run(&["setup"]).code(2).stderr_has("windsurf");
    // The folder of our stores alone does not tell of Claude Code.
    sandbox.create("a store");
    sandbox.run(&["setup"]).code(2).stderr_has("no agent");
    sandbox.write(sandbox.home().join(".claude/settings.json"), "{}");
    sandbox.write(sandbox.home().join(".codex/config.toml"), "");
    let before = Tree::capture(sandbox.home());
    let run = sandbox.run(&["setup"]).code(4).stderr_has("claude, codex");
    assert!(run.stderr.contains("add --yes"), "{run}");
    sandbox
        .run(&["setup", "gemini", "--json"])
        .code(4)
        .stderr_has("gemini");
    let run = sandbox.run(&["setup", "--print"]).success();
    run.stdout_has("hook --agent codex")
        .stdout_has("start a new session");
    let data = sandbox
        .run(&["setup", "all", "--print", "--json"])
        .success()
        .data();
    let agents = data["agents"].as_array().expect("a list");
    assert_eq!(agents.len(), AGENTS.len());
    for file in agents
        .iter()
        .flat_map(|agent| agent["files"].as_array().expect("files"))
    {
        assert!(file["content"].is_string(), "{file}");
    }
    assert_eq!(Tree::capture(sandbox.home()), before);
    sandbox.run(&["setup", "emacs"]).code(2).stderr_has("emacs");
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
fn the_path_by_which_the_program_was_found_is_written_and_not_what_it_links_to() {
    let sandbox = Sandbox::new();
    let (old, new) = (linked(&sandbox, "it's old"), linked(&sandbox, "new"));
    let hooks = sandbox.home().join(".codex/hooks.json");
    let others = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}]}]}}";
    sandbox.write(&hooks, others);
    run_as(&sandbox, &old, &["setup", "codex", "--yes"]).success();
    let text = sandbox.read(&hooks);
    assert!(text.contains("it'\\\\''s old/checkpoint' hook"), "{text}");
    // A program elsewhere takes the entries over where they stand: Codex trusts them by their place.
    run_as(&sandbox, &new, &["setup", "codex", "--yes"]).success();
    let moved = sandbox.read(&hooks);
    let old_path = old.display().to_string().replace('\'', "'\\\\''");
    assert_eq!(moved, text.replace(&old_path, &new.display().to_string()));
    run_as(&sandbox, &new, &["setup", "--remove", "--yes"]).success();
    assert_eq!(sandbox.read(&hooks), others);
    // By its name it is found in PATH.
    sandbox.env("PATH", new.parent().expect("a folder"));
    run_as(
        &sandbox,
        Path::new("/usr/bin/env"),
        &["checkpoint", "setup", "codex", "--yes"],
    )
    .success();
    assert!(
        sandbox
            .read(&hooks)
            .contains(&format!("'{}' hook", new.display()))
    );
}

#[test]
fn only_lines_of_ours_are_taken_out() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".codex/hooks.json");
    let group =
        |line: &str| format!("{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{line}\"}}]}}");
    let others = [
        "checkpoint hook --agent codex",
        "'/opt/checkpoint' hook --agent claude 2>/dev/null; exit 0",
        "'/opt/checkpoint-x' hook --agent codex 2>/dev/null; exit 0",
        "'/opt/checkpoint' hook --agent codex 2>/dev/null; exit 0 # mine",
    ];
    let others = others.map(group).join(",\n    ");
    let text = format!("{{\n  \"hooks\": {{\n    \"Stop\": [\n    {others}\n    ]\n  }}\n}}\n");
    sandbox.write(&hooks, &text);
    sandbox.run(&["setup", "codex", "--yes"]).success();
    sandbox
        .run(&["setup", "codex"])
        .success()
        .stdout_has("already set up");
    sandbox.run(&["setup", "--remove", "--yes"]).success();
    let left = sandbox.read(&hooks);
    assert!(left.contains(&others), "{left}");
    assert!(!left.contains("/debug/checkpoint"), "{left}");
    assert!(
        !sandbox
            .home()
            .join(".codex/rules")
            .join("checkpoint.rules")
            .exists()
    );
}

#[test]
fn what_is_set_up_already_is_printed_too() {
    let sandbox = Sandbox::new();
    sandbox.mkdir(sandbox.home().join(".claude"));
    sandbox.write(sandbox.home().join(".codex/hooks.json"), OTHERS);
    let printed = |agent: &str| {
        let run = sandbox.run(&["setup", agent, "--print"]).success();
        let (_, files) = run.stdout.split_once("\n--- ").expect("a file");
        files.to_owned()
    };
    for agent in ["claude", "codex"] {
        let before = printed(agent);
        sandbox
            .run(&["setup", agent, "--yes"])
            .success()
            .stderr_has("'checkpoint rewind' lists the states to go back to");
        assert_eq!(printed(agent), before);
        let run = sandbox
            .run(&["setup", agent, "--print", "--json"])
            .success();
        let data = run.data();
        let files = data["agents"][0]["files"].as_array().expect("a list");
        for file in files {
            assert_eq!(file["outcome"], "unchanged", "{file}");
            let path = file["file"].as_str().expect("a path");
            assert_eq!(file["content"], sandbox.read(path), "{path}");
        }
    }
}

#[test]
fn an_entry_of_the_version_before_is_brought_up_to_date_where_it_stands() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".codex/hooks.json");
    let old = "{\"type\": \"command\", \"command\": \"'/old/checkpoint' hook --agent codex 2>/dev/null; exit 0\", \"timeout\": 9}";
    let text = format!(
        "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{old}]}}, {{\"hooks\": [{{\"command\": \"a\"}}, {old}]}}], \"Gone\": [{{\"hooks\": [{old}]}}]}}}}"
    );
    sandbox.write(&hooks, text);
    sandbox.run(&["setup", "codex", "--yes"]).success();
    let value: serde_json::Value = serde_json::from_str(&sandbox.read(&hooks)).expect("JSON");
    let stop = value["hooks"]["Stop"].as_array().expect("a list");
    assert_eq!(stop.len(), 2, "{value}");
    assert_eq!(stop[0]["hooks"][0]["timeout"], 5);
    assert_eq!(stop[1]["hooks"].as_array().map(Vec::len), Some(1));
    assert_eq!(value["hooks"].get("Gone"), None);
    sandbox.run(&["setup", "--remove", "--yes"]).success();
    assert_eq!(
        sandbox.read(&hooks),
        "{\"hooks\": {\"Stop\": [ {\"hooks\": [{\"command\": \"a\"}]}]}}"
    );
}

#[test]
fn links_and_modes_of_shared_files_stay_and_the_first_change_leaves_a_copy() {
    let sandbox = Sandbox::new();
    let (real, link) = (
        sandbox.top().join("dotfiles/hooks.json"),
        sandbox.home().join(".cursor/hooks.json"),
    );
    sandbox
        .write(&real, OTHERS)
        .chmod(&real, 0o640)
        .symlink(&link, &real);
    sandbox.run(&["setup", "cursor", "--yes"]).success();
    assert!(link.is_symlink() && sandbox.read(&real).contains("hook --agent cursor"));
    let copy = link.with_file_name("hooks.json.before-checkpoint");
    assert_eq!(sandbox.read(&copy), OTHERS);
    for file in [&real, &copy] {
        assert_eq!(crate::bench::fixtures::mode_of(file), 0o640);
    }
    let entries = real
        .parent()
        .expect("a folder")
        .read_dir()
        .expect("entries")
        .count();
    assert_eq!(
        entries, 1,
        "nothing is left beside the file that is linked to"
    );
    sandbox.run(&["setup", "--remove", "--yes"]).success();
    assert!(link.is_symlink() && !copy.exists());
    assert_eq!(sandbox.read(&real), OTHERS);
    assert_eq!(crate::bench::fixtures::mode_of(&real), 0o640);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_edited_is_left_alone_and_named_and_others_go_on() {
    let sandbox = Sandbox::new();
    let hooks = sandbox.home().join(".codex/hooks.json");
    let cases = [
        "{",
        "[]",
        "null",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": {}}}",
        "{'hooks': {}}",
        "{\"hooks\": {}, \"hooks\": {}}",
        "{\"a\": 1 \"b\": 2}",
        "not JSON",
    ];
    for text in cases {
        sandbox.write(&hooks, text);
        let run = sandbox.run(&["setup", "codex", "gemini", "--yes"]).code(1);
        run.stdout_has("left").stdout_has("hooks.json");
        assert_eq!(sandbox.read(&hooks), text);
        assert!(
            sandbox
                .home()
                .join(".gemini/extensions/checkpoint/hooks/hooks.json")
                .exists()
        );
        sandbox.run(&["setup", "--remove", "--yes"]).success();
        assert_eq!(sandbox.read(&hooks), text);
        assert!(!sandbox.home().join(".gemini/extensions").exists());
    }
    std::fs::write(&hooks, b"{\"a\": \"\xff\"}").expect("a file");
    sandbox
        .run(&["setup", "codex", "--yes"])
        .code(1)
        .stdout_has("not UTF-8");
    crate::bench::fixtures::remove(&hooks);
    sandbox.fifo(&hooks);
    sandbox
        .run(&["setup", "codex", "--yes"])
        .code(1)
        .stdout_has("not a regular file");
}

#[test]
fn a_file_of_ours_that_the_user_changed_and_a_folder_of_the_user_are_left_and_named() {
    let sandbox = Sandbox::new();
    let plugin = sandbox.home().join(".claude/skills/checkpoint");
    sandbox.write(plugin.join("SKILL.md"), "mine");
    let run = sandbox.run(&["setup", "claude", "--yes"]).code(1);
    run.stdout_has("not ours");
    assert_eq!(Tree::capture(&plugin).nodes.len(), 2);
    crate::bench::fixtures::remove(&plugin);
    sandbox.run(&["setup", "claude", "--yes"]).success();
    let skill = plugin.join("skills/checkpoint/SKILL.md");
    let text = sandbox.read(&skill) + "and mine\n";
    sandbox.write(&skill, &text);
    sandbox
        .run(&["setup", "claude", "--yes"])
        .code(1)
        .stdout_has("SKILL.md");
    sandbox
        .run(&["setup", "--remove", "--yes"])
        .code(1)
        .stdout_has("by hand");
    assert_eq!(sandbox.read(&skill), text);
    assert!(!plugin.join("hooks").exists(), "what calls us is gone");
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
            sandbox.run(&["setup", "--remove", "--yes"]).success();
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

#[test]
fn without_a_home_the_way_out_is_named() {
    let sandbox = Sandbox::new();
    sandbox.unset_env("HOME");
    sandbox
        .run(&["setup", "codex", "--yes"])
        .code(1)
        .stderr_has("HOME");
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

#[test]
fn the_plugin_is_written_for_others_with_the_program_that_they_name() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["setup", "claude", "--into", "new/plugin"])
        .success();
    let hooks = sandbox.read("new/plugin/hooks/hooks.json");
    let own = format!("'{}' hook --agent claude", Sandbox::binary().display());
    assert!(hooks.contains(&own), "{hooks}");
    sandbox
        .run(&["setup", "claude", "--into", "new/plugin"])
        .code(4)
        .stderr_has("not empty");
    sandbox
        .run(&[
            "setup",
            "claude",
            "--into",
            "other",
            "--program",
            "checkpoint",
        ])
        .success();
    let hooks = sandbox.read("other/hooks/hooks.json");
    assert!(
        hooks.contains("\"'checkpoint' hook --agent claude"),
        "{hooks}"
    );
    // A path is named from everywhere; its links stay, as an upgrade changes what they point to.
    sandbox.symlink("bin", Sandbox::binary().parent().expect("a folder"));
    for (folder, typed) in [("a", "./bin/checkpoint"), ("b", "bin/checkpoint")] {
        sandbox
            .run(&["setup", "claude", "--into", folder, "--program", typed])
            .success();
        let hooks = sandbox.read(format!("{folder}/hooks/hooks.json"));
        let absolute = sandbox.path("bin/checkpoint");
        let call = format!("\"'{}' hook --agent claude", absolute.display());
        assert!(hooks.contains(&call), "{hooks}");
    }
    for wrong in ["rm -rf", "/bin/git"] {
        sandbox
            .run(&["setup", "claude", "--into", "x", "--program", wrong])
            .code(2)
            .stderr_has(wrong);
    }
    sandbox
        .run(&["setup", "codex", "--into", "x"])
        .code(2)
        .stderr_has("setup claude --into");
    assert!(sandbox.exists("other/skills/resume-workflow/SKILL.md"));
    assert!(!sandbox.exists("x"));
}

#[cfg(unix)]
#[test]
fn every_command_that_a_skill_names_is_one() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["setup", "claude", "--into", "plugin"])
        .success();
    sandbox.write("src/main.rs", "1");
    for skill in ["checkpoint", "resume-workflow"] {
        let text = sandbox.read(format!("plugin/skills/{skill}/SKILL.md"));
        assert!(text.starts_with(&format!("---\nname: {skill}\ndescription: ")));
        let keys = text.split("---").nth(1).expect("a head").lines().skip(1);
        assert_eq!(keys.count(), 2, "other agents know no other keys");
        let lines = text.lines().filter(|line| line.starts_with("checkpoint "));
        for line in lines {
            let script = line.replacen("checkpoint", "\"$PROGRAM\" --no-input", 1);
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &script]).current_dir(sandbox.root());
            for (name, value) in sandbox.command(&[], &[]).get_envs() {
                command.env(name, value.expect("a value"));
            }
            let run = Run::of({
                command.env("PROGRAM", Sandbox::binary());
                command
            });
            assert_ne!(run.code, 2, "{line}\n{run}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_a_project_does_not_lead_its_settings_elsewhere() {
    for agent in ["claude", "cursor", "codex", "gemini"] {
        let sandbox = Sandbox::new();
        let elsewhere = sandbox.top().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("a directory");
        sandbox.symlink(format!(".{agent}"), &elsewhere);
        let run = sandbox.run(&["setup", agent, "--project", "--yes"]);
        let printed = format!("{}{}", run.stdout, run.stderr);
        assert!(printed.contains("leads out of the project"), "{run}");
        let names = std::fs::read_dir(&elsewhere).expect("it is there").count();
        assert_eq!(names, 0, "{agent}");
    }
}
