//! Transitions merge small packs into their own: what a scan believes, and full disks;
//! `stories/workflow_packs.md` has the rest.

use checkpoint::store::repository::Store;

use crate::bench::damaged::packs_of;
use crate::bench::fixtures::packs_below;
use crate::bench::{Sandbox, given, strace};

/// A store with a checkpoint and a run that has since made `steps` transitions.
fn run_of(steps: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "2");
    sandbox.ok("workflow init --id w --phase one --phase two");
    sandbox.create("first");
    sandbox.ok("phase start --no-snapshot");
    for step in 0..steps {
        sandbox.ok(format!("phase progress 'step {step}'"));
    }
    sandbox
}

fn log_of(sandbox: &Sandbox) -> usize {
    let shown = sandbox.json("workflow show");
    shown["log"].as_array().expect("a log").len()
}

#[test]
fn what_the_last_scan_saw_is_still_believed() {
    let sandbox = run_of(6);
    let store = Store::open(sandbox.store()).unwrap().expect("a store");
    let cache = store.stat_cache().expect("a cache");
    assert!(store.trusts(&cache.head.basis));
    let packs = packs_of(&sandbox.store());
    assert_eq!(packs.len(), 1, "the packs that it went by are gone");
    let name = packs[0].display().to_string();
    assert!(name.contains(&cache.head.basis.packs[0].name), "{name}");
}

#[test]
fn where_the_disk_is_full_nothing_but_what_is_new_is_written() {
    given!(if strace::available());
    let sandbox = run_of(5);
    let before = packs_below(&sandbox.store());
    let words = ["phase", "progress", "no room"];
    strace::failing_nth(&sandbox, "statfs", "ENOSYS", 1, &words).success();
    assert!(strace::has_struck(&sandbox));
    let found = || (log_of(&sandbox), packs_below(&sandbox.store()));
    assert_eq!(found(), (8, before + 1));
    sandbox.ok("phase progress 'room again'");
    assert_eq!(found(), (9, 1));
}
