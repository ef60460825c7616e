//! Scoped checkpoints: capture only what the scope covers; a restore of one touches nothing else.

use crate::bench::os::MetadataExt as _;

use crate::bench::{Git, Sandbox, os};

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/api/user.py", "u1\n")
        .write("src/api/auth.py", "a1\n")
        .write("src/other.py", "o1\n");
    sandbox
        .write("README", "r1\n")
        .write(".gitignore", "*.log\nbuild/\n")
        .write("src/api/x.log", "log");
    sandbox
        .write("build/out/app.bin", "b1")
        .write("build/app.conf", "e")
        .write("build/.env", "secret");
    sandbox
}

fn scoped(sandbox: &Sandbox, scope: &[&str]) -> String {
    let mut args = vec!["create", "-r", "scoped"];
    for part in scope {
        args.extend(["--scope", part]);
    }
    sandbox.run(&args).success().stdout.trim().to_owned()
}

fn held(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    sandbox
        .run(&["restore", id, "--to", &place.path().display().to_string()])
        .success();
    let files = walkdir::WalkDir::new(place.path())
        .into_iter()
        .map(|entry| entry.expect("an entry"));
    let files = files.filter(|entry| !entry.file_type().is_dir());
    let name = |entry: walkdir::DirEntry| {
        let below = entry.path().strip_prefix(place.path()).unwrap();
        String::from_utf8(os::bytes_of(below.as_os_str())).unwrap()
    };
    let mut names: Vec<String> = files.map(name).collect();
    names.sort();
    names
}

/// Inode, times and mode of a file, which show whether it was touched at all.
fn marks(sandbox: &Sandbox, path: &str) -> (u64, i64, i64, String) {
    let found = std::fs::symlink_metadata(sandbox.path(path)).unwrap();
    (
        found.ino(),
        found.mtime_nsec(),
        found.ctime_nsec(),
        sandbox.read(path),
    )
}

#[test]
fn only_what_the_scope_covers_is_captured() {
    let sandbox = project();
    let id = scoped(&sandbox, &["src/api/*.py", "README"]);
    assert_eq!(
        held(&sandbox, &id),
        ["README", "src/api/auth.py", "src/api/user.py"]
    );
    let data = sandbox.shown(&id);
    assert_eq!(data["coverage"], "scoped");
    assert_eq!(data["scope"], serde_json::json!(["README", "src/api/*.py"]));
    assert_eq!(sandbox.listed()[0]["coverage"], "scoped");
    sandbox
        .run(&["show", &id])
        .success()
        .stdout_has("scope      README, src/api/*.py\n")
        .stdout_has("coverage   scoped\n");
}

#[cfg(unix)]
#[test]
fn a_scoped_restore_leaves_every_other_path_untouched() {
    let sandbox = project();
    let id = scoped(&sandbox, &["src/api"]);
    sandbox
        .write("src/api/user.py", "u2\n")
        .remove("src/api/auth.py")
        .write("src/api/new.py", "n");
    sandbox
        .write("src/api/y.log", "kept")
        .write("src/other.py", "o2\n")
        .write("src/late.py", "l")
        .chmod("src", 0o700);
    let before = [
        "src/other.py",
        "src/late.py",
        "README",
        "build/out/app.bin",
        "src/api/x.log",
    ];
    let before = before.map(|path| (path, marks(&sandbox, path)));
    let data = sandbox.restore_data(&[&id, "--yes"]);
    assert_eq!(
        [
            &data["counts"]["added"],
            &data["counts"]["modified"],
            &data["counts"]["deleted"]
        ],
        [1, 1, 1],
        "{data}"
    );
    assert_eq!(
        (
            sandbox.read("src/api/user.py"),
            sandbox.read("src/api/auth.py")
        ),
        ("u1\n".into(), "a1\n".into())
    );
    assert!(
        !sandbox.exists("src/api/new.py"),
        "it is in scope and was not there then"
    );
    assert_eq!(
        sandbox.read("src/api/y.log"),
        "kept",
        "an ignore file above the scope has its say"
    );
    assert_eq!(
        std::fs::metadata(sandbox.path("src")).unwrap().mode() & 0o777,
        0o700
    );
    for (path, marks_before) in before {
        assert_eq!(marks(&sandbox, path), marks_before, "{path}");
    }
}

