//! Unreadable files make a checkpoint partial: still made and listed, and a restore leaves them;
//! `stories/partial.md` has what stays by rule.

use crate::bench::{Run, Sandbox, skipped, strace};

/// A wrapper that takes root's right to read everything away.
const ORDINARY: [&str; 3] = [
    "/usr/bin/setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
];

/// The wrapper under which permission bits count, or `None` with a printed line.
pub fn wrapper(sandbox: &Sandbox) -> Option<&'static [&'static str]> {
    if !crate::bench::os::is_root() {
        return Some(&[]);
    }
    let closed = sandbox.home().join("closed");
    sandbox.write(&closed, "x").chmod(&closed, 0);
    let mut probe = std::process::Command::new(ORDINARY[0]);
    probe.args(&ORDINARY[1..]).arg("/bin/cat").arg(&closed);
    let denied = std::path::Path::new(ORDINARY[0]).is_file() && Run::of(probe).code != 0;
    if !denied {
        skipped("needs an ordinary user");
    }
    denied.then_some(&ORDINARY)
}

fn with_closed_things() -> Option<(Sandbox, &'static [&'static str])> {
    let sandbox = Sandbox::new();
    let wrapper = wrapper(&sandbox)?;
    sandbox
        .write("open", "1")
        .write("closed-file", "2")
        .write("closed-dir/inside", "3");
    sandbox.chmod("closed-file", 0).chmod("closed-dir", 0);
    Some((sandbox, wrapper))
}

#[cfg(unix)]
#[test]
fn a_root_that_cannot_be_listed_is_named_as_unreadable() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
    let root = sandbox.root().display().to_string();
    sandbox.write("a", "1").chmod("", 0);
    let run = sandbox.run_under(wrapper, &["-C", &root, "create"]).code(1);
    sandbox.chmod("", 0o755);
    run.stderr_has(&format!("cannot read {root}: Permission denied"))
        .stderr_has("; this user may not read it");
}

#[cfg(unix)]
#[test]
fn a_root_that_is_gone_and_cannot_be_made_is_named_by_a_dry_run() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
    sandbox.write("below/a", "1");
    let below = sandbox.path("below").display().to_string();
    let run = |words: &[&str]| sandbox.run_under(wrapper, &[&["-C", &below], words].concat());
    run(&["create", "-r", "one"]).success();
    std::fs::remove_dir_all(&below).expect("it can be removed");
    sandbox.chmod("", 0o555);
    let planned = run(&["restore", "one", "--dry-run"]).success();
    let carried_out = run(&["restore", "one", "--yes"]).code(1);
    sandbox.chmod("", 0o755);
    planned.stderr_has("would fail now: cannot write to");
    carried_out.stderr_has("cannot make");
    let planned = run(&["restore", "one", "--dry-run"]).success();
    assert!(!planned.stderr.contains("would fail"), "{planned}");
}

#[cfg(unix)]
#[test]
fn unreadable_things_make_a_partial_checkpoint_with_exit_5() {
    let Some((sandbox, wrapper)) = with_closed_things() else {
        return;
    };
    sandbox.user_config("dedup_window = \"1h\"\n");
    let run = sandbox.run_under(wrapper, &["create", "--json"]).code(5);
    let data = run.data();
    assert_eq!(
        (&data["coverage"], &data["created"]),
        (&"partial".into(), &true.into())
    );
    let mut named: Vec<&str> = data["uncaptured"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["closed-dir", "closed-file"]);
    assert_eq!(sandbox.listed()[0]["coverage"], "partial");
    // The same again finds that one, and is as partial.
    let again = sandbox.run_under(wrapper, &["create", "--json"]).code(5);
    assert_eq!(again.data()["skipped"], "dedup");
}

#[cfg(unix)]
#[test]
fn a_restore_leaves_unreadable_things_where_they_are_and_names_them_with_exit_5() {
    let Some((sandbox, wrapper)) = with_closed_things() else {
        return;
    };
    sandbox
        .chmod("closed-file", 0o644)
        .chmod("closed-dir", 0o755)
        .remove("closed-file")
        .remove("closed-dir");
    let id = sandbox.create("without them");
    sandbox
        .write("closed-file", "2")
        .write("closed-dir/inside", "3")
        .write("open", "changed");
    sandbox.chmod("closed-file", 0).chmod("closed-dir", 0);
    sandbox
        .run_under(wrapper, &["restore", &id, "--dry-run"])
        .code(5)
        .stdout_has("kept     closed-dir")
        .stderr_has("closed-dir would be left unchanged");
    let run = sandbox
        .run_under(wrapper, &["restore", &id, "--yes", "--json"])
        .code(5);
    let unreadable = &run.data()["unreadable"];
    assert_eq!(unreadable[0]["path"], "closed-dir");
    assert_eq!(
        (&unreadable[1]["path"], &unreadable[1]["why"]),
        (&"closed-file".into(), &"unreadable".into())
    );
    let again = sandbox
        .run_under(wrapper, &["restore", &id, "--yes"])
        .code(5);
    again.stderr_has("closed-dir was left unchanged: cannot be read");
    sandbox
        .chmod("closed-file", 0o644)
        .chmod("closed-dir", 0o755);
    let contents = ["open", "closed-file", "closed-dir/inside"].map(|name| sandbox.read(name));
    assert_eq!(contents, ["1", "2", "3"]);
}

