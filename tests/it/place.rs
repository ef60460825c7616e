//! The formula of a store's place, and mounts; `stories/place.md` has the rest.

use crate::bench::os::OsStrExt as _;
use std::ffi::OsStr;
use std::path::Path;

use crate::bench::{Sandbox, given, place};

#[test]
fn the_store_lies_where_the_formula_says() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    for name in ["HEAD", "checkpoint-manifest.md", ".gitignore", "checkpoint"] {
        let path = sandbox.store().join(name);
        assert!(path.exists(), "no {}", path.display());
    }
}

#[cfg(unix)]
#[test]
fn the_key_turns_each_utf_16_unit_into_one_dash() {
    for (path, key) in [
        (OsStr::new("/home/me/my_app.v2"), "-home-me-my-app-v2"),
        (OsStr::new("/ä/🦀"), "-----"),
        (OsStr::from_bytes(b"/a\xff\xfe"), "-a--"),
    ] {
        assert_eq!(place::key(Path::new(path)), key);
    }
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
        let path = sandbox.store().join("HEAD");
        assert!(path.is_file(), "no {}", path.display());
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

#[cfg(unix)]
#[test]
fn a_bind_mount_of_a_root_is_a_root_of_its_own_and_no_moved_project() {
    let sandbox = Sandbox::new();
    sandbox.real_clock().write("a", "1").create("first");
    let other = sandbox.top().join("bound");
    std::fs::create_dir(&other).expect("a directory");
    let script = format!(
        "mount --bind . {0} || exit 99; cd {0} && \"$0\" list && \"$0\" create -q -r bound && \"$0\" list",
        other.display()
    );
    let run = given!(sandbox.mounting(&script));
    let run = run.success();
    assert!(!run.stderr.contains("relink"), "{run}");
    assert_eq!(run.stdout.matches("| cli |\n").count(), 1, "{run}");
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
    if let Some(run) = sandbox.mounting(&script) {
        assert!(run.success().stdout.lines().any(|line| line == "x"));
    }
}
