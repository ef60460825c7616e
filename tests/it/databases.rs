//! Databases beside the files of a checkpoint: captured while others write, restored as a whole,
//! and saved before that.

use crate::bench::os::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use crate::bench::{Sandbox, limit};
use crate::partial;

const SHOP: &str = "data/shop.db";

/// Makes a database with two tables that each transaction changes alike, and one that grows.
fn make(path: &Path, mode: &str) -> Connection {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let db = Connection::open(path).unwrap();
    db.busy_timeout(Duration::from_secs(10)).unwrap();
    let _: String = asked(&db, &format!("PRAGMA journal_mode = {mode}"));
    db.execute_batch(
        "CREATE TABLE one (n); CREATE TABLE two (n); CREATE TABLE log (n INTEGER PRIMARY KEY, text);
         INSERT INTO one VALUES (0); INSERT INTO two VALUES (0)",
    )
    .unwrap();
    db
}

fn step(db: &Connection) {
    db.execute_batch(
        "BEGIN IMMEDIATE; UPDATE one SET n = n + 1; UPDATE two SET n = n + 1;
         INSERT INTO log (text) VALUES (hex(randomblob(200))); COMMIT",
    )
    .unwrap();
}

fn asked<T: rusqlite::types::FromSql>(db: &Connection, sql: &str) -> T {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn found(sandbox: &Sandbox) -> std::fs::Metadata {
    std::fs::metadata(sandbox.path(SHOP)).unwrap()
}

/// The number of the committed state that a database is in; it must be sound and exactly one.
fn state(path: &Path) -> i64 {
    let db = Connection::open(path).unwrap();
    state_of(&db)
}

fn state_of(db: &Connection) -> i64 {
    assert_eq!(asked::<String>(db, "PRAGMA integrity_check"), "ok");
    let all = ["n FROM one", "n FROM two", "count(*) FROM log"];
    let numbers = all.map(|what| asked(db, &format!("SELECT {what}")));
    assert!(numbers.iter().all(|n| *n == numbers[0]), "{numbers:?}");
    numbers[0]
}

fn savepoint(sandbox: &Sandbox, more: &[&str]) -> String {
    sandbox
        .run(&[&["create", "-r", "savepoint", "--db", "data/shop.db"], more].concat())
        .success()
        .stdout
        .trim()
        .into()
}

/// A database in its first state, a savepoint of it, and two steps after that.
fn stepped(mode: &str) -> (Sandbox, Connection, String) {
    let sandbox = Sandbox::new();
    let db = make(&sandbox.path(SHOP), mode);
    let id = savepoint(&sandbox, &[]);
    step(&db);
    step(&db);
    (sandbox, db, id)
}

fn assert_no_scratch(sandbox: &Sandbox) {
    let own = std::fs::read_dir(sandbox.store().join("checkpoint")).unwrap();
    let left: Vec<String> = own
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let is_scratch = |name: &String| name.starts_with("bisect-");
    assert!(!left.iter().any(is_scratch), "{left:?}");
}

fn outcome_of(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.restore_data(args)["databases"][0]["outcome"]
        .as_str()
        .expect("an outcome")
        .to_owned()
}

#[test]
fn twenty_savepoints_under_constant_writes_are_each_sound_and_a_committed_state() {
    let sandbox = Sandbox::new();
    let db = make(&sandbox.path(SHOP), "WAL");
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let writer = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            step(&db);
            // As long as a disk takes for it.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        db
    });
    let ids: Vec<String> = (0..20)
        .map(|_| savepoint(&sandbox, &["--type", "database_savepoint"]))
        .collect();
    stop.store(true, Ordering::Relaxed);
    let db = writer.join().unwrap();
    let last = state_of(&db);
    let mut states = Vec::new();
    for id in &ids {
        let dir = sandbox.top().join(id);
        sandbox
            .run(&["restore", id, "--to", &dir.display().to_string()])
            .success();
        states.push(state(&dir.join("data/shop.db")));
    }
    assert!(
        states.is_sorted() && states[0] < states[19] && states[19] <= last,
        "{states:?} of {last}"
    );
    for at in [19, 0, 10] {
        sandbox.restore(&ids[at]).success();
        assert_eq!(state_of(&db), states[at]);
    }
    sandbox.ok("verify --full");
    assert_no_scratch(&sandbox);
}

#[test]
fn a_database_that_is_a_hard_link_is_not_written_through() {
    let (sandbox, db, id) = stepped("DELETE");
    drop(db);
    let outside = sandbox.home().join("theirs");
    sandbox.write(&outside, "\0theirs");
    for name in ["data/shop.db-journal", "data/shop.db-wal", "data/shop.db"] {
        if name.ends_with("db") {
            std::fs::rename(sandbox.path(name), &outside).unwrap();
        }
        let before = std::fs::read(&outside).unwrap();
        std::fs::hard_link(&outside, sandbox.path(name)).unwrap();
        sandbox
            .fails(4, format!("restore {id} --yes"))
            .stderr_has("hard link");
        assert!(std::fs::read(&outside).unwrap() == before, "{name}");
        sandbox.remove(name);
    }
}

