//! `max_store_size`: evicts the oldest until the store fits, spares what is protected, and reports
//! all of it.

use crate::bench::{Sandbox, fixtures};

const MIB: usize = 1024 * 1024;

/// A store of `count` checkpoints of one MiB each that share nothing.
fn with(count: u64) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let ids = (0..count).map(|at| add(&sandbox, at)).collect();
    (sandbox, ids)
}

fn add(sandbox: &Sandbox, at: u64) -> String {
    sandbox.write("data", fixtures::noise(at + 1, MIB));
    sandbox.create(&format!("number {at}"))
}

fn reversed(ids: &[String]) -> Vec<String> {
    ids.iter().rev().cloned().collect()
}

#[test]
fn prune_drops_the_oldest_until_the_store_fits() {
    let (sandbox, ids) = with(6);
    sandbox.user_config("max_store_size = '3500 KiB'\n");
    let dry = sandbox.json("prune --dry-run");
    assert_eq!(dry["dropped"].as_array().map(Vec::len), Some(3), "{dry}");
    assert_eq!(sandbox.listed().len(), 6);
    let run = sandbox.ok("prune --json");
    assert_eq!(run.data()["dropped"], dry["dropped"]);
    assert_eq!(run.data()["dropped"][0]["why"], "store_size");
    assert!(run.warning_codes().is_empty(), "{run}");
    assert_eq!(sandbox.listed_ids(), reversed(&ids[3..]));
    assert!(
        sandbox.store_bytes() <= 3500 * 1024,
        "{} bytes",
        sandbox.store_bytes()
    );
    sandbox.ok("prune").stdout_is("Nothing to prune.\n");
}

#[test]
fn a_dry_run_counts_what_the_number_to_keep_drops_once() {
    let (sandbox, ids) = with(6);
    sandbox.user_config("max_store_size = '3500 KiB'\nkeep = 3\n");
    let dry = sandbox.json("prune --dry-run");
    let run = sandbox.ok("prune --json");
    assert_eq!(run.data()["dropped"], dry["dropped"]);
    assert_eq!(sandbox.listed_ids(), reversed(&ids[3..]));
}

#[test]
fn a_dry_run_says_that_the_limit_cannot_be_met() {
    let (sandbox, _) = with(3);
    sandbox.user_config("max_store_size = '100 KiB'\n");
    let dry = sandbox.ok("prune --dry-run --json");
    assert_eq!(dry.warning_codes(), ["over_max_store_size"]);
    let run = sandbox.ok("prune --json");
    assert_eq!(run.data()["dropped"], dry.data()["dropped"]);
    assert_eq!(run.warning_codes(), ["over_max_store_size"]);
}

#[test]
fn create_keeps_to_the_limit_and_tells_what_went() {
    let (sandbox, ids) = with(3);
    sandbox.user_config("max_store_size = '3500 KiB'\n");
    sandbox.write("data", fixtures::noise(4, MIB));
    let run = sandbox.ok("create").stderr_has(&ids[0]);
    assert_eq!(run.stdout.len(), 9, "{run}");
    assert_eq!(sandbox.listed_ids()[1..], reversed(&ids[1..]));
    assert!(
        sandbox.store_bytes() <= 3500 * 1024,
        "{} bytes",
        sandbox.store_bytes()
    );
    sandbox.write("data", fixtures::noise(5, MIB));
    let made = sandbox.create_data(&[]);
    let dropped = &made["dropped"][0];
    assert_eq!(
        (&dropped["checkpoint"]["short"], &dropped["why"]),
        (&ids[1].as_str().into(), &"store_size".into()),
        "{made}"
    );
}

#[test]
fn what_many_share_is_counted_once() {
    let sandbox = Sandbox::new();
    sandbox
        .user_config("max_store_size = '1500 KiB'\n")
        .write("large", fixtures::noise(1, MIB));
    for at in 0..10 {
        sandbox.write("small", at.to_string());
        sandbox.create(&at.to_string());
    }
    sandbox.ok("prune");
    assert_eq!(sandbox.listed().len(), 10);
}

#[test]
fn pins_and_the_newest_stay_and_the_excess_is_said() {
    let (sandbox, ids) = with(4);
    sandbox.ok(format!("pin {}", ids[1]));
    sandbox.user_config("max_store_size = '1 MiB'\n");
    let run = sandbox.ok("prune --json");
    assert_eq!(run.warning_codes(), ["over_max_store_size"]);
    assert_eq!(sandbox.listed_ids(), [ids[3].clone(), ids[1].clone()]);
    let status = sandbox.ok("status --json");
    assert_eq!(
        (
            &status.data()["over_max_store_size"],
            &status.data()["max_store_bytes"]
        ),
        (&true.into(), &MIB.into())
    );
    assert!(
        status
            .warning_codes()
            .contains(&"over_max_store_size".to_owned()),
        "{status}"
    );
    sandbox.write("data", fixtures::noise(9, MIB));
    sandbox
        .ok("create")
        .stderr_has("max_store_size of 1,048,576");
    assert_eq!(sandbox.listed().len(), 2, "the former newest goes");
}

#[test]
fn a_restore_can_be_undone_however_small_the_limit() {
    let (sandbox, ids) = with(2);
    sandbox
        .user_config("max_store_size = '1 KiB'\n")
        .write("data", "unsaved");
    sandbox.restore(&ids[0]).success();
    sandbox.ok("prune");
    sandbox.undo().success();
    assert_eq!(sandbox.read("data"), "unsaved");
}

#[test]
fn only_the_user_sets_the_limit_and_zero_is_none() {
    let (sandbox, _) = with(2);
    sandbox.write(".checkpoint.toml", "max_store_size = 1\n");
    sandbox.ok("prune").stderr_has("user's own");
    sandbox.user_config("max_store_size = 0\n");
    sandbox.ok("prune");
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn dead_bytes_among_live_ones_go_too_when_room_is_short() {
    let sandbox = Sandbox::new();
    for at in 0..8 {
        sandbox.write(format!("f{at}"), fixtures::noise(at, MIB));
    }
    sandbox.write("small", fixtures::noise(99, MIB));
    let first = sandbox.create("all in one pack");
    sandbox.remove("small");
    sandbox.create("without");
    sandbox.ok(format!("delete {first} --yes"));
    let before = sandbox.store_bytes();
    assert!(
        before > 9 * MIB as u64,
        "a pack that is mostly alive was rewritten without need"
    );
    sandbox.user_config("max_store_size = '8500 KiB'\n");
    sandbox.ok("prune");
    assert!(
        sandbox.store_bytes() < 8500 * 1024,
        "{} bytes",
        sandbox.store_bytes()
    );
}
