//! The formula of a store's place, and mounts; `stories/place.md` has the rest.

use crate::bench::os::OsStrExt as _;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::bench::{Run, Sandbox, place};

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
fn without_any_base_the_variable_to_set_is_named() {
    let sandbox = Sandbox::new();
    sandbox.unset_env("HOME").write("a", "1");
    let run = sandbox.cmd("create");
    if run.code == 0 {
        return crate::bench::skipped("needs a user without a home in the passwd file");
    }
    run.code(1).stderr_has("CHECKPOINT_HOME");
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
