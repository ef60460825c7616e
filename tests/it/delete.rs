//! Deletions that meet kills, damage, plain git and a terminal; `stories/delete.md` has the rest.

use crate::bench::{Git, Run, Sandbox, fixtures, skipped, strace};

fn with(count: usize) -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let make = |at: usize| {
        sandbox.write("a", at.to_string());
        sandbox.create(&format!("number {at}"))
    };
    let ids = (0..count).map(make).collect();
    (sandbox, ids)
}

fn full_id(sandbox: &Sandbox, short: &str) -> String {
    let rows = sandbox.listed();
    let row = rows
        .iter()
        .find(|row| row["short"] == short)
        .expect("it is listed");
    row["id"].as_str().expect("an id").to_owned()
}

#[test]
fn deleting_the_last_one_leaves_an_empty_store_in_which_everything_works() {
    let (sandbox, ids) = with(2);
    sandbox.ok(format!("delete {} {} --yes", ids[0], ids[1]));
    assert_eq!(sandbox.listed().len(), 0);
    assert!(
        !sandbox.store().join("refs/heads/main").exists(),
        "main names what is gone"
    );
    if let Some(git) = Git::find(sandbox.root()) {
        let git = git.with("GIT_DIR", sandbox.store());
        let fsck = git.ok("fsck --full --strict");
        assert!(!fsck.stderr.contains("error"), "{fsck}");
        assert_eq!(
            git.output(&["count-objects", "-v"])
                .lines()
                .find(|line| line.starts_with("in-pack")),
            Some("in-pack: 0")
        );
    }
    sandbox.ok("prune");
    sandbox.ok("status").stdout_has("checkpoints  0");
    sandbox.fails(3, "restore latest --yes");
    fixtures::delete_empty_directories(&sandbox.base());
    sandbox.write("a", "again");
    let id = sandbox.create("again");
    assert_eq!(sandbox.listed_ids(), [id]);
}

#[test]
fn main_names_the_newest_that_is_left() {
    let (sandbox, ids) = with(3);
    let second = full_id(&sandbox, &ids[1]);
    sandbox.ok(format!("delete {} --yes", ids[2]));
    assert_eq!(
        std::fs::read_to_string(sandbox.store().join("refs/heads/main")).expect("main"),
        format!("{second}\n")
    );
    if let Some(git) = Git::find(sandbox.root()) {
        git.with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
    }
}

#[test]
fn a_commit_that_plain_git_put_on_main_is_not_lost_by_a_deletion() {
    let (sandbox, ids) = with(2);
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    let git = git.with("GIT_DIR", sandbox.store());
    let foreign = git.output(&["commit-tree", "-m", "by hand", "main^{tree}"]);
    git.run(&["update-ref", "refs/heads/main", &foreign])
        .success();
    sandbox.ok(format!("delete {} {} --yes", ids[0], ids[1]));
    assert_eq!(
        git.output(&["log", "-1", "--format=%s", &foreign]),
        "by hand"
    );
}

#[test]
fn the_two_checkpoints_of_a_pending_restore_are_refused() {
    if !strace::available() {
        return;
    }
    let (sandbox, target, safety) = pending_restore();
    for id in [&target, &safety] {
        let run = sandbox.fails(4, format!("delete {id} --yes --json"));
        assert_eq!(run.error_code(), "restore_pending");
    }
    sandbox.fails(4, "delete --all --yes").stderr_has("undo");
    sandbox.ok("delete third --yes");
    sandbox.ok("restore --resume");
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn force_deletes_the_store_of_a_pending_restore_and_only_with_all() {
    if !strace::available() {
        return;
    }
    let (sandbox, target, _) = pending_restore();
    sandbox.fails(2, format!("delete {target} --force --yes"));
    sandbox.ok("delete --all --force --yes");
    assert!(!sandbox.store().exists());
}

/// Kills a restore while it changes files; returns its target and its safety checkpoint.
fn pending_restore() -> (Sandbox, String, String) {
    for at in 1..100 {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").write("b", "1");
        let target = sandbox.create("first");
        sandbox.write("c", "1");
        sandbox.create("third");
        sandbox.write("a", "2").write("b", "2");
        let run = strace::kill_at(
            &sandbox,
            "renameat2,renameat,rename",
            at,
            &["restore", &target, "--yes"],
        );
        assert_ne!(run.code, 0, "the restore was never killed half-way");
        if let Some(safety) = sandbox.status()["pending"]["safety"]["id"].as_str() {
            return (sandbox, target, safety[..8].to_owned());
        }
    }
    panic!("no restore was left pending");
}

#[test]
fn a_damaged_checkpoint_is_deleted_by_its_id() {
    let (sandbox, ids) = with(3);
    let lost = full_id(&sandbox, &ids[1]);
    let git = Git::find(sandbox.root());
    let Some(git) = git else { return };
    let git = git.with("GIT_DIR", sandbox.store());
    // All objects but that commit go into a new pack.
    let listed = git.output(&["rev-list", "--all", "--objects"]);
    let kept: String = listed
        .lines()
        .map(|line| &line[..40])
        .filter(|id| *id != lost)
        .map(|id| format!("{id}\n"))
        .collect();
    git.filter(
        &[
            "pack-objects",
            "-q",
            &sandbox
                .store()
                .join("objects/pack/pack")
                .display()
                .to_string(),
        ],
        kept.as_bytes(),
    );
    let new = fixtures::files_below(&sandbox.store().join("objects/pack"));
    let packs: Vec<_> = new
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "pack"))
        .collect();
    let largest = packs.iter().max_by_key(|path| {
        std::fs::read(path.with_extension("idx"))
            .expect("an index")
            .len()
    });
    let largest = largest.expect("a pack").with_extension("");
    new.iter()
        .filter(|path| path.with_extension("") != largest)
        .for_each(|path| std::fs::remove_file(path).expect("it can go"));
    assert!(
        sandbox
            .ok("list --json")
            .warning_codes()
            .contains(&"damaged_checkpoint".to_owned())
    );
    sandbox.ok(format!("delete {} --yes", ids[1]));
    let after = sandbox.ok("list --json");
    assert!(after.warning_codes().is_empty(), "{after}");
    assert_eq!(sandbox.listed_ids(), [ids[2].clone(), ids[0].clone()]);
    sandbox.ok("prune");
}

