//! `prune --orphaned`: removes the stores of directories that are gone, and nothing else.

use crate::bench::{Sandbox, fixtures};
use crate::list_all::{project, store_of};

#[test]
fn stores_of_roots_that_are_gone_go_and_all_others_stay() {
    let sandbox = Sandbox::new();
    sandbox.create("first");
    let gone = project(&sandbox, "gone");
    let unmounted = project(&sandbox, "disk/unmounted");
    let nameless = project(&sandbox, "nameless");
    std::fs::remove_file(store_of(&sandbox, &nameless).join("checkpoint/description"))
        .expect("a file can go");
    for dir in [
        &gone,
        &nameless,
        &unmounted.parent().expect("a disk").to_path_buf(),
    ] {
        fixtures::remove(dir);
    }
    for kept in [
        sandbox.store(),
        store_of(&sandbox, &unmounted),
        store_of(&sandbox, &nameless),
    ] {
        sandbox.watch(&kept);
    }
    sandbox
        .run(&["prune", "--orphaned", "--dry-run"])
        .success()
        .stdout_has("gone")
        .stdout_has("Would remove 1 store");
    assert!(store_of(&sandbox, &gone).exists());
    sandbox
        .run(&["prune", "--orphaned"])
        .code(4)
        .stderr_has("--yes");
    assert!(store_of(&sandbox, &gone).exists());
    let named = format!("removed: {}\n", gone.display());
    sandbox
        .run(&["prune", "--orphaned", "--yes"])
        .success()
        .stdout_has("Removed 1 store")
        .stderr_has(&named);
    assert!(!store_of(&sandbox, &gone).exists());
    sandbox
        .run(&["prune", "--orphaned"])
        .success()
        .stdout_is("No orphaned stores.\n");
}

#[test]
fn kept_damaged_copies_go_too() {
    let sandbox = Sandbox::new();
    sandbox.create("first");
    let copy = sandbox.store().with_extension("corrupt-20260324");
    fixtures::copy_tree(&sandbox.store(), &copy);
    sandbox.watch(&sandbox.store());
    let data = sandbox
        .run(&["prune", "--orphaned", "--yes", "--json"])
        .success()
        .data();
    assert_eq!(
        (
            &data["removed"][0]["kept_copy"],
            data["left"].as_array().map(Vec::len)
        ),
        (&true.into(), Some(0))
    );
    assert!(!copy.exists());
}

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
fn what_killed_deletions_left_goes_with_it() {
    let sandbox = Sandbox::new();
    sandbox.create("first");
    let leftover = sandbox
        .store()
        .with_file_name("ffffffffffffffff.deleted-0123456789abcdef");
    std::fs::create_dir_all(leftover.join("objects")).expect("a directory can be made");
    sandbox.run(&["prune", "--orphaned"]).success();
    assert!(!leftover.exists());
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

#[test]
fn a_root_whose_parent_is_another_directory_is_not_gone() {
    let sandbox = Sandbox::new();
    let (swapped, gone) = (
        project(&sandbox, "disk/swapped"),
        project(&sandbox, "disk/gone"),
    );
    let (disk, aside) = (sandbox.top().join("disk"), sandbox.top().join("aside"));
    fixtures::remove(&gone);
    std::fs::rename(&disk, &aside).expect("a directory can be moved");
    std::fs::create_dir(&disk).expect("a directory can be made");
    sandbox
        .run(&["prune", "--orphaned", "--yes"])
        .success()
        .stdout_has("No orphaned stores");
    assert!(store_of(&sandbox, &swapped).exists() && store_of(&sandbox, &gone).exists());
    std::fs::remove_dir(&disk).expect("a directory can go");
    std::fs::rename(&aside, &disk).expect("a directory can be moved");
    sandbox
        .run(&["prune", "--orphaned", "--yes"])
        .success()
        .stdout_has("Removed 1 store");
    assert!(store_of(&sandbox, &swapped).exists() && !store_of(&sandbox, &gone).exists());
}

#[test]
fn a_parent_that_was_made_anew_is_learnt_by_the_next_writer() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox, "disk/project");
    let (disk, aside) = (sandbox.top().join("disk"), sandbox.top().join("aside"));
    std::fs::rename(&disk, &aside).expect("a directory can be moved");
    std::fs::create_dir(&disk).expect("a directory can be made");
    std::fs::rename(aside.join("project"), &project).expect("a directory can be moved");
    sandbox
        .run_in(&project, &["create", "-r", "again"])
        .success();
    fixtures::remove(&project);
    sandbox
        .run(&["prune", "--orphaned", "--yes"])
        .success()
        .stdout_has("Removed 1 store");
}
