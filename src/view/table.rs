//! The list of checkpoints as a table for a terminal.

use crate::base::text::escape;
use crate::base::time::{DAY_MS, age, local_minutes};
use crate::model::checkpoint::record::{Checkpoint, Verb};
use crate::model::checkpoint::terms::Expiry;
use crate::model::checkpoint::undo_stack::RestoreStory;
use crate::model::difference::ChangeCounts;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::list::ListOutcome;
use crate::ops::warning::warning_words::thousands;
use crate::view::columns::{cut, padded, width};
use crate::view::format::{Paint, count, size};

/// Where a table is shown.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub columns: usize,
    pub paint: Paint,
    pub now_ms: i64,
}

/// Marks the row that the directory was last set to, as git marks the current branch.
const MARK: &str = "*";
/// Maximum part of the screen for a source.
const SOURCE_PART: usize = 6;

/// Columns of a row, as they are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Id,
    Time,
    Age,
    Changes,
    Files,
    Size,
    Reason,
    Source,
    Note,
}

impl Column {
    const ALL: [Self; 9] = [
        Self::Id,
        Self::Time,
        Self::Age,
        Self::Changes,
        Self::Files,
        Self::Size,
        Self::Reason,
        Self::Source,
        Self::Note,
    ];
    /// Those that are left out on a narrow screen, each unless reasons still have this much room.
    const DISPENSABLE: [(Self, usize); 6] = [
        (Self::Size, 60),
        (Self::Files, 50),
        (Self::Source, 32),
        (Self::Age, 24),
        (Self::Changes, 20),
        (Self::Note, 8),
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Id => "ID",
            Self::Time => "TIME",
            Self::Age => "AGE",
            Self::Changes => "CHANGES",
            Self::Files => "FILES",
            Self::Size => "SIZE",
            Self::Reason => "REASON",
            Self::Source => "SOURCE",
            Self::Note => "NOTE",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Age | Self::Files | Self::Size)
    }
}

/// One checkpoint of the table.
struct Row {
    day: String,
    is_marked: bool,
    is_restore: bool,
    cells: [String; 9],
    /// End of the reason that is shown also where the reason is cut off.
    ending: &'static str,
}

impl Row {
    fn cell(&self, column: Column) -> &str {
        &self.cells[column as usize]
    }

    /// The cell in as many columns as there are for it.
    fn fitted(&self, column: Column, room: usize) -> String {
        let cell = self.cell(column);
        match (column, cell.strip_suffix(self.ending)) {
            (Column::Reason, Some(begin)) if width(cell) > room => {
                let begin = cut(begin, room.saturating_sub(width(self.ending)));
                cut(&format!("{begin}{}", self.ending), room)
            }
            _ => cut(cell, room),
        }
    }
}

/// Renders one line per checkpoint, below the day that it was made on, then the damaged ones. No
/// line is wider than the screen.
pub fn render(outcome: &ListOutcome, screen: Screen) -> String {
    let rows = rows(outcome, screen);
    let columns = fitting(&rows, screen.columns);
    let paint = screen.paint;
    let mut text = String::new();
    if !rows.is_empty() {
        let titles = columns
            .iter()
            .map(|(column, room)| padded(column.title(), *room, column.is_number()));
        text = painted_line("  ", titles, |line| paint.faint(line));
    }
    let mut day = "";
    for row in &rows {
        if row.day != day {
            day = &row.day;
            text.push_str(&format!("{}\n", paint.bold(day)));
        }
        let cells = columns.iter().map(|(column, room)| {
            let cell = row.fitted(*column, *room);
            let cell = padded(&cell, *room, column.is_number());
            match column {
                Column::Id if !row.is_restore => paint.yellow(&cell),
                _ => cell,
            }
        });
        let lead = if row.is_marked { MARK } else { " " };
        let line = painted_line(&format!("{lead} "), cells, |line| {
            if row.is_restore {
                paint.faint(line)
            } else {
                line.to_owned()
            }
        });
        text.push_str(&line);
    }
    for lost in &outcome.damaged {
        let shown = format!("  {}  damaged: {}", lost.id.short(), escape(&lost.why));
        text.push_str(&paint.red(&cut(&shown, screen.columns)));
        text.push('\n');
    }
    text
}

fn painted_line(
    lead: &str,
    cells: impl Iterator<Item = String>,
    paint: impl Fn(&str) -> String,
) -> String {
    let line = format!("{lead}{}", cells.collect::<Vec<_>>().join("  "));
    format!("{}\n", paint(line.trim_end()))
}

