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
fn help_uses_the_width_of_the_terminal_up_to_100() {
    let sandbox = Sandbox::new();
    let widest = |columns: &str| {
        sandbox.env("COLUMNS", columns);
        let help = sandbox.ok("create --help").stdout;
        help.lines()
            .map(|line| line.chars().count())
            .max()
            .expect("lines")
    };
    assert!(widest("72") <= 72 && (81..=100).contains(&widest("200")));
}

#[test]
fn without_a_command_it_is_status() {
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z");
    let named = sandbox.ok("status");
    sandbox.at("2026-03-24T12:00:00Z");
    let bare = sandbox.run(&[]).success();
    assert_eq!((bare.stdout, bare.stderr), (named.stdout, named.stderr));
    assert_eq!(sandbox.json("")["root"], sandbox.json("status")["root"]);
}

#[test]
fn a_group_without_a_command_names_its_commands() {
    let sandbox = Sandbox::new();
    for (group, message) in [
        (
            "workflow",
            "workflow needs a command: init, status, next, resume, rewind, note, list, show, …; \
             see 'checkpoint workflow --help'",
        ),
        (
            "phase",
            "phase needs a command: start, progress, done, fail, skip, approve; \
             see 'checkpoint phase --help'",
        ),
        (
            "task",
            "task needs a command: add, start, done, fail, reset, list; see 'checkpoint task --help'",
        ),
    ] {
        for words in [&[group][..], &["--yes", group]] {
            let run = sandbox.run(words).code(2).stdout_is("");
            assert_eq!(run.stderr, format!("checkpoint: {message}\n"));
        }
        assert_eq!(
            sandbox.run(&[group, "--json"]).code(2).error_code(),
            "usage"
        );
    }
    let short = sandbox.ok("workflow -h").stdout;
    let long = sandbox.ok("workflow --help").stdout;
    for command in ["cleanup", "check", "end"] {
        assert!(!short.contains(&format!("  {command}")) && long.contains(&format!("  {command}")));
    }
}

#[test]
fn a_command_with_a_slip_leads_to_the_one_that_is_meant() {
    let sandbox = Sandbox::new();
    for (word, meant) in [
        ("crate", "create"),
        ("creat", "create"),
        ("restor", "restore"),
        ("lsit", "list"),
        ("recover", "restore"),
        ("clean", "prune"),
        ("remove", "delete"),
        ("install", "setup"),
        ("uninstall", "setup"),
        ("hooks", "setup"),
        ("settings", "config"),
        ("view", "show"),
        ("ls-files", "ls"),
        ("snap", "create"),
        ("apply", "restore"),
        ("load", "restore"),
        ("switch", "restore"),
        ("goto", "restore"),
        ("amend", "reword"),
        ("mv", "relink"),
        ("move", "relink"),
        ("heal", "doctor"),
    ] {
        let run = sandbox.run(&[word]).code(2).stdout_is("");
        let said = format!(
            "checkpoint: there is no command '{word}'; did you mean '{meant}'? see 'checkpoint {meant} --help'\n"
        );
        assert_eq!(run.stderr, said);
        // The command that is named can be run.
        sandbox
            .run(&[meant, "--help"])
            .success()
            .stdout_has("Usage:");
    }
    sandbox
        .fails(2, "workflow initt")
        .stderr_has("there is no workflow command 'initt'; did you mean 'init'? see 'checkpoint workflow init --help'");
    let lines: [(&[&str], &str); 17] = [
        (&["forget"], "did you mean 'delete' or 'prune'?"),
        (&["remote", "rm"], "did you mean 'remove'?"),
        (&["remote", "ls"], "did you mean 'list'?"),
        (&["workflow", "ls"], "did you mean 'list'?"),
        (&["list", "--max", "3"], "did you mean '--limit'?"),
        (&["create", "--only", "src"], "did you mean '--scope'?"),
        (&["sync"], "did you mean 'push' or 'fetch'?"),
        (&["get", "f"], "did you mean 'cat'?"),
        (
            &["config", "get", "keep"],
            "'checkpoint config' shows all settings",
        ),
        (
            &["restore", "--include", "a"],
            "'--include' here; --glob takes patterns, and PATHs say what to take",
        ),
        (
            &["zzzzz"],
            "there is no command 'zzzzz'; see 'checkpoint --help'",
        ),
        (&["workflow", "lint"], "did you mean 'check'?"),
        (
            &["list", "--colours"],
            "'--colours' here; see 'checkpoint list --help'",
        ),
        (&["create", "--scope"], "--scope needs a value"),
        (&["prune", "--keep", "0"], "it must be 1 or more"),
        (
            &["config", "set", "color", "x"],
            "'color' is no key of a file; 'checkpoint help configuration'",
        ),
        (&["config", "set", "keep_last", "7"], "did you mean 'keep'?"),
    ];
    for (line, message) in lines {
        sandbox.run(line).code(2).stderr_has(message);
    }
}

#[test]
fn aliases_mean_the_same_command() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.ok("save one");
    sandbox.write("a", "2");
    sandbox.ok("save -m two");
    let log = sandbox.ok("log --json");
    assert_eq!(log.data()["checkpoints"].as_array().expect("rows").len(), 2);
    sandbox.ok("gc");
    sandbox.ok("rm one --yes");
    assert_eq!(sandbox.listed_ids().len(), 1);
    for (alias, command) in [
        ("save", "create"),
        ("log", "list"),
        ("rm", "delete"),
        ("gc", "prune"),
    ] {
        let of_alias = sandbox.run(&[alias, "--help"]).success().stdout;
        let of_command = sandbox.run(&[command, "--help"]).success().stdout;
        assert_eq!(of_alias, of_command);
        assert_eq!(sandbox.run(&["help", alias]).success().stdout, of_command);
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
fn help_of_a_word_of_before_is_that_of_the_command_of_today() {
    let sandbox = Sandbox::new();
    for (words, today) in [
        ("workflow archive", "workflow end"),
        ("workflow lint", "workflow check"),
        ("remote drop", "remote remove"),
        ("plugin emit", "setup"),
        ("recover", "restore"),
    ] {
        let help = |words: &str| {
            let line: Vec<&str> = words.split(' ').collect();
            sandbox.run(&[&["help"], &line[..]].concat()).success()
        };
        help(words).stdout_is(&help(today).stdout);
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

#[test]
fn help_of_another_word_for_a_topic_or_command_is_its_page() {
    let sandbox = Sandbox::new();
    for (words, meant) in [
        ("ignore", "what-is-captured"),
        ("exclude", "what-is-captured"),
        ("secrets", "what-is-captured"),
        ("agent", "agents"),
        ("exit codes", "json"),
        ("exit-codes", "json"),
        ("commit", "create"),
    ] {
        let page = sandbox.run(&["help", meant]).success().stdout;
        let words: Vec<&str> = ["help"].into_iter().chain(words.split(' ')).collect();
        sandbox.run(&words).success().stdout_is(&page);
    }
    for command in ["remote", "mcp"] {
        sandbox.run(&["help", command]).success();
    }
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
            run.stderr.contains(&help::topic_names().join(", ")) && run.stderr.lines().count() == 1,
            "{run}"
        );
    }
    assert_eq!(sandbox.fails(2, "help nope --json").error_code(), "usage");
}

#[test]
fn help_needs_no_home_no_directory_and_no_good_configuration() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = [").unset_env("HOME");
    sandbox
        .ok("help recovery -C /no/such/directory")
        .stdout_has("# Recovery");
}
