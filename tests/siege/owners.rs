//! Scenarios with directories that have an owner of their own below the root, and with the log of a
//! database beside it.

use rusqlite::Connection;

use super::companions::DATABASE;
use super::field::Field;
use super::scenario::{checkpoints_in, edited, files, made, three_states};
use crate::bench::{Git, Tree};

pub const WORKTREES: &str = "agents";
const NESTED: &str = "packages/inner";

fn git(field: &Field, words: &[&str]) -> String {
    let work = field.work().display().to_string();
    let git = Git::find(&field.home()).expect("these scenarios need git");
    git.output(&[&["-C", &work], words].concat())
}

/// Makes the root a repository, and lets somebody work in a linked worktree below it.
pub fn beside_a_worktree(field: &Field) {
    files(field);
    made(field, "one");
    git(field, &["init", "-q"]);
    git(field, &["add", "-A"]);
    git(field, &["commit", "-qm", "all"]);
    let tree = format!("{WORKTREES}/one");
    git(field, &["worktree", "add", "-q", "-b", "agent", &tree]);
    field.write(&format!("{tree}/d0/text"), "what the agent did");
    field.write(&format!("{tree}/unsaved/file"), "nobody else has it");
    field.write("d1/text", "changed");
    made(field, "two");
    field.write("d2/text", "changed too");
}

/// What is in the worktree, what git says of it, and whether a checkpoint holds any of it.
pub fn worktree(field: &Field) -> String {
    let dir = field.work().join(WORKTREES);
    let held = field.cmd(&format!("ls latest {WORKTREES}"));
    format!(
        "{:?} {} {} held: {}",
        Tree::capture(&dir).diff(&Tree::default()),
        git(field, &["worktree", "list"]),
        git(field, &["-C", "agents/one", "status", "--porcelain"]),
        held.stdout.contains("one")
    )
}

/// Puts a directory with a store of its own below the root.
pub fn around_a_nested_root(field: &Field) {
    three_states(field);
    let inner = |text: &str, reason: &str| {
        field.write(&format!("{NESTED}/file"), text);
        field.ok(&format!("-C {NESTED} create -r {reason} -q"));
    };
    inner("first", "inner-one");
    inner("second", "inner-two");
    made(field, "four");
    field.write(&format!("{NESTED}/file"), "third");
    field.write("d3/text", "edited");
}

/// The checkpoints of the nested root in any order, since a create that can read no other one does
/// not know its place, and what each gives back.
pub fn nested(field: &Field) -> String {
    let held = |(id, reason): (String, String)| {
        let to = field.beside("inner");
        let run = field.cmd(&format!("-C {NESTED} restore {id} --to {}", to.display()));
        let held = Tree::capture(&to).diff(&Tree::default());
        format!("{reason}: {} {held:?}", run.code)
    };
    let mut all: Vec<String> = checkpoints_in(field, NESTED)
        .into_iter()
        .map(held)
        .collect();
    all.sort();
    all.join("; ")
}

/// Captures a database with its log, and leaves it with another log: its program died twice.
pub fn with_a_log(field: &Field) {
    edited(field);
    std::fs::create_dir(field.work().join("data")).expect("a directory");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n LIMIT 40)";
    die_in(
        field,
        &format!(
            "PRAGMA journal_mode = WAL; CREATE TABLE one (text); CREATE TABLE state (n);
             INSERT INTO state VALUES (0);
             {numbers} INSERT INTO one SELECT hex(randomblob(500)) FROM n"
        ),
    );
    made(field, "logged");
    die_in(
        field,
        "UPDATE state SET n = 1; DELETE FROM one WHERE rowid % 2",
    );
}

/// Changes a database as a program does that dies before it takes its log in.
fn die_in(field: &Field, sql: &str) {
    let (data, aside) = (field.work().join("data"), field.work().join("aside"));
    let db = Connection::open(field.work().join(DATABASE)).expect("a database");
    db.execute_batch(sql).expect("SQL");
    std::fs::create_dir(&aside).expect("a directory");
    for entry in std::fs::read_dir(&data).expect("a directory") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), aside.join(entry.file_name())).expect("a copy");
    }
    drop(db);
    std::fs::remove_dir_all(&data).expect("it goes");
    std::fs::rename(&aside, &data).expect("it comes back");
}
