//! `restore`: makes a directory what it was, and changes nothing else.

use crate::bench::os::MetadataExt as _;
use crate::bench::os::PermissionsExt;

use serde_json::{Value, json};

use crate::bench::{Sandbox, damaged, fixtures, tree::Tree};

/// One checkpoint of a directory with every kind of content, and a picture of the directory.
fn with_everything() -> (Sandbox, String, Tree) {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("bin/tool", "#!/bin/sh\n")
        .chmod("bin/tool", 0o755);
    sandbox
        .write("secretive", "x")
        .chmod("secretive", 0o600)
        .mkdir("empty/deep")
        .chmod("empty", 0o750);
    sandbox
        .symlink("link", "a")
        .symlink("dangling", "/no/where")
        .symlink("bin/up", "..");
    let id = sandbox.create("everything");
    let tree = sandbox.tree();
    (sandbox, id, tree)
}

#[test]
fn a_removed_directory_comes_back_with_all_modes_and_links() {
    let (sandbox, id, tree) = with_everything();
    for name in ["a", "bin", "secretive", "empty", "link", "dangling"] {
        sandbox.remove(name);
    }
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn restore_brings_back_a_deleted_executable_with_its_mode() {
    let (sandbox, id, tree) = with_everything();
    sandbox.remove("bin/tool");
    sandbox.restore(&id).success();
    assert_eq!(sandbox.tree().get("bin/tool"), tree.get("bin/tool"));
}

#[test]
fn restore_deletes_what_was_added_since() {
    let (sandbox, id, tree) = with_everything();
    sandbox
        .write("new", "n")
        .write("newdir/deep/file", "n")
        .mkdir("newempty")
        .symlink("newlink", "a");
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn the_sentence_names_the_target_and_the_safety_checkpoint() {
    let (sandbox, id, _) = with_everything();
    sandbox.write("a", "2");
    let run = sandbox.restore(&id).success();
    let safety = sandbox.listed_ids()[0].clone();
    let sentence = format!(
        "Restored to checkpoint `{id}` (everything). Safety checkpoint created at `{safety}` — use this to undo the restore."
    );
    run.stdout_has(&sentence);
}

#[test]
fn the_safety_checkpoint_holds_the_state_before() {
    let (sandbox, id, _) = with_everything();
    sandbox.write("a", "later").write("new", "n").remove("link");
    let before = sandbox.tree();
    let safety = sandbox.restore_data(&[&id])["safety"]["short"]
        .as_str()
        .expect("a safety checkpoint")
        .to_owned();
    let listed = sandbox.listed()[0].clone();
    assert_eq!(
        (&listed["short"], &listed["kind"]),
        (&json!(safety), &json!("safety"))
    );
    assert_eq!(
        (&listed["reason"], &listed["source"]),
        (&json!("pre-restore-safety"), &json!("checkpoint"))
    );
    sandbox.restore(&safety).success();
    sandbox
        .tree()
        .assert_is(&before, "after restoring the safety checkpoint");
}

#[test]
fn files_already_equal_keep_inode_and_times() {
    let (sandbox, id, _) = with_everything();
    let look = || {
        sandbox
            .path("a")
            .metadata()
            .map(|meta| (meta.ino(), meta.mtime_nsec(), meta.ctime_nsec()))
            .expect("a")
    };
    let before = look();
    sandbox.write("new", "n").remove("bin");
    let data = sandbox.restore_data(&[&id]);
    assert_eq!(look(), before);
    assert!(
        data["counts"]["unchanged"]
            .as_u64()
            .is_some_and(|count| count > 0),
        "{data}"
    );
}

#[test]
fn without_consent_nothing_changes() {
    let (sandbox, id, _) = with_everything();
    sandbox
        .write("a", "2")
        .watch(sandbox.root())
        .watch(&sandbox.store());
    let run = sandbox.run(&["restore", &id, "--json"]).code(4);
    assert_eq!(run.error_code(), "consent_needed");
    sandbox.run(&["restore", &id]).code(4).stderr_has("--yes");
    sandbox.run(&["restore", &id, "--no-input"]).code(4);
}

#[cfg(unix)]
#[test]
fn a_dry_run_tells_the_plan_and_writes_nothing() {
    let (sandbox, id, _) = with_everything();
    sandbox
        .write("a", "2")
        .write("new/file", "n")
        .remove("empty")
        .chmod("secretive", 0o644);
    sandbox.watch(sandbox.root()).watch(&sandbox.store());
    let data = sandbox
        .run(&["restore", &id, "--dry-run", "--json"])
        .success()
        .data();
    assert_eq!(
        (&data["dry_run"], &data["safety"]),
        (&json!(true), &Value::Null)
    );
    let changes = data["changes"].as_array().expect("a list");
    let told: Vec<Value> = changes
        .iter()
        .map(|one| json!([one["path"], one["change"]]))
        .collect();
    let expected = json!([
        ["a", "modified"],
        ["empty", "directory_added"],
        ["empty/deep", "directory_added"],
        ["new", "directory_deleted"],
        ["new/file", "deleted"],
        ["secretive", "mode"],
    ]);
    assert_eq!(Value::from(told), expected);
    sandbox
        .run(&["restore", &id, "--dry-run"])
        .success()
        .stdout_has("new/file");
}

#[test]
fn overlay_deletes_nothing() {
    let (sandbox, id, tree) = with_everything();
    sandbox.write("a", "2").write("new/file", "n");
    sandbox
        .run(&["restore", &id, "--overlay", "--yes"])
        .success();
    assert_eq!(sandbox.read("new/file"), "n");
    assert_eq!(sandbox.tree().get("a"), tree.get("a"));
}

#[test]
fn one_file_alone_comes_back_with_its_own_sentence() {
    let (sandbox, id, tree) = with_everything();
    sandbox
        .write("a", "2")
        .write("secretive", "2")
        .write("new", "n");
    let sentence = format!("Restored `a` from checkpoint `{id}` (everything).");
    sandbox
        .run(&["restore", &id, "a", "--yes"])
        .success()
        .stdout_has(&sentence);
    assert_eq!(sandbox.tree().get("a"), tree.get("a"));
    assert_eq!(
        (sandbox.read("secretive"), sandbox.read("new")),
        ("2".into(), "n".into())
    );
    assert_eq!(sandbox.listed()[0]["reason"], "pre-restore-safety-file");
}

#[test]
fn a_directory_named_as_path_is_made_exact_inside() {
    let (sandbox, id, tree) = with_everything();
    sandbox
        .write("bin/extra", "x")
        .remove("bin/tool")
        .write("outside", "o")
        .write("a", "2");
    sandbox.run(&["restore", &id, "bin", "--yes"]).success();
    let below = |tree: &Tree| tree.without(|path| !crate::bench::tree::at_or_below(path, b"bin"));
    below(&sandbox.tree()).assert_is(&below(&tree), "below bin");
    assert_eq!(
        (sandbox.read("outside"), sandbox.read("a")),
        ("o".into(), "2".into())
    );
}

#[cfg(unix)]
#[test]
fn paths_are_literal_absolute_ones_are_taken_and_missing_ones_stop_everything() {
    let sandbox = Sandbox::new();
    let names = ["app/[id].tsx", "*", "-dash", ":(top)", "app/i"];
    for name in names {
        sandbox.write(name, "1");
    }
    let id = sandbox.create("odd names");
    for name in names {
        sandbox.write(name, "2");
    }
    sandbox
        .run(&["restore", &id, "--yes", "--", "app/[id].tsx", "*", "-dash"])
        .success();
    let absolute = sandbox.path(":(top)").display().to_string();
    sandbox
        .run(&["restore", &id, "--yes", "--", &absolute])
        .success();
    assert_eq!(
        names.map(|name| sandbox.read(name)),
        ["1", "1", "1", "1", "2"]
    );
    sandbox.watch(sandbox.root());
    let run = sandbox
        .run(&["restore", &id, "--yes", "--json", "--", "app/i", "no/such"])
        .code(3);
    assert_eq!(run.error_code(), "no_such_path");
}

#[test]
fn a_path_outside_the_root_or_below_a_dot_git_is_refused() {
    let (sandbox, id, _) = with_everything();
    sandbox.watch(sandbox.root());
    for path in [".git", ".git/config", "sub/.git/HEAD", ".GIT/config"] {
        let run = sandbox.run(&["restore", &id, "--yes", "--json", "--", path]);
        assert_eq!(
            (run.code, run.error_code().as_str()),
            (4, "dot_git_path"),
            "{run}"
        );
    }
    for path in ["../outside", "/etc/passwd", "bin/../../x"] {
        let code = sandbox.run(&["restore", &id, "--yes", "--", path]).code;
        assert!([2, 3, 4].contains(&code), "{path} gave {code}");
    }
}

#[test]
fn restore_without_a_selector_is_wrong_usage() {
    let (sandbox, _, _) = with_everything();
    sandbox.watch(sandbox.root());
    sandbox.run(&["restore", "--yes"]).code(2);
    sandbox.run(&["restore", "", "--yes"]).code(2);
}

#[test]
fn read_only_files_in_read_only_directories_come_back() {
    let sandbox = Sandbox::new();
    sandbox
        .write("ro/file", "1")
        .chmod("ro/file", 0o444)
        .chmod("ro", 0o555);
    let id = sandbox.create("read-only");
    let tree = sandbox.tree();
    sandbox
        .chmod("ro", 0o755)
        .remove("ro/file")
        .write("ro/file", "2")
        .write("ro/new", "n")
        .chmod("ro", 0o555);
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[test]
fn an_empty_checkpoint_empties_the_directory() {
    let sandbox = Sandbox::new();
    let id = sandbox.create("nothing yet");
    sandbox.write("a", "1").mkdir("b/c");
    sandbox.restore(&id).success();
    assert_eq!(sandbox.tree().nodes.len(), 1, "only the root is left");
}

#[test]
fn a_root_removed_whole_is_made_again() {
    let sandbox = Sandbox::bare();
    sandbox.write("d/a", "1").chmod("d", 0o700);
    let tree = sandbox.tree();
    let id = sandbox.create("before");
    let root = sandbox.root().display().to_string();
    sandbox.remove("");
    sandbox
        .run_in(sandbox.home(), &["-C", &root, "list"])
        .success()
        .stdout_has(&id);
    sandbox
        .run_in(sandbox.home(), &["-C", &root, "restore", &id, "--yes"])
        .success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[cfg(unix)]
#[test]
fn sticky_and_setuid_bits_come_back_only_when_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("tool", "x").chmod("tool", 0o4755);
    let id = sandbox.create("with setuid");
    sandbox.remove("tool");
    sandbox.restore(&id).success();
    assert_eq!(
        sandbox.tree().get("tool").map(|node| node.mode),
        Some(0o755)
    );
    sandbox.remove("tool");
    sandbox
        .run(&["restore", &id, "--restore-suid", "--yes"])
        .success();
    assert_eq!(
        sandbox.tree().get("tool").map(|node| node.mode),
        Some(0o4755)
    );
}

#[test]
fn nothing_of_ours_stays_in_the_directory() {
    let (sandbox, id, tree) = with_everything();
    sandbox.write("a", "2").remove("bin");
    sandbox.restore(&id).success();
    sandbox
        .tree()
        .assert_is(&tree, "no staging directory is left");
}

#[cfg(unix)]
#[test]
fn the_mode_of_the_root_itself_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").chmod("", 0o700);
    let id = sandbox.create("before");
    sandbox.chmod("", 0o755);
    sandbox.restore(&id).success();
    assert_eq!(
        std::fs::metadata(sandbox.root())
            .expect("the root")
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    sandbox.undo().success();
    assert_eq!(
        std::fs::metadata(sandbox.root())
            .expect("the root")
            .permissions()
            .mode()
            & 0o777,
        0o755
    );
}

#[test]
fn a_plan_that_could_not_be_carried_out_is_not_shown() {
    let sandbox = Sandbox::new();
    sandbox
        .write("noise", fixtures::noise(1, 100_000))
        .write("a", "1");
    let id = sandbox.create("noise");
    let packs = damaged::packs_of(&sandbox.store());
    let middle = std::fs::metadata(&packs[0]).expect("a pack").len() / 2;
    damaged::flip(&packs[0], middle.try_into().expect("a small pack"), 1);
    sandbox.write("a", "2");
    sandbox
        .run(&["restore", &id, "--dry-run"])
        .success()
        .stdout_has("modified a");
    sandbox.remove("noise");
    let elsewhere = sandbox.top().join("elsewhere").display().to_string();
    for args in [&["--dry-run"][..], &[], &["--dry-run", "--to", &elsewhere]] {
        let run = sandbox
            .run(&[&["restore", &id], args].concat())
            .code(6)
            .stdout_is("")
            .stderr_has("noise");
        assert!(!run.stderr.contains("modif"), "{run}");
    }
    sandbox.run(&["restore", &id, "a", "--dry-run"]).success();
}

#[test]
fn files_named_like_those_of_a_bare_repository_come_back() {
    let sandbox = Sandbox::new();
    for name in [
        "HEAD",
        "config",
        "description",
        "objects/pack/x.pack",
        "refs/heads/main",
        "hooks/post-checkout",
    ] {
        sandbox.write(name, name).write(format!("sub/{name}"), name);
    }
    let (id, tree) = (sandbox.create("a project of such files"), sandbox.tree());
    for name in [
        "HEAD",
        "config",
        "description",
        "objects",
        "refs",
        "hooks",
        "sub",
    ] {
        sandbox.remove(name);
    }
    sandbox.restore(&id).success();
    sandbox.tree().assert_is(&tree, "after the restore");
}

#[cfg(unix)]
#[test]
fn lost_files_of_any_name_are_restored_from_a_list() {
    use crate::bench::limit;

    let sandbox = Sandbox::new();
    sandbox
        .write("draft", "1")
        .write("stay", "1")
        .write("sub/deep/x", "1");
    for name in [
        "@types",
        "-rf",
        "a b",
        "new\nline",
        "*",
        "q\"uote",
        "caf\u{e9}",
        "@~1",
    ] {
        sandbox.write(format!("sub/{name}"), "1");
    }
    let id = sandbox.create("draft");
    sandbox.write("stay", "2").remove("draft").remove("sub");
    std::fs::create_dir(sandbox.path("sub")).unwrap();
    let names = ["diff", &id, "--name-only", "-z"];
    let listed = sandbox.run_in(&sandbox.path("sub"), &[&names[..], &["."]].concat());
    let listed = listed.success().stdout;
    assert!(
        listed.contains("new\nline\0") && listed.contains("deep/x\0"),
        "{listed:?}"
    );
    let mut command = sandbox.command(&[], &["restore", &id, "@-", "--yes"]);
    command.current_dir(sandbox.path("sub"));
    let run = limit::output_fed(&mut command, listed.as_bytes()).expect("it starts");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(sandbox.read("stay"), "2");
    let left = sandbox.run(&["diff", "--name-status", "-z"]).success();
    left.stdout_is("D\0draft\0M\0stay\0");
    let all = sandbox
        .run(&["ls", &id, "-R", "-z", "sub"])
        .success()
        .stdout;
    assert_eq!(all.matches('\0').count(), 10, "{all:?}");
    assert!(all.contains("sub/deep/\0"), "{all:?}");
    // An item is a path, whatever checkpoint is called so.
    sandbox.write("lost", "draft\r\n./stay\n");
    let told = sandbox.run(&["restore", "@lost", "--yes"]).success();
    told.stdout_has("`draft`").stderr_has("safety checkpoint ");
    assert_eq!(
        (sandbox.read("draft"), sandbox.read("stay")),
        ("1".into(), "1".into())
    );
    sandbox.write("stay", "2").write("empty", "\n");
    sandbox
        .run(&["restore", "@empty", "--yes"])
        .code(2)
        .stderr_has("names no path");
    sandbox
        .run(&["restore", "@gone", "--yes"])
        .code(3)
        .stderr_has("gone does not exist");
    assert_eq!(sandbox.read("stay"), "2");
    sandbox
        .run(&["restore", "--yes", "--glob", "st*"])
        .code(0)
        .stdout_has("`st*`");
    sandbox.write("stay", "3");
    let told = sandbox
        .run(&["restore", &id, "--yes", "--glob", "st*"])
        .success();
    told.stderr_has("safety checkpoint ");
    for word in ["--", "./sub/@types"] {
        sandbox.remove("sub/@types");
        let words = ["restore", "--yes", word, "sub/@types"];
        sandbox.run(&words).success();
        assert!(sandbox.exists("sub/@types"));
    }
}

#[test]
fn a_path_that_is_left_out_and_not_held_is_no_path_of_a_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".gitignore", "*.log\n")
        .write("a", "1")
        .create("base");
    sandbox.write("x.log", "1");
    for more in [&["--dry-run"][..], &["--yes"]] {
        let run = sandbox.run(&[&["restore", "base", "x.log", "--json"], more].concat());
        assert_eq!(run.code(3).error_code(), "no_such_path");
    }
    assert_eq!(sandbox.read("x.log"), "1");
}

#[test]
fn a_path_that_is_new_since_is_deleted_and_said_to_be() {
    let sandbox = Sandbox::new();
    sandbox.write("s/f", "1").create("one");
    sandbox
        .write("s/f", "2")
        .write("s/new", "n")
        .write("dir/x", "n")
        .write("both/x", "n")
        .write("both/.gitignore", "*.log")
        .write("both/l.log", "n");
    let run = sandbox
        .run(&["restore", "s/f", "s/new", "dir", "both", "--yes"])
        .success();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{run}");
    assert!(
        lines[1].starts_with("Deleted the captured files of `both`, which checkpoint "),
        "{run}"
    );
    assert!(
        lines[0].starts_with("Restored `s/f` from checkpoint "),
        "{run}"
    );
    assert!(
        lines[3].starts_with("Deleted `s/new`, which checkpoint "),
        "{run}"
    );
    assert!(
        lines[2].starts_with("Deleted `dir`, which checkpoint "),
        "{run}"
    );
    assert!(!sandbox.exists("s/new") && !sandbox.exists("dir"));
    assert!(!sandbox.exists("both/x") && sandbox.exists("both/l.log"));
    sandbox.undo().success();
    assert_eq!(sandbox.read("s/new"), "n");
}

#[cfg(unix)]
#[test]
fn a_path_that_comes_back_as_another_type_is_said_to_be_restored() {
    let sandbox = Sandbox::new();
    sandbox.write("dir/f", "1").write("file", "1");
    sandbox.write("other/x", "1").create("one");
    for of_dir in ["dir", "other"] {
        std::fs::remove_dir_all(sandbox.path(of_dir)).unwrap();
    }
    sandbox.symlink("dir", "file").write("other", "a file now");
    std::fs::remove_file(sandbox.path("file")).unwrap();
    sandbox.write("file/in", "a directory now");
    let run = sandbox.run(&["restore", "dir", "other", "file", "--yes"]);
    let mut run = run.success();
    for path in ["dir", "file", "other"] {
        run = run.stdout_has(&format!("Restored `{path}` from checkpoint "));
    }
    assert!(!run.stdout.contains("does not hold"));
    assert_eq!(sandbox.read("dir/f") + &sandbox.read("file"), "11");
}

#[test]
fn what_ls_prints_of_odd_names_is_taken_as_a_path() {
    let sandbox = Sandbox::new();
    sandbox.write("-dash", "1").write("@at", "1").create("one");
    sandbox.write("-dash", "2").write("@at", "2");
    let listed = sandbox.run(&["ls"]).success().stdout;
    assert_eq!(listed, "./-dash\n./@at\n");
    for path in listed.lines() {
        sandbox.run(&["restore", path, "--yes"]).success();
    }
    assert_eq!(
        (sandbox.read("-dash"), sandbox.read("@at")),
        ("1".into(), "1".into())
    );
}

#[test]
fn what_stays_because_the_rules_of_the_checkpoint_left_it_out_is_named() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("lib/x", "1")
        .write("big", "1".repeat(2000))
        .write("src/keep", "1")
        .write("src/a.log", "1")
        .write(".gitignore", "*.log\n")
        .mkdir("lib/empty");
    sandbox.user_config("exclude = [\"lib\"]\nmax_file_size = 1000\n");
    let id = sandbox.create("one");
    sandbox.user_config("");
    sandbox.write("a", "2").remove(".gitignore");
    let expected = ["big", "lib", "src/a.log"];
    let named = |data: &serde_json::Value| -> Vec<String> {
        let left = data["left_alone"].as_array().expect("a list");
        let paths = left.iter().map(|one| one["path"].as_str().expect("text"));
        paths.map(str::to_owned).collect()
    };
    let planned = sandbox.run(&["restore", &id, "--dry-run", "--json"]).data();
    assert_eq!(named(&planned), expected);
    let run = sandbox.run(&["restore", &id, "--dry-run"]).success();
    run.stdout_has("  kept     lib\n");
    assert_eq!(named(&sandbox.restore_data(&[&id])), expected);
    assert_eq!(
        (sandbox.read("lib/x"), sandbox.read("src/a.log")),
        ("1".into(), "1".into())
    );
    let one = sandbox
        .run(&["restore", &id, "lib/x", "--yes", "--json"])
        .data();
    assert_eq!(
        named(&one),
        ["lib/x"],
        "what was asked for, not what is above"
    );
}
