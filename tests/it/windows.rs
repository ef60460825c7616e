//! What only Windows has: reserved names, attributes, files that other programs keep open. The table
//! in `src/docs/platforms.md` says the same.

use std::fs::{self, File, OpenOptions};
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use checkpoint::store::repository::Store;

use crate::bench::{Run, Sandbox, given, os, place, skipped};

/// What lets another program read, write and delete while a file is open.
const SHARE_READ: u32 = 1;
const SHARE_WRITE: u32 = 2;
const SHARE_DELETE: u32 = 4;
const HIDDEN: u32 = 2;
/// Exit code of a program that Ctrl-C ends before it handles that itself.
const CONTROL_C_EXIT: i32 = -1_073_741_510;

/// The spelling by which Windows takes a path as it is.
fn verbatim(path: &Path) -> PathBuf {
    format!(r"\\?\{}", os::native(path.into()).display()).into()
}

fn write(sandbox: &Sandbox, name: &str, text: &str) {
    let path = verbatim(&sandbox.root().join(name));
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
    fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn read(top: &Path, name: &str) -> Option<String> {
    fs::read_to_string(verbatim(&top.join(name))).ok()
}

fn open(sandbox: &Sandbox, name: &str, share: u32) -> File {
    let mut options = OpenOptions::new();
    options.read(true).share_mode(share);
    options.open(sandbox.path(name)).expect("it can be opened")
}

/// Names that other programs cannot open by their usual spelling.
const RESERVED: [&str; 6] = ["CON", "nul.txt", "a.", "b ", "d./COM1", "é/走 \u{1f980}"];

#[test]
fn reserved_names_and_long_paths_come_back() {
    let sandbox = Sandbox::new();
    let long = format!("{}f", format!("{}/", "long".repeat(15)).repeat(6));
    let names = RESERVED.iter().copied().chain([long.as_str()]);
    let names: Vec<&str> = names.collect();
    for name in &names {
        write(&sandbox, name, name);
    }
    let all = |top: &Path| {
        names
            .iter()
            .all(|name| read(top, name).as_deref() == Some(name))
    };
    let none = |top: &Path| names.iter().all(|name| read(top, name).is_none());
    let id = sandbox.create("named");
    let entries = fs::read_dir(sandbox.root()).expect("it can be listed");
    for entry in entries {
        let entry = entry.expect("an entry");
        if entry.file_name() == ".git" {
            continue;
        }
        let path = verbatim(&entry.path());
        if entry.file_type().expect("a kind").is_dir() {
            fs::remove_dir_all(path).expect("a folder can be removed");
        } else {
            fs::remove_file(path).expect("a file can be removed");
        }
    }
    sandbox.write("other", "1");
    sandbox.restore(&id).success();
    assert!(all(sandbox.root()));
    sandbox.undo().success();
    assert!(none(sandbox.root()));
    let other = sandbox.top().join("other place");
    let to = other.display().to_string();
    sandbox.run(&["restore", &id, "--to", &to]).success();
    assert!(all(&other));
    sandbox.ok("verify --full");
}

#[test]
fn a_read_only_file_is_captured_replaced_deleted_and_comes_back_read_only() {
    let sandbox = Sandbox::new();
    sandbox.write("kept", "1").chmod("kept", 0o444);
    sandbox.write("edited", "1").chmod("edited", 0o444);
    let id = sandbox.create("read-only");
    sandbox.chmod("edited", 0o644).write("edited", "two");
    sandbox.chmod("edited", 0o444);
    sandbox.write("new", "1").chmod("new", 0o444);
    let changed = sandbox.tree();
    sandbox.restore(&id).success();
    assert!(!sandbox.exists("new"));
    for name in ["kept", "edited"] {
        assert_eq!(sandbox.read(name), "1", "{name}");
        let found = fs::metadata(sandbox.path(name)).expect("a file");
        assert!(found.permissions().readonly(), "{name}");
    }
    sandbox.undo().success();
    sandbox.tree().assert_is(&changed, "after the undo");
}

#[test]
fn the_hidden_attribute_is_not_kept_and_stays_where_nothing_is_written() {
    let sandbox = Sandbox::new();
    for name in ["same", "edited"] {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).attributes(HIDDEN);
        options.open(sandbox.path(name)).expect("it can be made");
    }
    let is_hidden = |name: &str| {
        let found = fs::metadata(sandbox.path(name)).expect("a file");
        found.file_attributes() & HIDDEN != 0
    };
    let id = sandbox.create("hidden");
    fs::remove_file(sandbox.path("edited")).expect("it can be removed");
    sandbox.write("edited", "2");
    sandbox.restore(&id).success();
    assert_eq!(sandbox.read("edited"), "");
    assert!(is_hidden("same") && !is_hidden("edited"));
}

/// The result of a command while another program keeps `a` open.
fn while_open(share: u32, args: &[&str]) -> (Sandbox, Run) {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").write("b", "1");
    sandbox.create("first");
    sandbox.write("a", "two").write("b", "two");
    let before = sandbox.tree();
    let held = open(&sandbox, "a", share);
    let run = sandbox.run(args);
    drop(held);
    if run.code != 0 {
        sandbox.tree().assert_is(&before, "after the refusal");
    }
    (sandbox, run)
}

