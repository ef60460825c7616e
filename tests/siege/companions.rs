//! Scenarios besides checkpoints of files: runs of phases, holds, plain copies, databases.

use std::fmt::Write as _;
use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use super::field::Field;
use super::scenario::{edited, three_states};
use crate::bench::Tree;
use crate::bench::tree::at_or_below;

pub const COPIES: &str = "create --type file_backup --copies --scope d0 -r new --contract --json";
pub const DATABASE: &str = "data/shop.db";
pub const PLAN: &str = "workflow init --profile phases --phase one --phase two:Two:one";
pub const PIPELINE: &str = "workflow init --profile pipeline --phase p1 --phase p2 --phase p3";

pub fn planned(field: &Field) {
    edited(field);
    field.ok(PLAN);
}

/// Sets up a run and a database for the crowd.
pub fn planned_for_many(field: &Field) {
    field.ok(PLAN);
    make_database(field, "DELETE");
}

/// Sets up a phase under way, with a planned task and a started one.
pub fn at_work(field: &Field) {
    planned(field);
    field.ok("phase start one");
    field.write("d1/text", "what the phase made");
    for line in ["task add first", "task add second", "task start second"] {
        field.ok(line);
    }
}

/// Sets up a run whose first phase is done.
pub fn between_phases(field: &Field) {
    edited(field);
    field.ok(PIPELINE);
    field.ok("phase start");
    field.write("d1/text", "what the first phase made");
    field.ok("phase done");
}

/// Sets up a run whose second phase is under way.
pub fn under_way(field: &Field) {
    between_phases(field);
    field.ok("phase start");
    field.write("d1/text", "what the second phase makes");
    field.ok("phase progress half");
    field.write("d1/text", "and what it made since");
}

/// Makes the file of a run under way malformed.
pub fn malformed(field: &Field) {
    under_way(field);
    field.write(".claude/pipeline-state.json", "BROKEN");
}

/// Sets up a run with a name.
pub fn named_run(field: &Field) {
    edited(field);
    field.ok("workflow init --id r1 --profile pipeline --phase p1");
    field.ok("phase start");
}

/// The state of each run, whose file in the project must have followed.
pub fn pipeline(field: &Field) -> String {
    let listed = field.cmd("workflow list --all --json");
    if listed.code != 0 {
        return listed.to_string();
    }
    let runs = listed.data()["workflows"].clone();
    let mut text = String::new();
    for run in runs.as_array().into_iter().flatten() {
        let _ = write!(text, "{} {}; ", run["status"], run["is_archived"]);
    }
    let archive = std::fs::read_dir(field.work().join(".claude/.archive"));
    let archived = archive.into_iter().flatten().flatten();
    let is_of_run = |name: &str| !name.starts_with("corrupt");
    let archived = archived.filter(|entry| is_of_run(&entry.file_name().to_string_lossy()));
    let _ = write!(text, "{} archived; ", archived.count());
    let file = std::fs::read_to_string(field.work().join(".claude/pipeline-state.json")).ok();
    let shown = field.cmd("workflow show --json");
    if shown.code == 3 {
        return format!("{text}no run, and its file: {}", file.is_some());
    }
    let data = shown.data();
    for phase in data["phases"].as_array().into_iter().flatten() {
        let _ = write!(
            text,
            "{} {} {}; ",
            phase["id"], phase["status"], phase["progress"]
        );
    }
    let log = data["log"].as_array().into_iter().flatten();
    for event in log.filter(|event| event["verb"] == "phase done") {
        let _ = write!(text, "done {}; ", event["phase_id"]);
    }
    let told = field.cmd("workflow export --format pipeline").stdout;
    let (troubles, broken) = (&data["troubles"], &data["log_broken"]);
    text + &format!("followed: {} {troubles} {broken}", file == Some(told))
}

