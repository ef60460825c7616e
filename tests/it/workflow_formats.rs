//! Transcripts of runs: documents are put in place, edited by hand and moved on by commands.
//! `formats/*.txt` has what is done and what comes out; `UPDATE_SNAPSHOTS=1` writes it anew. Below a
//! heading, which begins a new project, only what a command changes in a document is shown;
//! elsewhere each document that changed is shown whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use crate::bench::Sandbox;
use crate::bench::fixtures::files_below;
use crate::bench::sandbox::words;
use crate::bench::terminal::typed;

/// What a file of a run may lie below.
const FOLDERS: [&str; 2] = ["memory/state", ".claude"];
/// What a user does without the program; it is not shown again as a change.
const BY_HAND: [&str; 5] = ["put ", "write ", "edit ", "remove ", "move "];
/// Times that each command changes.
const NOISE: [&str; 2] = ["/last_updated", "/updated_at"];

type Documents = BTreeMap<String, String>;

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/formats")
}

/// The texts of all files of runs.
fn documents(sandbox: &Sandbox) -> Documents {
    let folders = FOLDERS.map(|folder| sandbox.path(folder));
    let present = folders.iter().filter(|folder| folder.exists());
    let named = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("it can be read");
        let name = path.strip_prefix(sandbox.root()).expect("it is below");
        (
            name.display()
                .to_string()
                .replace(std::path::MAIN_SEPARATOR, "/"),
            text,
        )
    };
    present
        .flat_map(|folder| files_below(folder))
        .map(named)
        .collect()
}

/// Edits one place of a document: `-` as the last key appends to a list, as the value removes.
fn edit(sandbox: &Sandbox, path: &str, pointer: &str, value: &str) {
    let mut document: Value = serde_json::from_str(&sandbox.read(path)).expect("JSON");
    let (above, key) = pointer.rsplit_once('/').expect("a pointer");
    let new = || serde_json::from_str(value).expect("a value of JSON");
    match document.pointer_mut(above).expect("a place") {
        Value::Array(list) if key == "-" => list.push(new()),
        Value::Object(map) if value == "-" => drop(map.shift_remove(key)),
        Value::Array(list) => list[key.parse::<usize>().expect("a number")] = new(),
        place => place[key] = new(),
    }
    sandbox.write(path, document.to_string());
}

/// The value at a pointer; `*` stands for each element of a list.
fn picked(value: &Value, pointer: &str) -> Value {
    match pointer.split_once("/*") {
        Some((list, rest)) => {
            let list = value.pointer(list).and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .map(|one| picked(one, rest))
                .collect()
        }
        None => value.pointer(pointer).cloned().unwrap_or_default(),
    }
}

/// Does one step: `put PATH FILE`, `write PATH TEXT` (or a string of JSON), `edit PATH POINTER VALUE`,
/// `remove PATH`, `move PATH PATH`, `at TIME`, `typed ANSWER …: COMMAND` at a terminal, `COMMAND |
/// POINTER …` for parts of its JSON, or a command. `None` where there is no terminal.
fn step(sandbox: &Sandbox, line: &str) -> Option<String> {
    let rest = |from: usize| line.splitn(from + 1, ' ').nth(from).unwrap_or_default();
    match words(line)[..] {
        ["put", path, file] => {
            let text = fs::read_to_string(formats().join(file)).expect("it can be read");
            sandbox.write(path, text);
        }
        ["write", path, ..] => {
            let text = serde_json::from_str(rest(2)).unwrap_or(rest(2).to_owned());
            sandbox.write(path, text);
            // The head of the project's own repository may move.
            sandbox.renew_watches();
        }
        ["edit", path, pointer, ..] => edit(sandbox, path, pointer, rest(3)),
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
        ["typed", ..] => {
            let (answers, command) = rest(1).split_once(": ").expect("a command");
            let run = typed(sandbox, command, &words(answers))?;
            return Some(run.stdout);
        }
        _ => {
            let (command, pointers) = line.split_once(" | ").unwrap_or((line, ""));
            let json = if pointers.is_empty() { "" } else { " --json" };
            let run = sandbox.cmd(format!("{command}{json}"));
            let mut shown = String::new();
            if pointers.is_empty() {
                shown = run.stdout.clone() + &run.stderr;
            }
            for pointer in words(pointers) {
                let _ = writeln!(shown, "{pointer} {}", picked(&run.json(), pointer));
            }
            if run.code != 0 {
                let _ = writeln!(shown, "exit {}", run.code);
            }
            return Some(shown);
        }
    }
    Some(String::new())
}

/// A document in one layout.
fn whole(path: &str, text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(_) if path.starts_with(".claude/schemas") => "the schema\n".to_owned(),
        Ok(value) => serde_json::to_string_pretty(&value).expect("it can be written") + "\n",
        Err(_) => text.to_owned(),
    }
}

/// What differs between two documents, a line for each place.
fn differences(at: &str, old: &Value, new: &Value, lines: &mut String) {
    let keys = |value: &Value| match value {
        Value::Object(map) => map.keys().cloned().collect(),
        Value::Array(list) => (0..list.len()).map(|at| at.to_string()).collect(),
        _ => Vec::new(),
    };
    let nested = |value: &Value| (value.is_object(), value.is_array());
    if nested(old) != nested(new) || keys(new).is_empty() {
        let _ = writeln!(lines, "    {at} {new}");
        return;
    }
    let gone = keys(old).into_iter();
    let gone = gone.filter(|key| !keys(new).contains(key));
    for key in keys(new).into_iter().chain(gone) {
        let (place, here) = (format!("{at}/{key}"), format!("/{key}"));
        match (old.pointer(&here), new.pointer(&here)) {
            (old, new) if old == new || NOISE.contains(&&*place) => {}
            (Some(old), Some(new)) => differences(&place, old, new, lines),
            (_, Some(new)) => drop(writeln!(lines, "    {place} {new}")),
            _ => drop(writeln!(lines, "    {place} is gone")),
        }
    }
}

