//! Roots that are gone and whose stores are busy, damaged or newer, or name another root;
//! `stories/list_all.md` and `stories/orphaned.md` have the rest.

use std::path::{Path, PathBuf};

use crate::bench::{Sandbox, fixtures, place};

/// Makes another project beside the root, with one checkpoint.
fn project(sandbox: &Sandbox, name: &str) -> PathBuf {
    let dir = crate::bench::os::native(sandbox.top().join(name));
    std::fs::create_dir_all(&dir).expect("a directory can be made");
    std::fs::write(dir.join("file"), name).expect("a file can be written");
    sandbox
        .run(&["-C", &dir.display().to_string(), "create"])
        .success();
    dir
}

fn store_of(sandbox: &Sandbox, root: &Path) -> PathBuf {
    place::store(&sandbox.base(), root)
}

fn state(sandbox: &Sandbox, root: &Path) -> String {
    let data = sandbox.json("list --all");
    let mut found = data["stores"].as_array().expect("a list").iter();
    let one = found.find(|one| one["root"] == root.display().to_string());
    one.expect("it is listed")["root_state"]
        .as_str()
        .expect("a word")
        .to_owned()
}

#[test]
fn an_empty_place_where_a_disk_was_mounted_is_no_deletion() {
    let sandbox = Sandbox::new();
    let root = project(&sandbox, "disk/project");
    let description = store_of(&sandbox, &root).join("checkpoint/description");
    let text = std::fs::read_to_string(&description).expect("a description");
    let other_device: String = text
        .lines()
        .map(|line| {
            if line.starts_with("identity") {
                "identity 4242 7\n".into()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    fixtures::write_description(&store_of(&sandbox, &root), &other_device);
    assert_eq!(state(&sandbox, &root), "present");
    fixtures::remove(&root);
    assert_eq!(state(&sandbox, &root), "unreachable");
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
        .fails(5, "prune --orphaned --yes")
        .stderr_has("newer");
    assert!(!store.exists() && store_of(&sandbox, &newer).exists());
    sandbox.fails(6, "prune --orphaned --yes");
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
        .ok("prune --orphaned --yes")
        .stdout_has("No orphaned stores");
    assert_eq!(sandbox.listed_ids().len(), 1);
}
