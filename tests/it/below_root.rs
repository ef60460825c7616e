//! A directory below a root that has a store: nothing begins a second one there by accident.

use crate::bench::Sandbox;

/// A root with a checkpoint, and a directory in it.
fn nested() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "1").create("of the root");
    sandbox
}

#[test]
fn below_a_root_what_would_begin_a_store_is_refused_and_names_both_ways_on() {
    let sandbox = nested();
    let root = sandbox.root().display().to_string();
    let stores = || sandbox.run(&["list", "--all", "--json"]).success().data()["stores"].clone();
    let before = stores();
    for command in [
        &["create"][..],
        &["create", "--scope", "a"],
        &["guard"],
        &["guard", "--scope", "a"],
        &["hold", "wave"],
        &["workflow", "init", "--phase", "one"],
        &["phase", "start"],
    ] {
        let run = sandbox.run(&[&["-C", "src"], command].concat()).code(4);
        run.stderr_has(&format!("checkpoint -C {root} "))
            .stderr_has("--here");
        let run = sandbox
            .run(&[&["-C", "src", "--json"], command].concat())
            .code(4);
        assert_eq!(run.error_code(), "below_root", "{run}");
    }
    assert_eq!(stores(), before, "no store was made");
    sandbox
        .run(&["-C", &root, "create", "--scope", "src/a"])
        .success();
}

#[test]
fn here_begins_a_store_once_and_a_repository_of_its_own_needs_no_word() {
    let sandbox = nested();
    sandbox
        .run(&["-C", "src", "create", "--here", "-r", "own"])
        .success();
    sandbox
        .write("src/a", "2")
        .run(&["-C", "src", "create"])
        .success();
    sandbox.run(&["-C", "src", "hold", "wave"]).success();
    sandbox.write("vendored/.git", "gitdir: elsewhere\n");
    sandbox.run(&["-C", "vendored", "create"]).success();
}

#[test]
fn readers_below_a_root_name_it_and_end_as_before() {
    let sandbox = nested();
    let root = sandbox.root().display().to_string();
    for (command, code) in [
        (&["list"][..], 0),
        (&["status"], 0),
        (&["show", "@"], 3),
        (&["undo"], 3),
    ] {
        let run = sandbox.run(&[&["-C", "src"], command].concat()).code(code);
        run.stderr_has(&format!("-C {root} "));
    }
}

#[test]
fn readers_of_workflows_below_a_root_name_it_and_its_run() {
    let sandbox = nested();
    let root = sandbox.root().display().to_string();
    let status = ["-C", "src", "workflow", "status", "--json"];
    let run = sandbox.run(&status).code(3);
    run.stderr_has(&format!(
        "'checkpoint -C {root} workflow init --phase NAME'"
    ));
    sandbox
        .run(&["workflow", "init", "--id", "run1", "--phase", "one"])
        .success();
    for command in [
        &["workflow", "status"][..],
        &["workflow", "resume"],
        &["workflow", "next"],
        &["workflow", "show", "run1"],
        &["workflow", "export"],
        &["workflow", "validate"],
        &["workflow", "rewind", "one", "--files"],
        &["task", "list"],
    ] {
        let run = sandbox.run(&[&["-C", "src"], command].concat()).code(3);
        run.stderr_has(&format!(
            "{root} has one: 'checkpoint -C {root} workflow status' shows it"
        ));
    }
    let run = sandbox.run(&status).code(3);
    assert_eq!(run.error_code(), "no_workflow", "{run}");
    let list = ["-C", "src", "workflow", "list"];
    sandbox
        .run(&list)
        .success()
        .stderr_has(&format!("'checkpoint -C {root} workflow list' lists those"));
    let run = sandbox.run(&[&list[..], &["--json"]].concat()).success();
    assert_eq!(run.data()["root_above"], root);
    sandbox.run(&["-C", &root, "workflow", "status"]).success();
}

#[test]
fn a_base_is_not_made_out_of_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let gone = sandbox.top().join("typo/base");
    let run = sandbox
        .run(&["--base", &gone.display().to_string(), "create"])
        .code(1);
    run.stderr_has("typo does not exist")
        .stderr_has("nothing was made");
    sandbox.env("HOME", sandbox.top().join("nonexist"));
    sandbox
        .run(&["create"])
        .code(1)
        .stderr_has("nonexist does not exist");
    assert!(!sandbox.top().join("typo").exists() && !sandbox.top().join("nonexist").exists());
}

#[test]
fn the_folder_of_all_projects_is_refused() {
    let sandbox = nested();
    let projects = sandbox.base().join("projects");
    let run = sandbox
        .run(&["-C", &projects.display().to_string(), "create", "--json"])
        .code(4);
    assert_eq!(run.error_code(), "unsafe_root");
}

#[test]
fn the_command_that_names_the_root_above_can_be_run() {
    let sandbox = nested();
    for (args, code, last) in [
        (&["create"][..], 4, "status"),
        (&["show"], 3, "list"),
        (&["undo"], 3, "list"),
    ] {
        let run = sandbox.run(&[&["-C", "src"], args, &["--json"]].concat());
        let command = run.code(code).json()["error"]["command"].clone();
        let root = sandbox.root().display().to_string();
        assert_eq!(command, serde_json::json!(["checkpoint", "-C", root, last]));
        sandbox.run(&["-C", &root, last]).success();
    }
}
