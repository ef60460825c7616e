//! `prune`: what it drops, what it keeps, and what it reports.

use crate::bench::{Sandbox, fixtures};

fn with(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("number {at}"))
    };
    let ids = (0..count).map(make).collect();
    (sandbox, ids)
}

#[test]
fn a_store_with_nothing_to_drop_is_told_so() {
    let (sandbox, _) = with(2);
    sandbox.run(&["prune"]).success();
    sandbox
        .run(&["prune"])
        .success()
        .stdout_is("Nothing to prune.\n");
}

#[test]
fn prune_keeps_the_newest_and_drops_the_oldest() {
    let (sandbox, ids) = with(5);
    let run = sandbox
        .run(&["prune", "--keep", "2", "--yes"])
        .success()
        .stdout_has("Pruned: 3 checkpoints");
    assert!(run.stdout.contains("→"), "{run}");
    assert_eq!(sandbox.listed_ids(), [ids[4].clone(), ids[3].clone()]);
    sandbox.run(&["show", &ids[0]]).code(3).stdout_is("");
}

#[test]
fn a_dry_run_tells_the_plan_and_changes_nothing() {
    let (sandbox, ids) = with(4);
    sandbox.watch(&sandbox.store());
    let data = sandbox
        .run(&["prune", "--keep", "1", "--yes", "--dry-run", "--json"])
        .success()
        .data();
    assert_eq!(data["dry_run"], true);
    let evicted: Vec<&str> = data["dropped"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|e| e["checkpoint"]["short"].as_str())
        .collect();
    assert_eq!(evicted, [ids[0].as_str(), &ids[1], &ids[2]]);
    assert_eq!(sandbox.listed().len(), 4);
}

#[test]
fn keep_is_at_least_one() {
    let (sandbox, ids) = with(3);
    sandbox.run(&["prune", "--keep", "0"]).code(2).stdout_is("");
    sandbox.run(&["prune", "--keep", "1", "--yes"]).success();
    assert_eq!(sandbox.listed_ids(), [ids[2].clone()]);
}

#[test]
fn create_evicts_beyond_fifty_and_names_what_went() {
    let (sandbox, ids) = with(50);
    sandbox.write("a", "one more");
    let data = sandbox.create_data(&[]);
    assert_eq!(data["dropped"].as_array().map(Vec::len), Some(1));
    assert_eq!(data["dropped"][0]["checkpoint"]["short"], ids[0].as_str());
    assert_eq!(sandbox.listed().len(), 50);
}

#[test]
fn of_many_that_a_setting_evicts_the_last_says_where_it_is() {
    let (sandbox, ids) = with(4);
    sandbox.user_config("keep = 2\n");
    let run = sandbox.run(&["prune"]).success();
    let lines: Vec<&str> = run.stderr.lines().collect();
    let where_it_is = "only the last 2 are kept; 'checkpoint config' shows where keep is set";
    assert!(
        lines[0].contains(&ids[0]) && lines[0].ends_with("only the last 2 are kept"),
        "{run}"
    );
    assert!(
        lines[1].contains(&ids[1]) && lines[1].ends_with(where_it_is),
        "{run}"
    );
}

#[test]
fn without_a_store_prune_says_so_and_succeeds() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["prune"]).success();
    assert!(!run.stderr.is_empty(), "nothing was said\n{run}");
    assert!(!sandbox.store().exists(), "prune made a store");
}

#[test]
fn a_main_that_names_nothing_keeps_nobody_from_pruning() {
    let (sandbox, _) = with(3);
    std::fs::write(
        sandbox.store().join("refs/heads/main"),
        format!("{}\n", "0123456789".repeat(4)),
    )
    .expect("a ref");
    sandbox.run(&["prune", "--dry-run"]).success();
    sandbox.run(&["prune", "--keep", "2", "--yes"]).success();
    if let Some(git) = crate::bench::Git::find(sandbox.root()) {
        git.with("GIT_DIR", sandbox.store())
            .run(&["fsck", "--full", "--strict"])
            .success();
    }
}

#[test]
fn left_over_temporary_files_go() {
    let (sandbox, _) = with(2);
    let litter = sandbox.store().join("objects/pack/tmp_pack_99999_abcdef");
    std::fs::write(&litter, fixtures::noise(1, 4096)).expect("a file can be written");
    sandbox.run(&["prune"]).success();
    assert!(!litter.exists(), "{} is still there", litter.display());
}

#[test]
fn the_project_file_may_raise_keep_but_not_lower_it() {
    let (sandbox, _) = with(3);
    sandbox
        .user_config("keep = 2\n")
        .write(".checkpoint.toml", "keep = 1\n");
    sandbox.run(&["prune"]).success();
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn a_pin_of_what_is_nowhere_keeps_nobody_from_pruning_and_goes() {
    for command in [&["prune"][..], &["verify", "--repair"]] {
        let (sandbox, ids) = with(3);
        sandbox.run(&["pin", &ids[0]]).success();
        let pin = sandbox.store().join("refs/pins").join("2".repeat(40));
        std::fs::write(&pin, format!("{}\n", "2".repeat(40))).expect("a ref");
        sandbox
            .run(&["verify"])
            .success()
            .stdout_has("it pins a commit that does not exist");
        sandbox.run(&["prune", "--dry-run"]).success();
        sandbox.run(command).success();
        assert!(!pin.exists(), "{command:?} left it");
        assert_eq!(sandbox.shown(&ids[0])["pinned"], true);
        let run = sandbox.run(&["verify"]).success();
        assert!(!run.stdout.contains("will be rebuilt"), "{run}");
    }
}

#[test]
fn a_main_that_names_nothing_in_a_store_without_checkpoints_is_named_and_goes() {
    let (sandbox, ids) = with(1);
    sandbox.run(&["delete", &ids[0], "--yes"]).success();
    let main = sandbox.store().join("refs/heads/main");
    std::fs::write(&main, format!("{}\n", "0123456789".repeat(4))).expect("a ref");
    sandbox
        .run(&["verify"])
        .success()
        .stdout_has("it names nothing");
    sandbox.run(&["prune"]).success();
    assert!(!main.exists(), "it is still there");
}
