//! The help of every command: pinned word by word, and the screens that lead to it.

use std::path::{Path, PathBuf};

use checkpoint::cli::parse;
use checkpoint::commands::help;
use clap::Command;

use crate::bench::Sandbox;

/// The words of every command, such as `workflow init`; groups come before their members.
pub fn commands() -> Vec<Vec<String>> {
    fn below(command: &Command, words: &[String], found: &mut Vec<Vec<String>>) {
        for one in command.get_subcommands() {
            let words = [words, &[one.get_name().to_owned()]].concat();
            found.push(words.clone());
            below(one, &words, found);
        }
    }
    let mut found = Vec::new();
    below(&parse::command(), &[], &mut found);
    assert!(found.len() > 55, "only {} commands", found.len());
    found
}

fn snapshot(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/snapshots")
        .join(format!("help-{name}.txt"))
}

fn check(name: &str, words: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.env("COLUMNS", "200");
    let help = sandbox.run(words).success().stdout;
    for line in help.lines() {
        assert!(
            line.chars().count() <= 100,
            "{name}: this line is wider than 100 columns:\n{line}"
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
    check("options", &["help", "options"]);
    check("topics", &["help", "topics"]);
    for words in commands() {
        let mut line: Vec<&str> = words.iter().map(String::as_str).collect();
        line.push("--help");
        check(&words.join("-"), &line);
    }
}

#[test]
fn every_snapshot_belongs_to_a_command() {
    let mut names: Vec<String> = commands().iter().map(|words| words.join("-")).collect();
    names.extend(["checkpoint", "options", "topics"].map(str::to_owned));
    for entry in std::fs::read_dir(snapshot("x").parent().expect("a folder"))
        .into_iter()
        .flatten()
    {
        let name = entry.expect("an entry").file_name().display().to_string();
        let of_help = name
            .strip_prefix("help-")
            .map(|name| name.trim_end_matches(".txt"));
        assert!(
            of_help.is_none_or(|name| names.iter().any(|known| known == name)),
            "{name} belongs to no command"
        );
    }
}

#[test]
fn the_first_screen_fits_on_a_terminal_and_names_each_shown_command_once() {
    let sandbox = Sandbox::new();
    let help = sandbox.ok("--help").stdout;
    assert!(help.lines().count() <= 25, "{}", help.lines().count());
    assert!(
        help.lines().all(|line| line.chars().count() <= 80),
        "{help}"
    );
    let screen = help.split("Every day\n").nth(1).expect("the commands");
    let screen = screen.split("\nSEL is").next().expect("the commands");
    let mut named: Vec<&str> = Vec::new();
    for line in screen.lines() {
        match line.strip_prefix("  ") {
            Some("undo, redo") => {}
            Some(line) if line.starts_with("undo, redo ") => named.extend(["undo", "redo"]),
            Some(line) => named.extend(line.split(' ').next()),
            None => named.extend(
                line.get(14..)
                    .unwrap_or_default()
                    .split("  ")
                    .filter(|word| !word.is_empty()),
            ),
        }
    }
    named.sort_unstable();
    let whole = parse::command();
    let mut shown: Vec<&str> = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(Command::get_name)
        .collect();
    shown.sort_unstable();
    assert_eq!(named, shown);
    for hidden in ["man", "schema", "phase", "task"] {
        assert!(!named.contains(&hidden));
        sandbox
            .run(&[hidden, "--help"])
            .success()
            .stdout_has("Usage:");
    }
    assert_eq!(sandbox.ok("-h").stdout, help);
}

#[test]
fn the_options_of_every_command_stand_on_one_page_that_each_help_names() {
    let sandbox = Sandbox::new();
    let page = sandbox.ok("help options").stdout;
    for option in [
        "-C, --dir",
        "--base",
        "--json",
        "--quiet",
        "--yes",
        "--no-input",
    ] {
        assert!(page.contains(option), "{option}\n{page}");
    }
    for words in commands() {
        let line: Vec<&str> = words.iter().map(String::as_str).collect();
        for flag in ["-h", "--help"] {
            let help = sandbox.run(&[&line[..], &[flag]].concat()).success().stdout;
            assert!(!help.contains("--lock-timeout"), "{help}");
            assert!(help.contains("checkpoint help options"), "{help}");
        }
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
    for words in commands() {
        let line: Vec<&str> = words.iter().map(String::as_str).collect();
        same(
            &[&["help"], &line[..]].concat(),
            &[&line[..], &["--help"]].concat(),
        );
    }
}

#[test]
fn help_of_a_topic_is_its_page_and_one_page_names_all_topics() {
    let sandbox = Sandbox::new();
    let overview = sandbox.ok("help topics").stdout;
    for (topic, title) in help::titles() {
        assert!(overview.contains(topic) && overview.contains(title));
        assert!(
            parse::command().find_subcommand(topic).is_none(),
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
