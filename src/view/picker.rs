//! The screen of the picker: checkpoints to choose from, and what a restore of one would change.

use crate::base::text::escape;
use crate::base::time::{age, local_minutes};
use crate::error::Error;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::list::ListOutcome;
use crate::ops::warning::warning_words::thousands;
use crate::view::columns::{cut, padded, width};
use crate::view::format::Paint;
use crate::view::plan::{self, Tense};
use crate::view::table::state_words;
use crate::view::words::count_files;

/// Screens as wide as this show the changes beside the list, others below it.
const SIDE_BY_SIDE_COLUMNS: usize = 100;
const KEYS: &str =
    "enter: restore   esc: leave   type: filter   up, down: move   tab: restores too";

/// A checkpoint to choose.
pub struct PickerChoice {
    pub id: ObjectId,
    pub is_restore: bool,
    is_marked: bool,
    age: String,
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
            let time = local_minutes(record.time_ms);
            let about = format!(
                "{time}, {}, {}",
                escape(&record.source),
                count_files(record.files)
            );
            let id = checkpoint.id;
            Self {
                id,
                is_restore: checkpoint.is_safety(),
                is_marked: position == Some(id),
                age: age(record.time_ms, now_ms),
                searched: format!("{} {words} {about}", id.to_hex()).to_lowercase(),
                words,
                about,
            }
        };
        outcome.checkpoints.iter().map(choice).collect()
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
    pub typed: &'p str,
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
    /// The lines of the screen from its top, none wider than it.
    pub fn lines(&self) -> Vec<String> {
        let head = format!("Restore which checkpoint? {}_", escape(self.typed));
        let mut lines = vec![self.paint.bold(&cut(&head, self.columns))];
        let room = self.rows.saturating_sub(3);
        if self.columns >= SIDE_BY_SIDE_COLUMNS {
            let left = self.columns / 2 - 2;
            let right = self.columns - left - 3;
            let list = self.list(left, room);
            let changes = self.changes(right, room);
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
            let changes = self.changes(self.columns, below);
            lines.extend(changes.into_iter().map(|(_, shown)| shown));
        }
        lines.resize(self.rows.saturating_sub(1), String::new());
        lines.push(self.paint.faint(&cut(KEYS, self.columns)));
        lines
    }

    /// The choices around the selected one: each line plain, and as it is shown.
    fn list(&self, columns: usize, room: usize) -> Vec<(String, String)> {
        if self.choices.is_empty() {
            let plain = cut("  nothing matches", columns);
            return vec![(plain.clone(), plain)];
        }
        let ages = self.choices.iter().map(|choice| width(&choice.age));
        let ages = ages.max().unwrap_or_default();
        let first = (self.at + 1).saturating_sub(room);
        let shown = self.choices.iter().enumerate().skip(first).take(room);
        let line = |(at, choice): (usize, &&PickerChoice)| {
            let lead = match (at == self.at, choice.is_marked) {
                (true, _) => ">",
                (false, true) => "*",
                (false, false) => " ",
            };
            let age = padded(&choice.age, ages, true);
            let line = format!("{lead} {}  {age}  {}", choice.id.short(), choice.words);
            let plain = cut(&line, columns);
            let painted = match (at == self.at, choice.is_restore) {
                (true, _) => self.paint.bold(&plain),
                (false, true) => self.paint.faint(&plain),
                (false, false) => plain.clone(),
            };
            (plain, painted)
        };
        shown.map(line).collect()
    }

    /// What restoring the selected one would change, as far as there is room.
    fn changes(&self, columns: usize, room: usize) -> Vec<(String, String)> {
        let Some(choice) = self.choices.get(self.at) else {
            return Vec::new();
        };
        let mut lines = vec![choice.words.clone(), choice.about.clone()];
        lines.extend(self.preview.lines(room));
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
        shown.take(room).collect()
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