/// The state of a run; also checks that no file of other programs is half written.
pub fn run_of_phases(field: &Field) -> String {
    for name in ["phase.json", "execution.json"] {
        let text = std::fs::read_to_string(field.work().join("memory/state").join(name));
        if text.is_ok_and(|text| serde_json::from_str::<Value>(&text).is_err()) {
            return format!("{name} is torn");
        }
    }
    let run = field.cmd("workflow status --json");
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
    let data = field.cmd("status --json").data();
    let names = data["holds"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|hold| hold["name"].to_string());
    names.collect::<Vec<_>>().join(" ")
}

pub fn copied(field: &Field) {
    edited(field);
    field.ok(COPIES);
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
    make_database(field, "DELETE");
}

fn make_database(field: &Field, mode: &str) {
    std::fs::create_dir(field.work().join("data")).expect("a directory");
    let db = Connection::open(field.work().join(DATABASE)).expect("a database");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n LIMIT 40)";
    let tables = "CREATE TABLE one (text); CREATE TABLE state (n); INSERT INTO state VALUES (0)";
    let rows = format!("{numbers} INSERT INTO one SELECT hex(randomblob(500)) FROM n");
    let mode = format!("PRAGMA journal_mode = {mode}");
    db.execute_batch(&format!("{mode}; {tables}; {rows}"))
        .expect("SQL");
}

pub fn saved_database(field: &Field) {
    saved_in(field, "DELETE");
}

/// The same with a log.
pub fn database_in_use(field: &Field) {
    saved_in(field, "WAL");
}

fn saved_in(field: &Field, mode: &str) {
    edited(field);
    make_database(field, mode);
    field.ok(&format!("create -r saved --db {DATABASE}"));
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

/// Puts a bundle beside the directory, of a checkpoint that is here no more.
pub fn travelling(field: &Field) {
    edited(field);
    field.ok("create -r travelling");
    field.ok("export travelling -o ../home/x.bundle");
    field.ok("delete travelling --yes");
    field.ok("prune");
}

/// Whether the checkpoint of the bundle is here, and whole.
pub fn imported(field: &Field) -> String {
    let run = field.cmd("verify travelling --full");
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

/// Puts settings of agents into the home, one of them behind a link.
pub fn with_settings(field: &Field) {
    three_states(field);
    let home = field.home();
    for dir in ["dotfiles", ".codex", ".agents"] {
        std::fs::create_dir(home.join(dir)).expect("a directory");
    }
    let text = "{\r\n\t\"hooks\": {\r\n\t\t\"Mine\": [ /* mine */ ],\r\n\t},\r\n}\r\n";
    std::fs::write(home.join("dotfiles/hooks.json"), text).expect("a file");
    std::os::unix::fs::symlink("../dotfiles/hooks.json", home.join(".codex/hooks.json"))
        .expect("a link");
    std::fs::write(home.join(".claude/mine"), "").expect("a file");
}

pub fn set_up(field: &Field) {
    with_settings(field);
    field.ok("setup codex claude --yes");
}

pub fn edited_setup(field: &Field) {
    with_settings(field);
    field.ok("setup codex --yes");
    let hooks = field.home().join(".codex/hooks.json");
    let text = std::fs::read_to_string(&hooks).expect("it is there");
    std::fs::write(&hooks, text.replacen("/* mine */", "/* edited */", 1)).expect("a file");
}

/// Each file of the home but those of stores, and the temporary ones that a kill leaves.
pub fn settings(field: &Field) -> String {
    let (home, stores) = (field.home(), field.store());
    let stores = stores.strip_prefix(&home).expect("stores are at home");
    let stores = stores
        .parent()
        .expect("a folder")
        .as_os_str()
        .as_encoded_bytes();
    let mut text = String::new();
    for (path, node) in Tree::capture(&home).nodes {
        let name = path.escape_ascii().to_string();
        if name.contains(".checkpoint-tmp-") || at_or_below(&path, stores) {
            continue;
        }
        if node.is_dir() {
            let _ = writeln!(text, "{name}/\t");
            continue;
        }
        let link = std::fs::read_link(home.join(&name)).ok();
        let content = std::fs::read_to_string(home.join(&name)).unwrap_or_default();
        let _ = writeln!(text, "{name}\t{:o} {link:?} {content:?}", node.mode);
    }
    text
}
