//! Advice that the program prints: every command line is accepted by the program, and every option
//! belongs to the command for which it is named.

use std::collections::BTreeSet;
use std::ffi::OsString;

use checkpoint::cli::command_list::{AnyCommand, DirCommand};
use checkpoint::cli::parse;
use serde_json::Value;

use crate::bench::{Run, Sandbox};
use crate::help::commands;
use crate::source;
use crate::wrong_usage::pasted;

/// Sentences that name options outside a command line, each after the commands that print it. After
/// OTHERS are those that are no advice: options of other programs, and those in manuals and lists.
const SENTENCES: &str = include_str!("hints.txt");
/// Commands with `--dry-run`.
const DRY_RUN: &str = "restore, undo, redo, rewind, prune, delete, relink, workflow rewind, \
    workflow recover, workflow cleanup";

/// The commands of each sentence.
fn sentences() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    let rows = SENTENCES.lines().map(|row| row.split_once(": "));
    rows.map(|row| match row.expect("commands and a sentence") {
        ("DRY_RUN", part) => (DRY_RUN, part),
        row => row,
    })
}

/// The command lines in a text: in quotes, or the whole of it.
fn commands_in(text: &str) -> Vec<String> {
    let quoted = text
        .split("'checkpoint ")
        .skip(1)
        .filter_map(|rest| rest.split('\'').next());
    let mut found: Vec<String> = quoted.map(|rest| format!("checkpoint {rest}")).collect();
    let second = text
        .strip_prefix("checkpoint ")
        .and_then(|rest| rest.split(' ').next());
    if second.is_some_and(|word| parse::command().find_subcommand(word).is_some()) {
        found.push(text.to_owned());
    }
    found
}

/// The text without the command lines in it.
fn apart(text: &str) -> String {
    let mut pieces = text.split("'checkpoint ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |joined, piece| {
        joined + piece.split_once('\'').map_or("", |(_, rest)| rest)
    })
}

fn options_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
    words
        .filter(|word| {
            word.strip_prefix("--")
                .is_some_and(|name| name.starts_with(|sign: char| sign.is_ascii_lowercase()))
        })
        .map(str::to_owned)
        .collect()
}

/// The reason why the program would refuse this line, if so; placeholders in it stand for a word.
fn refusal(line: &str) -> Option<String> {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        filled.push('1');
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    filled.push_str(rest);
    let words: Vec<OsString> = filled
        .replace('…', "list")
        .split_whitespace()
        .map(OsString::from)
        .collect();
    parse::parse(&words)
        .err()
        .filter(|refusal| refusal.is_failure)
        .map(|refusal| format!("{line}: {}", refusal.text))
}

/// Whether a command, such as `workflow resume`, takes an option.
fn takes(command: &str, option: &str) -> bool {
    let mut whole = parse::command();
    whole.build();
    let mut at = &whole;
    for word in command.split(' ') {
        at = at
            .find_subcommand(word)
            .unwrap_or_else(|| panic!("no command {command}"));
    }
    at.get_arguments().any(|argument| {
        argument
            .get_long()
            .is_some_and(|long| format!("--{long}") == option)
    })
}

