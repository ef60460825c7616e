//! The help of every command: pinned word by word, and never wider than 80 columns.

use std::path::{Path, PathBuf};

use crate::bench::Sandbox;

const COMMANDS: [&str; 23] = [
    "create",
    "list",
    "show",
    "diff",
    "cat",
    "find",
    "restore",
    "undo",
    "redo",
    "bisect",
    "guard",
    "hold",
    "release",
    "delete",
    "pin",
    "unpin",
    "prune",
    "verify",
    "relink",
    "status",
    "config",
    "completions",
    "man",
];

fn snapshot(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots").join(format!("help-{name}.txt"))
}

fn check(name: &str, args: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.env("COLUMNS", "200");
    let help = sandbox.run(args).success().stdout;
    assert!(help.contains("Usage:"), "{name}: this is no help:\n{help}");
    for line in help.lines() {
        assert!(line.chars().count() <= 80, "{name}: this line is wider than 80 columns:\n{line}");
        assert_eq!(line.trim_end(), line, "{name}: a line ends with blanks");
    }
    let path = snapshot(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        std::fs::write(&path, &help).expect("a snapshot can be written");
    }
    let pinned = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(help, pinned, "{name}: the help differs from {}; UPDATE_SNAPSHOTS=1 pins it anew", path.display());
}

#[test]
fn the_help_of_every_command_is_pinned() {
    check("checkpoint", &["--help"]);
    for command in COMMANDS {
        check(command, &[command, "--help"]);
    }
}

#[test]
fn the_help_names_every_command() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["--help"]).success().stdout;
    for command in COMMANDS {
        assert!(help.contains(command), "{command} is not in the help");
    }
}

#[test]
fn every_snapshot_belongs_to_a_command() {
    for entry in std::fs::read_dir(snapshot("x").parent().expect("a folder")).into_iter().flatten() {
        let name = entry.expect("an entry").file_name().display().to_string();
        let command = name.trim_start_matches("help-").trim_end_matches(".txt");
        assert!(command == "checkpoint" || COMMANDS.contains(&command), "{name} belongs to no command");
    }
}