#[test]
fn what_was_ignored_then_is_left_alone_although_it_is_not_ignored_now() {
    let sandbox = project();
    let id = scoped(&sandbox, &["src/api/*"]);
    sandbox
        .write(".gitignore", "build/\n")
        .write("src/api/z.log", "mine")
        .write("src/api/z.py", "new");
    sandbox.run(&["restore", &id, "--yes"]).success();
    assert_eq!(
        (
            sandbox.read("src/api/z.log"),
            sandbox.exists("src/api/z.py")
        ),
        ("mine".into(), false)
    );
}

#[test]
fn undo_and_redo_of_a_scoped_restore_stay_within_its_scope() {
    let sandbox = project();
    let id = scoped(&sandbox, &["src/api/*.py"]);
    sandbox
        .write("src/api/user.py", "u2\n")
        .write("README", "r2\n");
    sandbox.run(&["restore", &id, "--yes"]).success();
    sandbox.write("README", "r3\n").write("src/late.py", "l");
    sandbox.undo().success();
    assert_eq!(
        (sandbox.read("src/api/user.py"), sandbox.read("README")),
        ("u2\n".into(), "r3\n".into())
    );
    assert!(sandbox.exists("src/late.py"));
    sandbox.redo().success();
    assert_eq!(
        (sandbox.read("src/api/user.py"), sandbox.read("README")),
        ("u1\n".into(), "r3\n".into())
    );
}

#[test]
fn an_ignored_path_that_is_named_is_captured_and_comes_back_but_no_secret() {
    let sandbox = project();
    let id = scoped(&sandbox, &["build", "src/api/x.log"]);
    assert_eq!(
        held(&sandbox, &id),
        ["build/app.conf", "build/out/app.bin", "src/api/x.log"]
    );
    sandbox.remove("build").write("src/api/x.log", "other");
    sandbox.run(&["restore", &id, "--yes"]).success();
    assert_eq!(
        (
            sandbox.read("build/out/app.bin"),
            sandbox.read("src/api/x.log")
        ),
        ("b1".into(), "log".into())
    );
    sandbox.undo().success();
    assert_eq!(
        sandbox.read("src/api/x.log"),
        "other",
        "the safety checkpoint held it"
    );
    sandbox.write("build/.env", "secret");
    let all = sandbox
        .run(&["create", "--scope", "build/.env", "--include-sensitive"])
        .success();
    assert_eq!(held(&sandbox, all.stdout.trim()), ["build/.env"]);
}

#[test]
fn a_named_directory_brings_no_ignored_files_with_it_unless_it_is_ignored_itself() {
    let sandbox = project();
    sandbox
        .write("src/build/x", "1")
        .write("build/y.log", "2")
        .write("a/.ssh/id", "3")
        .write("a/b", "4");
    assert_eq!(
        held(&sandbox, &scoped(&sandbox, &["src"])),
        ["src/api/auth.py", "src/api/user.py", "src/other.py"]
    );
    let build = ["build/app.conf", "build/out/app.bin", "build/y.log"];
    assert_eq!(held(&sandbox, &scoped(&sandbox, &["build"])), build);
    assert_eq!(
        held(&sandbox, &scoped(&sandbox, &["src/build/x"])),
        ["src/build/x"]
    );
    assert_eq!(held(&sandbox, &scoped(&sandbox, &["a"])), ["a/b"]);
    sandbox
        .run(&["create", "--scope", "a/.ssh/id"])
        .code(3)
        .stderr_has("matches only secrets");
}

#[test]
fn a_scope_that_matches_nothing_is_an_error_and_nothing_is_made() {
    let sandbox = project();
    for (scope, expected) in [
        ("src/*.rs", "'src/*.rs' matches nothing"),
        ("missing.txt", "missing.txt"),
        ("build/.env", "secret"),
    ] {
        let run = sandbox
            .run(&["create", "--scope", "README", "--scope", scope])
            .code(3)
            .stderr_has(expected);
        assert_eq!(run.stdout, "");
    }
    sandbox.run(&["create", "--scope", "../x"]).code(2);
    sandbox.run(&["create", "--scope", ".git/config"]).code(4);
    sandbox.run(&["create", "--scope", ""]).code(2);
    sandbox
        .run(&["create", "--scope", "[a"])
        .code(2)
        .stderr_has("can match nothing");
    assert!(sandbox.listed().is_empty());
}

