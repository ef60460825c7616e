//! A store that version 0.1 made, and what this version does with it.
//!
//! `store` is what 0.1 left after: create "first" (a, the script d/run, the link, the directory
//! `empty`), create "second" (a changed, b added), pin "first", a change of a, restore "first",
//! create "scoped" of d with a value. Paths and what is derived are taken out,
//! and two names are changed, so that it is no store here.

use crate::bench::{Git, Sandbox, fixtures};
use crate::source;

/// A directory with that store, in the state in which 0.1 left it.
fn as_left() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.create("for the description");
    let description = std::fs::read(sandbox.store().join("checkpoint/description"));
    fixtures::remove(&sandbox.store());
    let store = source::package().join("tests/it/version_0_1/store");
    fixtures::copy_tree(&store, &sandbox.store());
    let place = |name: &str| sandbox.store().join(name);
    for (here, there) in [("gitignore", ".gitignore"), ("head", "HEAD")] {
        std::fs::rename(place(here), place(there)).expect("a file can be renamed");
    }
    std::fs::create_dir(place("checkpoint")).expect("a directory can be made");
    std::fs::write(
        place("checkpoint/description"),
        description.expect("a store has one"),
    )
    .expect("a file can be written");
    let config = std::fs::read_to_string(place("config")).expect("a store has one");
    let here = sandbox.store().display().to_string();
    std::fs::write(place("config"), config.replace("@STORE@", &here)).expect("it can be written");
    sandbox
        .write("a", "one\n")
        .write("d/run", "echo hi\n")
        .chmod("d/run", 0o755)
        .mkdir("empty")
        .symlink("link", "a");
    sandbox
}

#[test]
fn a_store_of_version_0_1_is_listed_restored_and_undone() {
    let sandbox = as_left();
    let list = sandbox.json("list");
    let rows = list["checkpoints"].as_array().expect("a list");
    let reasons: Vec<_> = rows.iter().map(|row| &row["reason"]).collect();
    assert_eq!(reasons, ["scoped", "pre-restore-safety", "second", "first"]);
    assert_eq!(rows[3]["pinned"], true);
    assert_eq!(sandbox.shown("scoped")["scope"][0], "d");
    let before = sandbox.tree();
    sandbox.undo().success();
    assert_eq!(
        (sandbox.read("a"), sandbox.read("b")),
        ("three\n".into(), "new\n".into())
    );
    sandbox.redo().success();
    sandbox.tree().assert_is(&before, "after undo and redo");
    sandbox.restore("second").success();
    assert_eq!(
        (sandbox.read("a"), sandbox.read("b")),
        ("two\n".into(), "new\n".into())
    );
    sandbox.write("a", "four\n").create("third");
    sandbox.restore("first").success();
    sandbox
        .tree()
        .assert_is(&before, "after the restore of the first");
    sandbox.ok("verify --full");
}

#[test]
fn a_store_of_version_0_1_stays_one_for_git() {
    let sandbox = as_left();
    let Some(git) = Git::find(&sandbox.store()) else {
        return;
    };
    sandbox.write("a", "four\n").create("third");
    sandbox.restore("second").success();
    let args = ["fsck", "--full", "--strict", "--no-dangling"];
    assert_eq!(git.output(&args).trim(), "");
}
