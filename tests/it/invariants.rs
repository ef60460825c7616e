//! The invariants of the architecture, each under its name there.

use crate::bench::{Sandbox, given, strace};

#[test]
fn the_architecture_names_these_and_no_other_invariants() {
    let text = include_str!("../../src/ARCHITECTURE.md");
    let lines = text.lines().skip_while(|line| *line != "# Invariants");
    let name = |line: &'static str| Some(line.split_once(". `")?.1.split_once('`')?.0);
    let named: Vec<&str> = lines.filter_map(name).collect();
    assert_eq!(named.len(), 8, "{named:?}");
    let here = include_str!("invariants.rs");
    for name in named {
        assert!(
            here.contains(&format!("\nfn {name}() {{")),
            "{name} has no test"
        );
    }
}

#[test]
fn the_projects_own_git_is_never_written() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").decoy_repository("sub/deep");
    // From here on any change to a byte, a time or an inode of these fails the test at its end.
    for place in [".git", "sub/deep/.git"] {
        assert!(sandbox.path(place).is_dir());
        sandbox.watch(&sandbox.path(place));
    }
    let id = sandbox.create("before");
    sandbox.write("a", "2").write("sub/deep/file", "x");
    sandbox.restore(&id).success();
    sandbox.undo().success();
    sandbox.redo().success();
    for line in ["list", "show latest", "status -v", "prune"] {
        sandbox.ok(line);
    }
}

#[test]
fn a_ref_points_only_to_what_is_stored_whole() {
    given!(if strace::available());
    for nth in 1..=12 {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("first");
        sandbox.write("a", "2").write("d/b", "3");
        let words = ["create", "--reason", "cut"];
        let run = strace::kill_at(&sandbox, "rename,renameat,renameat2", nth, &words);
        assert!(!sandbox.has_damage(), "killed at rename {nth}");
        for checkpoint in sandbox.listed() {
            let id = checkpoint["id"].as_str().expect("an id");
            sandbox.restore(id).success();
        }
        if run.code == 0 {
            assert!(nth > 3, "a create has more renames than {nth}");
            return;
        }
    }
}

#[test]
fn the_commits_are_the_truth_and_the_manifest_is_a_rendering() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one | `two`");
    sandbox.write("a", "2").create("three");
    let manifest = sandbox.store().join("checkpoint-manifest.md");
    let before = std::fs::read_to_string(&manifest).expect("a manifest");
    let listed = sandbox.listed_ids();
    std::fs::write(&manifest, "nonsense").expect("the manifest can be overwritten");
    assert_eq!(
        sandbox.listed_ids(),
        listed,
        "a reader does not ask the manifest"
    );
    sandbox.ok("prune");
    assert_eq!(
        std::fs::read_to_string(&manifest).expect("a manifest"),
        before
    );
}

#[test]
fn only_a_locked_store_is_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    sandbox.write("a", "2");
    let lock = std::fs::File::open(sandbox.store().join("checkpoint/lock")).expect("the lock");
    lock.lock().expect("the lock is free");
    sandbox.watch(&sandbox.store()).watch(sandbox.root());
    for line in ["create", "restore first --yes", "prune"] {
        sandbox.fails(7, format!("{line} --lock-timeout 0"));
    }
    sandbox.ok("list").stdout_has(&id);
}

#[test]
fn a_restore_changes_nothing_before_the_present_is_kept() {
    given!(if strace::available());
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "1");
    let id = sandbox.create("before");
    sandbox.write("a", "2").remove("d").write("new", "n");
    let before = sandbox.tree();
    // Flushes come first in the store, so the safety checkpoint is what fails.
    let words = ["restore", &id, "--yes"];
    strace::failing_from(&sandbox, "fsync,fdatasync,syncfs", "EIO", 1, &words).code(1);
    sandbox
        .tree()
        .assert_is(&before, "without a safety checkpoint");
    sandbox.restore(&id).success();
}

#[test]
fn no_path_leaves_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/b", "1");
    let id = sandbox.create("before");
    let outside = sandbox.top().join("outside");
    std::fs::create_dir(&outside).expect("a directory can be made");
    std::fs::write(outside.join("b"), "theirs").expect("a file can be made");
    sandbox.remove("d").symlink("d", &outside).watch(&outside);
    for path in [
        "../outside/b",
        "d/../../outside/b",
        outside.join("b").to_str().expect("UTF-8"),
    ] {
        sandbox.run(&["restore", &id, path, "--yes"]).code(2);
    }
    sandbox.fails(4, format!("restore {id} d/b --yes"));
    sandbox.restore(&id).success();
    assert_eq!(sandbox.read("d/b"), "1");
}

#[test]
fn a_store_of_a_newer_format_is_not_written() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    crate::bench::fixtures::make_newer(&sandbox.store(), 2);
    sandbox.watch(&sandbox.store()).watch(sandbox.root());
    for line in ["create", "restore first --yes", "undo --yes", "prune"] {
        assert!(matches!(sandbox.cmd(line).code, 3 | 6), "{line}");
    }
    sandbox
        .ok("list")
        .stdout_has(&id)
        .stderr_has("newer format");
}

#[test]
fn stdout_has_the_result_and_stderr_the_talk() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write(".env", "K=1");
    let run = sandbox
        .ok("create --reason first")
        .stderr_has("left out as sensitive: .env");
    assert_eq!(
        run.stdout.len(),
        9,
        "an id and a line end: {:?}",
        run.stdout
    );
    let quiet = sandbox.ok("create --quiet");
    assert_eq!((quiet.stdout.len(), quiet.stderr.as_str()), (9, ""));
    let json = sandbox.ok("status --json");
    assert_eq!((json.stdout.lines().count(), json.stderr.as_str()), (1, ""));
}
