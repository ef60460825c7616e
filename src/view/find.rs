//! `find` as text and as JSON.

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_bytes};
use crate::base::time;
use crate::model::json::{ChangeJson, CheckpointRef, PathName};
use crate::model::state::rel_path::RelPath;
use crate::ops::browse::find::find_path::{FindEvent, FindOutcome, FoundPath, PathChange};
use crate::ops::browse::find::find_text::{FindTextOutcome, TextMatch};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{Paint, count, size};
use crate::view::place::placed;
use crate::view::words::Output;

/// Maximum number of lines shown of one file.
const LINES_SHOWN: usize = 10;
/// Minimum width of the event column.
const WORD_WIDTH: usize = 7;

/// Times are local at a terminal, else UTC.
pub fn paths(outcome: &FindOutcome, paint: Paint, for_a_person: bool) -> Output {
    let time = time::shown(for_a_person);
    let blocks: Vec<String> = outcome
        .paths
        .iter()
        .map(|found| block(found, paint, time))
        .collect();
    Output {
        result: blocks.join("\n"),
        talk: more(outcome.more, "path", "paths"),
    }
}

fn block(found: &FoundPath, paint: Paint, time: fn(i64) -> String) -> String {
    let last = found.last_in.id.short();
    let state = match (
        &found.not_captured_by,
        &found.deleted_by,
        found.in_directory,
    ) {
        (Some(by), _, true) => format!("last in {last}, not captured by {}", by.id.short()),
        (Some(by), _, false) => format!(
            "last in {last}, not captured by {}, not in the directory",
            by.id.short()
        ),
        (_, Some(by), false) => format!("last in {last}, deleted by {}", by.id.short()),
        (_, Some(by), true) => format!(
            "last in {last}, deleted by {}, in the directory again",
            by.id.short()
        ),
        (_, None, true) => format!("newest copy in {last}"),
        (_, None, false) => format!("newest copy in {last}, not in the directory"),
    };
    let mut text = format!("{}: {state}\n", paint.bold(&found.path.to_string()));
    let width = found
        .events
        .iter()
        .map(|event| event.change.into_str().len())
        .max()
        .unwrap_or_default()
        .max(WORD_WIDTH);
    for event in &found.events {
        text.push_str(&line(event, width, paint, time));
    }
    if !found.in_directory {
        let command = format!(
            "checkpoint restore {last} {}",
            shell_word(found.path.as_bytes())
        );
        text.push_str(&format!("  {}\n", placed(&command)));
    }
    text
}

fn line(event: &FindEvent, width: usize, paint: Paint, time: fn(i64) -> String) -> String {
    let word = format!("{:<width$}", event.change.into_str());
    let word = match event.change {
        PathChange::Added => paint.green(&word),
        PathChange::Deleted => paint.red(&word),
        PathChange::Changed | PathChange::Mode | PathChange::NotCaptured => paint.yellow(&word),
    };
    let checkpoint = &event.checkpoint;
    let bytes = event
        .size_bytes
        .map(|bytes| format!("  {}", size(bytes)))
        .unwrap_or_default();
    let safety = if checkpoint.is_safety() {
        " [safety]"
    } else {
        ""
    };
    let (time, reason) = (
        time(checkpoint.record.time_ms),
        escape(&checkpoint.record.reason),
    );
    format!(
        "  {}  {word}  {time}  {reason}{safety}{bytes}\n",
        checkpoint.id.short()
    )
}

pub fn matches(outcome: &FindTextOutcome, paint: Paint) -> Output {
    let blocks: Vec<String> = outcome
        .matches
        .iter()
        .map(|found| match_block(found, paint))
        .collect();
    Output {
        result: blocks.join("\n"),
        talk: more(outcome.more, "match", "matches"),
    }
}

fn match_block(found: &TextMatch, paint: Paint) -> String {
    let (first, last) = (found.first.id.short(), found.last.id.short());
    let span = if first == last {
        format!("in {last}")
    } else {
        format!("in {first}..{last}")
    };
    let reason = escape(&found.last.record.reason);
    let mut text = format!(
        "{}: {span} ({reason})\n",
        paint.bold(&found.path.to_string())
    );
    if found.found.is_binary {
        text.push_str("  a binary file\n");
        return text;
    }
    for line in found.found.lines.iter().take(LINES_SHOWN) {
        let cut = if line.is_cut { " …" } else { "" };
        text.push_str(&format!("  {}: {}{cut}\n", line.number, shown(&line.text)));
    }
    let rest = found.found.lines.len().saturating_sub(LINES_SHOWN) + found.found.more;
    if rest > 0 {
        text.push_str(&format!(
            "  … and {}\n",
            count(rest, "more line", "more lines")
        ));
    }
    text
}