#[test]
fn a_restore_goes_into_a_live_file_that_others_have_open_and_undo_and_redo_too() {
    for mode in ["WAL", "DELETE"] {
        let (sandbox, other, id) = stepped(mode);
        let inode = found(&sandbox).ino();
        assert_eq!(state_of(&other), 2);
        assert_eq!(outcome_of(&sandbox, &[&id]), "restored");
        assert_eq!(
            (state_of(&other), state(&sandbox.path(SHOP))),
            (0, 0),
            "{mode}"
        );
        let now: String = asked(&other, "PRAGMA journal_mode");
        assert_eq!(now.to_uppercase(), mode);
        sandbox.undo().success().stderr_has("1 database restored");
        assert_eq!(state_of(&other), 2, "{mode}");
        step(&other);
        sandbox.redo().success();
        assert_eq!(state_of(&other), 0, "{mode}");
        sandbox.undo().success();
        assert_eq!(state_of(&other), 3, "as before the redo");
        assert_eq!(found(&sandbox).ino(), inode);
        assert_no_scratch(&sandbox);
    }
}

#[test]
fn a_savepoint_leaves_the_database_and_its_directory_as_they_are() {
    for mode in ["WAL", "DELETE"] {
        let (sandbox, db, _) = stepped(mode);
        drop(db);
        let times = || (found(&sandbox).mtime_nsec(), found(&sandbox).ctime_nsec());
        let (before, tree) = (times(), sandbox.tree());
        savepoint(&sandbox, &[]);
        assert_eq!(times(), before);
        sandbox.tree().assert_is(&tree, mode);
    }
}

#[test]
fn a_database_that_is_as_it_was_is_not_touched() {
    let (sandbox, db, id) = stepped("WAL");
    sandbox.restore(&id).success();
    let version = || asked::<i64>(&db, "PRAGMA data_version");
    let before = version();
    assert_eq!(outcome_of(&sandbox, &[&id]), "unchanged");
    assert_eq!(version(), before);
    sandbox
        .restore(&id)
        .success()
        .stderr_has("database data/shop.db is already as it was then");
}

#[test]
fn what_bars_a_database_is_found_by_a_dry_run() {
    let (sandbox, db, id) = stepped("DELETE");
    drop(db);
    let refused = |wrapper: &[&str], why: &str| {
        let run = |how: &str| sandbox.run_under(wrapper, &["restore", &id, how]).code(4);
        let [planned, acted] = ["--dry-run", "--yes"].map(run);
        for run in [planned, acted] {
            run.stderr_has(&format!("not restored because of data/shop.db ({why}"))
                .stderr_has("--exclude /data/shop.db'");
        }
    };
    let outside = sandbox.home().join("theirs");
    std::fs::hard_link(sandbox.path(SHOP), &outside).unwrap();
    refused(&[], "data/shop.db is a hard link");
    std::fs::remove_file(&outside).unwrap();
    sandbox.ok(format!("restore {id} --dry-run"));
    for log in ["data/shop.db-journal", "data/shop.db-wal"] {
        sandbox.mkdir(log);
        refused(&[], &format!("{log} is no file"));
        std::fs::remove_dir(sandbox.path(log)).unwrap();
    }
    if let Some(wrapper) = partial::wrapper(&sandbox) {
        for (path, mode) in [("data", 0o555), ("data/shop.db", 0o444)] {
            sandbox.chmod(path, mode);
            refused(wrapper, "cannot write to");
            sandbox.chmod(path, 0o755);
        }
    }
    sandbox.write("data/shop.db", "this is no database at all".repeat(40));
    refused(&[], "file is not a database");
    std::fs::remove_file(sandbox.path(SHOP)).unwrap();
    std::fs::create_dir(sandbox.path(SHOP)).unwrap();
    refused(&[], "something other than a file is there");
}

#[test]
fn a_database_that_need_not_change_bars_nothing_and_is_no_step() {
    let sandbox = Sandbox::new();
    drop(make(&sandbox.path(SHOP), "DELETE"));
    sandbox.write("a", "1");
    let id = savepoint(&sandbox, &["--scope", "a"]);
    let planned = sandbox.ok(format!("restore {id} --dry-run"));
    planned
        .stdout_has("would change nothing")
        .stderr_has("database data/shop.db is already as it was then");
    sandbox.restore(&id).success().stdout_has("nothing to do");
    assert_eq!(sandbox.listed().len(), 1, "no step was recorded");
    sandbox.write("a", "2");
    if let Some(wrapper) = partial::wrapper(&sandbox) {
        sandbox.chmod("data/shop.db", 0o444);
        let words = ["restore", &id, "--yes"];
        sandbox.run_under(wrapper, &words).success();
        assert_eq!(sandbox.read("a"), "1");
    }
}