#[cfg(unix)]
#[test]
fn a_plan_over_something_unreadable_stops_before_any_change() {
    let Some((sandbox, wrapper)) = with_closed_things() else {
        return;
    };
    sandbox
        .chmod("closed-file", 0o644)
        .chmod("closed-dir", 0o755);
    let id = sandbox.create("all of it");
    sandbox
        .write("open", "changed")
        .write("closed-file", "precious")
        .chmod("closed-file", 0);
    let run = sandbox
        .run_under(wrapper, &["restore", &id, "--yes", "--json"])
        .code(4);
    assert_eq!(run.error_code(), "conflict");
    assert!(run.stdout.contains("closed-file"), "{run}");
    sandbox.chmod("closed-file", 0o644);
    assert_eq!(
        (sandbox.read("open"), sandbox.read("closed-file")),
        ("changed".into(), "precious".into())
    );
}

#[cfg(unix)]
#[test]
fn the_newest_complete_checkpoint_survives_a_partial_one() {
    let Some((sandbox, wrapper)) = with_closed_things() else {
        return;
    };
    sandbox
        .chmod("closed-file", 0o644)
        .chmod("closed-dir", 0o755);
    let complete = sandbox.create("complete");
    sandbox.write("open", "2").chmod("closed-file", 0);
    sandbox
        .run_under(
            wrapper,
            &["create", "--reason", "partial", "--keep", "1", "--yes"],
        )
        .code(5);
    assert!(sandbox.listed_ids().contains(&complete));
}

#[cfg(unix)]
#[test]
fn what_could_not_be_read_is_no_deletion() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
    sandbox
        .write("u", "1")
        .write("d/inside", "2")
        .write("gone", "3");
    let first = sandbox.create("all of it");
    sandbox.chmod("u", 0).chmod("d", 0).remove("gone");
    let run = sandbox.run_under(wrapper, &["create", "--json"]).code(5);
    assert_eq!(run.data()["counts"]["deleted"], 1, "{run}");
    let second = run.data()["short"].as_str().expect("an id").to_owned();
    let run = sandbox
        .ok(format!("show {second}"))
        .stdout_has("  - gone")
        .stdout_has("not captured: u");
    assert!(
        !run.stdout.contains("- u") && !run.stdout.contains("- d"),
        "{run}"
    );
    for path in ["u", "d/inside"] {
        let head = format!("{path}: last in {first}, not captured by {second}");
        let run = sandbox
            .run_under(wrapper, &["find", path])
            .success()
            .stdout_has(&head);
        assert!(!run.stdout.contains("deleted"), "{run}");
        let found = sandbox.run(&["find", path, "--json"]).success().data()["paths"][0].clone();
        assert!(found["deleted_by"].is_null(), "{found}");
        assert_eq!(found["events"][0]["change"], "not_captured", "{found}");
    }
    let by = format!("deleted by {second}");
    drop(sandbox.ok("find gone").stdout_has(&by));
    sandbox.chmod("u", 0o644).chmod("d", 0o755);
}

#[cfg(unix)]
#[test]
fn people_read_the_names_and_get_the_id_and_show_gives_no_advice_to_call_show() {
    let Some((sandbox, wrapper)) = with_closed_things() else {
        return;
    };
    let run = sandbox.run_under(wrapper, &["create"]).code(5);
    assert_eq!(run.stdout.trim_end().len(), 8, "{run}");
    run.stderr_has("closed-file")
        .stderr_has("closed-dir")
        .stderr_has("'checkpoint show");
    let run = sandbox
        .ok("show latest")
        .stdout_has("closed-file")
        .stderr_has("is partial");
    assert!(!run.stderr.contains("'checkpoint show"), "{run}");
    sandbox
        .chmod("closed-file", 0o644)
        .chmod("closed-dir", 0o755);
}

#[test]
fn a_file_on_a_failing_disk_makes_the_checkpoint_partial_and_is_no_deletion() {
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox
        .write("bad", "1")
        .write("good", "1")
        .create("before");
    sandbox.write("bad", "22").write("good", "22");
    let (bad, args) = (sandbox.path("bad"), ["create", "--json", "-r", "partial"]);
    let run = strace::failing_at_path(&sandbox, &bad, "read,pread64", "EIO", "1+", &args).code(5);
    let data = run.data();
    assert_eq!(
        (&data["coverage"], &data["counts"]["deleted"]),
        (&"partial".into(), &0.into()),
        "{run}"
    );
    assert_eq!(
        (&data["uncaptured"][0]["path"], &data["uncaptured"][1]),
        (&"bad".into(), &serde_json::Value::Null)
    );
    sandbox.write("bad", "333").write("good", "333");
    sandbox.restore("partial").success();
    assert_eq!(
        (sandbox.read("bad"), sandbox.read("good")),
        ("333".into(), "22".into())
    );
}

