//! Scenarios besides checkpoints of files: runs of phases, holds, plain copies, databases.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::bench::Tree;
use crate::field::Field;
use crate::scenario::edited;

pub const COPIES: &[&str] = &[
    "create",
    "--type",
    "file_backup",
    "--copies",
    "--scope",
    "d0",
    "-r",
    "new",
    "--contract",
    "--json",
];
pub const DATABASE: &str = "data/shop.db";

fn done(field: &Field, args: &[&str]) {
    let run = field.run(&[], args);
    assert_eq!(run.code, 0, "{run}");
}

pub fn planned(field: &Field) {
    edited(field);
    done(
        field,
        &[
            "workflow",
            "init",
            "--profile",
            "phases",
            "--phase",
            "one",
            "--phase",
            "two:Two:one",
        ],
    );
}

/// Sets up a run and a database for the crowd.
pub fn planned_for_many(field: &Field) {
    done(
        field,
        &[
            "workflow",
            "init",
            "--profile",
            "phases",
            "--phase",
            "one",
            "--phase",
            "two:Two:one",
        ],
    );
    make_database(field);
}

/// Sets up a phase under way, with a planned task and a started one.
pub fn at_work(field: &Field) {
    planned(field);
    done(field, &["phase", "start", "one"]);
    field.write("d1/text", "what the phase made");
    done(field, &["task", "add", "first"]);
    done(field, &["task", "add", "second"]);
    done(field, &["task", "start", "second"]);
}

/// The state of a run; also checks that no file of other programs is half written.
pub fn run_of_phases(field: &Field) -> String {
    for name in ["phase.json", "execution.json"] {
        let text = std::fs::read_to_string(field.work().join("memory/state").join(name));
        if text.is_ok_and(|text| serde_json::from_str::<Value>(&text).is_err()) {
            return format!("{name} is torn");
        }
    }
    let run = field.run(&[], &["workflow", "status", "--json"]);
    if run.code == 3 {
        return "no run".into();
    }
    if run.code != 0 {
        return run.to_string();
    }
    let data = run.data();
    let mut text = format!("{} {}", data["status"], data["valid"]);
    for one in ["phases", "tasks"]
        .iter()
        .flat_map(|list| data[list].as_array().into_iter().flatten())
    {
        let _ = write!(text, " {} {}", one["id"], one["status"]);
    }
    text
}

pub fn holds(field: &Field) -> String {
    let data = field.run(&[], &["status", "--json"]).data();
    let names = data["holds"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|hold| hold["name"].to_string());
    names.collect::<Vec<_>>().join(" ")
}

pub fn copied(field: &Field) {
    edited(field);
    done(field, COPIES);
    field.write("d0/text", "changed after the copies");
}

/// The content of each set of copies under its final name.
pub fn copies(field: &Field) -> String {
    let all = std::fs::read_dir(field.work().join(".checkpoints"))
        .into_iter()
        .flatten()
        .flatten();
    let whole = all.filter(|entry| entry.file_name().to_string_lossy().starts_with("chk_"));
    let mut sets: Vec<String> = whole.map(|entry| copied_in(&entry.path())).collect();
    sets.sort();
    sets.join("\n")
}

fn copied_in(dir: &Path) -> String {
    let Ok(text) = std::fs::read_to_string(dir.join("manifest.json")) else {
        return "no manifest".into();
    };
    let Ok(manifest) = serde_json::from_str::<Value>(&text) else {
        return "a torn manifest".into();
    };
    let promised = manifest["files"].as_array().map_or(0, Vec::len);
    format!(
        "{promised} files: {:?}",
        Tree::capture(&dir.join("files")).diff(&Tree::default())
    )
}

pub fn database(field: &Field) {
    edited(field);
    make_database(field);
}

fn make_database(field: &Field) {
    std::fs::create_dir(field.work().join("data")).expect("a directory");
    let db = Connection::open(field.work().join(DATABASE)).expect("a database");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n LIMIT 40)";
    let tables = "CREATE TABLE one (text); CREATE TABLE state (n); INSERT INTO state VALUES (0)";
    let rows = format!("{numbers} INSERT INTO one SELECT hex(randomblob(500)) FROM n");
    db.execute_batch(&format!("{tables}; {rows}")).expect("SQL");
}

pub fn saved_database(field: &Field) {
    database(field);
    done(field, &["create", "-r", "saved", "--db", DATABASE]);
    let db = Connection::open(field.work().join(DATABASE)).expect("a database");
    db.execute_batch("UPDATE state SET n = 1; DELETE FROM one WHERE rowid % 2")
        .expect("SQL");
}

/// The state of a database, which must be a committed one.
pub fn rows(field: &Field) -> String {
    let Ok(db) = Connection::open(field.work().join(DATABASE)) else {
        return "no database".into();
    };
    let ask = |sql: &str| {
        db.query_row(sql, [], |row| row.get::<_, String>(0))
            .unwrap_or_else(|why| why.to_string())
    };
    let state = "SELECT 'state ' || n || ', ' || (SELECT count(*) FROM one) || ' rows' FROM state";
    [ask("PRAGMA integrity_check"), ask(state)].join(", ")
}

pub const IMPORT: &[&str] = &["import", "../home/x.bundle"];
pub const EXPORT: &[&str] = &["export", "one", "two", "-o", "../home/x.bundle"];

/// Puts a bundle beside the directory, of a checkpoint that is here no more.
pub fn travelling(field: &Field) {
    edited(field);
    done(field, &["create", "-r", "travelling"]);
    done(field, &["export", "travelling", "-o", "../home/x.bundle"]);
    done(field, &["delete", "travelling", "--yes"]);
    done(field, &["prune"]);
}

/// Whether the checkpoint of the bundle is here, and whole.
pub fn imported(field: &Field) -> String {
    let run = field.run(&[], &["verify", "travelling", "--full"]);
    match run.code {
        3 => "not here".into(),
        0 => "here".into(),
        _ => run.to_string(),
    }
}

/// The bundle, by a hash of its bytes.
pub fn exported(field: &Field) -> String {
    let bytes = std::fs::read(field.home().join("x.bundle")).expect("a bundle");
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    std::hash::Hash::hash(&bytes, &mut hasher);
    std::hash::Hasher::finish(&hasher).to_string()
}
