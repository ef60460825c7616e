//! Every printed command does what it says in each common shell, whatever the names in it are.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::sample::is_full;
use crate::bench::{Run, Sandbox, Tree, skipped};

/// Pieces of names, between zeros, that a shell could interpret, some of which would leave a mark if they were run.
const PIECES: &[u8] =
    b"'\0\"\0\\\0\n\0\r\0\t\0\x01\0\x1b[31m\0\x7f\0\xc2\x9b\0\xe2\x80\xae\0\xff\0#\0 \0$\0\
    `\0; touch INJECTED #\0$(touch INJECTED)\0'; touch INJECTED; '\0\
    \\'; touch INJECTED #\0&\0|\0*\0?[a]\0~\0!\0=\0-\0%s\0\\x27\\047\0{a,b}\0gr\xc3\xbcn";
/// Upper bound on a name in bytes; every file system takes this.
const LONGEST_NAME: usize = 200;
const ROOT: &str = "it's\u{1}'; touch INJECTED #\\";

/// The shells of this machine, each with the words that precede a script.
fn shells() -> Vec<Vec<String>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| {
        std::env::split_paths(&path)
            .map(|dir| dir.join(name))
            .find(|file| file.is_file())
    };
    let wanted = [
        &["dash"][..],
        &["bash"],
        &["bash", "--posix"],
        &["zsh"],
        &["busybox", "sh"],
    ];
    let shells = wanted.iter().filter_map(|words| {
        let Some(program) = found(words[0]) else {
            skipped(&format!("needs {}", words[0]));
            return None;
        };
        let rest = words[1..].iter().map(|word| (*word).to_owned());
        Some(
            std::iter::once(program.display().to_string())
                .chain(rest)
                .collect(),
        )
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

/// Different names made of the pieces, the same in each run.
fn names() -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = PIECES.split(|byte| *byte == 0).collect();
    let count = if is_full() { 500 } else { 150 };
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let name = |number: usize| {
        let mut name: Vec<u8> = (0..=next(6))
            .flat_map(|_| pieces[next(pieces.len())].to_vec())
            .collect();
        name.truncate(LONGEST_NAME);
        name.extend(format!("{number}").bytes());
        name.extend((0..next(4)).flat_map(|_| pieces[next(pieces.len())].to_vec()));
        name
    };
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
    let args = [
        "create",
        "--type",
        "file_backup",
        "--copies",
        "--scope",
        "names",
        "--contract",
        "--json",
        "-r",
        ROOT,
    ];
    let data = sandbox.run(&args).success().data();
    let manifest =
        std::fs::read(Path::new(&text(&data["copies"])).join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    let each: Vec<String> = manifest["files"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|f| text(&f["command"]))
        .collect();
    assert_eq!(each.len(), names.len());
    let anchors: Vec<String> = data["contract"]["evidence_anchors"]
        .as_array()
        .expect("a list")
        .iter()
        .map(text)
        .collect();
    let commands: Vec<String> = anchors
        .iter()
        .filter_map(|anchor| anchor.strip_prefix("tool:bash:").map(str::to_owned))
        .collect();
    assert_eq!(commands.len(), 3, "{anchors:?}");
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
    let list: Vec<u8> = names
        .iter()
        .flat_map(|name| [b"names/", &name[..], b"\0"].concat())
        .collect();
    let file = sandbox.top().join("list");
    sandbox.write(&file, list);
    let guard = [
        "guard",
        "--json",
        "--scope",
        &format!("@{}", file.display()),
    ];
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

#[test]
fn a_moved_root_and_a_hold_are_named_in_commands_too() {
    for shell in shells() {
        let sandbox = Sandbox::rooted_at(ROOT);
        sandbox.real_clock().write("a", "1").create("one");
        let moved = sandbox.top().join("moved");
        std::fs::rename(sandbox.root(), &moved).unwrap();
        let run = sandbox
            .run_in(&moved, &["create", "--json", "-r", "two"])
            .success();
        let said = text(&run.json()["warnings"][0]["message"]);
        let command = said
            .split(": '")
            .nth(1)
            .and_then(|rest| rest.strip_suffix("' brings them here"))
            .expect(&said);
        let here = shell_quoted(&moved.display().to_string());
        run_in_shell(
            &sandbox,
            &shell,
            &[format!("cd {here} && {command} --yes && cd - >/dev/null")],
        );
        sandbox
            .run_in(&moved, &["restore", "one", "--dry-run"])
            .success();
        sandbox
            .run_in(&moved, &["hold", "a'; touch INJECTED #\\"])
            .success();
        let hint =
            text(&sandbox.run_in(&moved, &["create", "--json"]).code(4).json()["error"]["hint"]);
        run_in_shell(
            &sandbox,
            &shell,
            &[format!("cd {here} && {hint} && cd - >/dev/null")],
        );
        sandbox.run_in(&moved, &["create"]).success();
    }
}

#[test]
fn a_state_file_that_is_malformed_is_named_in_commands_too() {
    for shell in shells() {
        let sandbox = Sandbox::new();
        sandbox.write(
            ".claude/checkpoints/a_'; touch INJECTED #\\_20260101_000000.json",
            "{broken",
        );
        let error = sandbox.fails(6, "workflow recover --json").json()["error"].clone();
        let command = text(&error["options"][0]["command_line"]);
        let here = shell_quoted(&sandbox.root().display().to_string());
        run_in_shell(
            &sandbox,
            &shell,
            &[format!("cd {here} && {command} && cd - >/dev/null")],
        );
        sandbox.fails(3, "workflow recover --json");
    }
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