#[cfg(unix)]
#[test]
fn a_mount_is_named_and_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("src/f", "1").create("before");
    let script = r#"
        mkdir disk bound; mount -t tmpfs none disk && mount --bind src bound || exit 99
        echo theirs > disk/f; echo 2 > a
        code=0; "$0" create --json -r mounted > "$HOME/document" || code=$?; echo "create $code"
        "$0" restore before --yes > /dev/null
        cat a disk/f bound/f"#;
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        return skipped("needs the right to mount");
    }
    run.success().stdout_is("create 5\n1theirs\n1");
    let document = std::fs::read_to_string(sandbox.home().join("document")).expect("a document");
    let document: serde_json::Value = serde_json::from_str(&document).expect("a document");
    let uncaptured = document["data"]["uncaptured"].as_array().expect("a list");
    let mut named: Vec<&str> = uncaptured
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    named.sort_unstable();
    assert_eq!(named, ["bound", "disk"]);
}

#[cfg(unix)]
#[test]
fn what_could_not_be_read_then_and_cannot_be_now_is_named_with_exit_5() {
    let Some((sandbox, wrapper)) = with_closed_things() else {
        return;
    };
    sandbox
        .run_under(wrapper, &["create", "-r", "part"])
        .code(5);
    sandbox.write("open", "edited");
    let data = sandbox
        .run_under(wrapper, &["restore", "part", "--yes", "--json"])
        .code(5)
        .data();
    let named: Vec<&str> = data["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    assert_eq!(named, ["closed-dir", "closed-file"]);
    let again = sandbox
        .run_under(wrapper, &["restore", "part", "--yes"])
        .code(5);
    again
        .stdout_has("Already at ")
        .stderr_has("closed-file was left unchanged: cannot be read");
}

#[test]
fn an_ignore_file_that_cannot_be_read_stops_a_create_and_no_restore() {
    let sandbox = Sandbox::new();
    let Some(wrapper) = wrapper(&sandbox) else {
        return;
    };
    sandbox.write("sub/.gitignore", "private\n").write("a", "1");
    sandbox.write("sub/private", "p").create("good");
    sandbox.write("a", "2").chmod("sub/.gitignore", 0);
    let run = sandbox.run_under(wrapper, &["create", "--json"]).code(4);
    assert_eq!(run.error_code(), "nothing_held");
    run.stderr_has("sub/.gitignore cannot be read");
    sandbox
        .run_under(wrapper, &["create", "--scope", "a"])
        .success();
    let restore = ["restore", "good", "a", "--yes"];
    let run = sandbox.run_under(wrapper, &restore);
    assert_eq!(
        (sandbox.read("a"), sandbox.read("sub/private")),
        ("1".into(), "p".into()),
        "{run}"
    );
}

#[test]
fn a_directory_that_is_left_out_and_closed_today_is_named_before_anything_changes() {
    for mode in [0, 0o300] {
        let sandbox = Sandbox::new();
        let Some(wrapper) = wrapper(&sandbox) else {
            return;
        };
        sandbox
            .write("lib/f", "1")
            .write("lib/g", "2")
            .write("a", "1")
            .create("good");
        sandbox
            .write(".gitignore", "lib\n")
            .write("a", "2")
            .remove("lib/f");
        sandbox.chmod("lib", mode);
        let plan = sandbox.run_under(wrapper, &["restore", "good", "--dry-run"]);
        let act = sandbox.run_under(wrapper, &["restore", "good", "--yes"]);
        let found = (plan.code, act.code, sandbox.read("a"));
        assert_eq!(found, (4, 4, "2".into()), "{plan}{act}");
        plan.stderr_has("lib (cannot be read");
        let without = ["restore", "good", "--exclude", "/lib", "--yes"];
        sandbox.run_under(wrapper, &without).success();
        sandbox.chmod("lib", 0o755);
        assert!(!sandbox.root().join("lib/f").exists() && sandbox.read("a") == "1");
    }
}

#[cfg(unix)]
#[test]
fn a_mount_in_a_directory_that_is_left_out_today_is_named_by_the_plan() {
    let sandbox = Sandbox::new();
    sandbox.write("lib/f", "1").write("a", "1").create("good");
    sandbox.write(".gitignore", "lib\n").write("a", "2");
    let script = r#"
        mount -t tmpfs none lib || exit 99
        plan=0; "$0" restore good --dry-run || plan=$?
        act=0; "$0" restore good --yes || act=$?
        echo "$plan $act $(cat a)""#;
    let run = sandbox.run_under(&["/usr/bin/unshare", "-m", "/bin/sh", "-ec", script], &[]);
    if run.code == 99 || run.stderr.contains("unshare failed") {
        return skipped("needs the right to mount");
    }
    run.success().stdout_has("4 4 2").stderr_has("lib (");
}
