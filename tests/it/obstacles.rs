//! Plans that keep their word: what a restore would refuse, its dry run finds, all of it, and the
//! command that it names works; `stories/restore.md` has what a shell can put in the way.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::sample::Draw;
use crate::bench::{Run, Sandbox, cases, given, limit, os, skipped};

pub const USER: u32 = 54_321;
pub const AS_USER: [&str; 4] = [
    "/usr/bin/setpriv",
    "--reuid=54321",
    "--regid=54321",
    "--clear-groups",
];

/// A sandbox of an ordinary user, or `None` with a printed line.
pub fn of_user() -> Option<Sandbox> {
    let sandbox = Sandbox::bare();
    give(&sandbox, USER);
    let is_able = os::is_root() && Path::new(AS_USER[0]).exists();
    if !is_able || sandbox.run_under(&AS_USER, &["--version"]).code != 0 {
        skipped("needs the right to become another user");
        return None;
    }
    Some(sandbox)
}

pub fn give(sandbox: &Sandbox, user: u32) {
    for entry in walkdir::WalkDir::new(sandbox.top()).into_iter().flatten() {
        let _ = os::lchown(entry.path(), Some(user), Some(user));
    }
}

/// The paths that a refusal names, sorted.
fn named(answer: &Value) -> Vec<String> {
    let paths = answer["error"]["paths"].as_array();
    let paths = paths.into_iter().flatten();
    let mut named: Vec<String> = paths.map(|one| one["path"].to_string()).collect();
    named.sort();
    named
}

/// Asserts that a dry run and the act refuse with the same paths, and that the command works which
/// they name.
pub fn refused_alike(sandbox: &Sandbox, wrapper: &[&str], args: &[&str]) -> Vec<String> {
    let before = sandbox.tree();
    let run = |more: &str| {
        let args = [&["restore"], args, &[more, "--json"]].concat();
        sandbox.run_under(wrapper, &args).code(4).json()
    };
    let (planned, acted) = (run("--dry-run"), run("--yes"));
    sandbox.tree().assert_is(&before, "after a refusal");
    assert_eq!(named(&planned), named(&acted));
    let words = acted["error"]["command"]
        .as_array()
        .expect("a command that can be run");
    let words: Vec<&str> = words
        .iter()
        .skip(1)
        .map(|word| word.as_str().unwrap())
        .collect();
    sandbox
        .run_under(wrapper, &[&words[..], &["--yes"]].concat())
        .success();
    named(&acted)
}

#[cfg(unix)]
#[test]
fn files_of_another_owner_are_all_named_by_the_plan_and_left_out_by_the_command_it_names() {
    let sandbox = given!(of_user());
    let run = |args: &[&str]| sandbox.run_under(&AS_USER, args).success();
    sandbox
        .write("mine", "1")
        .write("shared/one", "1")
        .write("closed/x", "1")
        .write("mode", "1");
    give(&sandbox, USER);
    run(&["create", "-r", "base"]);
    sandbox
        .write("mine", "2")
        .write("shared/one", "2")
        .write("shared/[new]", "2")
        .write("closed/x", "2");
    sandbox
        .chmod("shared", 0o1777)
        .chmod("closed", 0o755)
        .chmod("mode", 0o600);
    for path in ["shared", "shared/one", "shared/[new]", "closed", "mode"] {
        os::lchown(sandbox.path(path), Some(0), Some(0)).unwrap();
    }
    let found = refused_alike(&sandbox, &AS_USER, &["base"]);
    let expected = ["closed", "mode", "shared", "shared/[new]", "shared/one"];
    assert_eq!(found, expected.map(|path| format!("\"{path}\"")));
    assert_eq!(
        [sandbox.read("mine"), sandbox.read("shared/one")],
        ["1", "2"]
    );
}

#[cfg(unix)]
#[test]
fn a_directory_that_its_owner_closed_is_no_obstacle() {
    let sandbox = given!(of_user());
    sandbox.write("d/a", "1").chmod("d", 0o555);
    give(&sandbox, USER);
    sandbox
        .run_under(&AS_USER, &["create", "-r", "base"])
        .success();
    sandbox
        .chmod("d", 0o755)
        .write("d/a", "2")
        .chmod("d", 0o555);
    sandbox
        .run_under(&AS_USER, &["restore", "base", "--yes"])
        .success();
    assert_eq!(sandbox.read("d/a"), "1");
}

/// Sets or takes an attribute; false where the file system has none.
fn attribute(path: &std::path::Path, change: &str) -> bool {
    let done = limit::output(Command::new("chattr").arg(change).arg(path));
    done.is_ok_and(|done| done.status.success())
}

