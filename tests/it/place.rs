//! The place of a store: where it lies, with which modes, and that every spelling of the root leads
//! to it.

use crate::bench::os::OsStrExt as _;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::bench::{Run, Sandbox, fixtures, os, place};

#[test]
fn the_store_lies_where_the_formula_says() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    assert!(
        sandbox.store().join("HEAD").is_file(),
        "no store at {}",
        sandbox.store().display()
    );
    assert!(sandbox.store().join("checkpoint-manifest.md").is_file());
    assert!(sandbox.store().join(".gitignore").is_file());
    assert!(sandbox.store().join("checkpoint").is_dir());
}

#[cfg(unix)]
#[test]
fn the_dir_hash_is_the_one_of_the_shell() {
    let sandbox = Sandbox::new();
    let mut shell = Command::new("/bin/sh");
    shell
        .args([
            "-c",
            r#"printf %s "$(realpath .)" | sha256sum | cut -c1-16"#,
        ])
        .current_dir(sandbox.root());
    let run = Run::of(shell);
    if run.code != 0 || run.stdout.trim().len() != 16 {
        return crate::bench::skipped("needs realpath and sha256sum");
    }
    assert_eq!(sandbox.status()["dir_hash"], run.stdout.trim());
    assert_eq!(place::dir_hash(sandbox.root()), run.stdout.trim());
}

#[cfg(unix)]
#[test]
fn the_key_turns_each_utf_16_unit_into_one_dash() {
    assert_eq!(
        place::key(Path::new("/home/me/my_app.v2")),
        "-home-me-my-app-v2"
    );
    assert_eq!(place::key(Path::new("/ä/🦀")), "-----");
    assert_eq!(
        place::key(Path::new(OsStr::from_bytes(b"/a\xff\xfe"))),
        "-a--"
    );
}

#[cfg(unix)]
#[test]
fn odd_and_long_roots_get_the_place_of_the_key_rule() {
    let long = "long-directory-name".repeat(10);
    let raw = OsStr::from_bytes(b"raw\xff\xfebytes");
    for name in [
        OsStr::new("with blank"),
        OsStr::new("ünï-🦀"),
        OsStr::new("line\nbreak"),
        raw,
        OsStr::new(&long),
    ] {
        let sandbox = Sandbox::rooted_at(Path::new(name).join("sub"));
        sandbox.write("a", "1");
        sandbox.create("first");
        assert!(
            sandbox.store().join("HEAD").is_file(),
            "no store at {}",
            sandbox.store().display()
        );
    }
}

#[test]
fn the_base_follows_flag_then_variables_then_home() {
    let sandbox = Sandbox::new();
    let base = |args: &[&str]| {
        let data = sandbox
            .run(&[&["status", "--json"], args].concat())
            .success()
            .data();
        data["base"].as_str().expect("a base").to_owned()
    };
    let place = |name: &str| {
        let path = os::native(sandbox.top().join(name));
        path.display().to_string()
    };
    assert_eq!(base(&[]), place("home/.claude"));
    sandbox.env("CLAUDE_CONFIG_DIR", place("claude"));
    assert_eq!(base(&[]), place("claude"));
    sandbox.env("CHECKPOINT_HOME", place("own"));
    assert_eq!(base(&[]), place("own"));
    assert_eq!(base(&["--base", &place("flag")]), place("flag"));
}

#[test]
fn without_any_base_the_variable_to_set_is_named() {
    let sandbox = Sandbox::new();
    sandbox.unset_env("HOME").write("a", "1");
    let run = sandbox.run(&["create"]);
    if run.code == 0 {
        return crate::bench::skipped("needs a user without a home in the passwd file");
    }
    run.code(1).stderr_has("CHECKPOINT_HOME");
}

