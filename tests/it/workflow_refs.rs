//! Runs whose refs are lost: noticed, and recovered from their commits; removed runs stay removed.

use std::fs;

use crate::bench::{Sandbox, fixtures};

/// A store with a run under way, two archived ones, and a checkpoint.
fn with_runs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("f", "1").create("one");
    for id in ["old", "older"] {
        sandbox
            .cmd(format!("workflow init --id {id} --phase a"))
            .success();
        sandbox
            .cmd(format!("workflow note --decision {id} -w {id}"))
            .success();
        sandbox
            .cmd(format!("workflow end --abandon {id}"))
            .success();
    }
    sandbox.ok("workflow init --id w --phase a --phase b");
    sandbox.ok("phase start");
    sandbox.ok("phase progress half");
    sandbox
}

/// The list of runs, and the history of the one under way.
fn told(sandbox: &Sandbox) -> (String, String) {
    let listed = sandbox.cmd("workflow list --all").success().stdout;
    (listed, sandbox.json("workflow show")["log"].to_string())
}

#[test]
fn a_run_whose_ref_is_lost_is_missed_and_comes_back() {
    for lost in [
        "refs/workflows",
        "refs/workflows/w",
        "refs/workflows/old",
        "refs",
    ] {
        let sandbox = with_runs();
        let before = told(&sandbox);
        let gone = sandbox.store().join(lost);
        if gone.is_dir() {
            fs::remove_dir_all(&gone)
        } else {
            fs::remove_file(&gone)
        }
        .expect("it can be removed");
        sandbox.says("verify", 0, "its ref is torn or gone");
        let made = sandbox.write("f", lost).cmd("create --json").success();
        assert!(
            made.warning_codes()
                .contains(&"workflow_restored".to_owned()),
            "{lost}: {made}"
        );
        sandbox.ok("prune");
        assert_eq!(told(&sandbox), before, "{lost}");
        sandbox.ok("verify --full");
    }
}

#[test]
fn nothing_is_pruned_that_a_lost_ref_named() {
    let sandbox = with_runs();
    let before = told(&sandbox);
    fs::remove_dir_all(sandbox.store().join("refs/workflows")).expect("refs");
    sandbox.ok("prune");
    assert_eq!(told(&sandbox), before);
}

#[test]
fn a_run_that_is_given_up_keeps_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.ok("workflow init --id w --phase one");
    sandbox.fails(2, "workflow end w --reason late");
    let why = "superseded by the rewrite";
    sandbox
        .run(&["workflow", "end", "--abandon", "--reason", why])
        .success();
    sandbox
        .ok("workflow show w")
        .stdout_has("abandon")
        .stdout_has(why);
    let listed = sandbox.json("workflow list --all");
    assert_eq!(listed["workflows"][0]["last_error"], why);
}

#[test]
fn a_run_that_was_removed_does_not_come_back() {
    let sandbox = with_runs();
    sandbox.ok("workflow end --abandon w");
    sandbox.write("f", "2").create("two");
    sandbox.fails(3, "workflow status");
    sandbox.ok("verify --full");
    let path = sandbox.store().join("checkpoint/workflows");
    let roll = fs::read_to_string(&path).expect("the roll");
    assert!(roll.starts_with(r#"["old","older","w"]"#), "{roll}");
    sandbox.ok("workflow end w --purge --yes");
    sandbox.write("f", "3").create("three");
    sandbox.fails(3, "workflow show w");
    sandbox.ok("verify --full");
}

#[test]
fn what_stands_in_the_place_of_a_folder_of_refs_stops_nothing() {
    let sandbox = with_runs();
    let before = told(&sandbox);
    let (store, aside) = (sandbox.store(), sandbox.top().join("aside"));
    fixtures::copy_tree(&store, &aside);
    for place in ["pins", "meta", "workflows"] {
        for content in ["main", "", "neither"] {
            fixtures::remove(&store);
            fixtures::copy_tree(&aside, &store);
            let refs = store.join("refs");
            let main = fs::read_to_string(refs.join("heads/main")).expect("main");
            fixtures::remove(&refs.join(place));
            fs::write(
                refs.join(place),
                if content == "main" { &main } else { content },
            )
            .expect("a file");
            let context = format!("refs/{place} holds {content:?}");
            sandbox.write("f", "2").create("two");
            assert_eq!(told(&sandbox), before, "{context}");
            sandbox.ok("workflow note --decision later");
            sandbox.ok("verify --full");
            sandbox.ok("prune");
            assert!(sandbox.listed_ids().len() >= 2, "{context}");
        }
    }
}

#[test]
fn a_packed_ref_whose_name_can_be_no_file_is_passed_over() {
    for name in [
        "refs/h\0eads/x".to_owned(),
        format!("refs/heads/{}", "x".repeat(300)),
    ] {
        let sandbox = with_runs();
        let before = told(&sandbox);
        let main = fs::read_to_string(sandbox.store().join("refs/heads/main")).expect("main");
        fs::write(
            sandbox.store().join("packed-refs"),
            format!("{} {name}\n", main.trim()),
        )
        .expect("a file");
        sandbox.write("f", "2").create("two");
        sandbox.ok("verify");
        assert_eq!(told(&sandbox), before);
    }
}

#[test]
fn a_roll_that_is_missing_or_damaged_is_made_from_the_refs() {
    let sandbox = with_runs();
    let path = sandbox.store().join("checkpoint/workflows");
    let roll = fs::read_to_string(&path).expect("the roll");
    fs::remove_file(&path).expect("it is there");
    sandbox.write("f", "2").create("two");
    assert_eq!(fs::read_to_string(&path).expect("it is made again"), roll);
    fs::write(&path, roll.replace("old", "new")).expect("it can be damaged");
    sandbox.says("verify", 0, "checkpoint/workflows: its checksum is wrong");
    sandbox.says("workflow list --all", 0, "older");
    sandbox.write("f", "3").create("three");
    assert_eq!(fs::read_to_string(&path).expect("it is made again"), roll);
}

#[test]
fn a_run_whose_ref_is_gone_is_found_by_its_commits_and_its_file_is_not_written_over() {
    for with_objects in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("before");
        sandbox.ok("workflow init --id p --profile pipeline --phase a --phase b");
        sandbox.ok("phase start");
        sandbox.ok("phase done");
        let kept = sandbox.read(".claude/pipeline-state.json");
        if with_objects {
            std::fs::remove_file(sandbox.store().join("refs/workflows/p")).expect("it was written");
            sandbox.says("verify", 0, "its ref is torn or gone");
        } else {
            std::fs::remove_dir_all(sandbox.store().join("refs")).expect("it is there");
            std::fs::remove_dir_all(sandbox.store().join("objects")).expect("it is there");
            sandbox.create("after the loss");
        }
        let status = sandbox.json("workflow status");
        assert_eq!(
            status["completed"].as_array().map(Vec::len),
            Some(1),
            "{status}"
        );
        sandbox.fails(4, "workflow init --profile pipeline --phase z --id z");
        assert_eq!(sandbox.read(".claude/pipeline-state.json"), kept);
        sandbox.ok("verify");
    }
}
