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
        (&counts["added"], &counts["modified"], &counts["deleted"]),
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
fn whatever_names_no_checkpoint_means_where_the_directory_stands() {
    let (sandbox, one) = restored();
    let named = |args: &[&str]| sandbox.run(args).success();
    // Nothing has changed since the restore, in the words of every command.
    named(&["status"]).stdout_has("changed      nothing since\n");
    named(&["diff"]).stdout_is("");
    named(&["create", "--max-files", "0", "-m", "x"]).stderr_has("+0 ~0 -0");
    named(&["delete", "x", "--yes"]);
    sandbox.restore("two").success();
    sandbox.restore(&one).success();
    let data = named(&["diff", "--json"]).data();
    assert_eq!(data["from"]["short"], one);
    named(&["show"]).stdout_has(&one);
    named(&["ls"]).stdout_is("a\n");
    named(&["cat", "a"]).stdout_is("one");
    named(&["cat", "@:a"]).stdout_is("one");
    sandbox.write("a", "edited");
    named(&["restore", "a", "--yes"]).stdout_has(&one);
    assert_eq!(sandbox.read("a"), "one");
    let listed = named(&["list", "--json"]).data();
    let rows = listed["checkpoints"].as_array().expect("rows");
    let here: Vec<_> = rows
        .iter()
        .filter(|row| row["is_current"] == true)
        .collect();
    assert_eq!((here.len(), &here[0]["short"]), (1, &one.as_str().into()));
}

#[test]
fn steps_back_from_where_the_directory_stands_are_counted_there() {
    let sandbox = Sandbox::new();
    let ids = ["one", "two", "three"].map(|text| sandbox.write("a", text).create(text));
    sandbox.restore(&ids[1]).success();
    let short = |selector: &str| {
        let shown = sandbox.run(&["show", selector, "--json"]).success().data();
        shown["checkpoint"]["short"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    assert_eq!((short("@"), short("@~1")), (ids[1].clone(), ids[0].clone()));
    assert_eq!(short("latest"), ids[2]);
    sandbox.run(&["pin", "@"]).success().stdout_has(&ids[1]);
    sandbox.run(&["show", "@~2"]).code(3);
    // What an undo goes back to is named by the checkpoint that holds the same.
    sandbox.undo().success();
    let row = sandbox
        .listed()
        .into_iter()
        .find(|row| row["is_current"] == true);
    assert_eq!(row.expect("a row")["short"], ids[2].as_str());
    assert_eq!((short("@"), short("@~1")), (ids[2].clone(), ids[1].clone()));
    sandbox.run(&["diff"]).success().stdout_is("");
}

#[test]
fn status_tells_the_drift_from_what_was_restored() {
    let (sandbox, one) = restored();
    sandbox.write("c", "c");
    let status = sandbox.status();
    assert_eq!(
        status["drift"],
        serde_json::json!({"added": 1, "modified": 0, "deleted": 0})
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
        (&counts["added"], &counts["modified"], &counts["deleted"]),
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
        (&counts["added"], &counts["modified"], &counts["deleted"]),
        (&0.into(), &1.into(), &0.into())
    );
}

#[cfg(unix)]
#[test]
fn a_mode_alone_is_a_change_in_every_count() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a/f", "1")
        .write("g", "2")
        .write("h", "3")
        .create("one");
    sandbox.chmod("a/f", 0o600);
    let status = sandbox.run(&["status"]).success();
    status.stdout_has("~ a/f");
    let made = sandbox.run(&["create", "two"]).success();
    made.stderr_has("+0 ~1 -0");
    sandbox.run(&["show"]).success().stdout_has("~ a/f");
    let list = sandbox.run(&["list", "--stat"]).success();
    list.stdout_has("+0 ~1 -0");
}
