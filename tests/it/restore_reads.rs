//! What a restore reads: only where the states differ; and how the next scan takes restored files.

use crate::bench::os::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::bench::trace::{Call, trace};
use crate::bench::{Sandbox, strace};

const DIRECTORIES: usize = 20;
const FILES: usize = 10;
/// Content by which a rule takes a file for a private key.
const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n";

/// A checkpoint of some directories, all settled in the stat cache.
fn settled() -> (Sandbox, String) {
    let sandbox = Sandbox::bare();
    for dir in 0..DIRECTORIES {
        for file in 0..FILES {
            sandbox.write(format!("d{dir}/s/{file}"), format!("{dir} {file}"));
        }
    }
    settle(&sandbox);
    let id = sandbox.listed_ids()[0].clone();
    (sandbox, id)
}

/// Makes checkpoints until the times of all files are older than one; until then each is reread.
fn settle(sandbox: &Sandbox) {
    for reason in ["first", "second"] {
        std::thread::sleep(Duration::from_millis(50));
        sandbox.create(reason);
    }
}

fn name_of(path: &Path, sandbox: &Sandbox) -> String {
    path.strip_prefix(sandbox.root())
        .expect("it lies below the root")
        .display()
        .to_string()
}

#[test]
fn an_older_checkpoint_is_restored_where_nothing_was_changed_since_the_newest() {
    let (sandbox, first) = settled();
    let before = sandbox.tree();
    sandbox
        .write("d3/s/3", "edited")
        .write("d4/new/deep", "n")
        .remove("d5")
        .chmod("d6/s", 0o700)
        .mkdir("d7/s/bare");
    settle(&sandbox);
    let after = sandbox.tree();
    let second = sandbox.listed_ids()[0].clone();
    for _ in 0..2 {
        sandbox.restore(&first).success();
        sandbox.tree().assert_is(&before, "back at the first");
        sandbox.restore(&second).success();
        sandbox.tree().assert_is(&after, "at the second again");
    }
}

#[test]
fn equal_directories_are_neither_listed_nor_read_by_a_restore() {
    let (sandbox, id) = settled();
    sandbox.write("d3/s/3", "edited");
    let Some(traced) = trace(&sandbox, &["restore", &id, "--yes"]) else {
        return;
    };
    assert_eq!(traced.run.code, 0, "{}", traced.run);
    let mut opened: Vec<String> = traced
        .opened(sandbox.root(), "")
        .iter()
        .map(|path| name_of(path, &sandbox))
        .collect();
    opened.sort();
    opened.dedup();
    assert_eq!(opened, ["d3/s/3"]);
    let listed = traced
        .named(&["getdents64"])
        .filter_map(Call::path)
        .filter(|path| path.starts_with(sandbox.root()));
    let mut listed: Vec<String> = listed.map(|path| name_of(&path, &sandbox)).collect();
    listed.retain(|name| !name.starts_with(".checkpoint-stage-"));
    listed.sort();
    listed.dedup();
    assert!(
        listed
            .iter()
            .all(|name| ["", "d3/s"].contains(&name.as_str())),
        "{listed:?}"
    );
}

#[test]
fn the_create_after_a_restore_opens_no_file() {
    let (sandbox, id) = settled();
    sandbox
        .write("d3/s/3", "edited")
        .remove("d4")
        .write("d5/new/deep", "n")
        .remove("d6/s/6");
    sandbox.restore(&id).success();
    let Some(traced) = trace(&sandbox, &["create", "--reason", "after"]) else {
        return;
    };
    assert_eq!(traced.run.code, 0, "{}", traced.run);
    assert_eq!(
        traced.opened(sandbox.root(), ""),
        Vec::<std::path::PathBuf>::new()
    );
    let diff = sandbox.ok(format!("diff {id} after --json"));
    assert_eq!(
        diff.data()["changes"].as_array().map(Vec::len),
        Some(0),
        "{diff}"
    );
}

/// More files than a restore reads back unasked, all in new directories.
fn many() -> (Sandbox, String) {
    let sandbox = Sandbox::bare();
    for file in 0..1200 {
        sandbox.write(format!("many/{}/{file}", file % 3), format!("file {file}"));
    }
    sandbox.write("other", "o");
    settle(&sandbox);
    let id = sandbox.listed_ids()[0].clone();
    (sandbox, id)
}

#[test]
fn many_restored_files_are_verified_by_stat_and_believed_by_the_next_create() {
    let (sandbox, id) = many();
    let before = sandbox.tree();
    sandbox.remove("many");
    let Some(traced) = trace(&sandbox, &["restore", &id, "--yes"]) else {
        return;
    };
    assert_eq!(traced.run.code, 0, "{}", traced.run);
    sandbox.tree().assert_is(&before, "the restored directory");
    let reads = |path: &&std::path::PathBuf| path.starts_with(sandbox.path("many"));
    assert_eq!(traced.opened(sandbox.root(), "").iter().find(reads), None);
    let traced = trace(&sandbox, &["create", "--reason", "after"]).expect("it was traced before");
    assert_eq!(
        traced.opened(sandbox.root(), ""),
        Vec::<std::path::PathBuf>::new()
    );
    sandbox.write("many/2/1001", "file 1OO1");
    sandbox.create("edited");
    let shown = sandbox.ok("cat edited:many/2/1001");
    assert_eq!(shown.stdout, "file 1OO1");
}