/// Escapes a line of a file for a terminal, keeping tabs and backslashes.
fn shown(line: &[u8]) -> String {
    let pieces: Vec<String> = line
        .split(|byte| *byte == b'\t')
        .map(escape_bytes)
        .collect();
    pieces.join("\t").replace("\\\\", "\\")
}

fn more(number: usize, one: &str, many: &str) -> String {
    if number == 0 {
        return String::new();
    }
    format!(
        "and {} more; raise -n to see them\n",
        count(number, one, many)
    )
}

/// What `find` found: paths, or with `--text` matches.
#[derive(Serialize, JsonSchema)]
pub struct FindAnswer {
    pattern: Option<String>,
    text: Option<String>,
    paths: Vec<FoundPathJson>,
    matches: Vec<MatchJson>,
    /// Number of paths or matches beyond `-n`.
    more: usize,
}

/// A path with its history.
#[derive(Serialize, JsonSchema)]
struct FoundPathJson {
    #[serde(flatten)]
    path: PathName,
    last_in: CheckpointRef,
    /// The first checkpoint without it.
    deleted_by: Option<CheckpointRef>,
    /// Whether it is in the directory now.
    in_directory: bool,
    events: Vec<PathEvent>,
}

/// What a checkpoint recorded of a path.
#[derive(Serialize, JsonSchema)]
struct PathEvent {
    #[serde(flatten)]
    change: ChangeJson,
    checkpoint: CheckpointRef,
    /// Null if it was deleted.
    size_bytes: Option<u64>,
}

/// Content in which the text was found.
#[derive(Serialize, JsonSchema)]
struct MatchJson {
    #[serde(flatten)]
    path: PathName,
    blob_id: String,
    first_in: CheckpointRef,
    last_in: CheckpointRef,
    binary: bool,
    lines: Vec<LineJson>,
    /// Number of further lines that match.
    more_lines: usize,
}

/// A line that matches.
#[derive(Serialize, JsonSchema)]
struct LineJson {
    number: u64,
    text: String,
    /// Whether only its beginning is here.
    cut: bool,
}

pub fn paths_json(outcome: &FindOutcome) -> String {
    let found = outcome.paths.iter().map(|found| FoundPathJson {
        path: PathName::new(&found.path),
        last_in: CheckpointRef::new(&found.last_in),
        deleted_by: found.deleted_by.as_ref().map(CheckpointRef::new),
        in_directory: found.in_directory,
        events: found
            .events
            .iter()
            .map(|one| event(&found.path, one))
            .collect(),
    });
    let data = FindAnswer {
        pattern: Some(text(&outcome.pattern)),
        text: None,
        paths: found.collect(),
        matches: Vec::new(),
        more: outcome.more,
    };
    envelope("find", 0, &data, &outcome.warnings)
}

pub fn matches_json(outcome: &FindTextOutcome) -> String {
    let data = FindAnswer {
        pattern: outcome.pattern.as_deref().map(text),
        text: Some(text(&outcome.text)),
        paths: Vec::new(),
        matches: outcome.matches.iter().map(one_match).collect(),
        more: outcome.more,
    };
    envelope("find", 0, &data, &outcome.warnings)
}

fn event(path: &RelPath, event: &FindEvent) -> PathEvent {
    let change = match event.change {
        PathChange::NotCaptured => "not_captured",
        change => change.into_str(),
    };
    PathEvent {
        change: ChangeJson::new(path, change),
        checkpoint: CheckpointRef::new(&event.checkpoint),
        size_bytes: event.size_bytes,
    }
}

fn one_match(found: &TextMatch) -> MatchJson {
    let lines = found.found.lines.iter().map(|line| LineJson {
        number: line.number,
        text: text(&line.text),
        cut: line.is_cut,
    });
    MatchJson {
        path: PathName::new(&found.path),
        blob_id: found.blob.to_hex(),
        first_in: CheckpointRef::new(&found.first),
        last_in: CheckpointRef::new(&found.last),
        binary: found.found.is_binary,
        lines: lines.collect(),
        more_lines: found.found.more,
    }
}

/// Returns the text, escaped if not UTF-8.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| escape_bytes(bytes), str::to_owned)
}