#[test]
fn every_spelling_of_the_root_leads_to_one_store() {
    let sandbox = Sandbox::new();
    sandbox.write("sub/a", "1");
    sandbox.create("first");
    let link = sandbox.top().join("link");
    crate::bench::os::symlink(sandbox.root(), &link).expect("a link can be made");
    let root = sandbox.root().display().to_string();
    let link = link.display().to_string();
    for spelling in [
        &root,
        &format!("{root}/"),
        &format!("{root}/sub/.."),
        &format!("{root}/./."),
        &link,
    ] {
        let data = sandbox
            .run(&["-C", spelling, "status", "--json"])
            .success()
            .data();
        assert_eq!(data["checkpoint_count"], 1, "{spelling}");
    }
    let run = sandbox
        .run_in(Path::new(&link), &["status", "--json"])
        .success();
    assert_eq!(run.data()["checkpoint_count"], 1);
}

#[cfg(unix)]
#[test]
fn two_roots_with_one_key_have_two_stores() {
    let sandbox = Sandbox::new();
    let (one, other) = (sandbox.top().join("x/b_c"), sandbox.top().join("x/b-c"));
    for root in [&one, &other] {
        std::fs::create_dir_all(root).expect("a directory can be made");
        sandbox.run_in(root, &["create"]).success();
    }
    assert_eq!(place::key(&one), place::key(&other));
    assert!(
        place::store(&sandbox.base(), &one).is_dir()
            && place::store(&sandbox.base(), &other).is_dir()
    );
}

#[test]
fn a_store_in_another_project_folder_is_found_by_its_hash() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    let projects = sandbox.base().join("projects");
    std::fs::rename(
        projects.join(place::key(sandbox.root())),
        projects.join("renamed"),
    )
    .expect("a rename");
    assert_eq!(sandbox.listed().len(), 1);
    let below = sandbox.mkdir("below").path("below");
    sandbox
        .run_in(&below, &["list"])
        .success()
        .stdout_has("first");
    fixtures::copy_tree(&projects.join("renamed"), &projects.join("twin"));
    let run = sandbox.run(&["list", "--json"]);
    assert_eq!(
        (run.code, run.error_code().as_str()),
        (4, "ambiguous_store"),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn directories_are_0700_and_files_0600_under_every_umask() {
    for umask in ["000", "022", "077", "277"] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").write("d/b", "2").mkdir("e");
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        for line in [
            "create -r one",
            "restore one --yes",
            "create --scope a --state n=1",
            "hold wave",
            "release wave",
            "pin one",
            "workflow init --id run --phase p",
            "phase start",
            "phase done",
            "workflow end",
            "prune --keep 1 --yes",
        ] {
            sandbox.write("a", umask);
            let args: Vec<&str> = line.split(' ').collect();
            sandbox
                .run_under(&["/bin/sh", "-c", &script], &args)
                .success();
        }
        for entry in walkdir::WalkDir::new(sandbox.base().join("projects")) {
            let entry = entry.expect("the store can be walked");
            let expected = if entry.file_type().is_dir() {
                0o700
            } else {
                0o600
            };
            let mode = fixtures::mode_of(entry.path());
            assert_eq!(
                mode,
                expected,
                "umask {umask}: {} has {mode:o}",
                entry.path().display()
            );
        }
    }
}

#[test]
fn nothing_is_written_outside_root_and_base() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    sandbox.write("a", "2").restore(&id).success();
    let mut beside: Vec<String> = Vec::new();
    for dir in [sandbox.top(), sandbox.home().to_path_buf()] {
        for entry in std::fs::read_dir(dir).expect("the sandbox can be listed") {
            beside.push(entry.expect("an entry").file_name().display().to_string());
        }
    }
    beside.sort();
    assert_eq!(beside, [".claude", "home", "work"]);
}

#[test]
fn commands_that_only_read_write_nothing_and_wait_for_nobody() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    sandbox.write("a", "2");
    let lock = std::fs::File::open(sandbox.store().join("checkpoint/lock")).expect("a lock");
    lock.lock().expect("it is free");
    sandbox.watch(&sandbox.base()).watch(sandbox.root());
    for line in [
        "status",
        "status -v",
        "statusline",
        "list",
        "list --all",
        "show latest",
        "restore latest --dry-run",
        "delete latest --dry-run",
        "prune --keep 1 --yes --dry-run",
        "prune --orphaned --dry-run",
    ] {
        sandbox.ok(line);
    }
}