#[test]
fn a_restore_that_is_asked_to_verify_finds_what_was_not_written_as_it_should_be() {
    if !strace::available() {
        return;
    }
    let (sandbox, id) = many();
    let before = sandbox.tree();
    sandbox.remove("many");
    let args = ["restore", &id, "--yes", "--verify"];
    strace::corrupting_write(&sandbox, 300, &args)
        .code(1)
        .stderr_has("is not what was written");
    sandbox.ok("restore --resume --verify");
    sandbox.tree().assert_is(&before, "the finished restore");
    for command in ["undo", "redo"] {
        sandbox.run(&[command, "--yes", "--verify"]).success();
    }
    sandbox.tree().assert_is(&before, "redone");
}

#[test]
fn an_edit_of_a_restored_file_is_seen_whatever_its_size_and_times() {
    let (sandbox, id) = settled();
    for round in 0..20 {
        sandbox.write("d3/s/3", "edited");
        sandbox.restore(&id).success();
        let path = sandbox.path("d3/s/3");
        let mtime = std::fs::metadata(&path)
            .expect("it is there")
            .modified()
            .expect("it has a time");
        let text = format!("{round:>3}");
        sandbox.write("d3/s/3", &text);
        let file = std::fs::File::options()
            .write(true)
            .open(&path)
            .expect("it opens");
        file.set_modified(mtime).expect("the time is set back");
        let reason = format!("round {round}");
        sandbox.create(&reason);
        let shown = sandbox.run(&["cat", &format!("{reason}:d3/s/3")]).success();
        assert_eq!(shown.stdout, text, "round {round}");
    }
}

#[test]
fn rules_that_a_restore_brings_back_hold_for_the_next_create() {
    let sandbox = Sandbox::bare();
    sandbox
        .write("d/kept.log", "k")
        .write("d/s/other.log", "o")
        .write("a", "1");
    settle(&sandbox);
    let without_rules = sandbox.listed_ids()[0].clone();
    sandbox.write(".gitignore", "*.log\n");
    settle(&sandbox);
    sandbox.restore(&without_rules).success();
    assert!(!sandbox.exists(".gitignore"));
    sandbox.create("without rules");
    assert_eq!(sandbox.ok("cat 'without rules:d/s/other.log'").stdout, "o");
    sandbox.undo().success();
    assert!(sandbox.exists(".gitignore"));
    sandbox.create("with rules");
    sandbox.fails(3, "cat 'with rules:d/s/other.log'");
}

#[test]
fn a_secret_that_was_restored_is_no_more_captured_than_before() {
    let sandbox = Sandbox::bare();
    sandbox.write("server.pem", KEY).write("a", "1");
    sandbox.ok("create --reason 'with the key' --include-sensitive=server.pem");
    sandbox.write("server.pem", "a certificate").write("a", "2");
    settle(&sandbox);
    sandbox.restore("with the key").success();
    assert_eq!(sandbox.read("server.pem"), KEY);
    sandbox.create("later");
    sandbox.fails(3, "cat later:server.pem");
}

#[test]
fn what_a_cache_names_after_a_restore_lives_as_long_as_it_is_believed() {
    let (sandbox, id) = settled();
    sandbox.write("d3/s/3", "edited").remove("d4");
    settle(&sandbox);
    sandbox.restore(&id).success();
    // Deletes the checkpoints that hold what was restored, and their objects with them.
    for gone in sandbox.listed_ids().iter().skip(1) {
        sandbox.run(&["delete", gone, "--yes"]).success();
    }
    sandbox.ok("prune");
    sandbox.create("after");
    sandbox.ok("verify --full");
    assert_eq!(sandbox.ok("cat after:d4/s/0").stdout, "4 0");
}

#[cfg(unix)]
#[test]
fn a_new_directory_takes_over_nothing_from_the_place_where_it_was_made() {
    let sandbox = Sandbox::new();
    sandbox.mkdir("shared").chmod("shared", 0o2775);
    sandbox.write("shared/new/f", "f").write("plain/new/f", "f");
    let id = sandbox.create("both");
    sandbox.remove("shared/new").remove("plain/new");
    sandbox.restore(&id).success();
    let mode = |name: &str| {
        std::fs::metadata(sandbox.path(name))
            .expect("it is there")
            .mode()
            & 0o7777
    };
    assert_eq!(
        mode("shared/new") & 0o2000,
        0o2000,
        "the group of a shared directory goes on"
    );
    assert_eq!(mode("plain/new") & 0o7000, 0);
}

#[test]
fn a_directory_made_meanwhile_where_one_goes_in_stays_as_it_is() {
    if !strace::available() {
        return;
    }
    let (sandbox, id) = settled();
    sandbox.remove("d4").remove("d5");
    let before = sandbox.tree();
    let root = sandbox.root().to_path_buf();
    let maker = std::thread::spawn(move || {
        let is_stage = |entry: std::fs::DirEntry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(".checkpoint-stage-")
        };
        let staging = || {
            std::fs::read_dir(&root).is_ok_and(|mut dir| dir.any(|entry| entry.is_ok_and(is_stage)))
        };
        let begun = Instant::now();
        while !staging() && begun.elapsed() < Duration::from_mins(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::create_dir(root.join("d5")).is_ok()
            && std::fs::write(root.join("d5/theirs"), "t").is_ok()
    });
    let run = strace::slowed(&sandbox, "fchmod", 20_000, &["restore", &id, "--yes"]);
    assert!(
        maker.join().expect("the other thread ends"),
        "the directory could be made"
    );
    run.code(4);
    assert_eq!(sandbox.read("d5/theirs"), "t");
    sandbox.remove("d5");
    sandbox.tree().assert_is(&before, "after the refusal");
}
