//! The salvage of an unusable store beside kills, waiting and moves; `stories/salvage.md` has the rest.

use std::fs;

use crate::bench::damaged::damaged_copies;
use crate::bench::{Sandbox, Tree, fixtures, given, limit, strace};

fn story() -> (Sandbox, String, Tree) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("d/b", "2")
        .mkdir("empty")
        .write("run", "x")
        .chmod("run", 0o711);
    let first = sandbox.create("first");
    let tree = sandbox.tree();
    sandbox.write("a", "3");
    sandbox.create("second");
    (sandbox, first, tree)
}

#[cfg(unix)]
#[test]
fn a_socket_in_place_of_a_file_stops_no_create() {
    for name in [
        "config",
        "packed-refs",
        "checkpoint/description",
        "checkpoint/stat-cache",
        "checkpoint/size-gate",
    ] {
        let (sandbox, first, tree) = story();
        fixtures::remove(&sandbox.store().join(name));
        fixtures::socket(&sandbox.store().join(name));
        sandbox.fails(6, "list").stderr_has("create");
        let made = sandbox.ok("create -r third");
        made.stderr_has("2 of 2 checkpoints were saved");
        let kept = damaged_copies(&sandbox.store()).remove(0).join(name);
        assert!(!kept.symlink_metadata().unwrap().is_file(), "{name}");
        sandbox.restore(&first).success();
        sandbox.tree().assert_is(&tree, name);
        sandbox.ok("verify --full");
    }
}

#[test]
fn who_waited_for_a_store_that_is_replaced_or_removed_meanwhile_does_not_write_into_the_old_one() {
    let (sandbox, _, _) = story();
    let lock = fs::File::options()
        .write(true)
        .open(sandbox.store().join("checkpoint/lock"))
        .unwrap();
    lock.lock().unwrap();
    sandbox.write("a", "9");
    let waiting = sandbox
        .command(&[], &["create", "-r", "late"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pruning = sandbox
        .command(&[], &["prune", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let aside = sandbox.top().join("removed");
    fs::rename(sandbox.store(), &aside).unwrap();
    let before = fixtures::files_below(&aside);
    drop(lock);
    let pruned = limit::output_of("prune", pruning);
    let made = limit::output_of("create", waiting);
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(
        matches!(pruned.status.code(), Some(0 | 3)),
        "{}",
        String::from_utf8_lossy(&pruned.stdout)
    );
    assert_eq!(
        fixtures::files_below(&aside),
        before,
        "the removed store was written to"
    );
    assert_eq!(
        sandbox.listed_ids(),
        [String::from_utf8_lossy(&made.stdout).trim()]
    );
}

#[test]
fn a_store_that_is_moved_away_in_the_middle_of_a_create_is_not_begun_anew_in_its_place() {
    given!(if strace::available());
    let (sandbox, first, tree) = story();
    sandbox.write("a", "9");
    let (store, aside) = (sandbox.store(), sandbox.top().join("moved"));
    let mover = {
        let (store, aside) = (store.clone(), aside.clone());
        std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            // A pack in the making, which has no name yet.
            while !crate::ctrl_c::leftovers(&store)
                .iter()
                .any(|path| path.starts_with(store.join("objects")))
            {
                assert!(begun.elapsed().as_secs() < 60, "no pack was begun");
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            fs::rename(&store, &aside).unwrap();
        })
    };
    let run = strace::slowed(
        &sandbox,
        "fsync,fdatasync",
        500_000,
        &["create", "--reason", "late"],
    );
    mover.join().unwrap();
    assert!(run.code != 0 && run.stdout.is_empty(), "{run}");
    assert!(!store.exists(), "something was written in the old place");
    fs::rename(&aside, &store).unwrap();
    assert_eq!(sandbox.listed_ids().len(), 2);
    sandbox.create("third");
    sandbox.ok("verify --full");
    sandbox.restore(&first).success();
    sandbox.tree().assert_is(&tree, "after all");
}
