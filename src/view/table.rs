//! The list of checkpoints as a table for a terminal.

use crate::base::text::escape;
use crate::base::time::{age, local_minutes};
use crate::model::checkpoint::record::{Checkpoint, DamagedCheckpoint};
use crate::ops::warning_words::thousands;
use crate::view::format::Paint;

/// Maximum width of a reason, in characters.
const WIDEST_REASON: usize = 44;

/// Renders one line per checkpoint in the given order, then the damaged ones.
pub fn render(
    checkpoints: &[Checkpoint],
    damaged: &[DamagedCheckpoint],
    now_ms: i64,
    paint: Paint,
) -> String {
    let rows: Vec<[String; 6]> = checkpoints.iter().map(|c| row(c, now_ms)).collect();
    let titles = ["ID", "AGE", "TIME", "FILES", "REASON", "SOURCE"].map(str::to_owned);
    let width = |column: usize| {
        rows.iter()
            .chain([&titles])
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    if !rows.is_empty() {
        text = format!("{}\n", paint.faint(line(&titles, &widths).trim_end()));
    }
    for (row, checkpoint) in rows.iter().zip(checkpoints) {
        let notes = notes(checkpoint);
        let shown = format!("{} {notes}", line(row, &widths));
        let shown = shown.trim_end();
        let painted = if checkpoint.is_safety() {
            paint.faint(shown)
        } else {
            paint_id(shown, paint)
        };
        text.push_str(&painted);
        text.push('\n');
    }
    for lost in damaged {
        let shown = format!("{}  damaged: {}", lost.id.short(), escape(&lost.why));
        text.push_str(&paint.red(&shown));
        text.push('\n');
    }
    text
}

fn row(checkpoint: &Checkpoint, now_ms: i64) -> [String; 6] {
    let record = &checkpoint.record;
    [
        checkpoint.id.short(),
        age(record.time_ms, now_ms),
        local_minutes(record.time_ms),
        thousands(record.files),
        shortened(&escape(&record.reason)),
        shortened(&escape(&record.source)),
    ]
}

fn line(row: &[String; 6], widths: &[usize; 6]) -> String {
    let mut shown = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let blanks = " ".repeat(width - cell.chars().count());
        let to_the_right = matches!(column, 1 | 3);
        let (before, after) = if to_the_right {
            (blanks.as_str(), "")
        } else {
            ("", blanks.as_str())
        };
        shown.push_str(&format!("{before}{cell}{after}  "));
    }
    shown
}

fn paint_id(line: &str, paint: Paint) -> String {
    let (id, rest) = line.split_at_checked(8).unwrap_or((line, ""));
    format!("{}{rest}", paint.yellow(id))
}

fn notes(checkpoint: &Checkpoint) -> String {
    let mut notes = Vec::new();
    if checkpoint.is_safety() {
        notes.push("safety");
    }
    if checkpoint.is_partial() {
        notes.push("partial");
    }
    if checkpoint.is_scoped() {
        notes.push("scoped");
    }
    if checkpoint.pinned {
        notes.push("pinned");
    }
    if checkpoint.record.during_pending {
        notes.push("during an interrupted restore");
    }
    notes.join(", ")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDEST_REASON {
        return text.to_owned();
    }
    text.chars().take(WIDEST_REASON - 1).chain(['…']).collect()
}
