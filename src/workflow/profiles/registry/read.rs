//! Reads the document and reports all findings.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::workflow::profiles::reader::{DocumentReader, Fields};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::status::RunStatus;

/// Upper bound on the number of phases; a larger one is a mistake.
const MOST_PHASES: usize = 1_000;

pub struct RegistryDocument {
    pub id: String,
    pub kind: String,
    pub description: String,
    pub created_ms: i64,
    pub updated_ms: i64,
    pub status: String,
    pub word: Word,
    pub current: usize,
    pub total: usize,
    pub completed: BTreeSet<usize>,
    pub state: Map<String, Value>,
    pub last_error: Option<Value>,
}

/// Meaning of a status word of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Pending,
    InProgress,
    Interrupted,
    Ended(RunStatus),
}

impl Word {
    pub fn read(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "pending" | "created" | "not_started" | "initialized" => Self::Pending,
            "in_progress" | "running" | "active" | "started" | "awaiting_approval" => {
                Self::InProgress
            }
            "interrupted" | "paused" | "suspended" => Self::Interrupted,
            "complete" | "completed" | "done" | "success" => Self::Ended(RunStatus::Complete),
            "failed" | "error" => Self::Ended(RunStatus::Failed),
            "abandoned" | "cancelled" | "canceled" | "aborted" => Self::Ended(RunStatus::Abandoned),
            _ => return None,
        })
    }
}

/// # Errors
/// Every finding about the document.
pub fn document(value: &Value) -> Result<RegistryDocument, Vec<Finding>> {
    let mut reader = DocumentReader::default();
    let Some(fields) = reader.versioned(value) else {
        return reader.finish(None);
    };
    let read = fields_of(&mut reader, &fields);
    reader.finish(read)
}

fn fields_of(reader: &mut DocumentReader, fields: &Fields<'_>) -> Option<RegistryDocument> {
    let id = reader.name(fields, "checkpoint_id");
    let kind = reader.name(fields, "workflow_type");
    let description = reader.text(fields, "workflow_description");
    let (created_ms, updated_ms) = (
        reader.time(fields, "created_at"),
        reader.time(fields, "updated_at"),
    );
    let status = reader.text(fields, "status");
    let word = status.and_then(Word::read);
    if let (Some(status), None) = (status, word) {
        reader.note(
            "unknown_status",
            fields.place("status"),
            format!("'{status}' is not a status of a run"),
        );
    }
    let (current, total) = (
        reader.count(fields, "current_phase"),
        reader.count(fields, "total_phases"),
    );
    let completed = completed(reader, fields, total);
    check_range(reader, current, total);
    let state = reader.required(fields, "workflow_state");
    let state = state
        .and_then(|state| reader.object(state, "workflow_state"))
        .map(|state| state.map.clone());
    Some(RegistryDocument {
        id: id?.to_owned(),
        kind: kind?.to_owned(),
        description: description?.to_owned(),
        created_ms: created_ms?,
        updated_ms: updated_ms?,
        status: status?.to_owned(),
        word: word?,
        current: current?,
        total: total?,
        completed,
        state: state?,
        last_error: fields.get("last_error").cloned(),
    })
}

/// Checks the numbers of phases. The current one may be 0, where some programs begin.
fn check_range(reader: &mut DocumentReader, current: Option<usize>, total: Option<usize>) {
    let Some(total) = total else { return };
    if total > MOST_PHASES {
        reader.note(
            "out_of_range",
            "total_phases",
            format!("{total} is more than the {MOST_PHASES} phases of a run"),
        );
    }
    if let Some(current) = current.filter(|current| *current > total) {
        reader.note(
            "out_of_range",
            "current_phase",
            format!("{current} is beyond the {total} phases of the run"),
        );
    }
}

fn completed(
    reader: &mut DocumentReader,
    fields: &Fields<'_>,
    total: Option<usize>,
) -> BTreeSet<usize> {
    let mut completed = BTreeSet::new();
    for (place, value) in reader.list(fields, "completed_phases") {
        let Some(number) = reader.number(value, &place) else {
            continue;
        };
        if number == 0 || total.is_some_and(|total| number > total) {
            reader.note(
                "out_of_range",
                place,
                format!("{number} is none of the phases of the run"),
            );
        } else if !completed.insert(number) {
            reader.note(
                "duplicate_id",
                place,
                format!("the phase {number} is listed twice"),
            );
        }
    }
    completed
}