#[cfg(unix)]
#[test]
fn what_is_immutable_is_named_by_the_plan() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("b", "1")
        .write("d/x", "1")
        .create("base");
    sandbox.write("a", "2").write("b", "2").write("d/x", "2");
    let frozen = [("a", "+i"), ("d", "+i")].map(|(path, how)| attribute(&sandbox.path(path), how));
    let found = (frozen == [true, true]).then(|| refused_alike(&sandbox, &[], &["base"]));
    for path in ["a", "d"] {
        attribute(&sandbox.path(path), "-i");
    }
    match found {
        Some(found) => assert_eq!(found, ["\"a\"", "\"d\""]),
        None => skipped("needs immutable files"),
    }
}

#[cfg(unix)]
#[test]
fn what_can_only_be_added_to_is_refused_like_what_is_immutable() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("d/x", "1").create("base");
    sandbox.write("a", "2").write("d/x", "2");
    for (place, named) in [("", "."), ("d", "d")] {
        if !attribute(&sandbox.path(place), "+a") {
            return skipped("needs files that can only be added to");
        }
        let run = |how: &str| sandbox.run(&["restore", "base", "d", how]);
        let runs = ["--dry-run", "--yes"].map(run);
        attribute(&sandbox.path(place), "-a");
        for run in runs {
            run.code(4)
                .stderr_has(&format!("{named} (immutable or append-only, see lsattr)"));
        }
    }
    assert_eq!(sandbox.read("d/x"), "2");
}

#[cfg(unix)]
#[test]
fn the_hint_excludes_nothing_that_the_command_has_to_name() {
    let sandbox = Sandbox::new();
    sandbox.write("src", "1").create("base");
    sandbox.write("src", "2").write("d/new", "1");
    if !attribute(&sandbox.path("src"), "+i") {
        return skipped("needs immutable files");
    }
    attribute(&sandbox.path("d"), "+i");
    let run = |words: &[&str]| {
        sandbox.run(&[&["restore", "base", "--dry-run", "--json"], words].concat())
    };
    let lost: [&[&str]; 2] = [&["--glob", "/src"], &["d/new"]];
    let lost = lost.map(run);
    let held = run(&["src"]);
    for path in ["src", "d"] {
        attribute(&sandbox.path(path), "-i");
    }
    for run in lost {
        assert!(run.code(4).json()["error"]["command"].is_null());
    }
    let words = held.code(4).json()["error"]["command"].to_string();
    assert!(words.contains("--exclude"), "{words}");
}

#[cfg(unix)]
#[test]
fn a_file_that_is_mounted_on_is_named_and_a_read_only_directory_too() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1").create("base");
    sandbox.write("a", "2").write("b", "2");
    let script = r#"
        mount --bind b a || exit 99
        for how in --dry-run --yes; do code=0; "$0" restore base $how 2>&1 || code=$?; echo "$code"; done
        umount a
        mount --bind . . && mount -o remount,bind,ro . || exit 99
        cd "$PWD"
        for how in --dry-run --yes; do code=0; "$0" restore base $how 2>&1 || code=$?; echo "$code"; done"#;
    let run = given!(sandbox.mounting(script));
    let lines: Vec<&str> = run.stdout.lines().collect();
    let says = |at: usize, what: &str| assert!(lines[at].contains(what), "{run}");
    for (at, what) in [
        (0, "a (another file is mounted there)"),
        (4, ". (on a file system that is read-only)"),
    ] {
        says(at, what);
        assert_eq!(
            [
                lines[at + 1],
                &lines[at + 2].replace("base", "base --dry-run")[..],
                lines[at + 3]
            ],
            [
                "4",
                &lines[at]
                    .replace("base --dry-run", "base")
                    .replace("base", "base --dry-run"),
                "4"
            ],
            "{run}"
        );
    }
    says(4, "--to DIR");
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn grow(sandbox: &Sandbox, draw: &mut Draw, at: &str, depth: usize) {
    for name in NAMES {
        let path = format!("{at}{name}");
        match draw.below(8) {
            0..=2 => {
                let mode = [0o644, 0o600, 0o755][draw.below(3)];
                sandbox
                    .write(&path, draw.below(3).to_string())
                    .chmod(&path, mode);
            }
            3 => drop(sandbox.symlink(&path, format!("x{}", draw.below(2)))),
            4..=6 if depth < 2 => {
                sandbox.mkdir(&path);
                grow(sandbox, draw, &format!("{path}/"), depth + 1);
                sandbox.chmod(&path, [0o755, 0o700][draw.below(2)]);
            }
            _ => {}
        }
    }
}