#[test]
fn every_command_line_in_the_source_is_one_that_the_program_takes() {
    let mut refused = Vec::new();
    let mut seen = 0;
    for file in source::files().iter().filter(|file| !file.code.is_empty()) {
        for line in source::literals(&file.text)
            .iter()
            .flat_map(|text| commands_in(text))
        {
            seen += 1;
            refused.extend(refusal(&line).map(|why| format!("{}: {why}", file.name)));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(seen > 40, "only {seen} command lines were found");
}

#[test]
fn every_option_in_the_source_belongs_to_the_commands_that_name_it() {
    let mut unknown = Vec::new();
    let mut used = BTreeSet::new();
    for file in source::files().iter().filter(|file| !file.code.is_empty()) {
        for text in source::literals(&file.text)
            .iter()
            .filter(|text| text.contains(' '))
        {
            for option in options_in(&apart(text)) {
                let mut said = sentences().filter(|(_, part)| text.contains(part));
                if said.clone().any(|(commands, _)| commands == "OTHERS") {
                    continue;
                }
                let Some((commands, part)) = said.next() else {
                    unknown.push(format!("{}: who says {option} in \"{text}\"?", file.name));
                    continue;
                };
                used.insert(part);
                let lacking = commands
                    .split(", ")
                    .filter(|command| !takes(command, &option));
                unknown.extend(
                    lacking.map(|command| format!("'{command}' has no {option}: \"{text}\"")),
                );
            }
        }
    }
    let advice = sentences().filter(|(commands, _)| *commands != "OTHERS");
    let unused = advice.filter(|(_, part)| !used.contains(part));
    unknown.extend(unused.map(|(_, part)| format!("\"{part}\" is said nowhere")));
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn what_can_be_looked_at_before_is_known() {
    let all = commands().into_iter();
    let with: BTreeSet<String> = all.filter(|words| takes(words, "--dry-run")).collect();
    let known: BTreeSet<String> = DRY_RUN.split(", ").map(str::to_owned).collect();
    assert_eq!(with, known);
    let with = "restore x|undo|redo|prune|delete x|relink x|workflow rewind x --both";
    let without = "create|phase done --project-git|workflow end x --purge|workflow resume|pin x";
    for (lines, has_dry_run) in [(with, true), (without, false)] {
        for line in lines.split('|') {
            assert_eq!(parsed(line).properties().has_dry_run, has_dry_run, "{line}");
        }
    }
}

fn parsed(line: &str) -> DirCommand {
    let words: Vec<OsString> = format!("checkpoint {line}")
        .split(' ')
        .map(OsString::from)
        .collect();
    let cli = parse::parse(&words).unwrap_or_else(|refusal| panic!("{line}: {}", refusal.text));
    match cli.command {
        Some(AnyCommand::InDirectory(command)) => command,
        other => panic!("{line}: {other:?}"),
    }
}

/// A run of one profile whose second phase has started.
fn run_of(profile: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let init = "workflow init --id w --phase one --phase two::one --phase three::two --phase";
    let mut words: Vec<&str> = init.split(' ').chain(["d'e f:Odd"]).collect();
    if !profile.is_empty() {
        words.extend(["--profile", profile]);
    }
    sandbox.run(&words).success();
    for line in ["phase start one", "phase done one", "phase start two"] {
        sandbox.ok(line);
    }
    sandbox
}

/// Checks the advice of a failure: its command lines are accepted, its options belong to the
/// command that failed.
fn check(run: &Run, command: &str) {
    let error = run.json()["error"].clone();
    let hint = error["hint"].as_str().unwrap_or_default();
    for line in commands_in(hint) {
        assert_eq!(refusal(&line), None, "{run}");
    }
    for option in options_in(&apart(hint)) {
        assert!(takes(command, &option), "{command} has no {option}\n{run}");
    }
}

#[test]
fn what_a_failure_advises_can_be_done() {
    let at_home = Sandbox::new();
    let home = at_home.home().display().to_string();
    for (command, line) in [
        ("create", "create"),
        ("workflow init", "workflow init --phase a"),
    ] {
        let words: Vec<&str> = ["-C", &home, "--json"]
            .into_iter()
            .chain(line.split(' '))
            .collect();
        check(&at_home.run(&words).code(4), command);
    }
    for (command, more, code) in [
        ("workflow end", "--purge", 4),
        ("workflow rewind", "one --both", 4),
        ("workflow rewind", "nope --state", 3),
        ("workflow show", "nope", 3),
        ("workflow init", "--id w --phase a", 4),
        ("workflow recover", "nope --take state", 3),
        ("workflow resume", "", 4),
        ("workflow resume", "--choose pick:three", 4),
        ("phase start", "three", 4),
        ("phase start", "one", 4),
        ("phase start", "nope", 3),
        ("phase done", "one", 4),
        ("task start", "nope", 3),
        ("delete", "latest", 4),
        ("restore", "nope --yes", 3),
        ("restore", "latest nope --yes", 3),
    ] {
        let sandbox = run_of("");
        sandbox.ok("create");
        sandbox.write("a", "2");
        let line = format!("{command} {more} --json");
        check(&sandbox.fails(code, line), command);
    }
}

#[cfg(unix)]
#[test]
fn what_is_advised_for_a_state_file_leads_out() {
    for (profile, path) in [
        ("phases", "memory/state/phase.json"),
        ("pipeline", ".claude/pipeline-state.json"),
    ] {
        for is_known in [true, false] {
            let torn = || {
                let sandbox = if is_known {
                    run_of(profile)
                } else {
                    Sandbox::new()
                };
                sandbox.write(path, "{\"torn");
                sandbox
            };
            for words in [
                &["workflow", "recover"][..],
                &["workflow", "resume"],
                &["workflow", "recover", path],
            ] {
                let failed = torn().run(&[words, &["--json"]].concat()).code(6);
                let error = failed.json()["error"].clone();
                let hint = error["hint"].as_str().unwrap_or_default().to_owned();
                let lines = commands_in(&hint);
                assert!(
                    lines.len() > 1 && lines.iter().all(|line| refusal(line).is_none()),
                    "{failed}"
                );
                let options: Vec<&str> = error["options"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one["command_line"].as_str())
                    .collect();
                assert!(
                    !options.is_empty() && options.iter().all(|line| hint.contains(line)),
                    "{failed}"
                );
                for line in options {
                    let sandbox = torn();
                    let run = pasted(&sandbox, line).success();
                    assert!(
                        sandbox.ok("workflow list").stderr.is_empty() || !is_known,
                        "{run}"
                    );
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn every_answer_that_is_named_can_be_given() {
    let mut given = 0;
    for profile in ["", "phases", "pipeline", "registry"] {
        let asked = run_of(profile).fails(4, "workflow resume --json");
        let error = asked.json()["error"].clone();
        for option in error["options"].as_array().into_iter().flatten() {
            let line = option["command_line"].as_str().unwrap_or_default();
            assert!(
                error["hint"].as_str().unwrap_or_default().contains(line),
                "{asked}"
            );
            let run = pasted(&run_of(profile), line);
            given += 1;
            assert!(
                matches!((option["key"].as_str(), run.code), (Some("n"), 4) | (_, 0)),
                "{line}\n{run}"
            );
        }
    }
    assert!(given > 8, "only {given} answers were named");
    let sandbox = run_of("pipeline");
    let named = sandbox.fails(4, "workflow resume --choose n --json").json();
    let odd: Vec<&Value> = named["error"]["options"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let odd = odd
        .iter()
        .find(|option| option["key"] == "pick:d'e f")
        .expect("the odd phase can be picked");
    pasted(&sandbox, odd["command_line"].as_str().unwrap_or_default()).success();
}
