//! The pager: started on a terminal only, chosen by the user, and never in the way.

use crate::bench::Sandbox;
use crate::bench::terminal::at_a_terminal;

fn with_one_change() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1\n");
    sandbox.create("first");
    sandbox.write("a", "2\x1b]0;owned\x07\n");
    sandbox.env("NO_COLOR", "1");
    sandbox
}

#[test]
fn a_terminal_gets_the_pager_that_was_chosen_first() {
    let sandbox = with_one_change();
    sandbox
        .env("PAGER", "sed s/^/second:/")
        .env("CHECKPOINT_PAGER", "sed s/^/first:/");
    let Some(run) = at_a_terminal(&sandbox, "$checkpoint diff") else {
        return;
    };
    run.success()
        .stdout_has("first:diff --git a/a b/a\n")
        .stdout_has("first:+2\\x1b]0;owned\\x07\n");
    sandbox.unset_env("CHECKPOINT_PAGER");
    at_a_terminal(&sandbox, "$checkpoint diff")
        .expect("a terminal")
        .success()
        .stdout_has("second:-1\n");
    sandbox.env("CHECKPOINT_PAGER", "");
    let run = at_a_terminal(&sandbox, "$checkpoint diff")
        .expect("a terminal")
        .success();
    assert!(
        run.stdout.contains("-1\n") && !run.stdout.contains("second:"),
        "{run}"
    );
}

#[test]
fn no_pager_for_pipes_documents_and_empty_results() {
    let sandbox = with_one_change();
    sandbox.env("PAGER", "sed s/^/paged:/");
    assert!(!sandbox.ok("diff").stdout.contains("paged:"));
    for line in [
        "$checkpoint diff --json",
        "$checkpoint diff </dev/null",
        "$checkpoint diff latest latest",
    ] {
        let Some(run) = at_a_terminal(&sandbox, line) else {
            return;
        };
        assert!(
            !run.clone().success().stdout.contains("paged:"),
            "{line}\n{run}"
        );
    }
}

#[test]
fn a_pager_that_cannot_be_started_or_ends_early_is_no_failure() {
    let sandbox = with_one_change();
    sandbox.env("PAGER", "no-such-pager-anywhere");
    let Some(run) = at_a_terminal(&sandbox, "$checkpoint diff") else {
        return;
    };
    run.success()
        .stdout_has("diff --git a/a b/a\n")
        .stdout_has("-1\n");
    sandbox
        .write("long", "a line\n".repeat(300_000))
        .env("PAGER", "head -n 1");
    let run = at_a_terminal(&sandbox, "$checkpoint diff --exit-code")
        .expect("a terminal")
        .code(1);
    assert!(
        run.stdout.contains("diff --git a/a b/a\n") && !run.stdout.contains("a line"),
        "{run}"
    );
    sandbox.write("few", "1").env("PAGER", "false");
    at_a_terminal(&sandbox, "$checkpoint show --stat latest")
        .expect("a terminal")
        .stdout_has("reason     first")
        .stdout_has(" a | 1 +\n");
    sandbox.env("PAGER", "no-such-pager-anywhere");
    let run = at_a_terminal(&sandbox, "$checkpoint diff")
        .expect("a terminal")
        .success();
    assert_eq!(run.stdout.matches("+a line\n").count(), 300_000);
}

#[test]
fn a_terminal_shows_colours_and_no_content_acts_on_it() {
    let sandbox = with_one_change();
    sandbox.unset_env("NO_COLOR").env("PAGER", "cat");
    let Some(run) = at_a_terminal(
        &sandbox,
        "$checkpoint diff; $checkpoint cat latest:a; $checkpoint diff --color never",
    ) else {
        return;
    };
    let run = run
        .success()
        .stdout_has("\x1b[32m+2\\x1b]0;owned\\x07\x1b[0m\n")
        .stdout_has("\n+2\\x1b]0;owned\\x07\n");
    assert!(!run.stdout.contains("\x1b]0;"), "{run}");
    sandbox.create("second");
    let run = at_a_terminal(&sandbox, "$checkpoint cat latest:a")
        .expect("a terminal")
        .success();
    run.stdout_has("2\\x1b]0;owned\\x07\n");
}

#[test]
fn an_interrupt_at_the_pager_does_not_leave_it_alone_with_the_terminal() {
    let sandbox = with_one_change();
    sandbox.env(
        "PAGER",
        "kill -INT $PPID; sleep 0.3; sed s/^/paged:/; echo end",
    );
    let Some(run) = at_a_terminal(&sandbox, "$checkpoint diff; echo code $?") else {
        return;
    };
    let run = run.success().stdout_has("paged:-1\n");
    assert!(
        run.stdout.find("end\n") < run.stdout.find("code 0\n"),
        "the pager was left alone\n{run}"
    );
}

#[test]
fn help_and_show_go_through_the_pager_too() {
    let sandbox = Sandbox::new();
    sandbox.env("PAGER", "sed s/^/paged:/");
    sandbox.write("a", "1");
    sandbox.create("first");
    for words in [
        "help",
        "help restore",
        "help recovery",
        "show",
        "show -p",
        "show --files",
    ] {
        let Some(run) = at_a_terminal(&sandbox, &format!("$checkpoint {words}")) else {
            return;
        };
        assert!(
            run.clone()
                .success()
                .stdout
                .lines()
                .all(|line| line.starts_with("paged:")),
            "{run}"
        );
    }
    assert!(!sandbox.ok("help recovery").stdout.contains("paged:"));
}