#[cfg(unix)]
#[test]
fn a_list_of_paths_comes_from_a_file_or_standard_input() {
    let sandbox = project();
    let list = sandbox.home().join("list");
    std::fs::write(&list, "README\nsrc/other.py\r\n\n").unwrap();
    let from_file = sandbox
        .run(&["create", "--scope", &format!("@{}", list.display())])
        .success();
    assert_eq!(
        held(&sandbox, from_file.stdout.trim()),
        ["README", "src/other.py"]
    );
    let shell = format!(
        "printf 'README\\0src/api\\0' | {} create -r piped --scope -",
        Sandbox::binary().display()
    );
    let piped = sandbox.run_under(&["/bin/sh", "-c", &shell], &[]).success();
    assert_eq!(
        held(&sandbox, piped.stdout.trim()),
        ["README", "src/api/auth.py", "src/api/user.py"]
    );
    sandbox
        .run(&["create", "--scope", "@/nowhere"])
        .code(3)
        .stderr_has("/nowhere");
}

#[test]
fn a_scoped_checkpoint_is_never_the_latest_nor_the_twin_of_a_whole_one() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let whole = sandbox.create("whole");
    let again = |scope: &str| {
        sandbox.at("2026-03-24T12:00:00Z");
        scoped(&sandbox, &[scope])
    };
    let part = again("a");
    assert_ne!(whole, part);
    assert_eq!(
        again("a"),
        part,
        "the same again within the window is a twin"
    );
    assert_ne!(again("."), part, "another scope is another checkpoint");
    sandbox.at("2026-03-24T12:00:00Z");
    assert_eq!(sandbox.shown("latest")["short"], whole);
    assert_eq!(sandbox.status()["latest"]["short"], whole);
    assert_ne!(sandbox.create("whole again"), whole);
}

#[test]
fn scoped_checkpoints_push_out_none_of_the_whole_ones() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "0");
    let whole = sandbox.create("whole");
    for n in 0..6 {
        sandbox.write("a", n.to_string());
        sandbox
            .run(&[
                "create",
                "--scope",
                "a",
                "--keep",
                "2",
                "--yes",
                "-r",
                &format!("part {n}"),
            ])
            .success();
    }
    assert_eq!(sandbox.listed_ids().len(), 3, "{:?}", sandbox.listed());
    assert!(sandbox.listed_ids().iter().any(|id| id.starts_with(&whole)));
    for n in 0..4 {
        sandbox.write("a", format!("w{n}"));
        sandbox
            .run(&[
                "create",
                "--keep",
                "2",
                "--yes",
                "-r",
                &format!("whole {n}"),
            ])
            .success();
    }
    let parts = sandbox
        .listed()
        .iter()
        .filter(|row| row["coverage"] == "scoped")
        .count();
    assert_eq!((parts, sandbox.listed().len()), (2, 4));
}

#[test]
fn what_has_expired_goes_at_a_prune_and_never_is_as_good_as_a_pin() {
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z").write("a", "1");
    sandbox
        .run(&["create", "--scope", "a", "--expires", "24h", "-r", "short"])
        .success();
    sandbox
        .run(&[
            "create",
            "--scope",
            "a",
            "--expires",
            "never",
            "-r",
            "for good",
        ])
        .success();
    let short = sandbox.shown("short");
    assert_eq!(short["expires_at"], "2026-03-25T12:00:00.000Z");
    sandbox.at("2026-03-25T11:59:59Z").run(&["prune"]).success();
    assert_eq!(sandbox.listed().len(), 2);
    sandbox.at("2026-03-25T12:00:00Z");
    assert_eq!(sandbox.listed().len(), 2, "it goes at a prune only");
    let preview = sandbox
        .run(&["prune", "--dry-run", "--json"])
        .success()
        .data();
    let pruned = sandbox.run(&["prune", "--json"]).success().data();
    for data in [preview, pruned] {
        assert_eq!(
            (
                &data["dropped"][0]["checkpoint"]["reason"],
                &data["dropped"][0]["why"]
            ),
            (&"short".into(), &"expired".into())
        );
    }
    for n in 0..3 {
        sandbox.write("a", n.to_string());
        sandbox
            .run(&["create", "--scope", "a", "--keep", "1", "--yes"])
            .success();
    }
    sandbox.run(&["cat", "for good:a"]).success().stdout_is("1");
    for wrong in ["soon", "2020-01-01", "0s", "", "3000000d", "99999999999d"] {
        sandbox.run(&["create", "--expires", wrong]).code(2);
    }
    let late = sandbox.create_data(&["--scope", "a", "--expires", "9999-12-31T23:59:59Z"]);
    assert_eq!(late["expires_at"], "9999-12-31T23:59:59.000Z");
    sandbox
        .run(&["create", "--expires", "9999-12-31T23:59:59-01:00"])
        .code(2)
        .stderr_has("after the year 9999");
}

