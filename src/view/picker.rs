//! The screen of the picker: checkpoints or prompts to choose from, and what going back to one would
//! change.

use crate::base::text::escape;
use crate::base::time::{age, local_minutes};
use crate::error::Error;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::list::ListOutcome;
use crate::ops::browse::prompts::{ListedPrompt, PromptsOutcome};
use crate::ops::warning::warning_words::thousands;
use crate::view::columns::{cut, padded, width};
use crate::view::format::Paint;
use crate::view::plan::{self, Tense};
use crate::view::rewind;
use crate::view::table::{change_words, state_words};
use crate::view::words::count_files;

/// Screens as wide as this show the changes beside the list, others below it.
const SIDE_BY_SIDE_COLUMNS: usize = 100;
/// Maximum width of a source in a row.
const SOURCE_COLUMNS: usize = 10;

/// A checkpoint to choose, or the one before a prompt.
pub struct PickerChoice {
    pub id: ObjectId,
    pub is_restore: bool,
    is_marked: bool,
    /// Day and time, without this year.
    time: String,
    source: String,
    words: String,
    /// Further lines about it.
    about: String,
    /// Text that the filter looks at, in lower case.
    searched: String,
}

impl PickerChoice {
    /// The choices of a list, in its order.
    pub fn all(outcome: &ListOutcome, now_ms: i64) -> Vec<Self> {
        let position = outcome.position.as_ref().map(|c| c.id);
        let choice = |checkpoint: &Checkpoint| {
            let record = &checkpoint.record;
            let story = outcome.restores.get(&checkpoint.id);
            let words = story.map_or_else(
                || escape(&record.reason),
                |(story, reason)| state_words(story, reason.as_deref()),
            );
            let about = format!("{}, {}", escape(&record.source), count_files(record.files));
            let choice = Self::new(checkpoint, record.time_ms, now_ms, words, &about);
            Self {
                is_marked: position == Some(checkpoint.id),
                ..choice
            }
        };
        outcome.checkpoints.iter().map(choice).collect()
    }

    /// The prompts of a session before which a state is kept, with their places, newest first.
    pub fn prompts(outcome: &PromptsOutcome, now_ms: i64) -> Vec<(u32, Self)> {
        let choice = |prompt: &ListedPrompt| {
            let (note, before) = (&prompt.note, prompt.before.as_ref()?);
            let words = format!("{}  {}", note.number, rewind::line_of(note));
            let also = outcome.also_before(note.number);
            let also: String = also.iter().map(|warning| format!("; {warning}")).collect();
            let changes = prompt.changes.map(change_words).unwrap_or_default();
            let choice = Self::new(before, note.time_ms, now_ms, words, &(changes + &also));
            let is_marked = outcome.position == Some(note.number);
            Some((
                note.number,
                Self {
                    is_marked,
                    ..choice
                },
            ))
        };
        outcome.prompts.iter().filter_map(choice).collect()
    }

    fn new(of: &Checkpoint, time_ms: i64, now_ms: i64, words: String, about: &str) -> Self {
        let (time, now) = (local_minutes(time_ms), local_minutes(now_ms));
        let this_year = now.get(..5).unwrap_or_default();
        let about = format!("{time}, {} ago, {about}", age(time_ms, now_ms));
        let source = if of.is_safety() {
            ""
        } else {
            &*of.record.source
        };
        Self {
            id: of.id,
            is_restore: of.is_safety(),
            is_marked: false,
            time: time.strip_prefix(this_year).unwrap_or(&time).to_owned(),
            source: cut(&escape(source), SOURCE_COLUMNS),
            searched: format!("{} {words} {about}", of.id.to_hex()).to_lowercase(),
            words,
            about,
        }
    }

    /// Whether each word that was typed occurs in it.
    pub fn matches(&self, typed: &str) -> bool {
        let typed = typed.to_lowercase();
        typed
            .split_whitespace()
            .all(|word| self.searched.contains(word))
    }
}

/// What is known of the changes that a restore would make.
pub enum Preview {
    /// Nothing is looked for.
    Unknown,
    Computing,
    Plan(RestorePlan),
    Failed(Error),
}

impl Preview {
    /// One change a line, and a summary before them.
    fn lines(&self, most: usize) -> Vec<String> {
        let text = match self {
            Self::Unknown => String::new(),
            Self::Computing => "looking for changes …".to_owned(),
            Self::Failed(error) => escape(&error.to_string()),
            Self::Plan(found) => {
                let blocked = found.conflicts.iter();
                let blocked: String = blocked
                    .map(|(path, _)| format!("  blocked {path}\n"))
                    .collect();
                let counts = plan::counts(found, Tense::Planned);
                let listed = plan::listing(found, most, Paint { enabled: false });
                format!("would {counts}\n{blocked}{listed}")
            }
        };
        text.lines().map(str::to_owned).collect()
    }
}

/// One state of the picker.
pub struct PickerFrame<'p> {
    pub question: &'p str,
    pub typed: &'p str,
    /// Whether the lines of the changes can be shown.
    pub has_lines: bool,
    /// Whether some of all choices are states saved before restores.
    pub has_restores: bool,
    /// Those that match what was typed.
    pub choices: &'p [&'p PickerChoice],
    /// Index of the selected one.
    pub at: usize,
    pub preview: &'p Preview,
    pub columns: usize,
    pub rows: usize,
    pub paint: Paint,
}

