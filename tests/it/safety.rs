//! Safety checkpoints: after any order of restores, edits and undos, nothing is lost.

use crate::bench::Sandbox;

#[test]
fn two_restores_and_two_undos_give_the_first_state() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let one = sandbox.create("one");
    sandbox.write("a", "two").write("only-two", "2");
    let two = sandbox.create("two");
    sandbox
        .write("a", "three")
        .write("only-three", "3")
        .mkdir("empty");
    let first_state = sandbox.tree();
    sandbox.restore(&one).success();
    sandbox.restore(&two).success();
    sandbox.undo().success();
    sandbox.undo().success();
    sandbox.tree().assert_is(&first_state, "after two undos");
}

#[test]
fn an_edit_after_a_restore_comes_back_with_redo() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one");
    let one = sandbox.create("one");
    sandbox.write("a", "two");
    sandbox.restore(&one).success();
    sandbox.write("a", "edited").write("fresh", "f");
    let edited = sandbox.tree();
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "two");
    assert!(
        !sandbox.exists("fresh"),
        "undo gives the state before the restore"
    );
    sandbox.redo().success();
    sandbox.tree().assert_is(&edited, "after redo");
}

#[test]
fn undoing_the_restore_of_one_file_leaves_edits_elsewhere() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    let id = sandbox.create("both");
    sandbox.write("a", "2");
    sandbox.run(&["restore", &id, "a", "--yes"]).success();
    sandbox
        .write("b", "edited elsewhere")
        .write("c", "new elsewhere");
    sandbox.undo().success();
    assert_eq!(
        ["a", "b", "c"].map(|name| sandbox.read(name)),
        ["2", "edited elsewhere", "new elsewhere"]
    );
}

#[test]
fn what_is_ignored_now_but_overwritten_is_saved_first() {
    let sandbox = Sandbox::new();
    sandbox.write("cache", "old");
    let id = sandbox.create("before the rule");
    sandbox
        .write(".gitignore", "cache\n")
        .write("cache", "precious");
    sandbox.restore(&id).success();
    assert_eq!(sandbox.read("cache"), "old");
    sandbox.undo().success();
    assert_eq!(sandbox.read("cache"), "precious");
}

#[test]
fn what_the_target_ignored_stays_whatever_todays_rules_say() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".gitignore", "*.db\n")
        .write("a", "1")
        .write("data.db", "precious");
    let id = sandbox.create("ignoring");
    sandbox.write(".gitignore", "").write("a", "2");
    sandbox.restore(&id).success();
    assert_eq!(
        (
            sandbox.read("data.db").as_str(),
            sandbox.read(".gitignore").as_str()
        ),
        ("precious", "*.db\n")
    );
    sandbox.restore(&id).success();
    assert_eq!(
        sandbox.read("data.db"),
        "precious",
        "the second restore leaves it too"
    );
}

#[test]
fn the_target_and_its_safety_checkpoint_survive_eviction() {
    let sandbox = Sandbox::new();
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&at.to_string())
    };
    let ids: Vec<String> = (0..5).map(make).collect();
    sandbox.write("a", "unsaved");
    sandbox.user_config("keep = 5\n");
    sandbox.run(&["restore", &ids[0], "--yes"]).success();
    let listed = sandbox.listed();
    assert!(
        listed.iter().any(|one| one["short"] == ids[0].as_str()),
        "the target is kept"
    );
    assert_eq!(listed[0]["kind"], "safety");
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "unsaved");
}
