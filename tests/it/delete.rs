//! `delete`: what the user drops is gone with its space, and nothing else is.

use crate::bench::{Git, Run, Sandbox, fixtures, skipped, strace};

const MIB: usize = 1024 * 1024;

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
fn to_a_pipe_times_are_those_of_the_list() {
    let (sandbox, ids) = with(2);
    sandbox.env("TZ", "Asia/Tokyo");
    let listed = sandbox.run(&["list", "-n", "1"]).success().stdout;
    let time = listed
        .lines()
        .last()
        .and_then(|row| row.split(" | ").nth(1));
    let time = time.expect("a time").to_owned();
    let dry = sandbox.run(&["delete", &ids[1], "--dry-run"]).success();
    dry.stdout_has(&format!("  {time}  number 1"));
    let done = sandbox.run(&["delete", &ids[1], "--yes"]).success();
    done.stderr_has(&format!("  {time}  number 1"));
}

#[test]
fn what_is_named_goes_and_all_else_stays() {
    let (sandbox, ids) = with(5);
    sandbox
        .run(&["delete", &ids[1], "number 3", &ids[1], "--yes"])
        .success()
        .stdout_has("Deleted 2 checkpoints");
    assert_eq!(
        sandbox.listed_ids(),
        [ids[4].clone(), ids[2].clone(), ids[0].clone()]
    );
    sandbox.run(&["show", &ids[1]]).code(3);
    let manifest = std::fs::read_to_string(sandbox.store().join("checkpoint-manifest.md"))
        .expect("a manifest");
    assert!(
        !manifest.contains(&ids[1]) && manifest.contains(&ids[2]),
        "{manifest}"
    );
    sandbox.restore("number 0").success();
    assert_eq!(sandbox.read("a"), "0");
}

