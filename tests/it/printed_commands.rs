//! Every printed command does what it says in each common shell, whatever the names in it are.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::sample::{Draw, is_full};
use crate::bench::{Run, Sandbox, Tree, skipped};

/// Pieces of names, between zeros, that a shell could interpret, some of which would leave a mark if they were run.
const PIECES: &[u8] =
    b"'\0\"\0\\\0\n\0\r\0\t\0\x01\0\x1b[31m\0\x7f\0\xc2\x9b\0\xe2\x80\xae\0\xff\0#\0 \0$\0\
    `\0; touch INJECTED #\0$(touch INJECTED)\0'; touch INJECTED; '\0\
    \\'; touch INJECTED #\0&\0|\0*\0?[a]\0~\0!\0=\0-\0%s\0\\x27\\047\0{a,b}\0gr\xc3\xbcn";
const ROOT: &str = "it's\u{1}'; touch INJECTED #\\";

/// The shells of this machine, each with the words that precede a script.
fn shells() -> Vec<Vec<String>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| {
        std::env::split_paths(&path)
            .map(|dir| dir.join(name))
            .find(|file| file.is_file())
    };
    let wanted = ["dash", "bash", "bash --posix", "zsh", "busybox sh"];
    let shells = wanted.iter().filter_map(|line| {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let Some(program) = found(&words[0]) else {
            skipped(&format!("needs {line}"));
            return None;
        };
        words[0] = program.display().to_string();
        Some(words)
    });
    shells.collect()
}

/// Runs command lines as a script, in a directory that must stay empty.
fn run_in_shell(sandbox: &Sandbox, shell: &[String], lines: &[String]) -> Run {
    let aside = sandbox.top().join("aside");
    sandbox.mkdir(aside.join("empty"));
    let head = "set -e\ncheckpoint() { \"$CHECKPOINT\" \"$@\"; }\n";
    sandbox.write(
        aside.join("script"),
        format!("{head}{}\n", lines.join("\n")),
    );
    let mut command = Command::new(&shell[0]);
    command
        .args(&shell[1..])
        .arg(aside.join("script"))
        .current_dir(aside.join("empty"));
    for (name, value) in sandbox.command(&[], &[]).get_envs() {
        command.env(name, value.expect("a value"));
    }
    command.env("CHECKPOINT", Sandbox::binary());
    let run = Run::of(command);
    assert_eq!(
        std::fs::read_dir(aside.join("empty")).unwrap().count(),
        0,
        "{shell:?} ran more\n{run}"
    );
    assert_eq!(run.code, 0, "{shell:?}\n{run}");
    run
}

/// Different names made of the pieces.
fn names() -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = PIECES.split(|byte| *byte == 0).collect();
    let count = if is_full() { 500 } else { 80 };
    let mut draw = Draw::new();
    let mut some = |most: usize| {
        let count = draw.below(most);
        let pieces = (0..count).map(|_| pieces[draw.below(pieces.len())]);
        pieces.collect::<Vec<_>>().concat()
    };
    // So few that every file system takes the name.
    let name = |number: usize| [&some(7), number.to_string().as_bytes(), &some(4)].concat();
    (0..count).map(name).collect()
}

fn at(sandbox: &Sandbox, name: &[u8]) -> std::path::PathBuf {
    use crate::bench::os::OsStrExt as _;
    sandbox
        .path("names")
        .join(std::ffi::OsStr::from_bytes(name))
}

fn project() -> (Sandbox, Vec<Vec<u8>>) {
    let (sandbox, names) = (Sandbox::rooted_at(ROOT), names());
    for (number, name) in names.iter().enumerate() {
        sandbox.write(at(&sandbox, name), format!("content {number}"));
    }
    (sandbox, names)
}

