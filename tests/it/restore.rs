//! `restore` makes a directory what it was; `stories/restore.md` has the rest.

use crate::bench::{Sandbox, tree::Tree};

/// One checkpoint of a directory with every kind of content, and a picture of the directory.
fn with_everything() -> (Sandbox, String, Tree) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("bin/tool", "#!/bin/sh\n")
        .chmod("bin/tool", 0o755);
    sandbox
        .write("secretive", "x")
        .chmod("secretive", 0o600)
        .mkdir("empty/deep")
        .chmod("empty", 0o750);
    sandbox
        .symlink("link", "a")
        .symlink("dangling", "/no/where")
        .symlink("bin/up", "..");
    let id = sandbox.create("everything");
    let tree = sandbox.tree();
    (sandbox, id, tree)
}

#[test]
fn a_removed_directory_comes_back_with_all_modes_and_links() {
    let (sandbox, id, tree) = with_everything();
    for name in ["a", "bin", "secretive", "empty", "link", "dangling"] {
        sandbox.remove(name);
    }
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn restore_brings_back_a_deleted_executable_with_its_mode() {
    let (sandbox, id, tree) = with_everything();
    sandbox.remove("bin/tool");
    sandbox.restore(&id).success();
    assert_eq!(sandbox.tree().get("bin/tool"), tree.get("bin/tool"));
}

#[test]
fn restore_deletes_what_was_added_since() {
    let (sandbox, id, tree) = with_everything();
    sandbox
        .write("new", "n")
        .write("newdir/deep/file", "n")
        .mkdir("newempty")
        .symlink("newlink", "a");
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn read_only_files_in_read_only_directories_come_back() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ro/file", "1")
        .chmod("ro/file", 0o444)
        .chmod("ro", 0o555);
    let id = sandbox.create("read-only");
    let tree = sandbox.tree();
    sandbox
        .chmod("ro", 0o755)
        .remove("ro/file")
        .write("ro/file", "2")
        .write("ro/new", "n")
        .chmod("ro", 0o555);
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn a_root_removed_whole_is_made_again() {
    let sandbox = Sandbox::bare();
    sandbox.write("d/a", "1").chmod("d", 0o700);
    let tree = sandbox.tree();
    let id = sandbox.create("before");
    let root = sandbox.root().display().to_string();
    sandbox.remove("");
    sandbox
        .run_in(sandbox.home(), &["-C", &root, "list"])
        .success()
        .stdout_has(&id);
    sandbox
        .run_in(sandbox.home(), &["-C", &root, "restore", &id, "--yes"])
        .success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn nothing_of_ours_stays_in_the_directory() {
    let (sandbox, id, tree) = with_everything();
    sandbox.write("a", "2").remove("bin");
    sandbox.restore(&id).success();
    sandbox
        .tree()
        .assert_is(&tree, "no staging directory is left");
}
