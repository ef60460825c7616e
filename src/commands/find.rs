//! `find`: shows the history of paths, or searches for a text.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use crate::base::shell_word::shell_word;
use crate::base::text::escape_bytes;
use crate::base::time;
use crate::commands::args::PeriodArgs;
use crate::commands::prelude::*;
use crate::ops::browse::find::{FindEvent, FoundPath, PathChange, find, find_text};
use crate::ops::restore::restore_paths;
use crate::ops::{FindOutcome, TextMatch};

/// Maximum number of lines shown of one file.
const LINES_SHOWN: usize = 10;
/// Minimum width of the event column.
const WORD_WIDTH: usize = 7;

/// Find the checkpoints that hold or changed a path, or contain a text
///
/// PATTERN is a path, or a pattern with * ? [ as in a .gitignore: without a slash it is a name in
/// any directory, with one a path from the root, such as ./README.md.
#[derive(Clone, Debug, clap::Args)]
pub struct FindArgs {
    /// Path or pattern; with --text, only these files are searched
    #[arg(value_name = "PATTERN", required_unless_present = "text")]
    pub pattern: Option<OsString>,
    /// Text to search for in the files of all checkpoints
    #[arg(long, value_name = "STRING")]
    pub text: Option<OsString>,
    /// Maximum number of results [default: all, or 100 with --text]
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    #[command(flatten)]
    pub period: PeriodArgs,
}

impl Command for FindArgs {
    type Answer = FindOutcome;
    const TRAITS: Properties = Properties::USUAL;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<FindOutcome>> {
        let period = self.period.resolve(context.now_ms)?;
        let limit = self.limit.map(NonZeroUsize::get);
        let pattern = self.pattern.as_ref().map(|typed| typed.as_encoded_bytes());
        let found = match &self.text {
            Some(text) => find_text(context, text.as_encoded_bytes(), pattern, limit, period),
            None => find(context, pattern.unwrap_or_default(), limit, period),
        };
        found.map(Done::from)
    }
}

impl Text for FindOutcome {
    fn write(&self, out: &mut Out<'_>) {
        for (at, found) in self.paths.iter().enumerate() {
            out.result.push_str(if at > 0 { "\n" } else { "" });
            write_path(found, out);
        }
        for (at, found) in self.matches.iter().enumerate() {
            out.result.push_str(if at > 0 { "\n" } else { "" });
            write_match(found, out);
        }
        if self.more > 0 {
            let more = match self.text {
                None => count(self.more, "path", "paths"),
                Some(_) => count(self.more, "match", "matches"),
            };
            talkln!(out, "and {more} more; raise -n to see them");
        }
    }
}

fn write_path(found: &FoundPath, out: &mut Out<'_>) {
    let last = found.last_in.id.short();
    let ended = match (&found.not_captured_by, &found.deleted_by) {
        (Some(by), _) => format!("last in {last}, not captured by {}", by.id.short()),
        (_, Some(by)) => format!("last in {last}, deleted by {}", by.id.short()),
        _ => format!("newest copy in {last}"),
    };
    let now = match (&found.deleted_by, found.in_directory) {
        (Some(_), true) => ", in the directory again",
        (None, false) => ", not in the directory",
        _ => "",
    };
    let path = out.paint.bold(&out.context.shown(&found.path));
    outln!(out, "{path}: {ended}{now}");
    let events = found.events.iter();
    let widths = events.map(|event| event.change.into_str().len());
    let width = widths.max().unwrap_or_default().max(WORD_WIDTH);
    for event in &found.events {
        write_event(event, width, out);
    }
    if !found.in_directory {
        let path = shell_word(&restore_paths::as_typed(&out.context.root, &found.path));
        let command = format!("checkpoint restore {last} {path}");
        outln!(out, "  {}", out.place.advice(&command));
    }
}

fn write_event(event: &FindEvent, width: usize, out: &mut Out<'_>) {
    let word = event.change.into_str().replace('_', " ");
    let padded = format!("{word:<width$}");
    let word = match event.change {
        PathChange::Added => out.paint.green(&padded),
        PathChange::Deleted => out.paint.red(&padded),
        PathChange::Modified | PathChange::Mode | PathChange::NotCaptured => {
            out.paint.yellow(&padded)
        }
    };
    let checkpoint = &event.checkpoint;
    let id = checkpoint.id.short();
    let time = time::shown(out.is_for_a_person)(checkpoint.record.time_ms);
    let reason = escape(&checkpoint.record.reason);
    let is_safety = checkpoint.is_safety();
    let safety = if is_safety { " [safety]" } else { "" };
    let bytes = event.size_bytes.map(|bytes| format!("  {}", size(bytes)));
    let bytes = bytes.unwrap_or_default();
    outln!(out, "  {id}  {word}  {time}  {reason}{safety}{bytes}");
}

fn write_match(found: &TextMatch, out: &mut Out<'_>) {
    let path = out.paint.bold(&out.context.shown(&found.path));
    let (first, last) = (found.first_in.id.short(), found.last_in.id.short());
    let first = if first == last {
        String::new()
    } else {
        first + ".."
    };
    let reason = escape(&found.last_in.record.reason);
    outln!(out, "{path}: in {first}{last} ({reason})");
    if found.found.binary {
        outln!(out, "  a binary file");
        return;
    }
    let lines = &found.found.lines;
    for line in lines.iter().take(LINES_SHOWN) {
        let cut = if line.cut { " …" } else { "" };
        outln!(out, "  {}: {}{cut}", line.number, shown(&line.text));
    }
    let rest = lines.len().saturating_sub(LINES_SHOWN) + found.found.more_lines;
    if rest > 0 {
        outln!(out, "  … and {}", count(rest, "more line", "more lines"));
    }
}

/// Escapes a line of a file for a terminal, keeping tabs and backslashes.
fn shown(line: &[u8]) -> String {
    let pieces = line.split(|byte| *byte == b'\t').map(escape_bytes);
    let text = pieces.collect::<Vec<_>>().join("\t");
    text.replace("\\\\", "\\")
}