#[test]
fn a_store_of_a_newer_format_is_not_deleted() {
    let (sandbox, ids) = with(1);
    fixtures::make_newer(&sandbox.store(), 9);
    sandbox.watch(&sandbox.store());
    sandbox.fails(6, "delete --all --yes");
    sandbox.fails(6, format!("delete {} --yes", ids[0]));
    sandbox.fails(6, format!("pin {}", ids[0]));
}

#[test]
fn a_busy_store_is_not_deleted() {
    let (sandbox, ids) = with(1);
    let lock = std::fs::File::open(sandbox.store().join("checkpoint/lock")).expect("the lock file");
    lock.lock().expect("the lock is free");
    sandbox.watch(&sandbox.store());
    for args in [
        &["delete", "--all", "--yes"][..],
        &["delete", &ids[0], "--yes"],
        &["pin", &ids[0]],
    ] {
        sandbox
            .run(&[args, &["--lock-timeout", "0"]].concat())
            .code(7);
    }
}

/// Runs the program on a terminal with one answer typed.
fn on_a_terminal(sandbox: &Sandbox, args: &str, answer: &str) -> Option<Run> {
    if !std::path::Path::new("/usr/bin/script").is_file() {
        skipped("no script");
        return None;
    }
    let line = format!(
        "echo {answer} | /usr/bin/script -qec '{} {args}' /dev/null",
        Sandbox::binary().display()
    );
    Some(Run::of(sandbox.command(&["/bin/sh", "-c", &line], &[])))
}

#[test]
fn on_a_terminal_the_list_is_shown_and_the_answer_decides() {
    let (sandbox, ids) = with(2);
    let Some(run) = on_a_terminal(&sandbox, "delete latest", "n") else {
        return;
    };
    run.code(4).stdout_has(&ids[1]).stdout_has("[y/N]");
    assert_eq!(sandbox.listed().len(), 2);
    on_a_terminal(&sandbox, "delete latest", "y")
        .expect("a terminal")
        .success()
        .stdout_has("Deleted 1 checkpoint");
    assert_eq!(sandbox.listed_ids(), [ids[0].clone()]);
    on_a_terminal(&sandbox, "delete --all --no-input", "y")
        .expect("a terminal")
        .code(4);
    on_a_terminal(&sandbox, "delete --all", "y")
        .expect("a terminal")
        .success();
    assert!(!sandbox.store().exists());
}

#[test]
fn a_store_of_which_files_stay_is_deleted_and_they_are_named() {
    if !strace::available() {
        skipped("no strace");
        return;
    }
    let (sandbox, _) = with(2);
    let delete = ["delete", "--all", "--yes", "--json"];
    let run = strace::failing_from(&sandbox, "unlinkat,unlink", "EACCES", 1, &delete).code(5);
    assert!(strace::has_struck(&sandbox), "{run}");
    assert_eq!(run.warning_codes(), ["bookkeeping"], "{run}");
    let data = run.data();
    assert!(data["after_bytes"].as_u64().is_some_and(|left| left > 0));
    assert_eq!(data["dropped"].as_array().map(Vec::len), Some(2));
    assert!(!sandbox.store().exists());
    // The next deletion removes them.
    sandbox.create("anew");
    let again = sandbox.run(&delete).success();
    assert_eq!(again.data()["after_bytes"], 0);
}

#[test]
fn a_main_that_names_nothing_keeps_nobody_from_pruning() {
    let (sandbox, _) = with(3);
    std::fs::write(
        sandbox.store().join("refs/heads/main"),
        format!("{}\n", "0123456789".repeat(4)),
    )
    .expect("a ref");
    sandbox.ok("prune --dry-run");
    sandbox.ok("prune --keep 2 --yes");
    if let Some(git) = Git::find(sandbox.root()) {
        git.with("GIT_DIR", sandbox.store())
            .ok("fsck --full --strict");
    }
}
