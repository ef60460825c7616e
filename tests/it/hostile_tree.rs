//! A directory that tries to lead a restore astray: nothing outside changes, and no user file is
//! lost silently.

use crate::bench::os::MetadataExt as _;
use std::path::PathBuf;

use crate::bench::{Sandbox, strace, tree::Kind};

/// A directory beside the root that must stay untouched.
fn outside(sandbox: &Sandbox) -> PathBuf {
    let outside = sandbox.top().join("outside");
    std::fs::create_dir_all(outside.join("deep")).expect("a directory can be made");
    for name in ["file", "deep/file"] {
        std::fs::write(outside.join(name), "theirs").expect("a file can be written");
    }
    outside
}

#[test]
fn a_link_planted_in_place_of_a_directory_is_replaced_and_not_followed() {
    let sandbox = Sandbox::new();
    let outside = outside(&sandbox);
    sandbox
        .write("d/file", "ours")
        .write("d/deep/file", "ours")
        .write("d/only-ours", "o");
    let id = sandbox.create("before");
    let tree = sandbox.tree();
    sandbox.remove("d").symlink("d", &outside).watch(&outside);
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
    sandbox.undo().success();
    assert_eq!(std::fs::read_link(sandbox.path("d")).ok(), Some(outside));
}

#[test]
fn a_link_in_place_of_a_file_is_replaced_and_not_written_through() {
    let sandbox = Sandbox::new();
    let outside = outside(&sandbox);
    sandbox.write("file", "ours").write("d/file", "ours");
    let id = sandbox.create("before");
    let tree = sandbox.tree();
    sandbox.remove("file").symlink("file", outside.join("file"));
    sandbox
        .remove("d/file")
        .symlink("d/file", "../../outside/deep/file")
        .watch(&outside);
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn links_are_captured_as_links_and_loops_cost_nothing() {
    let sandbox = Sandbox::new();
    let outside = outside(&sandbox);
    sandbox
        .watch(&outside)
        .symlink("out", &outside)
        .symlink("loop", "loop")
        .symlink("a/up", "..")
        .write("a/f", "1");
    let data = sandbox.create_data(&[]);
    assert_eq!(data["counts"]["file_count"], 4, "{data}");
    let tree = sandbox.tree();
    sandbox.remove("out").remove("loop").remove("a");
    sandbox.restore("latest").success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[cfg(unix)]
#[test]
fn a_hard_link_to_a_file_outside_is_cut_and_not_written_through() {
    let sandbox = Sandbox::new();
    let outside = outside(&sandbox);
    sandbox.write("file", "ours");
    let id = sandbox.create("before");
    sandbox.remove("file");
    std::fs::hard_link(outside.join("file"), sandbox.path("file"))
        .expect("a hard link can be made");
    let inode = outside.join("file").metadata().expect("a file").ino();
    sandbox.restore(&id).success();
    assert_eq!(sandbox.read("file"), "ours");
    assert_eq!(
        std::fs::read_to_string(outside.join("file"))
            .ok()
            .as_deref(),
        Some("theirs")
    );
    assert_ne!(
        sandbox.path("file").metadata().expect("a file").ino(),
        inode
    );
    sandbox.undo().success();
    assert_eq!(sandbox.read("file"), "theirs");
}

#[test]
fn an_ignored_file_below_a_directory_that_goes_stays_with_just_that() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.db\n").write("a", "1");
    let id = sandbox.create("before");
    sandbox
        .write("new/deep/data.db", "precious")
        .write("new/deep/file", "f")
        .write("new/other", "o")
        .mkdir("new/empty");
    let data = sandbox.restore_data(&[&id]);
    assert_eq!(sandbox.read("new/deep/data.db"), "precious");
    let tree = sandbox.tree();
    let below: Vec<String> = tree
        .nodes
        .keys()
        .filter(|path| path.starts_with(b"new"))
        .map(|p| p.escape_ascii().to_string())
        .collect();
    assert_eq!(below, ["new", "new/deep", "new/deep/data.db"]);
    assert!(
        data["left_alone"].to_string().contains("new/deep"),
        "{data}"
    );
}

#[test]
fn an_ignored_directory_where_the_target_needs_a_file_is_a_conflict() {
    let sandbox = Sandbox::new();
    sandbox.write("thing", "a file").write("other", "1");
    let id = sandbox.create("before");
    sandbox
        .remove("thing")
        .write("thing/precious", "p")
        .write(".gitignore", "thing/\n")
        .write("other", "2");
    let before = sandbox.tree();
    let run = sandbox.fails(4, format!("restore {id} --yes --json"));
    assert_eq!(run.error_code(), "conflict");
    assert!(run.stdout.contains("thing"), "{run}");
    sandbox.tree().assert_is(&before, "after the refusal");
    assert!(
        !sandbox
            .tree()
            .nodes
            .keys()
            .any(|path| path.starts_with(b".checkpoint-stage"))
    );
}

#[test]
fn a_file_that_changes_between_plan_and_write_is_not_lost() {
    let sandbox = Sandbox::new();
    if !strace::available() {
        return;
    }
    for at in 0..20 {
        sandbox.write(format!("f{at:02}"), "old");
    }
    let id = sandbox.create("before");
    for at in 0..20 {
        sandbox.write(format!("f{at:02}"), "new");
    }
    let writer = {
        let path = sandbox.path("f19");
        let staged = sandbox.root().to_path_buf();
        std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            let is_staging = |entry: std::io::Result<std::fs::DirEntry>| {
                entry.is_ok_and(|entry| {
                    entry
                        .file_name()
                        .to_string_lossy()
                        .starts_with(".checkpoint-stage-")
                })
            };
            while begun.elapsed() < std::time::Duration::from_secs(20) {
                if std::fs::read_dir(&staged).is_ok_and(|mut entries| entries.any(is_staging)) {
                    let _ = std::fs::write(&path, "typed meanwhile");
                    return true;
                }
            }
            false
        })
    };
    let run = strace::slowed(
        &sandbox,
        "renameat2,renameat",
        20_000,
        &["restore", &id, "--yes"],
    );
    let typed = writer.join().expect("the writer does not panic");
    let somewhere = sandbox.read("f19") == "typed meanwhile" || {
        let safeties = sandbox.listed_ids();
        safeties.iter().any(|safety| {
            sandbox.cmd(format!("restore {safety} f19 --yes")).code == 0
                && sandbox.read("f19") == "typed meanwhile"
        })
    };
    assert!(
        !typed || somewhere,
        "what was typed is in neither the tree nor a checkpoint\n{run}"
    );
}

