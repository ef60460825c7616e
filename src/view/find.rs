//! `find` as text and as JSON.

use serde_json::{Value, json};

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_bytes};
use crate::base::time::{local_minutes, rfc3339, utc_seconds};
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::find::find_path::{FindEvent, FindOutcome, FoundPath, PathChange};
use crate::ops::browse::find::find_text::{FindTextOutcome, TextMatch};
use crate::view::envelope::{envelope, hex, with_path};
use crate::view::format::{Paint, count, size};
use crate::view::place::placed;
use crate::view::words::Output;

/// Maximum number of lines shown of one file.
const LINES_SHOWN: usize = 10;
/// Minimum width of the event column.
const WORD_WIDTH: usize = 7;

/// Times are local at a terminal, else UTC.
pub fn paths(outcome: &FindOutcome, paint: Paint, for_a_person: bool) -> Output {
    let time = if for_a_person {
        local_minutes
    } else {
        utc_seconds
    };
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
        (_, None, true) => format!("in {last}"),
        (_, None, false) => format!("in {last}, not in the directory"),
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
    format!("and {} more beyond -n\n", count(number, one, many))
}

pub fn paths_json(outcome: &FindOutcome) -> String {
    let told = outcome.paths.iter().map(|found| {
        let object = json!({
            "last_in": named(&found.last_in),
            "deleted_by": found.deleted_by.as_ref().map(named),
            "in_directory": found.in_directory,
            "events": found.events.iter().map(event).collect::<Vec<_>>(),
        });
        with_path(object, &found.path)
    });
    let data = json!({
        "pattern": text(&outcome.pattern),
        "text": null,
        "paths": told.collect::<Vec<_>>(),
        "matches": [],
        "more": outcome.more,
    });
    envelope("find", 0, &data, &outcome.warnings)
}

pub fn matches_json(outcome: &FindTextOutcome) -> String {
    let data = json!({
        "pattern": outcome.pattern.as_deref().map(text),
        "text": text(&outcome.text),
        "paths": [],
        "matches": outcome.matches.iter().map(one_match).collect::<Vec<_>>(),
        "more": outcome.more,
    });
    envelope("find", 0, &data, &outcome.warnings)
}

fn named(checkpoint: &Checkpoint) -> Value {
    json!({"id": hex(checkpoint.id), "short": checkpoint.id.short(), "reason": checkpoint.record.reason})
}

fn event(event: &FindEvent) -> Value {
    let checkpoint = &event.checkpoint;
    json!({
        "change": event.change.into_str().replace(' ', "_"),
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "time": rfc3339(checkpoint.record.time_ms),
        "reason": checkpoint.record.reason,
        "kind": checkpoint.record.kind.into_str(),
        "size": event.size_bytes,
    })
}

fn one_match(found: &TextMatch) -> Value {
    let lines =
        found.found.lines.iter().map(
            |line| json!({"number": line.number, "text": text(&line.text), "cut": line.is_cut}),
        );
    let object = json!({
        "blob": hex(found.blob),
        "first_in": named(&found.first),
        "last_in": named(&found.last),
        "binary": found.found.is_binary,
        "lines": lines.collect::<Vec<_>>(),
        "more_lines": found.found.more,
    });
    with_path(object, &found.path)
}

/// Returns the text, escaped if not UTF-8.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| escape_bytes(bytes), str::to_owned)
}
