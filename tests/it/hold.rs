//! `hold` and `release`: no checkpoint is made between them, and every hold ends.

use std::path::PathBuf;

use crate::bench::Sandbox;
use crate::bench::os::QUOTE;

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox
}

fn file(sandbox: &Sandbox) -> PathBuf {
    sandbox.store().join("checkpoint/holds")
}

fn standing(sandbox: &Sandbox) -> Vec<String> {
    let holds = sandbox.status()["holds"]
        .as_array()
        .expect("a list")
        .clone();
    holds
        .iter()
        .map(|hold| hold["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn while_a_hold_stands_create_refuses_and_names_it() {
    let sandbox = project();
    sandbox
        .at("2026-03-24T12:00:00Z")
        .run(&["hold", "wave 3"])
        .success()
        .stdout_has("wave 3");
    for args in [
        vec!["create"],
        vec!["create", "--force"],
        vec!["create", "--scope", "a"],
    ] {
        let run = sandbox.run(&[&args[..], &["--json"]].concat()).code(4);
        assert_eq!(run.error_code(), "held");
        let error = run.json()["error"].clone();
        let message = error["message"].as_str().expect("a message");
        for told in ["'wave 3'", " min left"] {
            assert!(message.contains(told), "{message}");
        }
        let hint = format!("checkpoint release {QUOTE}wave 3{QUOTE}");
        assert_eq!(error["hint"], hint);
    }
    assert_eq!(sandbox.listed().len(), 1);
    sandbox
        .run(&["release", "wave 3"])
        .success()
        .stdout_has("wave 3");
    assert!(!file(&sandbox).exists());
    sandbox.create("after");
}

#[test]
fn a_hold_ends_by_itself() {
    let sandbox = project();
    sandbox
        .at("2026-03-24T13:00:00Z")
        .run(&["hold", "wave", "--for", "10m"])
        .success();
    sandbox.at("2026-03-24T13:09:59Z").run(&["create"]).code(4);
    sandbox
        .at("2026-03-24T13:10:00Z")
        .run(&["create"])
        .success();
    assert!(standing(&sandbox).is_empty());
}

#[test]
fn a_broken_clock_holds_nobody_for_ever() {
    let sandbox = project();
    sandbox
        .at("2039-01-01T00:00:00Z")
        .run(&["hold", "wave", "--for", "24h"])
        .success();
    sandbox.at("2038-12-31T00:00:00Z").run(&["create"]).code(4);
    sandbox
        .at("2038-12-30T23:59:59Z")
        .run(&["create"])
        .success();
    sandbox
        .at("2026-03-24T15:00:00Z")
        .run(&["create"])
        .success();
}

#[test]
fn restore_undo_and_redo_pass_a_hold() {
    let sandbox = project();
    sandbox.write("a", "2").run(&["hold", "wave"]).success();
    sandbox.restore("latest").success();
    assert_eq!(sandbox.read("a"), "1");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "2");
    sandbox.redo().success();
    assert_eq!(
        (sandbox.read("a"), standing(&sandbox)),
        ("1".to_owned(), vec!["wave".to_owned()])
    );
}

#[test]
fn several_holds_stand_side_by_side_and_taking_one_again_renews_it() {
    let sandbox = project();
    sandbox
        .at("2026-03-24T13:00:00Z")
        .run(&["hold", "one", "--for", "10m"])
        .success();
    sandbox.run(&["hold", "two", "--for", "5m"]).success();
    sandbox
        .at("2026-03-24T13:02:00Z")
        .run(&["hold", "two", "--for", "20m"])
        .success()
        .stdout_has("Renewed");
    sandbox
        .run(&["create"])
        .code(4)
        .stderr_has("'two'")
        .stderr_has("19 min left")
        .stderr_has("1 more");
    let run = sandbox.run(&["release", "--json"]).code(4);
    assert_eq!(run.error_code(), "several_holds");
    assert!(run.stdout.contains("one, two"), "{run}");
    assert_eq!(standing(&sandbox), ["one", "two"]);
    sandbox.run(&["release", "one"]).success();
    sandbox.run(&["create"]).code(4);
    sandbox.run(&["release"]).success().stdout_has("two");
    sandbox.run(&["create"]).success();
}

#[test]
fn releasing_an_unknown_hold_is_3_and_releasing_none_is_no_failure() {
    let sandbox = project();
    sandbox
        .run(&["release", "wave"])
        .code(3)
        .stdout_is("")
        .stderr_has("there is no hold 'wave'; no hold is active");
    sandbox
        .run(&["release"])
        .success()
        .stdout_is("")
        .stderr_has("no hold is active");
    let run = sandbox.run(&["release", "wave", "--json"]).code(3);
    assert_eq!(run.error_code(), "no_such_hold");
}

#[test]
fn without_a_store_there_is_nothing_to_hold() {
    let sandbox = Sandbox::new();
    sandbox.run(&["hold", "wave"]).code(3);
    sandbox.run(&["release"]).code(3);
    assert!(!sandbox.base().exists());
}

#[test]
fn a_name_must_be_one_and_an_end_must_be_near() {
    let sandbox = project();
    for bad in ["", " wave", "a\nb"] {
        sandbox.run(&["hold", bad]).code(2);
    }
    sandbox.run(&["hold", "--", "-wave"]).code(2);
    for (bad, told) in [
        ("25h", "at most 24h"),
        ("0s", "at most 24h"),
        ("soon", "write 30m"),
        ("2026-03-24", "write 30m"),
    ] {
        sandbox
            .run(&["hold", "wave", "--for", bad])
            .code(2)
            .stderr_has(told);
    }
    sandbox.run(&["hold", "wave", "--for", "24h"]).success();
}

#[test]
fn a_damaged_file_of_holds_holds_nothing_and_is_told_of_once() {
    let sandbox = project();
    sandbox.run(&["hold", "wave"]).success();
    let text = sandbox.read(file(&sandbox));
    for damaged in [
        text.replace("wave", "wafe"),
        String::new(),
        "\0\0".to_owned(),
    ] {
        sandbox.write(file(&sandbox), &damaged);
        sandbox.run(&["verify"]).success();
        let run = sandbox.run(&["create", "--json"]).success();
        assert_eq!(run.warning_codes(), ["holds_unreadable"]);
        assert!(
            sandbox
                .run(&["create", "--json"])
                .success()
                .warning_codes()
                .is_empty()
        );
    }
    sandbox
        .write(file(&sandbox), "x")
        .run(&["hold", "wave"])
        .success()
        .stderr_has("no hold is active");
    assert_eq!(standing(&sandbox), ["wave"]);
}

#[test]
fn status_shows_who_holds_until_when() {
    let sandbox = project();
    sandbox
        .at("2026-03-24T13:00:00Z")
        .run(&["hold", "wave"])
        .success();
    sandbox
        .run(&["status"])
        .success()
        .stdout_has("held         wave, until 2026-03-24 13:30:00 UTC\n");
    sandbox
        .run(&["status", "--brief"])
        .success()
        .stdout_has(", 1 hold\n");
    assert_eq!(
        sandbox.status()["holds"][0]["ends_at"],
        "2026-03-24T13:30:00.000Z"
    );
}

#[test]
fn a_hold_is_in_nobodys_way() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox.run(&["hold", "wave"]).success();
    sandbox.run(&["verify", "--full"]).success();
    sandbox.run(&["verify", "--repair"]).success();
    sandbox.run(&["prune", "--keep", "1", "--yes"]).success();
    assert_eq!(standing(&sandbox), ["wave"]);
    let moved = sandbox.top().join("moved");
    std::fs::rename(sandbox.root(), &moved).unwrap();
    sandbox
        .run_in(&moved, &["relink", "../work", "--yes"])
        .success();
    sandbox
        .run_in(&moved, &["create"])
        .code(4)
        .stderr_has("'wave'");
    sandbox
        .run_in(&moved, &["delete", "--all", "--yes"])
        .success();
    sandbox.run_in(&moved, &["create"]).success();
}

#[test]
fn a_name_of_several_words_is_printed_as_it_is_typed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let hold = sandbox.run(&["hold", "w 2"]).success();
    hold.stdout_has("Hold 'w 2' until");
    let release = sandbox.run(&["release", "w 2"]).success();
    release.stdout_has("Released 'w 2'.");
}
