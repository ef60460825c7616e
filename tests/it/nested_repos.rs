//! Nested repositories are captured as plain files; their `.git`, directory or file, is neither
//! held nor touched.

use crate::bench::Sandbox;

fn with_nested() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("vendor/lib/code.c", "int x;\n")
        .decoy_repository("vendor/lib");
    sandbox
        .write("sub/file", "s")
        .write("sub/.git", "gitdir: ../.git/modules/sub\n")
        .watch(&sandbox.path("sub/.git"));
    sandbox.mkdir("unborn").decoy_repository("unborn");
    sandbox
}

#[test]
fn files_of_nested_repositories_come_back_and_their_dot_git_stays() {
    let sandbox = with_nested();
    let id = sandbox.create("nested");
    let tree = sandbox.tree();
    sandbox
        .write("vendor/lib/code.c", "changed")
        .write("vendor/lib/new.c", "n")
        .write("sub/file", "t")
        .remove("a");
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn a_repository_added_since_keeps_its_dot_git() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("before");
    sandbox
        .write("clone/file", "c")
        .decoy_repository("clone")
        .write("clone/deep/file", "d");
    sandbox.restore(&id).success();
    assert!(sandbox.exists("clone/.git/HEAD"));
    assert!(!sandbox.exists("clone/file") && !sandbox.exists("clone/deep"));
    sandbox.undo().success();
    assert_eq!(
        (sandbox.read("clone/file"), sandbox.read("clone/deep/file")),
        ("c".into(), "d".into())
    );
}

#[test]
fn a_dot_git_under_a_directory_that_must_become_a_file_is_a_conflict() {
    let sandbox = Sandbox::new();
    sandbox.write("thing", "a file");
    let id = sandbox.create("before");
    sandbox
        .remove("thing")
        .write("thing/file", "c")
        .decoy_repository("thing");
    let before = sandbox.tree();
    sandbox.restore(&id).code(4).stderr_has("thing/.git");
    sandbox.tree().assert_is(&before, "after the refusal");
}

#[cfg(unix)]
#[test]
fn a_spelling_that_git_refuses_is_recorded_as_present() {
    let sandbox = Sandbox::new();
    sandbox
        .write("x/.GIT", "1")
        .write("x/git~1", "1")
        .write("x/.Git/config", "1")
        .write("x/file", "1");
    let data = sandbox.create_data(&[]);
    assert_eq!(
        (&data["counts"]["file_count"], &data["coverage"]),
        (&1.into(), &"complete".into())
    );
    assert_eq!(
        data["uncaptured"].as_array().map(Vec::len),
        Some(3),
        "{data}"
    );
    sandbox.write("x/.GIT", "2");
    sandbox.restore("latest").success();
    assert_eq!(sandbox.read("x/.GIT"), "2");
}
