//! The help of every command: pinned word by word, and at most 80 columns wide.

use std::path::{Path, PathBuf};

use checkpoint::cli::parse;
use checkpoint::view::topics;

use crate::bench::Sandbox;

const COMMANDS: [&str; 25] = [
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
    "schema",
    "help",
];

fn snapshot(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/snapshots")
        .join(format!("help-{name}.txt"))
}

fn check(name: &str, args: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.env("COLUMNS", "200");
    let help = sandbox.run(args).success().stdout;
    assert!(help.contains("Usage:"), "{name}: this is no help:\n{help}");
    for line in help.lines() {
        assert!(
            line.chars().count() <= 80,
            "{name}: this line is wider than 80 columns:\n{line}"
        );
        assert_eq!(line.trim_end(), line, "{name}: a line ends with blanks");
    }
    let path = snapshot(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        std::fs::write(&path, &help).expect("a snapshot can be written");
    }
    let pinned = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        help,
        pinned,
        "{name}: the help differs from {}; UPDATE_SNAPSHOTS=1 pins it anew",
        path.display()
    );
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
    for entry in std::fs::read_dir(snapshot("x").parent().expect("a folder"))
        .into_iter()
        .flatten()
    {
        let name = entry.expect("an entry").file_name().display().to_string();
        let command = name.trim_start_matches("help-").trim_end_matches(".txt");
        assert!(
            command == "checkpoint" || COMMANDS.contains(&command),
            "{name} belongs to no command"
        );
    }
}

#[test]
fn help_without_a_word_or_with_that_of_a_command_is_the_help_of_it() {
    let sandbox = Sandbox::new();
    let same = |words: &[&str], help: &[&str]| {
        let expected = sandbox.run(help).success().stdout;
        sandbox.run(words).success().stdout_is(&expected);
    };
    same(&["help"], &["--help"]);
    same(
        &["help", "workflow", "init"],
        &["workflow", "init", "--help"],
    );
    for command in COMMANDS {
        same(&["help", command], &[command, "--help"]);
    }
}

#[test]
fn help_of_a_topic_is_its_page_and_the_help_names_all_topics() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["--help"]).success().stdout;
    let topics_of_help = help
        .split("Topics of 'checkpoint help TOPIC': ")
        .nth(1)
        .expect("a line with the topics");
    let named: Vec<&str> = topics_of_help
        .split([',', ' ', '\n'])
        .filter(|word| !word.is_empty())
        .collect();
    assert_eq!(named, topics::names());
    for (topic, title) in topics::titles() {
        assert!(
            parse::command_name(topic).is_none(),
            "{topic} is a command as well"
        );
        let run = sandbox.run(&["help", topic]).success();
        assert!(
            run.stdout.starts_with(&format!("# {title}\n")) && run.stderr.is_empty(),
            "{run}"
        );
        assert_eq!(
            sandbox.run(&["help", topic, "--json"]).success().data()["text"],
            run.stdout
        );
    }
    assert!(!sandbox.base().exists(), "help made a store");
}

#[test]
fn help_of_an_unknown_word_is_wrong_usage_and_names_the_topics() {
    let sandbox = Sandbox::new();
    for words in [&["nope"][..], &["workflow", "nope"], &["recovery", "init"]] {
        let run = sandbox
            .run(&[&["help"], words].concat())
            .code(2)
            .stdout_is("");
        let run = run.stderr_has(&format!(
            "'{}' is neither a command nor a topic",
            words.join(" ")
        ));
        assert!(
            run.stderr.contains(&topics::names().join(", ")) && run.stderr.lines().count() == 1,
            "{run}"
        );
    }
    assert_eq!(
        sandbox
            .run(&["help", "nope", "--json"])
            .code(2)
            .error_code(),
        "usage"
    );
}

#[test]
fn help_needs_no_home_no_directory_and_no_good_configuration() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = [").unset_env("HOME");
    sandbox
        .run(&["help", "recovery", "-C", "/no/such/directory"])
        .success()
        .stdout_has("# Recovery");
}
