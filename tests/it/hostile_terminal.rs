//! Text from users and paths never acts on a terminal, in the output of any command.

use crate::bench::Sandbox;
use crate::bench::terminal::at_a_terminal;

const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{7f}\u{e0041}\nroot  /forged\r";

/// The command lines of these tests; each may fail.
fn commands() -> Vec<Vec<String>> {
    let lines = [
        "create --reason R",
        "create --scope R",
        "list",
        "list --all",
        "status",
        "status -v",
        "show R",
        "cat R:R",
        "diff R",
        "restore R --yes",
        "guard --scope R",
        "hold R",
        "release R",
        "pin R",
        "relink R --yes",
        "find R",
        "delete R --yes",
        "workflow init --id R",
        "workflow init --phase R --project R --description R",
        "workflow import R",
        "workflow status",
        "workflow resume R",
        "phase start R",
        "phase progress R",
        "task add R",
        "schema R",
        "verify R",
        "create --type R",
        "create --contract -r R",
        "restore latest --yes --contract",
        "undo --yes --dry-run",
        "R",
        "-C R status",
        "--base R list --all",
        "prune --orphaned --dry-run",
        "config",
        "list --since R",
        "delete --all --dry-run",
    ];
    let hostile = |word: &str| word.replace('R', HOSTILE);
    lines
        .iter()
        .map(|line| line.split(' ').map(hostile).collect())
        .collect()
}

fn project() -> Sandbox {
    let sandbox = Sandbox::rooted_at(HOSTILE);
    // What a pager itself sends to the terminal is not of interest.
    sandbox.env("PAGER", "cat").env("NO_COLOR", "1");
    sandbox.write(HOSTILE, "1");
    sandbox.write(
        ".checkpoint.toml",
        r#""a\u001b[2J\u009b\u202e\nroot  /forged" = 1"#,
    );
    sandbox
}

#[track_caller]
fn assert_harmless(what: &str, shown: &str) {
    let acts = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202e}' | '\u{e0041}')
    };
    let found: Vec<char> = shown.chars().filter(acts).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {shown:?}");
    assert!(
        !shown.lines().any(|line| line.starts_with("root  /forged")),
        "{what}: a line was forged: {shown:?}"
    );
}

#[test]
fn what_is_piped_has_no_power() {
    let sandbox = project();
    for words in commands() {
        for more in [None, Some("--json")] {
            let args: Vec<&str> = words.iter().map(String::as_str).chain(more).collect();
            let run = sandbox.run(&args);
            assert_harmless(&run.shown_command, &run.stdout);
            assert_harmless(&run.shown_command, &run.stderr);
        }
    }
}

#[test]
fn what_a_terminal_gets_has_no_power() {
    let sandbox = project();
    sandbox.create("first");
    for words in commands() {
        let quoted: Vec<String> = words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        let line = format!("$checkpoint {0}; $checkpoint {0} --json", quoted.join(" "));
        let Some(run) = at_a_terminal(&sandbox, &line) else {
            return;
        };
        assert_harmless(&line, &run.stdout);
    }
    let line = "$checkpoint workflow export; $checkpoint completions bash; $checkpoint man";
    let Some(run) = at_a_terminal(&sandbox, line) else {
        return;
    };
    assert_harmless(line, &run.stdout);
}

#[test]
fn what_is_piped_as_data_stays_as_it_is() {
    let sandbox = project();
    sandbox.create("first");
    sandbox.write("content", HOSTILE).create("second");
    sandbox
        .run(&["cat", "second:content"])
        .success()
        .stdout_is(HOSTILE);
    let shown = sandbox.run(&["status", "--json"]).success();
    assert_eq!(
        shown.data()["root"],
        sandbox.root().display().to_string(),
        "JSON means the very same"
    );
}