/// Puts one obstacle at a path that is there; what a system or a user may not do is left out.
fn obstruct(path: &std::path::Path, kind: usize, draw: &mut Draw) {
    let Ok(meta) = path.symlink_metadata() else {
        return;
    };
    let below = path.join(NAMES[draw.below(4)]);
    match kind {
        0 => drop(os::lchown(path, Some(0), Some(0))),
        1 if meta.is_dir() => drop(os::set_mode(path, [0o555, 0o1777, 0o777][draw.below(3)])),
        2 if meta.is_dir() => {
            let _ = os::lchown(path, Some(0), Some(0));
            let _ = os::set_mode(path, 0o1777);
        }
        3 if !meta.is_symlink() => drop(attribute(path, ["+i", "+a"][draw.below(2)])),
        4 if meta.is_dir() && below.symlink_metadata().is_err() => {
            drop(limit::output(Command::new("mkfifo").arg(below)));
        }
        5 if meta.is_dir() => drop(std::fs::write(path.join("x.pyc"), "z")),
        6 if meta.is_file() => {
            let _ = std::fs::remove_file(path);
            let _ = std::fs::create_dir(path);
            drop(std::fs::write(path.join("x.pyc"), "k"));
        }
        7 if meta.is_file() => drop(std::fs::hard_link(path, path.with_extension("l"))),
        8 if !meta.is_symlink() => drop(os::set_mode(path, 0)),
        _ => {}
    }
}

/// What an answer promises or tells: its exit code and every path.
fn verdict(run: &Run) -> (i32, String) {
    let answer = run.json();
    let told = if answer["ok"] == true {
        answer["data"]["changes"].to_string()
    } else {
        named(&answer).join(" ")
    };
    (run.code, told)
}

#[cfg(unix)]
#[test]
fn what_a_dry_run_says_is_what_happens_whatever_is_in_the_way() {
    let mut draw = Draw::new();
    let (mut done, mut refused) = (0, 0);
    for case in 0..cases(12) {
        let sandbox = given!(of_user());
        let wrapper: &[&str] = if draw.below(4) > 0 { &AS_USER } else { &[] };
        let user = if wrapper.is_empty() { 0 } else { USER };
        grow(&sandbox, &mut draw, "", 0);
        give(&sandbox, user);
        sandbox
            .run_under(wrapper, &["create", "-q", "-r", "base"])
            .success();
        for name in NAMES {
            sandbox.remove(name);
        }
        grow(&sandbox, &mut draw, "", 0);
        give(&sandbox, user);
        let mut places: Vec<_> = walkdir::WalkDir::new(sandbox.root())
            .into_iter()
            .flatten()
            .map(walkdir::DirEntry::into_path)
            .collect();
        places.sort();
        for _ in 0..=draw.below(4) {
            let kind = draw.below(9);
            let at = draw.below(places.len());
            // A root that cannot be read has no plan.
            let kind = if at == 0 { kind % 8 } else { kind };
            obstruct(&places[at], kind, &mut draw);
        }
        let limits: &[&str] = [&[][..], &[], &["--overlay"], &["--exclude", "b"]][draw.below(4)];
        let run = |how: &str| {
            sandbox.run_under(
                wrapper,
                &[&["restore", "base", "--json", how], limits].concat(),
            )
        };
        let (planned, acted) = (run("--dry-run"), run("--yes"));
        let is_known = matches!(acted.code, 0 | 4 | 5);
        let same = verdict(&planned) == verdict(&acted);
        let words = acted.json()["error"]["command"].clone();
        let words: Vec<String> = serde_json::from_value(words).unwrap_or_default();
        let around = (!words.is_empty()).then(|| {
            let words: Vec<&str> = words
                .iter()
                .skip(1)
                .map(String::as_str)
                .chain(["--yes"])
                .collect();
            sandbox.run_under(wrapper, &words)
        });
        for words in [
            ["chattr", "-R", "-i", "-a"].as_slice(),
            &["chmod", "-R", "u+rwx"],
        ] {
            let mut command = Command::new(words[0]);
            drop(limit::output(command.args(&words[1..]).arg(sandbox.root())));
        }
        assert!(
            is_known && same,
            "case {case} {limits:?}\n{planned}\n{acted}"
        );
        assert!(
            around.as_ref().is_none_or(|run| matches!(run.code, 0 | 5)),
            "case {case}\n{acted}\n{around:?}"
        );
        *(if acted.code == 4 {
            &mut refused
        } else {
            &mut done
        }) += 1;
    }
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}
