//! The pipeline profile: one file with completed, current and remaining phases.

use serde_json::Value;

use crate::model::run_id;
use crate::workflow::profiles::document::{Document, Reading};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

mod listing;
mod paths;
mod read;
mod take;
mod write;

pub use take::take;

pub const FILE: &str = ".claude/pipeline-state.json";

/// Archive folder for the files of runs.
pub const ARCHIVE: &str = ".claude/.archive";

/// One of the three places for phases in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListPlace {
    Completed,
    Current,
    Remaining,
}

impl ListPlace {
    /// Returns the status of a phase in this place. Programs move entries with their old status word, so the place wins
    /// over a word that does not fit; a current phase with a note has begun.
    fn status(self, word: Option<&str>, is_noted: bool) -> PhaseStatus {
        let said = word.and_then(PhaseStatus::from_word);
        match (self, said) {
            (Self::Completed, Some(PhaseStatus::Skipped)) => PhaseStatus::Skipped,
            (Self::Completed, _) => PhaseStatus::Complete,
            (Self::Current, Some(status @ (PhaseStatus::Failed | PhaseStatus::AwaitingApproval))) => status,
            (Self::Current, Some(PhaseStatus::Pending)) if !is_noted => PhaseStatus::Pending,
            (Self::Current, _) => PhaseStatus::InProgress,
            (Self::Remaining, Some(status)) if status.is_under_way() => status,
            (Self::Remaining, _) => PhaseStatus::Pending,
        }
    }
}

/// Returns the file to write.
pub fn export(workflow: &Workflow, root: &str) -> Document {
    Document { path: FILE.to_owned(), value: write::value(workflow, root) }
}

/// Makes a run without phases, which [`take`] adds. The document has no id, so the run gets a new one.
pub fn begin(value: &Value, reading: Reading<'_>) -> Result<Workflow, Vec<Finding>> {
    let read = read::document(value)?;
    let said = ["workflow_id", "checkpoint_id"].iter().find_map(|key| value.get(key).and_then(Value::as_str));
    let project = super::document::project_of(reading.root);
    let made = || run_id::make("pipeline", project, read.created_ms);
    let id = said.filter(|said| run_id::is_legal(said)).map_or_else(made, str::to_owned);
    Ok(Workflow::new(id, "pipeline".to_owned(), project.to_owned(), read.created_ms))
}

/// Returns the entries with their places; entries without an id are skipped.
fn entries(value: &Value) -> Vec<(&str, ListPlace, &Value)> {
    let list = |key: &str| value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let completed = list("completed_phases").iter().map(|entry| (ListPlace::Completed, entry));
    let current = value.get("current_phase").into_iter().map(|entry| (ListPlace::Current, entry));
    let remaining = list("remaining_phases").iter().map(|entry| (ListPlace::Remaining, entry));
    let of_id = |(place, entry)| Some((id_of(entry)?, place, entry));
    completed.chain(current).chain(remaining).filter_map(of_id).collect()
}

fn id_of(entry: &Value) -> Option<&str> {
    entry.get("id").and_then(Value::as_str).filter(|id| !id.is_empty())
}

/// Whether a value is `null` or an object of empty values.
fn is_nothing(value: &Value) -> bool {
    let says_nothing = |value: &Value| value.is_null() || value.as_str() == Some("");
    value.is_null() || value.as_object().is_some_and(|map| map.values().all(says_nothing))
}

/// Whether one commit id abbreviates the other.
fn is_same_commit(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 4;
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    one == other || (one.len().min(other.len()) >= SHORTEST && (one.starts_with(&other) || other.starts_with(&one)))
}

/// Returns the note of a phase, unless empty.
fn note_of(phase: &Phase) -> Option<&str> {
    phase.progress.as_deref().filter(|note| !note.is_empty())
}
