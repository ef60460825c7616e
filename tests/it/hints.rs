//! Advice that the program prints: every command line is accepted by the program, and every option
//! belongs to the command for which it is named.

use std::collections::BTreeSet;
use std::ffi::OsString;

use checkpoint::cli::command_list::{AnyCommand, DirCommand};
use checkpoint::cli::parse;
use serde_json::Value;

use crate::bench::{Run, Sandbox};
use crate::source;
use crate::wrong_usage::pasted;

/// Sentences that name options outside a command line, each after the commands that print it.
const SENTENCES: &str = r"
create, prune: beyond --keep
rewind: --contract needs N
create: --max-files N raises the limit
push, export: which only --with-prompts
push, fetch, clone: '--timeout SECONDS' gives it more
import: which only --safety imports
create, workflow init: --base names another place
restore: restore all but these with --exclude
undo: --dry-run shows one step
undo: --plan allows one step
workflow init: give another --id
setup: --into writes the plugin
create: Databases named by --db
create: after --include-sensitive
DRY_RUN: --dry-run to look first
restore, undo, redo, rewind, delete: look again with --dry-run, then give --plan
create, phase done, workflow end: add --yes to confirm
create: leave this --db out
create, prune, phase start: wait longer with --lock-timeout
restore, diff, ls: a pattern with --glob
restore: matches --glob
restore, diff, ls: --exclude leaves paths out
create: --expires '{typed}'
phase start: complete that first, or add --force
phase start: finish that one first, or add --force
phase done: write what is missing, or add --force
phase done: end them first, or add --force
hold: --for is '{typed}'
guard: --max-age is '{typed}'
create: --include-sensitive captures them
create: use --type file_backup
delete: --force deletes it anyway
create, guard: name with --scope what
create: needs a --scope
create: needs a --db
create: give --state or --state-file
create: --copies needs --type file_backup
create: --db takes a SQLite file
workflow import: --profile names it
workflow init: --id NAME starts another
workflow init: give --plan, --preset or --phase
workflow rewind: --state rewinds the state
workflow resume: more with --json
phase done: name those that matter with --file
create: create --source=mcp
phase: phase --actor=mcp
";
/// Commands with `--dry-run`.
const DRY_RUN: &str = "restore, undo, redo, rewind, prune, delete, relink, workflow rewind, \
    workflow recover, workflow cleanup";
/// Sentences that are no advice: options of other programs, and those in manuals and lists.
const OTHERS: [&str; 11] = [
    "Options of every command, such as",
    "--remove-destination",
    "-C --dir --base --color --lock-timeout -w --workflow",
    "diff --git",
    "unless --source names one",
    "unless --session names one",
    "With --json the result is one object",
    "checkpoint --help",
    "--help",
    // Of the line that agents are given.
    "hook --agent ",
    " --first",
];

