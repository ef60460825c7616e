//! What a person at a terminal reads of restores, of the wait for a lock and of Ctrl-C; and the
//! variables for colours and pagers.

use std::fs::File;
use std::time::Duration;

use crate::bench::screen::screen;
use crate::bench::terminal::{at_a_terminal, with_keyboard};
use crate::bench::{Run, Sandbox};

fn with_two() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").env("NO_COLOR", "1");
    let first = sandbox.create("wave 1");
    sandbox.write("a", "2").write("c", "2");
    let second = sandbox.create("wave 2");
    (sandbox, vec![first, second])
}

#[test]
fn the_question_before_an_undo_names_the_restore_that_it_takes_back() {
    let (sandbox, ids) = with_two();
    sandbox.restore(&ids[0]).success();
    sandbox.write("a", "since");
    let typing = "until grep -q 'y/N' $typescript 2>/dev/null; do sleep 0.05; done; echo n";
    let Some(run) = with_keyboard(&sandbox, typing, "$checkpoint undo; echo code $?") else {
        return;
    };
    let asked = format!("Undo the restore to {} (wave 1), ", ids[0]);
    run.clone()
        .stdout_has(&asked)
        .stdout_has(" ago? This will modify 1 file, add 1 file. [y/N] ");
    run.stdout_has("checkpoint: cancelled; nothing was changed")
        .stdout_has("code 4");
}

/// Takes the lock of the store, with the name of a holder in it.
fn locked(sandbox: &Sandbox) -> File {
    let path = sandbox.store().join("checkpoint/lock");
    let lock = File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("the lock opens");
    lock.lock().expect("the lock is free");
    lock
}

/// Runs a command line at a terminal while another process has the lock for some time.
fn while_locked(sandbox: &Sandbox, time: Duration, typing: &str, line: &str) -> Option<Run> {
    // Output of an earlier run answers nothing here.
    let _ = std::fs::remove_file(sandbox.top().join("typescript"));
    let lock = locked(sandbox);
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let holder = std::thread::spawn(move || {
        let _ = is_done.recv_timeout(time);
        drop(lock);
    });
    let run = with_keyboard(sandbox, typing, line);
    drop(done);
    holder.join().expect("the lock was released");
    run
}

#[test]
fn a_wait_for_the_lock_shows_who_has_it_and_takes_itself_away() {
    let (sandbox, _) = with_two();
    for line in ["create -r late -s test", "pin latest"] {
        let line = format!("$checkpoint {line} >/dev/null");
        let Some(run) = while_locked(&sandbox, Duration::from_millis(2500), ":", &line) else {
            return;
        };
        let run = run.success().stdout_has("waiting for ").stdout_has(", 1 s");
        let left = screen(&run.stdout).join("\n");
        assert!(!left.contains("waiting"), "{run}");
    }
}

#[test]
fn ctrl_c_while_waiting_says_what_was_not_done() {
    let (sandbox, _) = with_two();
    let before = sandbox.listed_ids();
    for (line, state) in [
        ("create", "no checkpoint was made"),
        ("restore latest~1 --yes", "nothing was changed"),
        ("pin latest", "nothing was changed"),
    ] {
        let typing = r"until grep -q waiting $typescript 2>/dev/null; do sleep 0.05; done; printf '\003'; sleep 0.3";
        let line = format!("trap : INT; $checkpoint {line}; echo code $?");
        let time = Duration::from_secs(6);
        let Some(run) = while_locked(&sandbox, time, typing, &line) else {
            return;
        };
        let shown = screen(&run.stdout);
        let said = format!("checkpoint: interrupted: {state}");
        let end = &shown[shown.len().saturating_sub(2)..];
        assert_eq!(end, [said, "code 130".to_owned()], "{run}");
        assert_eq!(sandbox.listed_ids(), before, "{run}");
    }
}

#[test]
fn less_gets_its_options_and_a_dumb_terminal_neither_pager_nor_colours() {
    let (sandbox, _) = with_two();
    sandbox.write("a", "3").unset_env("NO_COLOR");
    sandbox.env("PAGER", "cat >/dev/null; echo \"[$LESS]\"");
    let Some(run) = at_a_terminal(&sandbox, "$checkpoint diff") else {
        return;
    };
    run.success().stdout_is("[FRX]\n");
    let run = at_a_terminal(&sandbox, "LESS=-S $checkpoint diff").expect("a terminal");
    run.success().stdout_is("[-S]\n");
    let run = at_a_terminal(&sandbox, "LESS= $checkpoint diff").expect("a terminal");
    run.success().stdout_is("[]\n");
    let run = at_a_terminal(&sandbox, "TERM=dumb $checkpoint diff")
        .expect("a terminal")
        .success();
    assert!(
        run.stdout.contains("+3\n") && !run.stdout.contains('\x1b'),
        "{run}"
    );
    let run = at_a_terminal(&sandbox, "TERM=dumb $checkpoint list")
        .expect("a terminal")
        .success();
    assert!(
        run.stdout.contains("wave 2") && !run.stdout.contains('\x1b'),
        "{run}"
    );
}
