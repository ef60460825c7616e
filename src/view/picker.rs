//! What the picker shows: checkpoints or prompts to choose from, and what going back to one would
//! change.

use crate::base::text::escape;
use crate::base::time::{age, local_minutes};
use crate::error::Error;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::restore_plan::RestorePlan;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::list::ListOutcome;
use crate::ops::browse::prompts::{ListedPrompt, PromptsOutcome};
use crate::view::columns::{aligned, cut};
use crate::view::format::Paint;
use crate::view::plan::{self, Tense};
use crate::view::rewind;
use crate::view::table::{change_words, state_words};
use crate::view::words::count_files;

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
    pub words: String,
    /// Further lines about it.
    pub about: String,
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
#[expect(
    clippy::large_enum_variant,
    reason = "one exists for each checkpoint that was looked at"
)]
pub enum Preview {
    /// Nothing is looked for.
    Unknown,
    Computing,
    Plan(RestorePlan),
    Failed(Error),
}

impl Preview {
    /// One change a line, and a summary before them.
    pub fn lines(&self, most: usize) -> Vec<String> {
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

/// One line for each, in aligned columns.
pub fn rows(choices: &[&PickerChoice]) -> Vec<String> {
    let cells = |choice: &&PickerChoice| {
        let mark = if choice.is_marked { "*" } else { " " };
        let id = format!("{mark} {}", choice.id.short());
        [
            id,
            choice.time.clone(),
            choice.source.clone(),
            choice.words.clone(),
        ]
        .to_vec()
    };
    let rows: Vec<Vec<String>> = choices.iter().map(cells).collect();
    aligned(&rows, &[]).lines().map(str::to_owned).collect()
}
