//! The pager: started on a terminal only, chosen by the user, and never in the way.

use crate::bench::terminal::at_a_terminal;
use crate::bench::{Sandbox, given};

fn with_one_change() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1\n").create("first");
    sandbox.write("a", "2\x1b]0;owned\x07\n");
    sandbox.env("NO_COLOR", "1");
    sandbox
}

/// Rows of a line at a terminal, its exit code, what it shows, and what it does not show.
#[test]
fn a_terminal_gets_the_pager_that_was_chosen_first_and_goes_on_without_one() {
    let sandbox = with_one_change();
    let missing = "PAGER=no-such-pager-anywhere";
    for (line, code, shown, hidden) in [
        (
            "CHECKPOINT_PAGER='sed s/^/first:/' PAGER='sed s/^/second:/' $checkpoint diff",
            0,
            &["first:diff --git a/a b/a\n", "first:+2\\x1b]0;owned\\x07\n"][..],
            "second:",
        ),
        (
            "PAGER='sed s/^/second:/' $checkpoint diff",
            0,
            &["second:-1\n"],
            "first:",
        ),
        (
            "CHECKPOINT_PAGER= PAGER='sed s/^/second:/' $checkpoint diff",
            0,
            &["-1\n"],
            "second:",
        ),
        (
            &format!("{missing} $checkpoint diff"),
            0,
            &["diff --git a/a b/a\n", "-1\n"],
            "first:",
        ),
        (
            "yes 'a line' | head -n 300000 >long; PAGER='head -n 1' $checkpoint diff --exit-code",
            1,
            &["diff --git a/a b/a\n"],
            "a line",
        ),
        (
            "PAGER=false $checkpoint show --stat latest",
            0,
            &["reason     first", " a | 1 +\n"],
            "first:",
        ),
    ] {
        let run = given!(at_a_terminal(&sandbox, line)).code(code);
        let is_shown = shown.iter().all(|part| run.stdout.contains(part));
        assert!(is_shown && !run.stdout.contains(hidden), "{line}\n{run}");
    }
    let run = given!(at_a_terminal(
        &sandbox,
        &format!("{missing} $checkpoint diff")
    ));
    assert_eq!(run.success().stdout.matches("+a line\n").count(), 300_000);
}

#[test]
fn no_pager_for_pipes_documents_and_empty_results() {
    let sandbox = with_one_change();
    sandbox.env("PAGER", "sed s/^/paged:/");
    assert!(!sandbox.ok("diff").stdout.contains("paged:"));
    for line in ["diff --json", "diff </dev/null", "diff latest latest"] {
        let run = given!(at_a_terminal(&sandbox, &format!("$checkpoint {line}"))).success();
        assert!(!run.stdout.contains("paged:"), "{line}\n{run}");
    }
}

#[test]
fn a_terminal_shows_colours_and_no_content_acts_on_it() {
    let sandbox = with_one_change();
    sandbox.unset_env("NO_COLOR").env("PAGER", "cat");
    let line = "$checkpoint diff; $checkpoint cat latest:a; $checkpoint diff --color never; \
                $checkpoint create -q -r second; $checkpoint cat latest:a";
    let run = given!(at_a_terminal(&sandbox, line)).success();
    let run = run
        .stdout_has("\x1b[32m+2\\x1b]0;owned\\x07\x1b[0m\n")
        .stdout_has("\n+2\\x1b]0;owned\\x07\n")
        .stdout_has("\n2\\x1b]0;owned\\x07\n");
    assert!(!run.stdout.contains("\x1b]0;"), "{run}");
}

#[test]
fn an_interrupt_at_the_pager_does_not_leave_it_alone_with_the_terminal() {
    let sandbox = with_one_change();
    let pager = "kill -INT $PPID; sleep 0.3; sed s/^/paged:/; echo end";
    sandbox.env("PAGER", pager);
    let run = given!(at_a_terminal(&sandbox, "$checkpoint diff; echo code $?"));
    let run = run.success().stdout_has("paged:-1\n");
    let ends = ["end\n", "code 0\n"].map(|text| run.stdout.find(text));
    assert!(ends[0] < ends[1], "the pager was left alone\n{run}");
}

#[test]
fn help_and_show_go_through_the_pager_too() {
    let sandbox = Sandbox::new();
    sandbox.env("PAGER", "sed s/^/paged:/");
    sandbox.write("a", "1").create("first");
    for words in "help|help restore|help recovery|show|show -p|show --files".split('|') {
        let run = given!(at_a_terminal(&sandbox, &format!("$checkpoint {words}"))).success();
        let mut lines = run.stdout.lines();
        assert!(lines.all(|line| line.starts_with("paged:")), "{run}");
    }
    assert!(!sandbox.ok("help recovery").stdout.contains("paged:"));
}