#[test]
fn a_database_that_cannot_be_kept_stops_a_restore_before_any_change() {
    let (sandbox, db, id) = stepped("DELETE");
    db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let run = sandbox.fails(4, format!("restore {id} --yes --lock-timeout 0 --json"));
    assert_eq!(run.error_code(), "database_not_held");
    assert_eq!(sandbox.listed().len(), 1, "no safety checkpoint is left");
    db.execute_batch("COMMIT").unwrap();
    drop(db);
    sandbox.write("data/shop.db", "this is no database at all".repeat(40));
    sandbox
        .restore(&id)
        .code(4)
        .stderr_has("data/shop.db")
        .stderr_has("move these away");
    std::fs::rename(sandbox.path(SHOP), sandbox.path("data/aside")).unwrap();
    sandbox.restore(&id).success();
    assert_eq!(state(&sandbox.path(SHOP)), 0);
}

#[test]
fn a_live_database_that_stays_locked_is_left_whole_and_the_files_are_done() {
    let sandbox = Sandbox::new();
    let db = make(&sandbox.path(SHOP), "WAL");
    sandbox.write("a", "1");
    let id = savepoint(&sandbox, &["--scope", "a"]);
    step(&db);
    sandbox.write("a", "2");
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = sandbox.fails(5, format!("restore {id} --yes --lock-timeout 0 --json"));
    assert_eq!(run.data()["databases"][0]["outcome"], "failed");
    run.stderr_has("data/shop.db was not restored")
        .stderr_has("locked")
        .stderr_has("checkpoint undo");
    assert_eq!(sandbox.read("a"), "1");
    assert!(sandbox.status()["pending"].is_null());
    db.execute_batch("COMMIT").unwrap();
    assert_eq!(state_of(&db), 1);
    sandbox.restore(&id).success();
    assert_eq!(state_of(&db), 0);
}

#[test]
fn a_database_that_others_keep_locked_is_not_taken_and_nothing_is_recorded() {
    let (sandbox, db, _) = stepped("DELETE");
    db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let run = sandbox.fails(1, "create --db data/shop.db --lock-timeout 0");
    run.stderr_has("database data/shop.db was not captured")
        .stderr_has("locked");
    assert_eq!(sandbox.listed().len(), 1);
    assert_no_scratch(&sandbox);
}

#[test]
fn a_copy_that_is_not_sound_is_not_recorded() {
    let sandbox = Sandbox::new();
    let db = make(&sandbox.path(SHOP), "DELETE");
    (0..200).for_each(|_| step(&db));
    drop(db);
    let mut bytes = std::fs::read(sandbox.path(SHOP)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0xaa);
    sandbox.write("data/shop.db", bytes);
    sandbox
        .fails(1, "create --db data/shop.db")
        .stderr_has("was not captured");
    assert!(sandbox.listed().is_empty());
}

#[test]
fn files_and_a_database_are_in_one_checkpoint_and_come_back_together() {
    let sandbox = Sandbox::new();
    let db = make(&sandbox.path(SHOP), "WAL");
    sandbox.write("data/notes", "1").write("other", "1");
    let id = savepoint(&sandbox, &["--scope", "data"]);
    let shown = sandbox.json(format!("show {id}"));
    assert_eq!(shown["databases"][0]["path"], "data/shop.db");
    let made = ["file_count", "coverage"].map(|key| shown["checkpoint"][key].clone());
    assert_eq!(made, [serde_json::json!(1), "scoped".into()]);
    let mut uncaptured = shown["uncaptured"].as_array().unwrap().iter();
    assert!(uncaptured.all(|item| item["why"] == "database"), "{shown}");
    sandbox
        .ok(format!("show {id}"))
        .stdout_has("database   data/shop.db\n");
    step(&db);
    sandbox
        .write("data/notes", "2")
        .write("other", "2")
        .write("data/new", "n");
    let inode = found(&sandbox).ino();
    let now = || {
        let files = ["data/notes", "other"].map(|name| sandbox.read(name));
        (state_of(&db), files.concat(), sandbox.exists("data/new"))
    };
    sandbox.restore(&id).success();
    assert_eq!(now(), (0, "12".into(), false));
    sandbox.undo().success();
    assert_eq!(now(), (1, "22".into(), true));
    assert_eq!(found(&sandbox).ino(), inode, "it was replaced as a file");
    sandbox.ok("create -r whole");
    sandbox.ok("cat whole:data/shop.db");
}