#[cfg(unix)]
#[test]
fn hostile_names_come_back_byte_for_byte() {
    use crate::bench::os::OsStrExt as _;
    use std::ffi::OsStr;
    let sandbox = Sandbox::new();
    let long = [b'n'; 255];
    let names: [&[u8]; 16] = [
        b" lead",
        b"trail ",
        b"new\nline",
        b"tab\t",
        b"quote\"'",
        b"back\\slash",
        b"pi|pe",
        b"-dash",
        b":(top)",
        b"*?[",
        b"\xff\xfe",
        b"\x1b[31m",
        b"CON",
        b"a:b",
        b"...",
        &long,
    ];
    for name in names {
        sandbox.write(OsStr::from_bytes(name), name);
        sandbox.write(
            std::path::Path::new("deep")
                .join(OsStr::from_bytes(name))
                .join("f"),
            name,
        );
    }
    let id = sandbox.create("hostile names");
    let tree = sandbox.tree();
    for name in names {
        sandbox.remove(OsStr::from_bytes(name));
    }
    sandbox.remove("deep");
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
    assert!(
        tree.nodes
            .values()
            .filter(|node| matches!(node.kind, Kind::File { .. }))
            .count()
            == 2 * names.len()
    );
}

#[test]
fn a_path_longer_than_the_system_takes_at_once_comes_back() {
    let sandbox = Sandbox::new();
    // No single call takes the whole path, so the lower half is made elsewhere and moved here.
    let half: std::path::PathBuf = std::iter::repeat_n("d".repeat(200), 13).collect();
    let elsewhere = sandbox.top().join("lower");
    sandbox
        .mkdir(&half)
        .write(elsewhere.join(&half).join("file"), "deep");
    std::fs::rename(&elsewhere, sandbox.path(&half).join("lower"))
        .expect("the lower half can be moved");
    let data = sandbox.create_data(&[]);
    assert_eq!(data["counts"]["file_count"], 1, "{data}");
    assert_eq!(
        data["counts"]["directory_count"]
            .as_u64()
            .map(|count| count >= 27),
        Some(true)
    );
    sandbox
        .write("beside", "1")
        .restore(data["short"].as_str().expect("an id"))
        .success();
    assert!(!sandbox.exists("beside"));
}

#[test]
fn three_hundred_levels_come_and_go() {
    let sandbox = Sandbox::new();
    let deep: PathBuf = std::iter::repeat_n("d", 300).collect();
    sandbox
        .write("a", "1")
        .write(deep.join("file"), "deep")
        .mkdir(deep.join("empty"));
    let with = sandbox.create("with");
    let tree = sandbox.tree();
    sandbox.remove("d");
    let without = sandbox.create("without");
    sandbox.restore(&with).success();
    sandbox.tree().assert_is(&tree, "after the restore");
    sandbox.restore(&without).success();
    assert!(!sandbox.exists("d"));
    sandbox.undo().success();
    sandbox.tree().assert_is(&tree, "after the undo");
}

#[cfg(unix)]
#[test]
fn what_lies_too_deep_for_others_is_left_out_and_named() {
    let (sandbox, to) = (Sandbox::new(), Sandbox::new());
    let deep: PathBuf = std::iter::repeat_n("d", 2003).collect();
    sandbox.write(deep.join("f"), "deep");
    sandbox.write("a", "1");
    let run = sandbox.fails(5, "create deep");
    run.stderr_has("2000 levels");
    sandbox.ok("verify --full");
    let bundle = sandbox.top().join("x.bundle");
    let bundle = bundle.to_str().expect("a plain path");
    sandbox.run(&["export", "-o", bundle]).success();
    to.run(&["import", bundle]).success();
    let removed = std::process::Command::new("rm")
        .arg("-rf")
        .arg(sandbox.root().join("d"))
        .status();
    assert!(removed.is_ok_and(|status| status.success()));
}