/// Says below the table what it leaves out, and where the directory stands unless at the newest.
pub fn footer(outcome: &ListOutcome, is_filtered: bool) -> String {
    let listed = &outcome.checkpoints;
    let safeties = listed.iter().filter(|c| c.is_safety()).count();
    let named = listed.len() - safeties;
    let checkpoints = |number: usize| {
        let word = if number == 1 {
            "checkpoint"
        } else {
            "checkpoints"
        };
        format!("{} {word}", thousands(number as u64))
    };
    let is_cut = named < outcome.total && !is_filtered;
    let mut text = if is_cut {
        format!(
            "{} of {}",
            thousands(named as u64),
            checkpoints(outcome.total)
        )
    } else {
        checkpoints(named)
    };
    if safeties > 0 {
        text.push_str(&format!(", {}", count(safeties, "restore", "restores")));
    }
    if outcome.hidden > 0 {
        let hidden = count(outcome.hidden, "restore", "restores");
        text.push_str(&format!("; {hidden}: 'checkpoint list --restores'"));
    }
    text.push('\n');
    if !is_cut && safeties + outcome.hidden == 0 {
        text.clear();
    }
    let marked = marked(outcome);
    if marked.is_some() && marked != listed.first().map(|c| c.id) {
        text.push_str("* you are here\n");
    } else if let (None, Some(position), false) = (marked, &outcome.position, is_filtered) {
        text.push_str(&format!("you are at {}", position.id.short()));
        text.push_str(if position.is_safety() {
            ", saved before a restore ('checkpoint list --restores')\n"
        } else {
            "\n"
        });
    }
    text
}

/// Says that nothing matches, and what would show more.
pub fn nothing(outcome: &ListOutcome) -> String {
    let all = thousands(outcome.total as u64);
    match (outcome.hidden, outcome.total) {
        (0, 0) => "no checkpoints yet: 'checkpoint create' makes one\n".to_owned(),
        (0, _) => format!("no checkpoint matches; 'checkpoint list' shows all {all}\n"),
        (hidden, _) => {
            let do_match = count(hidden, "restore does", "restores do");
            format!("no checkpoint matches; {do_match}: 'checkpoint list --restores'\n")
        }
    }
}

/// The listed checkpoint that the directory was last set to, or one asked for that holds the same.
fn marked(outcome: &ListOutcome) -> Option<ObjectId> {
    let position = outcome.position.as_ref()?;
    let listed = &outcome.checkpoints;
    let equal = listed
        .iter()
        .find(|c| c.is_whole() && c.holds_the_same(position));
    let found = listed.iter().find(|c| c.id == position.id);
    found
        .filter(|c| c.is_whole())
        .or(equal)
        .or(found)
        .map(|c| c.id)
}

fn rows(outcome: &ListOutcome, screen: Screen) -> Vec<Row> {
    let now_ms = screen.now_ms;
    let day_of = |time_ms: i64| {
        let shown = local_minutes(time_ms);
        shown.split(' ').next().unwrap_or_default().to_owned()
    };
    let (today, yesterday) = (day_of(now_ms), day_of(now_ms.saturating_sub(DAY_MS)));
    let marked = marked(outcome);
    let row = |(at, checkpoint): (usize, &Checkpoint)| {
        let record = &checkpoint.record;
        let story = outcome.restores.get(&checkpoint.id);
        let time = local_minutes(record.time_ms);
        let (day, clock) = time.split_once(' ').unwrap_or((&time, ""));
        let changes = outcome.changes.get(at).copied().flatten();
        let source = if checkpoint.is_safety() {
            ""
        } else {
            &*record.source
        };
        Row {
            day: match day {
                day if day == today => "Today".to_owned(),
                day if day == yesterday => "Yesterday".to_owned(),
                day => day.to_owned(),
            },
            is_marked: marked == Some(checkpoint.id),
            is_restore: checkpoint.is_safety(),
            ending: story.map_or("", |(story, _)| ending(story)),
            cells: [
                checkpoint.id.short(),
                clock.to_owned(),
                age(record.time_ms, now_ms),
                changes.map(change_words).unwrap_or_default(),
                thousands(record.files),
                size(record.content_bytes),
                story.map_or_else(
                    || escape(&record.reason),
                    |(story, reason)| story_words(story, reason.as_deref()),
                ),
                escape(source),
                notes(checkpoint, now_ms),
            ],
        }
    };
    outcome.checkpoints.iter().enumerate().map(row).collect()
}