impl PickerFrame<'_> {
    /// The lines of the screen from its top, none wider than it; and whether they show the whole plan
    /// of the selected one.
    pub fn lines(&self) -> (Vec<String>, bool) {
        let head = format!("{} {}_", self.question, escape(self.typed));
        let mut lines = vec![self.paint.bold(&cut(&head, self.columns))];
        let room = self.rows.saturating_sub(3);
        let is_whole;
        if self.columns >= SIDE_BY_SIDE_COLUMNS {
            let left = self.columns * 3 / 5 - 2;
            let right = self.columns - left - 3;
            let list = self.list(left, room);
            let changes;
            (changes, is_whole) = self.changes(right, room);
            let blank =
                |lines: &[(String, String)], at: usize| lines.get(at).cloned().unwrap_or_default();
            for at in 0..room.min(list.len().max(changes.len())) {
                let ((plain, shown), (_, change)) = (blank(&list, at), blank(&changes, at));
                let gap = " ".repeat(left.saturating_sub(width(&plain)));
                lines.push(format!("{shown}{gap} | {change}"));
            }
        } else {
            let above = (room / 2).min(self.choices.len().max(1));
            let list = self.list(self.columns, above);
            let below = room.saturating_sub(list.len() + 1);
            lines.extend(list.into_iter().map(|(_, shown)| shown));
            lines.push(self.paint.faint(&"-".repeat(self.columns)));
            let changes;
            (changes, is_whole) = self.changes(self.columns, below);
            lines.extend(changes.into_iter().map(|(_, shown)| shown));
        }
        lines.resize(self.rows.saturating_sub(1), String::new());
        let enter = if is_whole { "restore" } else { "choose" };
        let tab = "   tab: show states saved before restores";
        let tab = if self.has_restores { tab } else { "" };
        let right = if self.has_lines {
            "   right: lines"
        } else {
            ""
        };
        let keys =
            format!("enter: {enter}{right}   esc: cancel   type: filter   up, down: move{tab}");
        lines.push(self.paint.faint(&cut(&keys, self.columns)));
        (lines, is_whole)
    }

    /// The choices around the selected one: each line plain, and as it is shown.
    fn list(&self, columns: usize, room: usize) -> Vec<(String, String)> {
        if self.choices.is_empty() {
            let plain = cut("  nothing matches", columns);
            return vec![(plain.clone(), plain)];
        }
        let widest = |of: fn(&PickerChoice) -> &String| {
            let widths = self.choices.iter().map(|choice| width(of(choice)));
            widths.max().unwrap_or_default()
        };
        let (times, sources) = (widest(|c| &c.time), widest(|c| &c.source));
        let all = self.choices.len();
        let is_cut = all > room && room > 2;
        let room = room - usize::from(is_cut);
        let first = (self.at + 1).saturating_sub(room);
        let shown = self.choices.iter().enumerate().skip(first).take(room);
        let line = |(at, choice): (usize, &&PickerChoice)| {
            let lead = match (at == self.at, choice.is_marked) {
                (true, _) => ">",
                (false, true) => "*",
                (false, false) => " ",
            };
            let time = padded(&choice.time, times, false);
            let source = padded(&choice.source, sources, false);
            let (id, words) = (choice.id.short(), &choice.words);
            let line = format!("{lead} {id}  {time}  {source}  {words}");
            let plain = cut(&line, columns);
            let painted = match (at == self.at, choice.is_restore) {
                (true, _) => self.paint.bold(&plain),
                (false, true) => self.paint.faint(&plain),
                (false, false) => plain.clone(),
            };
            (plain, painted)
        };
        let mut lines: Vec<_> = shown.map(line).collect();
        if is_cut {
            let below = all.saturating_sub(first + room);
            let more = cut(&format!("  … {first} above, {below} below"), columns);
            lines.push((more.clone(), self.paint.faint(&more)));
        }
        lines
    }

    /// What restoring the selected one would change, as far as there is room; and whether that is all.
    fn changes(&self, columns: usize, room: usize) -> (Vec<(String, String)>, bool) {
        let Some(choice) = self.choices.get(self.at) else {
            return (Vec::new(), false);
        };
        let mut lines = vec![choice.words.clone(), choice.about.clone()];
        let planned = self.preview.lines(room);
        let is_wide = planned.iter().any(|line| width(line) > columns);
        lines.extend(planned);
        let fits = lines.len() <= room && !is_wide;
        if lines.len() > room {
            let more = lines.len() - room.saturating_sub(1);
            lines.truncate(room.saturating_sub(1));
            lines.push(format!("  … and {} more lines", thousands(more as u64)));
        }
        let shown = lines.into_iter().map(|line| {
            let plain = cut(&line, columns);
            let painted = self.painted(&plain);
            (plain, painted)
        });
        let is_whole = fits && matches!(self.preview, Preview::Plan(_));
        (shown.take(room).collect(), is_whole)
    }

    fn painted(&self, line: &str) -> String {
        let word = line
            .strip_prefix("  ")
            .and_then(|rest| rest.split(' ').next());
        match word {
            Some("write" | "mode") => self.paint.yellow(line),
            Some("add" | "mkdir") => self.paint.green(line),
            Some("delete" | "rmdir" | "blocked") => self.paint.red(line),
            Some("keep") => self.paint.faint(line),
            _ => line.to_owned(),
        }
    }
}
