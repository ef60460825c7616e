//! The baseline of `create`, `show` and `status`: what the directory was last set to.

use crate::bench::Sandbox;

fn restored() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let one = sandbox.write("a", "one").create("one");
    sandbox.write("a", "two").write("b", "b").create("two");
    sandbox.write("thrown-away", "x");
    sandbox.restore(&one).success();
    (sandbox, one)
}

#[test]
fn after_a_restore_create_counts_against_what_was_restored() {
    let (sandbox, one) = restored();
    let data = sandbox.write("c", "c").create_data(&["--reason", "three"]);
    let counts = &data["counts"];
    assert_eq!(
        (&counts["added"], &counts["changed"], &counts["deleted"]),
        (&1.into(), &0.into(), &0.into())
    );
    let shown = sandbox.run(&["show", "three", "--json"]).success().data();
    assert_eq!(shown["before"]["short"], one);
    assert_eq!(shown["changes"].as_array().expect("a list").len(), 1);
    sandbox
        .run(&["show", "three"])
        .success()
        .stdout_has(&format!("against {one} (one):\n  + c\n"));
}

#[test]
fn status_tells_the_drift_from_what_was_restored() {
    let (sandbox, one) = restored();
    sandbox.write("c", "c");
    let status = sandbox.status();
    assert_eq!(
        status["drift"],
        serde_json::json!({"added": 1, "changed": 0, "deleted": 0})
    );
    assert_eq!(
        (&status["baseline"]["short"], &status["latest"]["reason"]),
        (&one.as_str().into(), &"two".into())
    );
    sandbox
        .run(&["status"])
        .success()
        .stdout_has(&format!("at           {one} one (test), restored\n"))
        .stdout_has("changed      1 added\n  + c\n");
}

#[test]
fn after_an_undo_the_baseline_is_what_came_back() {
    let (sandbox, _) = restored();
    sandbox.undo().success();
    let counts = sandbox.create_data(&["--reason", "three"])["counts"].clone();
    assert_eq!(
        (&counts["added"], &counts["changed"], &counts["deleted"]),
        (&0.into(), &0.into(), &0.into())
    );
}

#[test]
fn a_restore_of_one_file_sets_no_baseline() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "one").write("b", "one").create("one");
    sandbox.write("a", "two").write("b", "two").create("two");
    sandbox.run(&["restore", "one", "a", "--yes"]).success();
    let counts = sandbox.create_data(&["--reason", "three"])["counts"].clone();
    assert_eq!(
        (&counts["added"], &counts["changed"], &counts["deleted"]),
        (&0.into(), &1.into(), &0.into())
    );
}