#[test]
fn a_file_that_another_program_shares_is_captured_and_one_that_it_does_not_is_named() {
    for share in [SHARE_READ, SHARE_READ | SHARE_WRITE | SHARE_DELETE] {
        while_open(share, &["create"]).1.success();
    }
    for share in [0, SHARE_WRITE] {
        let (_, run) = while_open(share, &["create", "--json"]);
        assert_eq!(run.code, 5, "{run}");
        assert!(run.stdout.contains(r#""path":"a""#), "{run}");
    }
}

#[test]
fn an_open_file_is_replaced_if_its_program_lets_it_be_deleted_else_nothing_changes() {
    let all = SHARE_READ | SHARE_WRITE | SHARE_DELETE;
    let (sandbox, run) = while_open(all, &["restore", "first", "--yes"]);
    run.success();
    assert_eq!(sandbox.read("a") + &sandbox.read("b"), "11");
    for share in [0, SHARE_READ, SHARE_READ | SHARE_WRITE] {
        let (sandbox, run) = while_open(share, &["restore", "first", "--yes"]);
        assert_ne!(run.code, 0, "{run}");
        assert!(run.stderr.contains('a'), "{run}");
        sandbox.restore("first").success();
    }
}

#[test]
fn the_key_is_that_of_the_usual_path() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    let (store, key) = (sandbox.store(), place::key(sandbox.root()));
    assert!(key.starts_with("C--") && store.components().any(|part| part.as_os_str() == &*key));
    let run = sandbox.write("a", "2").ok("create -r second");
    assert!(!run.stderr.contains(r"\\?\"), "{run}");
    assert_eq!(sandbox.listed().len(), 2);
}

#[test]
fn absolute_paths_and_backslashes_name_what_lies_in_the_root() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a", "1").write("b", "1");
    let id = sandbox.create("first");
    let absolute = sandbox.path("src/a").display().to_string();
    for path in [
        absolute.as_str(),
        r"src\a",
        "src/a",
        &absolute.replace('\\', "/"),
    ] {
        sandbox.write("src/a", "two").write("b", "two");
        sandbox.run(&["restore", &id, path, "--yes"]).success();
        assert_eq!(sandbox.read("src/a") + &sandbox.read("b"), "1two", "{path}");
    }
    let scoped = sandbox.create_data(&["--scope", r"src\a", "-r", "scoped"]);
    assert_eq!(scoped["scope"][0], "src/a");
    let run = sandbox
        .run(&["restore", &id, r"D:\elsewhere", "--yes"])
        .code(2);
    assert!(run.stderr.contains("'D:/elsewhere' lies outside"), "{run}");
}

#[test]
fn a_colon_in_a_name_reaches_no_stream_of_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    sandbox.fails(2, "restore latest a:stream --yes");
    sandbox.fails(2, "create --scope a:stream");
    assert!(fs::read(sandbox.path("a:stream")).is_err());
}

/// The program that types Ctrl-C (`.ci/ctrl_c.c`, compiled), if `CHECKPOINT_CTRL_C` names it.
fn typed_ctrl_c(sandbox: &Sandbox, after: u64, args: &[&str]) -> Option<Run> {
    let Ok(typist) = std::env::var("CHECKPOINT_CTRL_C") else {
        skipped("CHECKPOINT_CTRL_C names no program that types Ctrl-C");
        return None;
    };
    let command = sandbox.command(&[&typist, &after.to_string()], args);
    Some(Run::of(command))
}

#[test]
fn ctrl_c_ends_a_command_that_waits_at_once_and_leaves_nothing_half_done() {
    let sandbox = Sandbox::new();
    for at in 0..400 {
        sandbox.write(format!("d{}/f{at}", at % 7), format!("{at}\n").repeat(at));
    }
    let first = sandbox.create("first");
    let before = sandbox.tree();
    let store = Store::open(sandbox.store())
        .expect("it opens")
        .expect("a store");
    let locked = store.lock(Duration::from_secs(5), "a test");
    let began = Instant::now();
    let run = given!(typed_ctrl_c(
        &sandbox,
        1000,
        &["prune", "--lock-timeout", "60"]
    ));
    assert!(began.elapsed() < Duration::from_secs(30), "{run}");
    run.code(130);
    drop(locked.expect("the lock"));
    let (mut stopped, mut ids) = (0, sandbox.listed_ids());
    for after in (0..20).map(|step| step * 40) {
        sandbox.write("changed", after.to_string());
        let run = typed_ctrl_c(&sandbox, after, &["create", "--force"]).expect("a typist");
        stopped += usize::from(run.code == 130);
        assert!([0, 130, CONTROL_C_EXIT].contains(&run.code), "{run}");
        // One that the system ended may have done its work already.
        let is_told = run.code != CONTROL_C_EXIT;
        let is_made = sandbox.listed_ids().len() > ids.len();
        assert!(!is_told || is_made == (run.code == 0), "{run}");
        ids = sandbox.listed_ids();
        let run = typed_ctrl_c(&sandbox, after, &["restore", &first, "--yes"]).expect("a typist");
        stopped += usize::from(run.code == 130);
        assert!([0, 130, CONTROL_C_EXIT].contains(&run.code), "{run}");
        let is_told = run.code != CONTROL_C_EXIT;
        let is_pending = !sandbox.status()["pending"].is_null();
        assert!(!is_told || !is_pending, "{run}");
        if is_pending {
            sandbox.ok("restore --resume");
        }
        let is_back = sandbox.tree().diff(&before).is_empty();
        assert!(!is_told || is_back == (run.code == 0), "{run}");
    }
    assert!(stopped > 0, "no command was stopped");
    sandbox.ok("verify --full");
}