/// Formats `+2 ~6 -2`.
pub fn change_words(counts: ChangeCounts) -> String {
    let ChangeCounts {
        added,
        changed,
        deleted,
    } = counts;
    format!("+{added} ~{changed} -{deleted}")
}

/// Formats `restored to f76ff8f6 (wave 1), undone`.
pub fn story_words(story: &RestoreStory, reason: Option<&str>) -> String {
    let (what, target) = story_parts(story, reason);
    let done = match story.verb {
        Verb::Restore => format!("restored {what}{target}"),
        verb => {
            let done = match verb {
                Verb::Undo => "undid",
                Verb::Redo => "redid",
                _ => "finished",
            };
            let of = if what.is_empty() { "" } else { "of " };
            format!("{done} the restore {of}{what}{target}")
        }
    };
    done + ending(story)
}

/// What became of a restore, undo or redo.
fn ending(story: &RestoreStory) -> &'static str {
    match (story.is_taken_back, story.verb) {
        (false, _) => "",
        (true, Verb::Undo) => ", redone",
        (true, _) => ", undone",
    }
}

/// Formats the state that the safety checkpoint holds: `the state before the restore to f76ff8f6
/// (wave 1)`.
pub fn state_words(story: &RestoreStory, reason: Option<&str>) -> String {
    let (what, target) = story_parts(story, reason);
    let verb = match story.verb {
        Verb::Undo => "undo of the ",
        Verb::Redo => "redo of the ",
        Verb::Restore | Verb::Resume => "",
    };
    let of = if what.is_empty() { "" } else { "of " };
    format!("the state before the {verb}restore {of}{what}{target}")
}

/// The paths of a restore, if it was limited to some, and what it went to.
fn story_parts(story: &RestoreStory, reason: Option<&str>) -> (String, String) {
    let reason = reason.map_or("since dropped".to_owned(), escape);
    let target = format!("{} ({reason})", story.target.short());
    match story.paths.as_slice() {
        [] => (String::new(), format!("to {target}")),
        [one] => (format!("{one} "), format!("from {target}")),
        [first, rest @ ..] => (
            format!("{first} and {} more ", rest.len()),
            format!("from {target}"),
        ),
    }
}

/// The columns that fit on the screen, with their widths.
fn fitting(rows: &[Row], screen: usize) -> Vec<(Column, usize)> {
    let widest = |column: Column| {
        let cells = rows.iter().map(|row| width(row.cell(column)));
        let widest = cells.max().unwrap_or_default();
        let widest = match column {
            Column::Source => widest.min((screen / SOURCE_PART).max(column.title().len())),
            _ => widest,
        };
        // A column without any content is not shown.
        if widest == 0 {
            0
        } else {
            widest.max(column.title().len())
        }
    };
    let mut columns: Vec<(Column, usize)> = Column::ALL
        .into_iter()
        .map(|column| (column, widest(column)))
        .filter(|(_, widest)| *widest > 0)
        .collect();
    let others = |columns: &[(Column, usize)]| -> usize {
        let reason = |column: Column| column == Column::Reason;
        columns
            .iter()
            .map(|(column, room)| 2 + if reason(*column) { 0 } else { *room })
            .sum()
    };
    let wanted = widest(Column::Reason);
    for (dispensable, room) in Column::DISPENSABLE {
        if others(&columns) + wanted.min(room) > screen {
            columns.retain(|(column, _)| *column != dispensable);
        }
    }
    let room = screen.saturating_sub(others(&columns)).min(wanted);
    for (_, width) in columns.iter_mut().filter(|(c, _)| *c == Column::Reason) {
        *width = room;
    }
    columns
}

fn notes(checkpoint: &Checkpoint, now_ms: i64) -> String {
    let expiry = match checkpoint.record.terms.expiry {
        Some(Expiry::At(end_ms)) if end_ms <= now_ms => "expired".to_owned(),
        Some(Expiry::At(end_ms)) => format!("expires in {}", age(now_ms, end_ms)),
        Some(Expiry::Never) => "never expires".to_owned(),
        None => String::new(),
    };
    let notes = [
        (checkpoint.is_partial(), "partial"),
        (checkpoint.is_scoped(), "scoped"),
        (checkpoint.pinned, "pinned"),
        (checkpoint.record.during_pending, "interrupted restore"),
        (!expiry.is_empty(), &*expiry),
    ];
    let notes = notes.into_iter().filter(|(is_so, _)| *is_so);
    notes.map(|(_, note)| note).collect::<Vec<_>>().join(", ")
}
