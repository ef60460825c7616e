//! Deletions that meet kills and a terminal; `stories/delete.md` and `damage.md` have the
//! rest.

use crate::bench::terminal::with_keyboard;
use crate::bench::{Sandbox, given, strace};

fn with(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("number {at}"))
    };
    let ids = (0..count).map(make).collect();
    (sandbox, ids)
}

#[test]
fn the_two_checkpoints_of_a_pending_restore_are_refused() {
    given!(if strace::available());
    let (sandbox, target, safety) = pending_restore();
    for id in [&target, &safety] {
        let run = sandbox.fails(4, format!("delete {id} --yes --json"));
        assert_eq!(run.error_code(), "restore_pending");
    }
    sandbox.fails(4, "delete --all --yes").stderr_has("undo");
    sandbox.ok("delete third --yes");
    sandbox.ok("restore --resume");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn force_deletes_the_store_of_a_pending_restore_and_only_with_all() {
    given!(if strace::available());
    let (sandbox, target, _) = pending_restore();
    sandbox.fails(2, format!("delete {target} --force --yes"));
    sandbox.ok("delete --all --force --yes");
    assert!(!sandbox.store().exists());
}

/// Kills a restore while it changes files; returns its target and its safety checkpoint.
fn pending_restore() -> (Sandbox, String, String) {
    for at in 1..100 {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").write("b", "1");
        let target = sandbox.create("first");
        sandbox.write("c", "1");
        sandbox.create("third");
        sandbox.write("a", "2").write("b", "2");
        let words = ["restore", &target, "--yes"];
        let run = strace::kill_at(&sandbox, "renameat2,renameat,rename", at, &words);
        assert_ne!(run.code, 0, "the restore was never killed half-way");
        if let Some(safety) = sandbox.status()["pending"]["safety"]["id"].as_str() {
            return (sandbox, target, safety[..8].to_owned());
        }
    }
    panic!("no restore was left pending");
}

#[test]
fn on_a_terminal_the_list_is_shown_and_the_answer_decides() {
    let (sandbox, ids) = with(2);
    let typed = |answer: &str, words: &str| {
        let line = format!("$checkpoint delete {words}");
        with_keyboard(&sandbox, &format!("echo {answer}"), &line)
    };
    let run = given!(typed("n", "latest")).code(4);
    run.stdout_has(&ids[1]).stdout_has("[y/N]");
    assert_eq!(sandbox.listed().len(), 2);
    let run = given!(typed("y", "latest")).success();
    run.stdout_has("Deleted 1 checkpoint");
    assert_eq!(sandbox.listed_ids(), ids[..1]);
    given!(typed("y", "--all --no-input")).code(4);
    given!(typed("y", "--all")).success();
    assert!(!sandbox.store().exists());
}

#[test]
fn a_store_of_which_files_stay_is_deleted_and_they_are_named() {
    given!(if strace::available());
    let (sandbox, _) = with(2);
    let delete = ["delete", "--all", "--yes", "--json"];
    let run = strace::failing_from(&sandbox, "unlinkat,unlink", "EACCES", 1, &delete).code(5);
    assert!(strace::has_struck(&sandbox), "{run}");
    assert_eq!(run.warning_codes(), ["bookkeeping"], "{run}");
    let data = run.data();
    assert!(data["after_bytes"].as_u64().is_some_and(|left| left > 0));
    assert_eq!(data["dropped"].as_array().map(Vec::len), Some(2));
    assert!(!sandbox.store().exists());
    // The next deletion removes them.
    sandbox.create("anew");
    let again = sandbox.run(&delete).success();
    assert_eq!(again.data()["after_bytes"], 0);
}