/// What a step did to the documents.
fn shown(known: &Documents, now: &Documents, is_brief: bool) -> String {
    let mut lines = String::new();
    for (path, text) in known.iter().filter(|(path, _)| !now.contains_key(*path)) {
        let moved = now
            .iter()
            .find(|(new, other)| *other == text && !known.contains_key(*new));
        let _ = match moved.filter(|_| is_brief) {
            Some((new, _)) => writeln!(lines, "--- {path} is now {new}"),
            None => writeln!(lines, "--- {path} is gone"),
        };
    }
    for (path, text) in now
        .iter()
        .filter(|(path, text)| known.get(*path) != Some(*text))
    {
        let value = |text: &String| serde_json::from_str::<Value>(text).ok();
        match known.get(path).and_then(value).zip(value(text)) {
            Some((old, new)) if is_brief => {
                let mut places = String::new();
                differences("", &old, &new, &mut places);
                if old == new {
                    let _ = writeln!(lines, "--- {path} is laid out anew");
                } else if !places.is_empty() {
                    let _ = write!(lines, "--- {path}\n{places}");
                }
            }
            None if is_brief && path.starts_with(".claude/schemas") => {}
            None if is_brief && known.values().any(|old| old == text) => {
                if known
                    .iter()
                    .any(|(path, old)| old == text && now.contains_key(path))
                {
                    let _ = writeln!(lines, "--- {path} is a copy");
                }
            }
            None if is_brief => {
                let shown = value(text).map_or(text.clone(), |value| value.to_string());
                let _ = writeln!(lines, "--- {path}\n    {shown}");
            }
            _ => {
                if known.get(path).map(|old| whole(path, old)) != Some(whole(path, text)) {
                    let _ = write!(lines, "--- {path}\n{}", whole(path, text));
                }
            }
        }
    }
    lines
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.at("2026-03-24T12:00:00Z");
    sandbox
}

/// Plays the steps of a transcript, and returns the transcript that comes of it.
fn play(transcript: &str) -> Option<String> {
    let (mut sandbox, mut known) = (project(), Documents::new());
    let (mut played, mut is_brief) = (String::new(), false);
    for line in transcript.lines() {
        if line.starts_with("# ") {
            (sandbox, known, is_brief) = (project(), Documents::new(), true);
            sandbox.write(".gitignore", "/.claude/\n/memory/\n");
            let gap = if played.is_empty() { "" } else { "\n" };
            let _ = writeln!(played, "{gap}{line}");
        }
        let Some(line) = line.strip_prefix("$ ") else {
            continue;
        };
        let _ = writeln!(played, "$ {line}");
        let mut came = step(&sandbox, line)?;
        let now = documents(&sandbox);
        let silent = if is_brief {
            &BY_HAND[..]
        } else {
            &BY_HAND[..2]
        };
        if !silent.iter().any(|word| line.starts_with(word)) {
            came += &shown(&known, &now, is_brief);
        }
        known = now;
        let came = came.replace(&sandbox.root().display().to_string(), "/project");
        played.extend(came.lines().map(without_revision));
    }
    Some(played)
}

/// A line without a revision or a checkpoint's id, which depend on the place of the project.
fn without_revision(line: &str) -> String {
    let is_id = |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let places = ["  ", "checkpoint ", " began ("];
    let found = places.iter().find_map(|before| {
        let from = line.find(before)? + before.len();
        line.get(from..from + 8).filter(|word| is_id(word))
    });
    match found {
        Some(id) => line.replacen(id, "revision", 1) + "\n",
        None => format!("{line}\n"),
    }
}

/// Plays a transcript, and returns where it first comes out otherwise.
fn difference(path: &Path) -> Option<String> {
    let recorded = fs::read_to_string(path).expect("it can be read");
    let played = play(&recorded)?;
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(path, &played).expect("it can be written");
        return None;
    }
    let mut lines = recorded.lines().zip(played.lines());
    let first = lines.find(|(one, other)| one != other);
    (played != recorded).then(|| format!("{}: {first:?}", path.display()))
}

#[test]
fn each_transcript_is_as_recorded() {
    let mut files = files_below(&formats());
    files.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    assert!(files.len() >= 30, "they are not found");
    let files = Mutex::new(files);
    let next = || files.lock().expect("no thread failed").pop();
    let work = || std::iter::from_fn(next).filter_map(|file| difference(&file));
    let many = std::thread::available_parallelism().map_or(2, usize::from);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let threads = (0..many).map(|_| scope.spawn(|| work().collect::<Vec<_>>()));
        let threads: Vec<_> = threads.collect();
        let ended = threads.into_iter();
        ended
            .flat_map(|one| one.join().expect("it is played"))
            .collect()
    });
    assert!(
        failures.is_empty(),
        "UPDATE_SNAPSHOTS=1 shows the rest\n{}",
        failures.join("\n")
    );
}