#[test]
fn without_a_terminal_and_without_yes_nothing_goes() {
    let (sandbox, ids) = with(2);
    sandbox
        .watch(&sandbox.store().join("objects"))
        .watch(&sandbox.store().join("refs"));
    let run = sandbox.run(&["delete", &ids[0], "--json"]).code(4);
    assert_eq!(run.error_code(), "consent_needed");
    sandbox
        .run(&["delete", &ids[0]])
        .code(4)
        .stderr_has("--yes")
        .stdout_is("");
    sandbox
        .run(&["delete", "--all"])
        .code(4)
        .stderr_has("--yes");
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn a_dry_run_names_what_would_go_and_writes_nothing() {
    let (sandbox, ids) = with(2);
    sandbox.watch(&sandbox.store());
    sandbox
        .run(&["delete", "latest", "--dry-run"])
        .success()
        .stdout_has(&ids[1])
        .stdout_has("Would delete 1");
    let data = sandbox
        .run(&["delete", "--all", "--dry-run", "--json"])
        .success()
        .data();
    assert_eq!(
        (
            data["dropped"].as_array().map(Vec::len),
            &data["whole_store"]
        ),
        (Some(2), &true.into())
    );
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn one_selector_that_names_nothing_keeps_them_all() {
    let (sandbox, ids) = with(3);
    sandbox
        .run(&["delete", &ids[0], "no-such-reason", "--yes"])
        .code(3);
    sandbox.run(&["delete", &ids[0], "", "--yes"]).code(2);
    assert_eq!(sandbox.listed().len(), 3);
}

#[test]
fn without_a_store_deleting_a_selector_is_3_and_deleting_all_is_done() {
    let sandbox = Sandbox::new();
    sandbox.run(&["delete", "latest", "--yes"]).code(3);
    sandbox.run(&["delete", "--yes"]).code(2);
    let run = sandbox.run(&["delete", "--all", "--yes"]).success();
    assert!(!run.stderr.is_empty(), "nothing was said\n{run}");
    assert_eq!(
        sandbox
            .run(&["delete", "--all", "--yes", "--json"])
            .success()
            .data()["whole_store"],
        false
    );
    assert!(!sandbox.base().exists(), "delete made a store");
}

#[test]
fn a_pinned_checkpoint_is_refused_and_the_way_is_named() {
    let (sandbox, ids) = with(2);
    sandbox.run(&["pin", &ids[0]]).success();
    sandbox
        .run(&["delete", &ids[1], &ids[0], "--yes"])
        .code(4)
        .stderr_has("checkpoint unpin");
    assert_eq!(sandbox.listed().len(), 2);
    sandbox.run(&["unpin", &ids[0]]).success();
    sandbox.run(&["delete", &ids[0], "--yes"]).success();
    assert_eq!(sandbox.listed_ids(), [ids[1].clone()]);
}

#[test]
fn the_room_of_what_only_they_held_comes_back_at_once() {
    let sandbox = Sandbox::new();
    for at in 0..4 {
        sandbox.write("data", fixtures::noise(at + 1, 3 * MIB));
        sandbox.create(&at.to_string());
    }
    let data = sandbox
        .run(&["delete", "0", "2", "--yes", "--json"])
        .success()
        .data();
    assert!(
        data["before_bytes"].as_u64() > Some(12 * MIB as u64),
        "{data}"
    );
    assert!(
        sandbox.store_bytes() < 7 * MIB as u64,
        "the store still has {} bytes",
        sandbox.store_bytes()
    );
    for selector in ["1", "3"] {
        sandbox.write("data", "other");
        sandbox.restore(selector).success();
    }
}

#[test]
fn deleting_the_last_one_leaves_an_empty_store_in_which_everything_works() {
    let (sandbox, ids) = with(2);
    sandbox
        .run(&["delete", &ids[0], &ids[1], "--yes"])
        .success();
    assert_eq!(sandbox.listed().len(), 0);
    assert!(
        !sandbox.store().join("refs/heads/main").exists(),
        "main names what is gone"
    );
    if let Some(git) = Git::find(sandbox.root()) {
        let git = git.with("GIT_DIR", sandbox.store());
        let fsck = git.run(&["fsck", "--full", "--strict"]).success();
        assert!(!fsck.stderr.contains("error"), "{fsck}");
        assert_eq!(
            git.output(&["count-objects", "-v"])
                .lines()
                .find(|line| line.starts_with("in-pack")),
            Some("in-pack: 0")
        );
    }
    sandbox.run(&["prune"]).success();
    sandbox
        .run(&["status"])
        .success()
        .stdout_has("checkpoints  0");
    sandbox.run(&["restore", "latest", "--yes"]).code(3);
    fixtures::delete_empty_directories(&sandbox.base());
    sandbox.write("a", "again");
    let id = sandbox.create("again");
    assert_eq!(sandbox.listed_ids(), [id]);
}

#[test]
fn main_names_the_newest_that_is_left() {
    let (sandbox, ids) = with(3);
    let second = full_id(&sandbox, &ids[1]);
    sandbox.run(&["delete", &ids[2], "--yes"]).success();
    assert_eq!(
        std::fs::read_to_string(sandbox.store().join("refs/heads/main")).expect("main"),
        format!("{second}\n")
    );
    if let Some(git) = Git::find(sandbox.root()) {
        git.with("GIT_DIR", sandbox.store())
            .run(&["fsck", "--full", "--strict"])
            .success();
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
    sandbox
        .run(&["delete", &ids[0], &ids[1], "--yes"])
        .success();
    assert_eq!(
        git.output(&["log", "-1", "--format=%s", &foreign]),
        "by hand"
    );
}

#[test]
fn undo_goes_on_with_the_steps_that_are_left() {
    let sandbox = Sandbox::new();
    let state = |text: &str| {
        sandbox.write("a", text);
        sandbox.create(text)
    };
    let (one, two) = (state("one"), state("two"));
    sandbox.write("a", "edit 1");
    let first = sandbox.restore_data(&[&one])["safety"]["short"]
        .as_str()
        .expect("an id")
        .to_owned();
    sandbox.write("a", "edit 2");
    let second = sandbox.restore_data(&[&two])["safety"]["short"]
        .as_str()
        .expect("an id")
        .to_owned();
    sandbox.run(&["delete", &second, "--yes"]).success();
    sandbox.undo().success();
    assert_eq!(sandbox.read("a"), "edit 1");
    sandbox.redo().success();
    assert_eq!(sandbox.read("a"), "two");
    sandbox
        .run(&["delete", &first, &one, &two, "--yes"])
        .success();
    sandbox.undo().success();
    for id in sandbox.listed_ids() {
        sandbox.run(&["delete", &id, "--yes"]).success();
    }
    sandbox.undo().code(3);
    sandbox.redo().code(3);
}

#[test]
fn the_two_checkpoints_of_a_pending_restore_are_refused() {
    if !strace::available() {
        return;
    }
    let (sandbox, target, safety) = pending_restore();
    for id in [&target, &safety] {
        let run = sandbox.run(&["delete", id, "--yes", "--json"]).code(4);
        assert_eq!(run.error_code(), "restore_pending");
    }
    sandbox
        .run(&["delete", "--all", "--yes"])
        .code(4)
        .stderr_has("undo");
    sandbox.run(&["delete", "third", "--yes"]).success();
    sandbox.run(&["restore", "--resume"]).success();
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn force_deletes_the_store_of_a_pending_restore_and_only_with_all() {
    if !strace::available() {
        return;
    }
    let (sandbox, target, _) = pending_restore();
    sandbox
        .run(&["delete", &target, "--force", "--yes"])
        .code(2);
    sandbox
        .run(&["delete", "--all", "--force", "--yes"])
        .success();
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
            .run(&["list", "--json"])
            .success()
            .warning_codes()
            .contains(&"damaged_checkpoint".to_owned())
    );
    sandbox.run(&["delete", &ids[1], "--yes"]).success();
    let after = sandbox.run(&["list", "--json"]).success();
    assert!(after.warning_codes().is_empty(), "{after}");
    assert_eq!(sandbox.listed_ids(), [ids[2].clone(), ids[0].clone()]);
    sandbox.run(&["prune"]).success();
}

#[test]
fn deleting_works_with_a_garbled_manifest_and_torn_refs() {
    let (sandbox, ids) = with(3);
    let store = sandbox.store();
    let id = full_id(&sandbox, &ids[0]);
    std::fs::write(store.join("checkpoint-manifest.md"), "\0garbage")
        .expect("a file can be written");
    std::fs::write(store.join("refs/checkpoints").join(&id), "").expect("a file can be written");
    std::fs::write(store.join("refs/heads/main"), "nonsense").expect("a file can be written");
    sandbox.run(&["delete", &ids[0], "--yes"]).success();
    assert_eq!(sandbox.listed_ids(), [ids[2].clone(), ids[1].clone()]);
    std::fs::remove_file(store.join("checkpoint-manifest.md")).expect("a file can go");
    sandbox.run(&["prune"]).success();
    assert_eq!(
        sandbox.listed_ids(),
        [ids[2].clone(), ids[1].clone()],
        "what was deleted came back"
    );
}

#[test]
fn delete_all_removes_the_store_and_nothing_else() {
    let (sandbox, _) = with(2);
    let tree = sandbox.tree();
    let other = sandbox.top().join("other");
    std::fs::create_dir(&other).expect("a directory can be made");
    sandbox
        .run(&["-C", &other.display().to_string(), "create"])
        .success();
    sandbox.watch(&crate::bench::place::store(&sandbox.base(), &other));
    sandbox
        .run(&["delete", "--all", "--yes"])
        .success()
        .stdout_has("Deleted 2 checkpoints");
    assert!(!sandbox.store().exists());
    let beside = sandbox
        .store()
        .parent()
        .expect("a folder")
        .read_dir()
        .expect("it can be listed")
        .count();
    assert_eq!(beside, 0, "something is left beside the store");
    sandbox.tree().assert_is(&tree, "after delete --all");
    sandbox.create("anew");
    assert_eq!(sandbox.listed().len(), 1);
}

#[test]
fn delete_all_works_for_a_root_that_is_gone() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1");
    sandbox.create("first");
    sandbox.remove("");
    let root = sandbox.root().display().to_string();
    sandbox
        .run(&["-C", &root, "delete", "--all", "--yes"])
        .success();
    assert!(!sandbox.store().exists());
}

#[test]
fn delete_all_works_for_a_store_that_cannot_be_read() {
    for break_it in [
        (|store: &std::path::Path| std::fs::write(store.join("commondir"), "/").unwrap())
            as fn(&std::path::Path),
        |store| {
            std::fs::remove_dir_all(store.join("objects")).unwrap();
            std::fs::write(store.join("objects"), "a file").unwrap();
        },
        |store| {
            std::fs::remove_dir_all(store.join("checkpoint")).unwrap();
            std::fs::write(store.join("checkpoint"), "a file").unwrap();
        },
        |store| std::fs::remove_dir_all(store.join("refs")).unwrap(),
        |store| {
            std::fs::remove_file(store.join("checkpoint/lock")).unwrap();
            std::fs::create_dir(store.join("checkpoint/lock")).unwrap();
        },
    ] {
        let (sandbox, _) = with(1);
        break_it(&sandbox.store());
        sandbox.run(&["delete", "--all", "--yes"]).success();
        assert!(!sandbox.store().exists());
    }
}

#[test]
fn a_store_that_is_a_link_is_refused() {
    let (sandbox, _) = with(1);
    let aside = sandbox.top().join("aside");
    std::fs::rename(sandbox.store(), &aside).expect("it can be moved");
    crate::bench::os::symlink(&aside, sandbox.store()).expect("a link can be made");
    sandbox.watch(&aside);
    sandbox
        .run(&["delete", "--all", "--yes"])
        .code(1)
        .stderr_has("not a directory");
}

#[test]
fn a_store_of_a_newer_format_is_not_deleted() {
    let (sandbox, ids) = with(1);
    fixtures::make_newer(&sandbox.store(), 9);
    sandbox.watch(&sandbox.store());
    sandbox.run(&["delete", "--all", "--yes"]).code(6);
    sandbox.run(&["delete", &ids[0], "--yes"]).code(6);
    sandbox.run(&["pin", &ids[0]]).code(6);
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

#[test]
fn what_a_killed_deletion_left_goes_with_the_next_one_or_a_prune() {
    let (sandbox, _) = with(1);
    let leftover = sandbox.store().with_file_name(format!(
        "{}.deleted-0123456789abcdef",
        sandbox.store().file_name().expect("a name").display()
    ));
    let foreign = sandbox
        .store()
        .with_file_name("ffffffffffffffff.deleted-0123456789abcdef");
    for args in [
        &["prune"][..],
        &["delete", "--all", "--yes"],
        &["delete", "--all", "--yes"],
    ] {
        std::fs::create_dir_all(leftover.join("objects")).expect("a directory can be made");
        std::fs::create_dir_all(foreign.join("objects")).expect("a directory can be made");
        sandbox.run(args).success();
        assert!(!leftover.exists() && foreign.exists(), "after {args:?}");
    }
}

#[test]
fn a_deletion_of_all_that_is_killed_leaves_the_store_or_none() {
    if !strace::available() {
        return;
    }
    let calls = "renameat2,renameat,rename,unlinkat,unlink,rmdir,fsync";
    for at in [1, 2, 3, 5, 8, 13, 21] {
        let (sandbox, ids) = with(2);
        let run = strace::kill_at(&sandbox, calls, at, &["delete", "--all", "--yes"]);
        let left = sandbox.listed_ids();
        assert!(
            left.is_empty() || left == [ids[1].clone(), ids[0].clone()],
            "{left:?} after {run}"
        );
        assert_eq!(sandbox.store().exists(), !left.is_empty());
        sandbox.run(&["delete", "--all", "--yes"]).success();
        let folder = sandbox.store().parent().expect("a folder").to_path_buf();
        assert_eq!(folder.read_dir().expect("it can be listed").count(), 0);
    }
}

#[test]
fn a_deletion_that_is_killed_leaves_whole_checkpoints_and_a_sound_store() {
    if !strace::available() {
        return;
    }
    for calls in [
        "renameat2,renameat,rename",
        "unlinkat,unlink",
        "fsync,fdatasync",
    ] {
        for at in 1..60 {
            let (sandbox, ids) = with(3);
            let run = strace::kill_at(&sandbox, calls, at, &["delete", &ids[1], &ids[2], "--yes"]);
            let left = sandbox.listed_ids();
            assert!(
                left.contains(&ids[0]),
                "{calls} {at}: the one that was not named is gone"
            );
            for id in &left {
                sandbox.run(&["show", id]).success();
            }
            sandbox.run(&["prune"]).success();
            assert_eq!(
                sandbox.listed_ids(),
                left,
                "{calls} {at}: a deleted one came back"
            );
            if let Some(git) = Git::find(sandbox.root()) {
                git.with("GIT_DIR", sandbox.store())
                    .run(&["fsck", "--full", "--strict"])
                    .success();
            }
            sandbox.write("a", "more");
            sandbox.create("more");
            sandbox.restore(&ids[0]).success();
            if run.code == 0 {
                assert_eq!(left, [ids[0].clone()]);
                break;
            }
        }
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
fn delete_all_takes_what_a_killed_salvage_left_with_it() {
    let (sandbox, _) = with(2);
    let fresh = sandbox.store().with_file_name(format!(
        "{}.fresh-0123456789abcdef",
        sandbox.store().file_name().expect("a name").display()
    ));
    fixtures::copy_tree(&sandbox.store(), &fresh);
    sandbox.run(&["delete", "--all", "--yes"]).success();
    assert!(!fresh.exists());
    sandbox.write("a", "new").create("new");
    assert_eq!(sandbox.listed_ids().len(), 1);
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
fn delete_all_below_a_root_is_refused_and_names_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "1").create("top");
    let src = sandbox.path("src");
    sandbox
        .run_in(&src, &["--here", "create", "below"])
        .success();
    let all = ["delete", "--all", "--yes"];
    sandbox.run_in(&src, &all).success();
    for _ in 0..2 {
        let run = sandbox.run_in(&src, &all).code(4);
        run.stderr_has("above the current directory")
            .stderr_has("delete --all --yes");
    }
    let dry = sandbox.run_in(&src, &["delete", "--all", "--dry-run"]);
    dry.code(4).stderr_has("delete --all --dry-run");
    assert_eq!(sandbox.listed_ids().len(), 1);
    sandbox.run(&all).success();
}

#[test]
fn delete_all_names_pins_runs_holds_and_remotes() {
    let (sandbox, ids) = with(1);
    sandbox.run(&["pin", &ids[0]]).success();
    sandbox.run(&["hold", "h1"]).success();
    let elsewhere = sandbox.top().join("elsewhere").display().to_string();
    sandbox
        .run(&["remote", "add", "origin", &elsewhere])
        .success();
    let init = "workflow init --id w1 --type implement --description d --phase a";
    let init: Vec<&str> = init.split(' ').collect();
    sandbox.run(&init).success();
    let named = "1 checkpoint (1 pinned, the open workflow w1, the hold h1, the remote origin)";
    let all = |more| sandbox.run(&["delete", "--all", more]);
    all("--dry-run").success().stdout_has(named);
    all("--no-input").code(4).stderr_has(named);
    all("--yes").success().stdout_has(named);
}