#[cfg(unix)]
#[test]
fn a_database_whose_file_is_gone_is_made_again_and_undo_leaves_it() {
    let (sandbox, db, id) = stepped("WAL");
    drop(db);
    sandbox.remove("data");
    sandbox.restore(&id).success();
    let path = sandbox.path(SHOP);
    assert_eq!(state(&path), 0);
    assert_eq!(found(&sandbox).permissions().mode() & 0o777, 0o600);
    let run = sandbox.ok("undo --yes --json");
    assert_eq!(run.data()["databases"][0]["outcome"], "left");
    assert_eq!(state(&path), 0);
    step(&Connection::open(&path).unwrap());
    sandbox.redo().success();
    assert_eq!(state(&path), 0, "as it was right before the undo");
    sandbox.undo().success();
    assert_eq!(state(&path), 1, "what was written since was kept");
}

#[test]
fn paths_choose_databases_as_they_choose_files() {
    let sandbox = Sandbox::new();
    let db = make(&sandbox.path(SHOP), "WAL");
    let other = make(&sandbox.path("other.db"), "WAL");
    sandbox.write("a", "1").write("b", "1");
    let id = savepoint(
        &sandbox,
        &["--db", "other.db", "--scope", "a", "--scope", "b"],
    );
    step(&db);
    step(&other);
    sandbox.write("a", "2").write("b", "2");
    let now = || {
        let files = ["a", "b"].map(|name| sandbox.read(name));
        (files.concat(), state_of(&db), state_of(&other))
    };
    sandbox.ok(format!("restore {id} a --yes"));
    assert_eq!(now(), ("12".into(), 1, 1));
    sandbox.ok(format!("restore {id} data/shop.db --yes"));
    assert_eq!(now(), ("12".into(), 0, 1));
    sandbox.undo().success();
    assert_eq!(now(), ("12".into(), 1, 1));
    sandbox.fails(3, format!("restore {id} none.db --yes"));
}

#[test]
fn patterns_choose_databases_as_they_choose_files() {
    let (sandbox, db, id) = stepped("WAL");
    let run = sandbox.cmd(format!("restore {id} --glob *.db --yes --json"));
    let data = run.success().data();
    assert_eq!(state_of(&db), 0);
    assert!(data["safety"]["id"].is_string(), "{data}");
    let said = (&data["glob"][0], &data["exclude"]);
    assert_eq!(said, (&"*.db".into(), &serde_json::json!([])));
    sandbox.undo().success();
    assert_eq!(state_of(&db), 2);
    sandbox.ok(format!("restore {id} --exclude *.db --yes"));
    assert_eq!(state_of(&db), 2);
}

#[test]
fn a_dry_run_names_the_databases_and_changes_nothing() {
    let (sandbox, db, id) = stepped("WAL");
    sandbox
        .ok(format!("restore {id} --dry-run"))
        .stdout_has("  database data/shop.db\n")
        .stdout_has("restore 1");
    assert_eq!(outcome_of(&sandbox, &[&id, "--dry-run"]), "planned");
    assert_eq!(state_of(&db), 2);
    sandbox
        .fails(4, format!("restore {id}"))
        .stderr_has("restore 1 database");
}

#[test]
fn the_content_can_be_had_by_cat_and_survives_a_prune() {
    let (sandbox, _db, id) = stepped("WAL");
    sandbox.ok("prune");
    let mut command = sandbox.command(&[], &["cat", &format!("{id}:@db/data/shop.db")]);
    let copy = sandbox.top().join("copy.db");
    std::fs::write(&copy, limit::output(&mut command).unwrap().stdout).unwrap();
    assert_eq!(state(&copy), 0);
    sandbox.run(&["cat", &format!("{id}:@db/none")]).code(3);
    sandbox.ok("verify --full");
}

#[test]
fn two_equal_savepoints_a_moment_apart_are_one_and_a_commit_between_makes_two() {
    let (sandbox, db, _) = stepped("WAL");
    sandbox.at("2026-03-24T13:00:00Z");
    let first = savepoint(&sandbox, &[]);
    sandbox.at("2026-03-24T13:00:00.5Z");
    assert_eq!(savepoint(&sandbox, &[]), first);
    step(&db);
    sandbox.at("2026-03-24T13:00:00.7Z");
    assert_ne!(savepoint(&sandbox, &[]), first);
}

#[test]
fn a_plan_is_refused_once_its_database_has_changed() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("db");
    let db = make(&path, "DELETE");
    sandbox.ok("create -r good --db db");
    step(&db);
    let plan = sandbox.ok("restore good --dry-run --json");
    let digest = plan.data()["plan_digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    step(&db);
    drop(db);
    let by_plan = ["restore", "good", "--plan", &digest, "--yes", "--json"];
    assert_eq!(sandbox.run(&by_plan).code(4).error_code(), "consent_needed");
    assert_eq!(state(&path), 2);
}
