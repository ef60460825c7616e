//! SQLite databases as files: none is restored without its log, nor a log without its database.

use rusqlite::Connection;

use crate::bench::Sandbox;
use crate::obstacles::refused_alike;

/// A database whose last changes are in its log alone, as when a program died.
fn died(sandbox: &Sandbox) {
    let files = ["dev.db", "dev.db-wal"].map(|name| sandbox.path(name));
    let db = Connection::open(&files[0]).unwrap();
    let _: String = db
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .unwrap();
    db.execute_batch("CREATE TABLE IF NOT EXISTS t (n); INSERT INTO t VALUES (1)")
        .unwrap();
    let kept = files.clone().map(|path| std::fs::read(path).unwrap());
    drop(db);
    for (path, bytes) in files.iter().zip(kept) {
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_database_whose_log_would_stay_is_not_restored_and_one_in_use_is_told_once() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".gitignore", "*-wal\n*-shm\n")
        .write("a", "1");
    died(&sandbox);
    let run = sandbox.ok("create -r base");
    run.stderr_has("dev.db is a database in use")
        .stderr_has("checkpoint create --db dev.db");
    let again = sandbox.ok("create -r again");
    assert!(!again.stderr.contains("in use"), "{again}");
    sandbox.write("a", "2");
    died(&sandbox);
    let db = Connection::open(sandbox.path("dev.db")).unwrap();
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(db);
    died(&sandbox);
    for args in [&["base"][..], &["base", "dev.db"], &["base", "--overlay"]] {
        let run = sandbox
            .run(&[&["restore"], args, &["--yes"]].concat())
            .code(4);
        run.stderr_has("dev.db-wal")
            .stderr_has("--exclude /dev.db")
            .stderr_has("--db dev.db");
    }
    assert_eq!(refused_alike(&sandbox, &[], &["base"]), ["\"dev.db\""]);
    assert_eq!(sandbox.read("a"), "1");
    let db = Connection::open(sandbox.path("dev.db")).unwrap();
    let sound: String = db
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn a_log_is_no_use_without_its_database_and_both_together_are() {
    let sandbox = Sandbox::new();
    died(&sandbox);
    sandbox.create("base");
    let log = std::fs::read(sandbox.path("dev.db-wal")).unwrap();
    let db = Connection::open(sandbox.path("dev.db")).unwrap();
    db.execute_batch("INSERT INTO t VALUES (2); PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(db);
    for path in ["dev.db-wal", "dev.db"] {
        let run = sandbox.run(&["restore", "base", path, "--dry-run"]).code(4);
        run.stderr_has("an SQLite database is no use if");
    }
    sandbox.restore("base").success();
    assert_eq!(std::fs::read(sandbox.path("dev.db-wal")).unwrap(), log);
    let db = Connection::open(sandbox.path("dev.db")).unwrap();
    assert_eq!(
        db.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
            .unwrap(),
        1
    );
}

#[test]
fn a_file_that_is_no_database_needs_no_companion() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".gitignore", "*-journal\n")
        .write("notes", "1".repeat(512))
        .create("base");
    sandbox
        .write("notes", "2".repeat(512))
        .write("notes-journal", "mine");
    sandbox.restore("base").success();
    assert_eq!(sandbox.read("notes"), "1".repeat(512));
}

#[test]
fn a_database_that_was_in_use_and_comes_without_its_log_is_told() {
    let sandbox = Sandbox::new();
    sandbox
        .write(".gitignore", "*-wal\n*-shm\n")
        .write("a", "1");
    died(&sandbox);
    let id = sandbox.create("base");
    let told = "dev.db was recorded in use and without its log";
    let to = sandbox.top().join("to");
    let to = to.to_str().expect("UTF-8");
    let run = sandbox.run(&["restore", &id, "--to", to]).success();
    run.stderr_has(told).stderr_has("create --db dev.db");
    let dry = sandbox.cmd(format!("restore {id} --to other --dry-run --json"));
    assert_eq!(dry.success().json()["warnings"][0]["code"], "log_not_held");
    let a = sandbox.top().join("a");
    let a = a.to_str().expect("UTF-8");
    let run = sandbox.ok(format!("restore {id} a --to {a}"));
    assert!(!run.stderr.contains(told), "{run}");
    for name in ["dev.db", "dev.db-wal", "a"] {
        sandbox.remove(name);
    }
    let run = sandbox.ok(format!("restore {id} --yes"));
    assert_eq!(run.stderr.matches(told).count(), 1, "{run}");
}

#[test]
fn a_damaged_database_is_not_replaced_beside_a_log_of_another() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*-wal\n*-shm\n");
    died(&sandbox);
    let log = std::fs::read(sandbox.path("dev.db-wal")).expect("a log");
    let db = Connection::open(sandbox.path("dev.db")).expect("a database");
    db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE")
        .expect("it is written");
    drop(db);
    sandbox.create("base");
    std::fs::write(sandbox.path("dev.db-wal"), log).expect("a log");
    sandbox.write("dev.db", "text");
    let run = sandbox.fails(4, "restore base --yes");
    run.stderr_has("dev.db-wal");
    assert_eq!(sandbox.read("dev.db"), "text");
}
