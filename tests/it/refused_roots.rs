//! Roots chosen by mistake: refused in every spelling before anything is read, unless forced once.

use std::path::Path;

use crate::bench::{Sandbox, tree::Tree};

#[track_caller]
fn refused(sandbox: &Sandbox, dir: &str) {
    let run = sandbox.run(&["-C", dir, "create", "--max-files", "100", "--json"]);
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (4, "unsafe_root"),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn the_file_system_root_temporary_places_and_home_are_refused() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().display().to_string();
    let top = sandbox.top().display().to_string();
    for dir in [
        "/",
        "/tmp",
        "/var/tmp",
        "/tmp/",
        "/tmp/../tmp",
        &home,
        &format!("{home}/"),
        &top,
    ] {
        if Path::new(dir).is_dir() {
            refused(&sandbox, dir);
        }
    }
    assert!(!sandbox.base().exists(), "a refused root wrote something");
}

#[test]
fn a_reader_in_a_refused_root_leads_to_a_project_and_not_to_a_refused_create() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().display().to_string();
    for dir in ["/", &home] {
        for (command, code) in [("status", 0), ("show", 3)] {
            let run = sandbox.run(&["-C", dir, command]).code(code);
            assert!(!run.stderr.contains("checkpoint create"), "{run}");
            run.stderr_has("name a project directory with -C");
        }
    }
}

#[test]
fn the_base_and_the_inside_of_a_store_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    for dir in [
        sandbox.base(),
        sandbox.store(),
        sandbox.store().join("objects"),
    ] {
        refused(&sandbox, &dir.display().to_string());
    }
}

#[test]
fn a_link_to_a_refused_root_is_refused_too() {
    let sandbox = Sandbox::new();
    let link = sandbox.top().join("innocent");
    crate::bench::os::symlink(sandbox.home(), &link).expect("a link can be made");
    refused(&sandbox, &link.display().to_string());
    let home_link = sandbox.top().join("home-link");
    crate::bench::os::symlink(sandbox.home(), &home_link).expect("a link can be made");
    sandbox.env("HOME", &home_link);
    refused(&sandbox, &sandbox.home().display().to_string());
}

#[test]
fn the_refusal_names_the_root_and_the_way_out() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().display().to_string();
    sandbox
        .run(&["-C", &home, "create"])
        .code(4)
        .stderr_has(&home)
        .stderr_has("--force");
    let found = sandbox.run(&["-C", &home, "doctor", "--json"]).code(1);
    let check = &found.data()["checks"][0];
    assert_eq!(check["remedy"], "go to a project, or name one with -C");
    assert!(check["command"].is_null(), "{found}");
}

#[test]
fn force_is_needed_once_and_no_store_is_ever_captured() {
    let sandbox = Sandbox::new();
    let home = sandbox.home().display().to_string();
    sandbox
        .write(sandbox.home().join("note"), "1")
        .write(sandbox.home().join(".claude/settings.json"), "{}");
    let create = |args: &[&str]| sandbox.run(&[&["-C", &home, "create", "--json"], args].concat());
    assert_eq!(
        create(&["--force"]).success().data()["counts"]["file_count"],
        2
    );
    sandbox.write(sandbox.home().join("other"), "1");
    assert_eq!(
        create(&[]).success().data()["counts"]["file_count"],
        3,
        "the store remembers"
    );
    let before = Tree::capture(sandbox.home()).without(|path| path == b".claude/projects");
    sandbox.write(sandbox.home().join("late"), "1");
    sandbox
        .run(&["-C", &home, "restore", "latest", "--yes"])
        .success();
    Tree::capture(sandbox.home())
        .without(|path| path == b".claude/projects")
        .assert_is(&before, "after the restore");
}
