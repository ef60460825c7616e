//! A sweep by the host removes every empty directory of the store at any moment, without harm.

use crate::bench::{Sandbox, fixtures};

#[test]
fn every_command_works_after_a_sweep_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let sweep = || {
        fixtures::delete_empty_directories(&sandbox.base());
        &sandbox
    };
    sandbox.write("a", "one").mkdir("empty");
    let one = sandbox.create("one");
    let tree = sandbox.tree();
    sandbox.write("a", "two");
    let two = sweep().create("two");
    sandbox.run(&["prune"]).success();
    assert_eq!(sweep().listed_ids(), [two.clone(), one.clone()]);
    assert_eq!(sweep().shown(&one)["reason"], "one");
    assert!(!sweep().has_damage());
    assert_eq!(sweep().status()["checkpoint_count"], 2);
    sweep().restore(&one).success();
    sandbox.tree().assert_is(&tree, "after the restore");
    sweep().undo().success();
    assert_eq!(sandbox.read("a"), "two");
    sweep().redo().success();
    sweep().run(&["prune", "--keep", "1", "--yes"]).success();
    let kept = sweep().listed_ids();
    assert!(
        kept.contains(&one),
        "the target of the last restore is kept"
    );
    sandbox.write("a", "three");
    sweep().create("three");
    sandbox.tree();
    assert_eq!(sweep().listed().len(), kept.len() + 1);
}

#[test]
fn a_swept_empty_checkpoint_is_still_there() {
    let sandbox = Sandbox::new();
    let id = sandbox.create("nothing");
    fixtures::delete_empty_directories(&sandbox.base());
    assert_eq!(sandbox.listed_ids(), [id]);
}