fn ruin(sandbox: &Sandbox, names: &[Vec<u8>]) {
    for name in names {
        sandbox.write(at(sandbox, name), "ruined");
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

#[cfg(unix)]
#[test]
fn the_commands_of_copies_and_contracts_bring_every_name_back() {
    let (sandbox, names) = project();
    let before = Tree::capture(&sandbox.path("names"));
    let create = "create --type file_backup --copies --scope names --contract --json -r";
    let args: Vec<&str> = create.split(' ').chain([ROOT]).collect();
    let data = sandbox.run(&args).success().data();
    let manifest =
        std::fs::read(Path::new(&text(&data["copies"])).join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let files = manifest["files"].as_array().expect("a list").iter();
    let each: Vec<String> = files.map(|file| text(&file["command"])).collect();
    assert_eq!(each.len(), names.len());
    let anchors = data["contract"]["evidence_anchors"].as_array();
    let anchors = anchors.expect("a list").iter().map(text);
    let command = |anchor: String| anchor.strip_prefix("tool:bash:").map(str::to_owned);
    let commands: Vec<String> = anchors.filter_map(command).collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for shell in shells() {
        for lines in [
            &each,
            &vec![text(&manifest["command"])],
            &vec![text(&data["contract"]["checkpoint"]["restore_command"])],
        ] {
            ruin(&sandbox, &names);
            run_in_shell(&sandbox, &shell, lines);
            Tree::capture(&sandbox.path("names")).assert_is(&before, &format!("{shell:?}"));
        }
        run_in_shell(&sandbox, &shell, &commands);
    }
}

#[cfg(unix)]
#[test]
fn the_hint_of_a_guard_makes_the_checkpoint_that_it_lacks() {
    let (sandbox, names) = project();
    let names = names
        .iter()
        .map(|name| [b"names/", &name[..], b"\0"].concat());
    let file = sandbox.top().join("list");
    sandbox.write(&file, names.collect::<Vec<_>>().concat());
    let scope = format!("@{}", file.display());
    let guard = ["guard", "--json", "--scope", &scope];
    let hint = text(&sandbox.run(&guard).code(4).json()["error"]["hint"]);
    for shell in shells() {
        run_in_shell(&sandbox, &shell, std::slice::from_ref(&hint));
        sandbox.run(&guard).success();
        sandbox.ok("delete --all --yes");
    }
}

#[cfg(unix)]
#[test]
fn the_commands_of_a_history_name_the_paths_that_are_gone() {
    let (sandbox, names) = project();
    let before = Tree::capture(&sandbox.path("names"));
    sandbox.create("before");
    // Fewer than the safety checkpoints that are kept: these are what the later commands name.
    let gone: Vec<&Vec<u8>> = names
        .iter()
        .filter(|name| !name.ends_with(b"\n"))
        .step_by(names.len() / 12)
        .collect();
    let root = shell_quoted(&sandbox.root().display().to_string());
    for shell in shells() {
        for name in &gone {
            sandbox.remove(at(&sandbox, name));
        }
        let found = sandbox.ok("find names -n 1000").stdout;
        let restores = found
            .lines()
            .filter_map(|line| line.strip_prefix("  checkpoint restore "));
        let lines: Vec<String> = restores
            .map(|rest| format!("checkpoint -C {root} restore --yes {rest}"))
            .collect();
        assert_eq!(lines.len(), gone.len(), "{found}");
        run_in_shell(&sandbox, &shell, &lines);
        Tree::capture(&sandbox.path("names")).assert_is(&before, &format!("{shell:?}"));
    }
}

/// Runs a command line as if it was printed in another directory.
fn run_there(sandbox: &Sandbox, shell: &[String], dir: &Path, line: &str) {
    let dir = shell_quoted(&dir.display().to_string());
    let line = format!("cd {dir} && {line} && cd - >/dev/null");
    run_in_shell(sandbox, shell, &[line]);
}

#[test]
fn a_moved_root_and_a_hold_are_named_in_commands_too() {
    for shell in shells() {
        let sandbox = Sandbox::rooted_at(ROOT);
        sandbox.real_clock().write("a", "1").create("one");
        let moved = sandbox.top().join("moved");
        std::fs::rename(sandbox.root(), &moved).unwrap();
        let run = |args: &[&str]| sandbox.run_in(&moved, args);
        let made = run(&["create", "--json", "-r", "two"]).success();
        let said = text(&made.json()["warnings"][0]["message"]);
        let command = said.split(": '").nth(1);
        let command = command.and_then(|rest| rest.strip_suffix("' brings them here"));
        let line = format!("{} --yes", command.expect(&said));
        run_there(&sandbox, &shell, &moved, &line);
        run(&["restore", "one", "--dry-run"]).success();
        run(&["hold", "a'; touch INJECTED #\\"]).success();
        let held = run(&["create", "--json"]).code(4).json();
        run_there(&sandbox, &shell, &moved, &text(&held["error"]["hint"]));
        run(&["create"]).success();
    }
}

#[test]
fn a_state_file_that_is_malformed_is_named_in_commands_too() {
    for shell in shells() {
        let sandbox = Sandbox::new();
        let file = ".claude/checkpoints/a_'; touch INJECTED #\\_20260101_000000.json";
        sandbox.write(file, "{broken");
        let error = sandbox.fails(6, "workflow recover --json").json()["error"].clone();
        let command = text(&error["options"][0]["command_line"]);
        run_there(&sandbox, &shell, sandbox.root(), &command);
        sandbox.fails(3, "workflow recover --json");
    }
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
