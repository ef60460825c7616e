//! A restore, undo or redo to the present state records nothing and changes nothing.

use crate::bench::os::MetadataExt;

use crate::bench::Sandbox;

fn story() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let id = sandbox.write("a", "one").write("d/b", "b").create("wave-1");
    (sandbox, id)
}

#[test]
fn what_was_asked_for_in_part_is_not_the_whole() {
    let sandbox = Sandbox::new();
    let id = sandbox.write("f", "1").write("g", "1").create("one");
    sandbox.write("new", "2");
    for args in [
        vec!["restore", &id, "--overlay", "--yes"],
        vec!["restore", &id, "f", "--yes"],
    ] {
        let said = format!("Those paths are already as in {id} (one); nothing to do.\n");
        sandbox.run(&args).success().stdout_is(&said);
    }
}

#[test]
fn a_restore_to_what_is_there_records_nothing_and_says_so() {
    let (sandbox, id) = story();
    let said = format!("Already at {id} (wave-1); nothing to do.\n");
    sandbox.restore(&id).success().stdout_is(&said);
    sandbox.run(&["restore", &id]).success().stdout_is(&said);
    sandbox
        .run(&["restore", &id, "a", "--yes"])
        .success()
        .stdout_has("Those paths are already as in ");
    let data = sandbox.restore_data(&[&id]);
    assert_eq!(
        (data["nothing_to_do"].as_bool(), data["safety"].is_null()),
        (Some(true), true)
    );
    assert_eq!(sandbox.listed().len(), 1, "no safety checkpoint");
    assert!(!sandbox.store().join("checkpoint/journal").exists());
    sandbox.undo().code(3);
}

#[test]
fn a_restore_to_what_is_there_leaves_the_time_of_the_root_as_it_is() {
    let (sandbox, id) = story();
    let time = || {
        let stat = std::fs::metadata(sandbox.root()).expect("the root is there");
        (
            stat.mtime(),
            stat.mtime_nsec(),
            stat.ctime(),
            stat.ctime_nsec(),
        )
    };
    let before = time();
    sandbox.restore(&id).success();
    assert_eq!(time(), before);
}

#[test]
fn restoring_twice_and_undoing_once_gives_the_edit_back() {
    let (sandbox, id) = story();
    sandbox.write("a", "an edit");
    sandbox.restore(&id).success();
    sandbox.restore(&id).success();
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "an edit");
}

#[test]
fn restores_that_change_nothing_evict_nothing() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 8\n");
    for wave in 1..=8 {
        sandbox
            .write("a", wave.to_string())
            .create(&format!("wave-{wave}"));
    }
    for _ in 0..6 {
        sandbox.restore("wave-8").success();
    }
    assert_eq!(sandbox.listed().len(), 8);
}

#[test]
fn an_undo_with_nothing_to_do_ends_no_redo_and_names_the_step_beyond() {
    let (sandbox, one) = story();
    sandbox.write("a", "two");
    let two = sandbox.create("wave-2");
    sandbox.write("a", "zero");
    sandbox.restore(&one).success();
    sandbox.restore(&two).success();
    sandbox.write("a", "three");
    sandbox.restore(&one).success();
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "three");
    sandbox.write("a", "one");
    let beyond = sandbox
        .run(&["undo", "--yes"])
        .success()
        .stderr_has("to go back a step further: checkpoint restore ");
    assert!(beyond.stdout.starts_with("Already at "), "{beyond:?}");
    assert_eq!(sandbox.listed().len(), 6, "nothing was recorded");
    sandbox.write("a", "four");
    sandbox.redo().success();
    assert_eq!(sandbox.read("a"), "one");
}

#[test]
fn a_root_that_is_gone_is_made_again_although_the_checkpoint_is_empty() {
    let sandbox = Sandbox::bare();
    let id = sandbox.create("empty");
    std::fs::remove_dir(sandbox.root()).expect("it is empty");
    let root = sandbox.root().display().to_string();
    let run = sandbox
        .run(&["-C", &root, "restore", &id, "--yes"])
        .success();
    assert!(sandbox.root().is_dir(), "{run}");
}

#[cfg(unix)]
#[test]
fn a_root_that_is_gone_and_cannot_be_made_is_named_by_a_dry_run() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = crate::partial::wrapper(&sandbox) else {
        return;
    };
    sandbox.write("below/a", "1");
    let below = sandbox.path("below").display().to_string();
    let run = |words: &[&str]| sandbox.run_under(wrapper, &[&["-C", &below], words].concat());
    run(&["create", "-r", "one"]).success();
    std::fs::remove_dir_all(&below).expect("it can be removed");
    sandbox.chmod("", 0o555);
    let planned = run(&["restore", "one", "--dry-run"]).success();
    let carried_out = run(&["restore", "one", "--yes"]).code(1);
    sandbox.chmod("", 0o755);
    planned.stderr_has("would fail now: cannot write to");
    carried_out.stderr_has("cannot make");
    let planned = run(&["restore", "one", "--dry-run"]).success();
    assert!(!planned.stderr.contains("would fail"), "{planned}");
}

#[test]
fn patterns_that_match_nothing_do_not_make_a_root_that_is_gone() {
    let sandbox = Sandbox::bare();
    let id = sandbox.write("a", "one").create("wave-1");
    std::fs::remove_dir_all(sandbox.root()).expect("it can be removed");
    let root = sandbox.root().display().to_string();
    sandbox
        .run_in(
            &sandbox.top(),
            &["-C", &root, "restore", &id, "--glob", "zzz", "--yes"],
        )
        .code(3)
        .stderr_has("no path of");
    assert!(!sandbox.root().exists());
}