#[test]
fn what_was_promised_to_last_a_day_lasts_it_however_many_follow() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 3\n");
    sandbox.at("2026-03-24T12:00:00Z");
    for n in 0..8 {
        sandbox.write("a", n.to_string());
        let reason = format!("r{n}");
        let args = ["create", "--scope", "a", "--expires", "24h", "-r", &reason];
        sandbox.run(&args).success();
    }
    let kept = |now| {
        let pruned = sandbox
            .at(now)
            .run(&["prune", "--json", "--keep", "1", "--yes"]);
        (sandbox.listed().len(), pruned.success().data())
    };
    let (count, data) = kept("2026-03-25T11:59:00Z");
    assert_eq!((count, &data["dropped"]), (8, &serde_json::json!([])));
    let of_first = &data["kept"][7]["rules"];
    assert_eq!(of_first, &serde_json::json!(["not_expired"]), "{data}");
    sandbox.run(&["delete", "r3", "--yes"]).success();
    assert_eq!(kept("2026-03-25T12:01:00Z").0, 0);
}

#[test]
fn every_checkpoint_has_an_alias_that_is_taken_everywhere() {
    let sandbox = Sandbox::new();
    sandbox.at("2024-01-15T14:30:22Z").write("a", "1");
    let data = sandbox.create_data(&["-r", "one"]);
    let (alias, id) = (
        data["alias"].as_str().unwrap(),
        data["id"].as_str().unwrap(),
    );
    assert_eq!(alias, format!("chk_20240115_143022_{}", &id[..6]));
    assert_eq!(sandbox.listed()[0]["alias"], alias);
    sandbox.write("a", "2").write("b", "x");
    sandbox.run(&["show", alias]).success();
    sandbox
        .run(&["cat", &format!("{alias}:a")])
        .success()
        .stdout_is("1");
    sandbox
        .run(&["diff", alias, "--name-only"])
        .success()
        .stdout_is("a\nb\n");
    sandbox.run(&["verify", alias]).success();
    sandbox.run(&["pin", alias]).success();
    sandbox.run(&["unpin", alias]).success();
    sandbox.run(&["restore", alias, "--yes"]).success();
    sandbox.run(&["delete", alias, "--yes"]).success();
    sandbox.run(&["show", alias]).code(3);
}

#[test]
fn a_scoped_checkpoint_is_compared_within_its_scope_only() {
    let sandbox = project();
    sandbox.create("whole");
    sandbox
        .write("src/api/user.py", "u2\n")
        .write("README", "r2\n");
    let id = scoped(&sandbox, &["src/api/*.py"]);
    let changes = sandbox.run(&["show", &id, "--json"]).success().data()["changes"].clone();
    assert_eq!(
        changes,
        serde_json::json!([{"change": "modified", "path": "src/api/user.py", "path_hex": null}])
    );
    sandbox.run(&["diff", &id]).success().stdout_is("");
    sandbox
        .write("src/api/auth.py", "a2\n")
        .write("README", "r3\n")
        .write("src/api/new.py", "n");
    sandbox
        .run(&["diff", &id, "--name-only"])
        .success()
        .stdout_is("src/api/auth.py\nsrc/api/new.py\n");
    sandbox
        .run(&["diff", "whole", &id, "--name-only"])
        .success()
        .stdout_is("src/api/user.py\n");
    sandbox
        .run(&["find", "README"])
        .success()
        .stdout_has("whole");
    sandbox.create("later");
    sandbox
        .run(&["find", "README"])
        .success()
        .stdout_has("README: newest copy in")
        .stdout_has("modified");
}

