//! Questions before a change, answered at a terminal.

use crate::bench::screen::screen;
use crate::bench::terminal::with_keyboard;
use crate::bench::{Run, Sandbox, given};

fn story() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    sandbox.write("a", "2").env("NO_COLOR", "1");
    (sandbox, id)
}

/// Answers a restore's question with the output of a shell command line, once it is shown.
fn answered(sandbox: &Sandbox, id: &str, answer: &str) -> Option<Run> {
    asked(sandbox, &format!("$checkpoint restore {id}"), answer)
}

/// Answers the question of a shell command line.
fn asked(sandbox: &Sandbox, line: &str, answer: &str) -> Option<Run> {
    let typing =
        format!("until grep -q 'y/N' $typescript 2>/dev/null; do sleep 0.05; done; {answer}");
    with_keyboard(
        sandbox,
        &typing,
        &format!("trap : INT; {line}; echo code $?"),
    )
}

fn last_lines(run: &Run, count: usize) -> Vec<String> {
    let mut shown = screen(&run.stdout);
    shown.split_off(shown.len().saturating_sub(count))
}

#[test]
fn yes_restores_and_anything_else_does_not() {
    let (sandbox, id) = story();
    let run = given!(answered(&sandbox, &id, "echo n"));
    assert_eq!(last_lines(&run, 1), ["code 4"], "{run}");
    assert_eq!(sandbox.read("a"), "2");
    let run = given!(answered(&sandbox, &id, ":"));
    assert_eq!(last_lines(&run, 1), ["code 4"], "{run}");
    let run = given!(answered(&sandbox, &id, "echo yes"));
    assert_eq!(last_lines(&run, 1), ["code 0"], "{run}");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn a_relink_says_before_its_question_what_tells_of_the_same_project() {
    let (sandbox, _) = story();
    let line = "cd ..; mv work moved; cd moved; $checkpoint relink ../work; code=$?; \
                cd ..; mv moved work; (exit $code)";
    let run = given!(asked(&sandbox, line, "echo n"));
    assert!(
        run.stdout.contains("Nothing but your command tells"),
        "{run}"
    );
    assert_eq!(last_lines(&run, 1), ["code 4"], "{run}");
}

#[test]
fn an_interrupt_at_a_question_says_one_line_and_changes_nothing() {
    let (sandbox, id) = story();
    let before = sandbox.listed_ids();
    let run = given!(answered(&sandbox, &id, r"printf '\003'; sleep 0.5"));
    assert_eq!(
        last_lines(&run, 2),
        ["checkpoint: interrupted: nothing was changed", "code 130"],
        "{run}"
    );
    assert_eq!(sandbox.read("a"), "2");
    assert_eq!(sandbox.listed_ids(), before);
}