#[cfg(unix)]
#[test]
fn a_bind_mount_of_a_root_is_a_root_of_its_own_and_no_moved_project() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1").create("first");
    let other = sandbox.top().join("bound");
    std::fs::create_dir(&other).expect("a directory");
    let script = format!(
        "mount --bind {} {} || exit 99; cd {2} && \"$0\" list && \"$0\" create -q -r bound && \"$0\" list",
        sandbox.root().display(),
        other.display(),
        other.display()
    );
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-c", &script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        return crate::bench::skipped("needs the right to mount");
    }
    let run = run.success();
    assert!(!run.stderr.contains("relink"), "{run}");
    assert_eq!(
        run.stdout
            .lines()
            .filter(|line| line.ends_with("| cli |"))
            .count(),
        1,
        "{run}"
    );
    assert_eq!(sandbox.listed().len(), 1, "the first root has its own");
    assert!(place::store(&sandbox.base(), &other).is_dir());
}

#[cfg(unix)]
#[test]
fn a_bind_mount_in_a_root_is_a_root_of_its_own() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1").mkdir("data");
    sandbox.create("first");
    let other = sandbox.top().join("bound");
    std::fs::create_dir_all(other.join("deep")).expect("a directory");
    std::fs::write(other.join("deep/x"), "x").expect("a file");
    let script = format!(
        "mount --bind {} data || exit 99; cd data/deep && \"$0\" create -q && \"$0\" ls @",
        other.display(),
    );
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-c", &script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        return crate::bench::skipped("needs the right to mount");
    }
    assert!(run.success().stdout.lines().any(|line| line == "x"));
}

#[test]
fn a_base_that_is_a_link_to_another_place_is_used_there() {
    let sandbox = Sandbox::new();
    let disk = sandbox.top().join("disk");
    std::fs::create_dir(&disk).expect("a directory can be made");
    crate::bench::os::symlink(&disk, sandbox.base()).expect("a link can be made");
    sandbox.write("a", "1").create("first");
    assert!(place::store(&disk, sandbox.root()).join("HEAD").is_file());
    assert_eq!(sandbox.listed().len(), 1);
}

#[test]
fn another_directory_at_the_same_path_is_told_once() {
    let sandbox = Sandbox::rooted_at("proj");
    sandbox.write("a", "1").create("of the one before");
    let aside = sandbox.top().join("aside");
    std::fs::rename(sandbox.root(), &aside).expect("a directory can be moved");
    std::fs::create_dir(sandbox.root()).expect("a directory can be made");
    sandbox
        .run(&["list"])
        .success()
        .stderr_has("another directory")
        .stderr_has("the next checkpoint records this one beside them");
    let told = |args: &[&str]| {
        sandbox
            .run(args)
            .success()
            .warning_codes()
            .contains(&"another_root".to_owned())
    };
    assert!(told(&["status", "--json"]));
    sandbox.write("b", "1");
    assert!(told(&["create", "--json"]));
    sandbox.write("b", "2");
    assert!(!told(&["create", "--json"]) && !told(&["list", "--json"]));
}

#[test]
fn a_root_that_a_restore_made_again_is_the_same_to_its_store() {
    let sandbox = Sandbox::rooted_at("proj");
    sandbox.write("a", "1").create("first");
    std::fs::rename(sandbox.root(), sandbox.top().join("aside")).expect("a directory can be moved");
    let parent = sandbox.top();
    let root = sandbox.root().display().to_string();
    sandbox
        .run_in(&parent, &["-C", &root, "restore", "first", "--yes"])
        .success();
    let run = sandbox.run(&["list", "--json"]).success();
    assert_eq!(run.warning_codes(), Vec::<String>::new(), "{run}");
}