#[test]
fn git_stash_holds_what_git_tracks_and_refuses_the_rest() {
    let sandbox = project();
    let Some(git) = Git::find(sandbox.root()) else {
        return;
    };
    git.run(&["init", "-q"]).success();
    git.run(&["add", "src/api/user.py", "src/api/auth.py"])
        .success();
    sandbox.renew_watches();
    let run = sandbox
        .run(&[
            "create",
            "--type",
            "git_stash",
            "--scope",
            "src/api",
            "--json",
        ])
        .success();
    assert_eq!(run.data()["type"], "git_stash");
    let untracked = sandbox
        .run(&["create", "--type", "git_stash", "--scope", "src"])
        .code(2);
    let untracked = untracked
        .stderr_has("src/other.py")
        .stderr_has("file_backup");
    assert_eq!(untracked.stdout, "");
    sandbox
        .run(&["create", "--type", "git_stash"])
        .code(2)
        .stderr_has("--scope");
    sandbox
        .run(&["create", "--type", "file_backup", "--scope", "src"])
        .success();
    sandbox.run(&["create", "--type", "tape"]).code(2);
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn a_scoped_checkpoint_stands_every_check_and_survives_a_prune_and_a_lost_meta_ref() {
    let sandbox = project();
    let id = scoped(&sandbox, &["src/api/*.py"]);
    sandbox.run(&["verify", "--full"]).success();
    if let Some(git) = Git::find(sandbox.home()) {
        git.with("GIT_DIR", sandbox.store())
            .run(&["fsck", "--full", "--strict"])
            .success();
    }
    std::fs::remove_dir_all(sandbox.store().join("refs/meta")).unwrap();
    sandbox.write("x", "1").create("another");
    sandbox.run(&["prune"]).success();
    sandbox.run(&["verify", "--full"]).success();
    sandbox
        .write("src/api/user.py", "u2\n")
        .write("src/api/w.log", "w");
    sandbox.run(&["restore", &id, "--yes"]).success();
    assert_eq!(
        (
            sandbox.read("src/api/user.py"),
            sandbox.exists("src/api/w.log")
        ),
        ("u1\n".into(), true)
    );
}

#[test]
fn the_size_gate_counts_what_is_in_scope() {
    let sandbox = project();
    sandbox
        .run(&["create", "--max-files", "2", "--scope", "src/api"])
        .success();
    let over = sandbox
        .run(&[
            "create",
            "--max-files",
            "1",
            "--session",
            "s",
            "--scope",
            "src/api",
            "--json",
        ])
        .success();
    assert_eq!(over.data()["skipped"], "too_many_files");
    let whole = sandbox
        .run(&["create", "--max-files", "9", "--session", "s", "--json"])
        .success();
    assert_eq!(whole.data()["created"], true);
}

#[test]
fn files_that_the_program_keeps_in_the_root_are_never_captured_nor_changed() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write(".checkpoints/x/manifest.json", "{}")
        .write(".audit/log", "l")
        .write("d/.audit/x", "2");
    let id = sandbox.create("one");
    assert_eq!(held(&sandbox, &id), ["a", "d/.audit/x"]);
    sandbox
        .run(&["status", "-v"])
        .success()
        .stdout_has("dir .checkpoints")
        .stdout_has("dir .audit");
    sandbox
        .write("a", "2")
        .write(".audit/log", "more")
        .remove(".checkpoints");
    sandbox.run(&["restore", &id, "--yes"]).success();
    assert_eq!(
        (sandbox.read(".audit/log"), sandbox.exists(".checkpoints")),
        ("more".into(), false)
    );
    sandbox.run(&["create", "--scope", ".audit"]).code(3);
}

#[cfg(unix)]
#[test]
fn a_scope_that_is_a_link_is_refused_with_the_name_behind_it() {
    let sandbox = Sandbox::new();
    sandbox
        .write("real/f", "1")
        .symlink("lib", "real")
        .create("whole");
    for typed in ["lib", "lib/", "lib/f", "lib/new", "lib/*.rs"] {
        for command in ["create", "guard"] {
            let run = sandbox.run(&[command, "--scope", typed]).code(4);
            let _ = run.stderr_has("holds only the link").stderr_has("real");
        }
    }
    sandbox
        .run(&["create", "--scope", "lib/", "--contract"])
        .code(4);
    for args in [
        &["restore", "whole", "lib/", "--yes"][..],
        &["diff", "whole", "--", "lib/"],
    ] {
        sandbox.run(args).code(4).stderr_has("real");
    }
    // With what is behind it, it is held.
    sandbox
        .run(&["create", "--scope", "lib", "--scope", "real"])
        .success();
    let outside = sandbox.top().join("outside");
    std::fs::create_dir(&outside).unwrap();
    sandbox.symlink("out", &outside);
    sandbox
        .run(&["create", "--scope", "out/x"])
        .code(4)
        .stderr_has("outside the root");
}

#[cfg(unix)]
#[test]
fn a_scope_that_is_a_link_to_a_file_is_refused_with_the_name_behind_it() {
    let sandbox = Sandbox::new();
    sandbox.write("real/f", "1").symlink("lf", "real/f");
    for command in ["create", "guard"] {
        let run = sandbox.run(&[command, "--scope", "lf"]).code(4);
        run.stderr_has("the symlink lf").stderr_has("real/f");
    }
    let both = ["create", "--scope", "lf", "--scope", "real/f"];
    sandbox.run(&both).success();
}
