//! Transitions merge small packs into their own: nothing is lost, and nothing else gets slower.

use std::fs;

use checkpoint::store::repository::Store;

use crate::bench::damaged::packs_of;
use crate::bench::fixtures::packs_below;
use crate::bench::{Git, Sandbox, strace};

/// A store with a checkpoint and a run that has since made `steps` transitions.
fn run_of(steps: usize) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "2");
    sandbox.ok("workflow init --id w --phase one --phase two");
    let id = sandbox.create("first");
    sandbox.ok("phase start --no-snapshot");
    for step in 0..steps {
        sandbox
            .run(&["phase", "progress", &format!("step {step}")])
            .success();
    }
    (sandbox, id)
}

fn log_of(sandbox: &Sandbox) -> usize {
    sandbox.ok("workflow show --json").data()["log"]
        .as_array()
        .expect("a log")
        .len()
}

#[test]
fn small_packs_become_one_and_everything_in_them_is_still_there() {
    let (sandbox, id) = run_of(5);
    assert_eq!(packs_below(&sandbox.store()), 8);
    sandbox.ok("phase progress 'once more'");
    assert_eq!(packs_below(&sandbox.store()), 1);
    assert_eq!(log_of(&sandbox), 8);
    sandbox.ok("verify --full");
    if let Some(git) = Git::find(sandbox.home()) {
        git.with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
    }
    sandbox.write("a", "3").restore(&id).success();
    assert_eq!(fs::read(sandbox.root().join("a")).unwrap(), b"1");
}

#[test]
fn each_of_many_states_survives_prune_after_prune() {
    let (sandbox, _) = run_of(120);
    for _ in 0..3 {
        sandbox.ok("prune");
        assert_eq!(log_of(&sandbox), 122);
        sandbox.ok("verify --full");
    }
    sandbox.ok("phase progress 'once more'");
    sandbox.ok("prune");
    sandbox.ok("prune").stdout_is("Nothing to prune.\n");
    assert_eq!(log_of(&sandbox), 123);
    sandbox.ok("verify --full");
}

#[test]
fn what_the_last_scan_saw_is_still_believed() {
    let (sandbox, _) = run_of(6);
    let store = Store::open(sandbox.store()).unwrap().expect("a store");
    let cache = store.stat_cache().expect("a cache");
    assert!(store.trusts(&cache));
    let packs: Vec<_> = packs_of(&sandbox.store());
    assert_eq!(packs.len(), 1, "the packs that it went by are gone");
    assert!(
        packs[0]
            .to_string_lossy()
            .contains(&cache.basis.packs[0].name)
    );
}

#[test]
fn a_small_pack_that_is_damaged_stays_where_it_is() {
    let (sandbox, _) = run_of(4);
    let damaged = packs_of(&sandbox.store()).remove(3);
    let mut bytes = fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::remove_file(&damaged).unwrap();
    fs::write(&damaged, &bytes).unwrap();
    for step in 0..3 {
        sandbox
            .run(&[
                "workflow",
                "init",
                "--id",
                &format!("more-{step}"),
                "--phase",
                "one",
            ])
            .success();
    }
    assert!(
        packs_below(&sandbox.store()) < 5,
        "the others were taken in"
    );
    assert_eq!(fs::read(&damaged).unwrap(), bytes);
}

#[test]
fn creates_too_take_small_packs_in() {
    let sandbox = Sandbox::new();
    let ids: Vec<String> = (0..40)
        .map(|number| {
            sandbox.write("a", format!("{number}"));
            sandbox.create(&format!("number {number}"))
        })
        .collect();
    assert!(
        packs_below(&sandbox.store()) < 12,
        "{} packs",
        packs_below(&sandbox.store())
    );
    sandbox.ok("verify --full");
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(
            sandbox.run(&["cat", &format!("{id}:a")]).success().stdout,
            number.to_string()
        );
    }
}

#[test]
fn where_the_disk_is_full_nothing_but_what_is_new_is_written() {
    if !strace::available() {
        return;
    }
    let (sandbox, _) = run_of(5);
    let before = packs_below(&sandbox.store());
    strace::failing_nth(
        &sandbox,
        "statfs",
        "ENOSYS",
        1,
        &["phase", "progress", "no room"],
    )
    .success();
    assert!(strace::has_struck(&sandbox));
    assert_eq!(
        (log_of(&sandbox), packs_below(&sandbox.store())),
        (8, before + 1)
    );
    sandbox.ok("phase progress 'room again'");
    assert_eq!((log_of(&sandbox), packs_below(&sandbox.store())), (9, 1));
}
