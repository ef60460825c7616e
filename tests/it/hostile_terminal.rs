//! Text from users and paths never acts on a terminal, in the output of any command.

use serde_json::json;

use crate::bench::Sandbox;
use crate::bench::terminal::at_a_terminal;

const PIPELINE: &str = ".claude/pipeline-state.json";
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{7f}\u{e0041}\nroot  /forged\r";

/// The command lines of these tests; each may fail.
fn commands() -> Vec<Vec<String>> {
    lines(
        "create --reason R;create --scope R;list;list --all;status;status -v;show R;cat R:R; \
         diff R;restore R --yes;guard --scope R;hold R;release R;pin R;relink R --yes;find R; \
         delete R --yes;workflow init --id R;workflow import R;workflow resume R;phase start R; \
         task add R;schema R;verify R;create --type R;create --contract -r R; \
         restore latest --yes --contract;undo --yes --dry-run;R;-C R status;--base R list --all; \
         prune --orphaned --dry-run;config;list --since R;delete --all --dry-run",
    )
}

/// Command lines on the hostile run, which all succeed.
fn commands_of_a_run() -> Vec<Vec<String>> {
    lines(
        "workflow status;workflow next;workflow list;workflow show;phase start src --no-snapshot; \
         phase progress R;phase fail --error R;phase start src --no-snapshot; \
         task add t --name R --output R;task start t --agent R;task fail t --error R; \
         task start t;task list;workflow note --decision R --file R --interrupted=R; \
         workflow status;workflow recover -n;workflow resume --choose y;task reset t; \
         task start t;task done t --note R;phase done --no-snapshot --decision R --file R; \
         phase skip docs --reason R;workflow show;workflow list --all; \
         workflow init --type R --project R --description R --phase a:R;workflow status R; \
         workflow end --abandon",
    )
}

fn lines(lines: &str) -> Vec<Vec<String>> {
    let hostile = |word: &str| word.replace('R', HOSTILE);
    let lines = lines.split(';').map(str::trim);
    lines
        .map(|line| line.split(' ').map(hostile).collect())
        .collect()
}

/// Puts a document of a run in place, hostile in every text that may be so.
fn with_a_run(sandbox: &Sandbox) {
    let document = json!({
        "completed_phases": [],
        "current_phase": null,
        "remaining_phases": [
            {"id": "src", "name": HOSTILE, "dependencies": [], HOSTILE: HOSTILE},
            {"id": "docs", "name": HOSTILE, "dependencies": ["src"]},
        ],
        "context_summary": {
            "description": HOSTILE, "branch": HOSTILE,
            "key_decisions": [HOSTILE], "file_paths": [HOSTILE],
        },
        "created_at": "2026-03-24T10:00:00Z",
        "updated_at": "2026-03-24T10:00:00Z",
    });
    sandbox.write(PIPELINE, document.to_string());
}

/// Command lines on a file that cannot be understood, and full of hostile text.
fn commands_of_a_malformed_file() -> Vec<Vec<String>> {
    lines("workflow status;workflow list;workflow resume;workflow recover -n")
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

fn quoted(words: &[String]) -> String {
    let words = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    words.collect::<Vec<_>>().join(" ")
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
fn a_hostile_run_has_no_power() {
    let sandbox = project();
    with_a_run(&sandbox);
    for words in commands_of_a_run() {
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = sandbox.run(&args).success();
        assert_harmless(&run.shown_command, &run.stdout);
        assert_harmless(&run.shown_command, &run.stderr);
    }
    let shown = sandbox.ok("workflow show pipeline");
    assert!(
        shown.stdout.contains("forged"),
        "the texts are shown\n{shown}"
    );
    sandbox.write(PIPELINE, format!("{{\"{HOSTILE}"));
    for words in commands_of_a_malformed_file() {
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = sandbox.run(&args);
        assert!(run.stderr.contains("malformed"), "{run}");
        assert_harmless(&run.shown_command, &run.stdout);
        assert_harmless(&run.shown_command, &run.stderr);
    }
}

#[test]
fn what_a_terminal_gets_has_no_power() {
    let sandbox = project();
    sandbox.create("first");
    // A progress line, where the disk is slow, is no part of an answer.
    let begin = "export TERM=dumb; $checkpoint";
    for words in commands() {
        let quoted = quoted(&words);
        let line = format!("{begin} {quoted}; $checkpoint {quoted} --json");
        let Some(run) = at_a_terminal(&sandbox, &line) else {
            return;
        };
        assert_harmless(&line, &run.stdout);
    }
    with_a_run(&sandbox);
    for words in commands_of_a_run() {
        let line = format!("{begin} {}; echo code $?", quoted(&words));
        let Some(run) = at_a_terminal(&sandbox, &line) else {
            return;
        };
        assert!(run.stdout.contains("code 0"), "{run}");
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
    sandbox.ok("cat second:content").stdout_is(HOSTILE);
    let shown = sandbox.ok("status --json");
    assert_eq!(
        shown.data()["root"],
        sandbox.root().display().to_string(),
        "JSON means the very same"
    );
}
