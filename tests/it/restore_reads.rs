//! What a restore reads: only where the states differ; and what the next scan opens.
//! `stories/after_restore.md` has what it records.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::bench::trace::{Call, trace};
use crate::bench::{Sandbox, given, strace};

const DIRECTORIES: usize = 20;
const FILES: usize = 10;
/// A checkpoint of some directories, all settled in the stat cache.
fn settled() -> (Sandbox, String) {
    let sandbox = Sandbox::bare();
    for dir in 0..DIRECTORIES {
        for file in 0..FILES {
            sandbox.write(format!("d{dir}/s/{file}"), format!("{dir} {file}"));
        }
    }
    sandbox.settle();
    let id = sandbox.listed_ids()[0].clone();
    (sandbox, id)
}

fn name_of(path: &Path, sandbox: &Sandbox) -> String {
    path.strip_prefix(sandbox.root())
        .expect("it lies below the root")
        .display()
        .to_string()
}

#[test]
fn equal_directories_are_neither_listed_nor_read_by_a_restore() {
    let (sandbox, id) = settled();
    sandbox.write("d3/s/3", "edited");
    let traced = given!(trace(&sandbox, &["restore", &id, "--yes"]));
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
    let traced = given!(trace(&sandbox, &["create", "--reason", "after"]));
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
    sandbox.settle();
    let id = sandbox.listed_ids()[0].clone();
    (sandbox, id)
}

#[test]
fn many_restored_files_are_verified_by_stat_and_believed_by_the_next_create() {
    let (sandbox, id) = many();
    let before = sandbox.tree();
    sandbox.remove("many");
    let traced = given!(trace(&sandbox, &["restore", &id, "--yes"]));
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
    given!(if strace::available());
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
fn a_directory_made_meanwhile_where_one_goes_in_stays_as_it_is() {
    given!(if strace::available());
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
