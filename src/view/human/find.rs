//! The history of paths, and where a text is, for people.

use crate::base::shell_word::shell_word;
use crate::base::text::{escape, escape_bytes};
use crate::base::time::{local_minutes, utc_seconds};
use crate::ops::browse::find::find_path::{FindEvent, FindOutcome, FoundPath, PathChange};
use crate::ops::browse::find::find_text::{FindTextOutcome, TextMatch};
use crate::view::format::{Paint, count, size};
use crate::view::human::Output;
use crate::view::place::placed;

/// Lines of one file that are shown.
const LINES_SHOWN: usize = 10;
/// Columns for the word of an event, unless one is longer.
const WORD_WIDTH: usize = 7;

/// Times are local for a person at a terminal, UTC for whoever else reads.
pub fn paths(outcome: &FindOutcome, paint: Paint, for_a_person: bool) -> Output {
    let time = if for_a_person { local_minutes } else { utc_seconds };
    let blocks: Vec<String> = outcome.paths.iter().map(|found| block(found, paint, time)).collect();
    Output { result: blocks.join("\n"), talk: more(outcome.more, "path", "paths") }
}

fn block(found: &FoundPath, paint: Paint, time: fn(i64) -> String) -> String {
    let last = found.last_in.id.short();
    let state = match (&found.not_captured_by, &found.deleted_by, found.in_directory) {
        (Some(by), _, true) => format!("last in {last}, not captured by {}", by.id.short()),
        (Some(by), _, false) => format!("last in {last}, not captured by {}, not in the directory", by.id.short()),
        (_, Some(by), false) => format!("last in {last}, deleted by {}", by.id.short()),
        (_, Some(by), true) => format!("last in {last}, deleted by {}, in the directory again", by.id.short()),
        (_, None, true) => format!("in {last}"),
        (_, None, false) => format!("in {last}, not in the directory"),
    };
    let mut text = format!("{}: {state}\n", paint.bold(&found.path.to_string()));
    let width = found.events.iter().map(|event| event.change.word().len()).max().unwrap_or_default().max(WORD_WIDTH);
    for event in &found.events {
        text.push_str(&line(event, width, paint, time));
    }
    if !found.in_directory {
        let command = format!("checkpoint restore {last} {}", shell_word(found.path.as_bytes()));
        text.push_str(&format!("  {}\n", placed(&command)));
    }
    text
}

fn line(event: &FindEvent, width: usize, paint: Paint, time: fn(i64) -> String) -> String {
    let word = format!("{:<width$}", event.change.word());
    let word = match event.change {
        PathChange::Added => paint.green(&word),
        PathChange::Deleted => paint.red(&word),
        PathChange::Changed | PathChange::Mode | PathChange::NotCaptured => paint.yellow(&word),
    };
    let checkpoint = &event.checkpoint;
    let bytes = event.size_bytes.map(|bytes| format!("  {}", size(bytes))).unwrap_or_default();
    let safety = if checkpoint.is_safety() { " [safety]" } else { "" };
    let (time, reason) = (time(checkpoint.record.time_ms), escape(&checkpoint.record.reason));
    format!("  {}  {word}  {time}  {reason}{safety}{bytes}\n", checkpoint.id.short())
}

pub fn matches(outcome: &FindTextOutcome, paint: Paint) -> Output {
    let blocks: Vec<String> = outcome.matches.iter().map(|found| match_block(found, paint)).collect();
    Output { result: blocks.join("\n"), talk: more(outcome.more, "match", "matches") }
}

fn match_block(found: &TextMatch, paint: Paint) -> String {
    let (first, last) = (found.first.id.short(), found.last.id.short());
    let span = if first == last { format!("in {last}") } else { format!("in {first}..{last}") };
    let reason = escape(&found.last.record.reason);
    let mut text = format!("{}: {span} ({reason})\n", paint.bold(&found.path.to_string()));
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
        text.push_str(&format!("  … and {}\n", count(rest, "more line", "more lines")));
    }
    text
}

/// A line of a file: harmless to a terminal, and otherwise as it stands.
fn shown(line: &[u8]) -> String {
    let pieces: Vec<String> = line.split(|byte| *byte == b'\t').map(escape_bytes).collect();
    pieces.join("\t").replace("\\\\", "\\")
}

fn more(number: usize, one: &str, many: &str) -> String {
    if number == 0 {
        return String::new();
    }
    format!("and {} more beyond -n\n", count(number, one, many))
}
