//! `undo` and `redo` on a terminal; `stories/undo_redo.md` has the rest.

use crate::bench::Sandbox;
use crate::bench::terminal::{dialogue, with_keyboard};

fn step(sandbox: &Sandbox, content: &str) -> String {
    sandbox.write("a", content);
    sandbox.create(content)
}

#[test]
fn undo_gives_back_the_state_before_the_restore() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two").write("new", "n").mkdir("empty");
    let before = sandbox.tree();
    sandbox.restore(&one).success();
    let planned = sandbox.ok("undo --dry-run");
    planned.stdout_has(&format!("Undoing the restore to {one} (one) would "));
    sandbox.undo().success();
    sandbox.tree().assert_is(&before, "after undo");
    let planned = sandbox.ok("redo --dry-run");
    planned.stdout_has(&format!("Redoing the restore to {one} (one) would "));
}

#[test]
fn on_a_terminal_an_undo_names_the_restore_and_a_program_gets_the_usual_sentence() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    let usual = "use this to undo the restore.";
    for (verb, did, back) in [("undo", "Undid", "redo"), ("redo", "Redid", "undo")] {
        let Some(run) = dialogue(&sandbox, &format!("$checkpoint {verb} --yes"), &[]) else {
            return;
        };
        let run = run
            .success()
            .stdout_has(&format!("{did} the restore to {one} (one).\n"))
            .stdout_has(&format!("1 file modified; 'checkpoint {back}' "));
        assert!(!run.stdout.contains(usual), "{run}");
    }
    sandbox.undo().success().stdout_has(usual);
    let line = format!("$checkpoint restore {one} --yes");
    let run = dialogue(&sandbox, &line, &[]).expect("a terminal");
    run.success().stdout_has(usual);
}

#[test]
fn the_question_of_an_undo_names_what_was_made_since() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox
        .write("new", "made since")
        .write("a", "edited since");
    let Some(run) = with_keyboard(&sandbox, "echo n", "$checkpoint undo") else {
        return;
    };
    run.code(4).stdout_has(
        "changed since: a, new; undo overwrites or deletes them, redo brings them back",
    );
    assert_eq!(sandbox.read("new"), "made since");
}

#[test]
fn a_question_names_what_was_chosen() {
    let sandbox = Sandbox::new();
    let one = step(&sandbox, "one");
    step(&sandbox, "two");
    sandbox.restore(&one).success();
    let safety = sandbox.listed()[0]["short"]
        .as_str()
        .expect("an id")
        .to_owned();
    let asks = |line: &str, question: &str| {
        let keys = [("[y/N]", "n\\n")];
        let Some(run) = dialogue(&sandbox, line, &keys) else {
            return;
        };
        assert!(run.stdout.contains(question), "{line}\n{run}");
    };
    sandbox.write("a", "edited");
    let undo = format!("Undo the restore to {one}");
    asks("$checkpoint undo", &format!("{undo} (one), "));
    let restore = format!("$checkpoint restore {safety}");
    asks(
        &restore,
        &format!("Go back to the state before the restore to {one} (one)?"),
    );
    // Also where that checkpoint is gone.
    sandbox.ok(format!("delete {one} --yes"));
    asks("$checkpoint undo", &format!("{undo}, "));
}

#[test]
fn a_question_in_the_middle_of_several_steps_is_answered_truly() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").create("one");
    sandbox.write("a", "2").write("b", "2");
    for (answer, code, told) in [
        (
            "n\\n",
            4,
            "1 of 2 steps undone, and then cancelled; nothing more was changed",
        ),
        ("\\003", 130, "1 of 2 steps undone, and then interrupted"),
    ] {
        for path in ["a", "b"] {
            sandbox.run(&["restore", "one", path, "--yes"]).success();
        }
        sandbox.write("a", "mine");
        let Some(run) = dialogue(
            &sandbox,
            "trap : INT; $checkpoint undo 2",
            &[("[y/N]", answer)],
        ) else {
            return;
        };
        let run = run.code(code).stdout_has(told);
        assert!(!run.stdout.contains("Undid 2"), "{run}");
        sandbox.ok("undo --yes");
    }
}
