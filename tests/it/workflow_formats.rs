//! The formats of other programs as transcripts: documents are put in place, edited by hand and moved
//! on by commands, and each file is shown whenever it has changed. `formats/*.txt` has what is done
//! and what comes out; `UPDATE_SNAPSHOTS=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bench::Sandbox;
use crate::bench::fixtures::files_below;

/// What a file of a run may lie below.
const FOLDERS: [&str; 2] = ["memory/state", ".claude"];

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/formats")
}

/// The files of runs, with their content as JSON in one layout.
fn documents(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in FOLDERS.iter().flat_map(|folder| {
        let folder = sandbox.path(folder);
        if folder.exists() {
            files_below(&folder)
        } else {
            Vec::new()
        }
    }) {
        let name = path
            .strip_prefix(sandbox.root())
            .expect("it lies in the root");
        let text = fs::read_to_string(&path).expect("it can be read");
        let shown = match serde_json::from_str::<Value>(&text) {
            Ok(_) if name.starts_with(".claude/schemas") => "the schema\n".to_owned(),
            Ok(value) => serde_json::to_string_pretty(&value).expect("it can be written") + "\n",
            Err(_) => text,
        };
        found.insert(name.display().to_string(), shown);
    }
    found
}

/// Does one step: `put PATH FILE`, `write PATH TEXT`, `edit PATH POINTER VALUE`, `remove PATH`,
/// `move PATH PATH`, `at TIME`, or a command.
fn step(sandbox: &Sandbox, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["put", path, file] => {
            let text = fs::read_to_string(formats().join(file)).expect("it can be read");
            sandbox.write(path, text);
        }
        ["write", path, ..] => {
            sandbox.write(path, line.splitn(3, ' ').nth(2).unwrap_or_default());
        }
        ["edit", path, pointer, ..] => {
            let value = line.splitn(4, ' ').nth(3).expect("a value");
            let value: Value = serde_json::from_str(value).expect("a value of JSON");
            let mut document: Value = serde_json::from_str(&sandbox.read(path)).expect("JSON");
            let (above, key) = pointer.rsplit_once('/').expect("a pointer");
            match document.pointer_mut(above).expect("a place") {
                Value::Array(list) if key == "-" => list.push(value),
                place => place[key] = value,
            }
            sandbox.write(path, document.to_string());
        }
        ["remove", path] => {
            sandbox.remove(path);
        }
        ["move", from, to] => {
            let to = sandbox.path(to);
            fs::create_dir_all(to.parent().expect("a folder")).expect("it can be made");
            fs::rename(sandbox.path(from), to).expect("it can be moved");
        }
        ["at", time] => {
            sandbox.at(time);
        }
        _ => {
            let run = sandbox.run(&words);
            let mut shown = run.stdout.clone() + &run.stderr;
            if run.code != 0 {
                let _ = writeln!(shown, "exit {}", run.code);
            }
            return shown;
        }
    }
    String::new()
}

/// Plays the steps of a transcript, and returns the transcript that comes of it.
fn play(transcript: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z");
    let mut known = BTreeMap::new();
    let mut played = String::new();
    for line in transcript
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
    {
        let _ = writeln!(played, "$ {line}");
        let is_of_hand = line.starts_with("put ") || line.starts_with("write ");
        played += &step(&sandbox, line);
        let now = documents(&sandbox);
        let gone = known.keys().filter(|path| !now.contains_key(*path));
        for path in gone {
            let _ = writeln!(played, "--- {path} is gone");
        }
        for (path, text) in now
            .iter()
            .filter(|(path, text)| known.get(*path) != Some(*text))
        {
            if !is_of_hand {
                let _ = write!(played, "--- {path}\n{text}");
            }
        }
        known = now;
    }
    let played = played.replace(&sandbox.root().display().to_string(), "/project");
    played.lines().map(without_revision).collect()
}

/// A line of a log without its revision, which depends on the place of the project.
fn without_revision(line: &str) -> String {
    let is_revision =
        |word: &str| word.len() == 8 && word.bytes().all(|digit| digit.is_ascii_hexdigit());
    let revision = line.strip_prefix("  ").and_then(|rest| rest.get(..8));
    match revision.filter(|word| is_revision(word)) {
        Some(revision) => line.replacen(revision, "revision", 1) + "\n",
        None => format!("{line}\n"),
    }
}

#[test]
fn transcripts_of_all_formats_are_as_recorded() {
    let mut wrong = Vec::new();
    for path in files_below(&formats()) {
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let recorded = fs::read_to_string(&path).expect("it can be read");
        let played = play(&recorded);
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, &played).expect("it can be written");
        } else if played != recorded {
            let first = recorded
                .lines()
                .zip(played.lines())
                .find(|(one, other)| one != other);
            wrong.push(format!("{}: {first:?}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "UPDATE_SNAPSHOTS=1 shows the rest\n{}",
        wrong.join("\n")
    );
}
