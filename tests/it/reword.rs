//! `reword`: another reason for a checkpoint, whose id stays.

use crate::bench::{Sandbox, strace};

fn with(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 1000\n");
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("number {at}"))
    };
    let ids = (0..count).map(make).collect();
    (sandbox, ids)
}

fn manifest(sandbox: &Sandbox) -> String {
    sandbox.read(sandbox.store().join("checkpoint-manifest.md"))
}

#[test]
fn a_checkpoint_is_listed_and_found_by_its_new_reason() {
    let (sandbox, ids) = with(3);
    sandbox
        .run(&["reword", "number 1", "  the parser works "])
        .success()
        .stdout_is(&format!(
            "Reworded {} (number 1): the parser works\n",
            ids[1]
        ));
    assert_eq!(sandbox.shown("the parser works")["short"], ids[1].as_str());
    assert_eq!(sandbox.shown(&ids[1])["reason"], "the parser works");
    sandbox.run(&["show", "number 1"]).code(3).stdout_is("");
    let listed = sandbox.run(&["list"]).success().stdout;
    assert!(
        listed.contains("the parser works") && !listed.contains("number 1"),
        "{listed}"
    );
    let rows = manifest(&sandbox);
    assert!(
        rows.contains("the parser works") && !rows.contains("number 1"),
        "{rows}"
    );
    let data = sandbox
        .run(&["reword", "@", "last", "--json"])
        .success()
        .data();
    assert_eq!(
        (
            &data["checkpoint"]["short"],
            &data["checkpoint"]["reason"],
            &data["reason_before"],
            &data["nothing_to_do"]
        ),
        (
            &ids[2].as_str().into(),
            &"last".into(),
            &"number 2".into(),
            &false.into()
        )
    );
    sandbox
        .run(&["reword", "@", "last"])
        .success()
        .stdout_is(&format!("Already so: {} (last)\n", ids[2]));
    sandbox.write("a", "later");
    sandbox.create("later");
    assert_eq!(sandbox.shown("last")["short"], ids[2].as_str());
    sandbox.run(&["verify", "--full"]).success();
    assert_eq!(manifest(&sandbox).matches("the parser works").count(), 1);
}

#[test]
fn a_reason_that_is_empty_or_for_no_checkpoint_changes_nothing() {
    let (sandbox, _) = with(1);
    sandbox
        .run(&["reword", "@", " "])
        .code(2)
        .stderr_has("the reason is empty");
    sandbox.run(&["reword", "nope", "x"]).code(3).stdout_is("");
    assert!(!sandbox.store().join("checkpoint/rewords").exists());
}

#[test]
fn the_reason_of_a_checkpoint_in_the_index_changes_too() {
    let (sandbox, ids) = with(20);
    let index = sandbox.store().join("checkpoint/index");
    assert!(index.exists(), "there is none yet");
    sandbox.run(&["reword", &ids[3], "an old one"]).success();
    assert_eq!(sandbox.shown("an old one")["short"], ids[3].as_str());
    sandbox.write("a", "later");
    sandbox.create("later");
    let listed = sandbox.run(&["list"]).success().stdout;
    assert!(
        listed.contains("an old one") && !listed.contains("number 3 "),
        "{listed}"
    );
    assert_eq!(manifest(&sandbox).matches("an old one").count(), 1);
    sandbox.run(&["verify"]).success();
    sandbox.run(&["reword", "an old one", "older"]).success();
    assert_eq!(manifest(&sandbox).matches("an old one").count(), 0);
    assert_eq!(sandbox.shown("older")["short"], ids[3].as_str());
}

#[test]
fn a_damaged_file_of_later_reasons_is_named_and_the_first_ones_count() {
    let (sandbox, ids) = with(1);
    sandbox.run(&["reword", "@", "second thought"]).success();
    sandbox.write(sandbox.store().join("checkpoint/rewords"), "junk\n");
    // The reason may be that of another checkpoint by now.
    sandbox
        .run(&["restore", "number 0", "--yes"])
        .code(6)
        .stderr_has("may name another checkpoint");
    for args in [["cat", "number 0:f"], ["pin", "number 0"]] {
        sandbox.run(&args).code(6);
    }
    let list = sandbox.run(&["list", "--json"]).success();
    assert_eq!(list.warning_codes(), ["rewords_unreadable"]);
    assert_eq!(sandbox.shown(&ids[0])["reason"], "number 0");
    sandbox.run(&["verify"]).code(6).stdout_has("rewords");
    sandbox.run(&["reword", "@", "third"]).code(6).stdout_is("");
    sandbox.run(&["verify", "--repair"]).success();
    sandbox.run(&["verify"]).success();
    assert_eq!(sandbox.shown("number 0")["short"], ids[0].as_str());
}

#[test]
fn the_later_reasons_move_with_the_project() {
    let sandbox = Sandbox::new();
    let old = sandbox.top().join("old-name");
    sandbox.write(old.join("a"), "1");
    let _ = sandbox.run_in(&old, &["create"]).success();
    let _ = sandbox
        .run_in(&old, &["reword", "@", "second thought"])
        .success();
    std::fs::remove_dir_all(&old).expect("it can be removed");
    sandbox.run(&["relink", "../old-name", "--yes"]).success();
    assert_eq!(sandbox.shown("second thought")["reason"], "second thought");
}

#[test]
fn a_killed_reword_leaves_one_reason_or_the_other() {
    if !strace::available() {
        return;
    }
    let calls = "rename,renameat,renameat2,unlink,unlinkat";
    for nth in 1..=6 {
        let (sandbox, ids) = with(2);
        let _ = strace::kill_at(&sandbox, calls, nth, &["reword", &ids[0], "killed"]);
        let reason = sandbox.shown(&ids[0])["reason"].clone();
        assert!(
            reason == "killed" || reason == "number 0",
            "{nth}: {reason}"
        );
        sandbox.write("a", "later");
        sandbox.create("later");
        let row = format!("| {}", reason.as_str().expect("a text"));
        assert!(
            manifest(&sandbox).contains(&row),
            "{nth}: {}",
            manifest(&sandbox)
        );
        sandbox.run(&["verify", "--full"]).success();
    }
}