fn sentences() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = SENTENCES.lines().filter_map(|row| row.split_once(": "));
    rows.map(|(commands, part)| {
        (
            if commands == "DRY_RUN" {
                DRY_RUN
            } else {
                commands
            },
            part,
        )
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

/// Commands of the whole grammar, such as `workflow resume`, with their words.
fn all_commands() -> Vec<String> {
    let whole = parse::command();
    let below = |command: &str| -> Vec<String> {
        let found = whole.find_subcommand(command).into_iter();
        found
            .flat_map(|found| {
                found
                    .get_subcommands()
                    .map(|one| format!("{command} {}", one.get_name()))
            })
            .collect()
    };
    let names: Vec<String> = whole
        .get_subcommands()
        .map(|one| one.get_name().to_owned())
        .collect();
    names
        .iter()
        .flat_map(|name| std::iter::once(name.clone()).chain(below(name)))
        .collect()
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
                if OTHERS.iter().any(|part| text.contains(part)) {
                    continue;
                }
                let Some((commands, part)) = sentences().find(|(_, part)| text.contains(part))
                else {
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
    let unused = sentences().filter(|(_, part)| !used.contains(part));
    unknown.extend(unused.map(|(_, part)| format!("\"{part}\" is said nowhere")));
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn what_can_be_looked_at_before_is_known() {
    let with: Vec<String> = all_commands()
        .into_iter()
        .filter(|command| takes(command, "--dry-run"))
        .collect();
    assert_eq!(
        with.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        DRY_RUN.split(", ").collect()
    );
    for line in [
        "restore x",
        "undo",
        "redo",
        "prune",
        "delete x",
        "relink x",
        "workflow rewind x --both",
    ] {
        assert!(parsed(line).properties().has_dry_run, "{line}");
    }
    for line in [
        "create",
        "phase done --project-git",
        "workflow end x --purge",
        "workflow resume",
        "pin x",
    ] {
        assert!(!parsed(line).properties().has_dry_run, "{line}");
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
    let mut words = vec![
        "workflow", "init", "--id", "w", "--phase", "one", "--phase", "two::one",
    ];
    words.extend(["--phase", "three::two", "--phase", "d'e f:Odd"]);
    if !profile.is_empty() {
        words.extend(["--profile", profile]);
    }
    sandbox.run(&words).success();
    for words in [
        ["phase", "start", "one"],
        ["phase", "done", "one"],
        ["phase", "start", "two"],
    ] {
        sandbox.run(&words).success();
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
    for (command, more) in [("create", &[][..]), ("workflow init", &["--phase", "a"])] {
        let words: Vec<&str> = ["-C", &home, "--json"]
            .into_iter()
            .chain(command.split(' '))
            .chain(more.iter().copied())
            .collect();
        check(&at_home.run(&words).code(4), command);
    }
    let cases: [(&str, &[&str], u8); 16] = [
        ("workflow end", &["--purge"], 4),
        ("workflow rewind", &["one", "--both"], 4),
        ("workflow rewind", &["nope", "--state"], 3),
        ("workflow show", &["nope"], 3),
        ("workflow init", &["--id", "w", "--phase", "a"], 4),
        ("workflow recover", &["nope", "--take", "state"], 3),
        ("workflow resume", &[], 4),
        ("workflow resume", &["--choose", "pick:three"], 4),
        ("phase start", &["three"], 4),
        ("phase start", &["one"], 4),
        ("phase start", &["nope"], 3),
        ("phase done", &["one"], 4),
        ("task start", &["nope"], 3),
        ("delete", &["latest"], 4),
        ("restore", &["nope", "--yes"], 3),
        ("restore", &["latest", "nope", "--yes"], 3),
    ];
    for (command, more, code) in cases {
        let sandbox = run_of("");
        sandbox.ok("create");
        sandbox.write("a", "2");
        let words: Vec<&str> = command
            .split(' ')
            .chain(more.iter().copied())
            .chain(["--json"])
            .collect();
        check(&sandbox.run(&words).code(i32::from(code)), command);
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
            assert!(
                matches!((option["key"].as_str(), run.code), (Some("n"), 4) | (_, 0)),
                "{line}\n{run}"
            );
        }
    }
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

/// Runs advice for a command with `-C` in an unrelated directory.
#[cfg(unix)]
#[test]
fn what_is_advised_elsewhere_works_where_it_is_printed() {
    let sandbox = Sandbox::rooted_at("it's here");
    let (dir, base) = (
        sandbox.root().display().to_string(),
        sandbox.top().join("a base").display().to_string(),
    );
    let place = ["-C", &dir, "--base", &base];
    let aside = sandbox.top().join("aside");
    sandbox.write("a", "1").mkdir(&aside);
    let run = |words: &[&str]| sandbox.run_in(&aside, &[&place, words].concat());
    let id = run(&["create", "-r", "one"]).success().stdout;
    run(&["pin", id.trim_end()]).success();
    let follow = |line: &str| {
        let script = format!(
            "cd '{}' && checkpoint() {{ \"$0\" \"$@\"; }} && {line}",
            aside.display()
        );
        sandbox.run_under(&["sh", "-c", &script], &[])
    };
    let hint_of = |run: &Run| {
        run.json()["error"]["hint"]
            .as_str()
            .expect("a hint")
            .to_owned()
    };
    run(&["hold", "wave 1"]).success();
    let held = run(&["create", "--json"]).code(4);
    run(&["create"])
        .code(4)
        .stderr_has(&format!("; run: {}", hint_of(&held)));
    follow(&hint_of(&held)).success();
    run(&["create", "-r", "two"]).success();
    let pinned = run(&["delete", id.trim_end(), "--yes", "--json"]).code(4);
    let advice = hint_of(&pinned);
    follow(
        advice
            .strip_prefix('\'')
            .and_then(|rest| rest.rsplit_once("' removes"))
            .expect("a command")
            .0,
    )
    .success();
    run(&["delete", id.trim_end(), "--yes"]).success();
    let missing = run(&["show", "nope", "--json"]).code(3);
    assert!(
        hint_of(&missing).starts_with("'checkpoint -C '"),
        "{missing}"
    );
    run(&["show", "nope"])
        .code(3)
        .stderr_has(&hint_of(&missing));
    let unguarded = run(&[
        "guard",
        "--max-age",
        "1ms",
        "--scope",
        "nothing/x",
        "--json",
    ])
    .code(4);
    assert_eq!(hint_of(&unguarded).matches("-C").count(), 1, "{unguarded}");
}
