//! `prune --orphaned` beside locks and damage; `stories/orphaned.md` has the rest.

use crate::bench::{Sandbox, fixtures};
use crate::list_all::{project, store_of};

#[test]
fn a_busy_store_is_left_and_named() {
    let sandbox = Sandbox::new();
    let (one, two) = (project(&sandbox, "one"), project(&sandbox, "two"));
    fixtures::remove(&one);
    let lock = std::fs::File::open(store_of(&sandbox, &one).join("checkpoint/lock"))
        .expect("the lock file");
    lock.lock().expect("the lock is free");
    let args = ["prune", "--orphaned", "--yes", "--lock-timeout", "0"];
    sandbox.run(&args).code(7).stderr_has("one");
    let run = sandbox.run(&[&args[..], &["--json"]].concat()).code(7);
    assert_eq!(run.error_code(), "busy");
    fixtures::remove(&two);
    let data = sandbox
        .run(&[&args[..], &["--json"]].concat())
        .code(5)
        .data();
    assert_eq!(data["left"][0]["root"], one.display().to_string());
    assert!(store_of(&sandbox, &one).exists() && !store_of(&sandbox, &two).exists());
}

#[test]
fn damaged_stores_of_gone_roots_go_and_newer_ones_stay() {
    let sandbox = Sandbox::new();
    let (broken, newer) = (project(&sandbox, "broken"), project(&sandbox, "newer"));
    let store = store_of(&sandbox, &broken);
    std::fs::remove_dir_all(store.join("objects")).expect("a directory can go");
    std::fs::write(store.join("checkpoint-manifest.md"), "\0").expect("a file can be written");
    fixtures::make_newer(&store_of(&sandbox, &newer), 9);
    fixtures::remove(&broken);
    fixtures::remove(&newer);
    sandbox
        .run(&["prune", "--orphaned", "--yes"])
        .code(5)
        .stderr_has("newer");
    assert!(!store.exists() && store_of(&sandbox, &newer).exists());
    sandbox.run(&["prune", "--orphaned", "--yes"]).code(6);
}

#[test]
fn a_description_that_names_another_root_makes_no_store_an_orphan() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let lines = std::fs::read_to_string(sandbox.store().join("checkpoint/description"))
        .expect("a description");
    let lines = lines.replace(
        &sandbox.root().display().to_string(),
        &sandbox.top().join("gone").display().to_string(),
    );
    fixtures::write_description(&sandbox.store(), &lines);
    sandbox
        .run(&["prune", "--orphaned", "--yes"])
        .success()
        .stdout_has("No orphaned stores");
    assert_eq!(sandbox.listed_ids().len(), 1);
}
