//! Reads the phase file and reports all findings.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::workflow::plan::DOTAGENT;
use crate::workflow::profiles::reader::{DocumentReader, Fields};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::words::flaw::Flaw;

pub struct PhasesDocument {
    pub id: String,
    pub started_ms: i64,
    pub updated_ms: i64,
    pub current: String,
    pub status: PhaseState,
    pub completed: Vec<CompletedPhase>,
    /// `None` if the document has no approvals field.
    pub approved: Option<Vec<(String, i64)>>,
}

pub struct CompletedPhase {
    pub phase: String,
    pub at_ms: i64,
    pub output: Option<String>,
}

/// Status words of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum PhaseState {
    Pending,
    InProgress,
    Complete,
    Failed,
}

impl PhaseState {
    /// Reads a status word in any of its spellings.
    pub fn read(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "pending" | "not_started" | "todo" => Self::Pending,
            "in_progress" | "running" | "started" | "active" | "awaiting_approval" => {
                Self::InProgress
            }
            "complete" | "completed" | "done" => Self::Complete,
            "failed" | "error" => Self::Failed,
            _ => return None,
        })
    }
}

/// Returns a name in the spelling of the plan, ignoring case unless it matches exactly.
pub fn spelled<'n>(phases: &'n [Phase], name: &'n str) -> &'n str {
    if phases.iter().any(|phase| phase.id == name) {
        return name;
    }
    phases
        .iter()
        .find(|phase| phase.id.eq_ignore_ascii_case(name))
        .map_or(name, |phase| &phase.id)
}

impl PhasesDocument {
    #[must_use]
    pub fn spelled_as_in(mut self, phases: &[Phase]) -> Self {
        let completed = self.completed.iter_mut().map(|entry| &mut entry.phase);
        let approved = self.approved.iter_mut().flatten().map(|(phase, _)| phase);
        for name in completed.chain(approved).chain([&mut self.current]) {
            *name = spelled(phases, name).to_owned();
        }
        self
    }

    /// Returns every phase that the document names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let completed = self.completed.iter().map(|entry| entry.phase.as_str());
        let approved = self
            .approved
            .iter()
            .flatten()
            .map(|(phase, _)| phase.as_str());
        completed
            .chain(std::iter::once(self.current.as_str()))
            .chain(approved)
    }

    pub fn has_completed(&self, id: &str) -> bool {
        self.completed.iter().any(|entry| entry.phase == id)
    }
}

/// # Errors
/// Every finding about the document.
pub fn document(value: &Value) -> Result<PhasesDocument, Vec<Finding>> {
    let mut reader = DocumentReader::default();
    let Some(fields) = reader.document(value) else {
        return reader.finish(None);
    };
    let read = fields_of(&mut reader, &fields);
    reader.finish(read)
}

fn fields_of(reader: &mut DocumentReader, fields: &Fields<'_>) -> Option<PhasesDocument> {
    let id = reader.name(fields, "workflow_id");
    let (started_ms, updated_ms) = (
        reader.time(fields, "started_at"),
        reader.time(fields, "last_updated"),
    );
    let current = reader.name(fields, "current_phase");
    let word = reader.text(fields, "phase_status");
    let status = word.and_then(PhaseState::read);
    if let (Some(word), None) = (word, status) {
        reader.flaw(
            Flaw::UnknownStatus(word.to_owned()),
            fields.place("phase_status"),
        );
    }
    let completed = completed(reader, fields);
    let approved = approved(reader, fields);
    reader.flag_if(fields, "interruption_safe");
    Some(PhasesDocument {
        id: id?.to_owned(),
        started_ms: started_ms?,
        updated_ms: updated_ms?,
        current: current?.to_owned(),
        status: status?,
        completed,
        approved,
    })
}

fn completed(reader: &mut DocumentReader, fields: &Fields<'_>) -> Vec<CompletedPhase> {
    let mut seen = BTreeSet::new();
    let mut completed = Vec::new();
    for (place, value) in reader.list(fields, "completed_phases") {
        let Some(entry) = reader.object(value, &place) else {
            continue;
        };
        let (phase, at_ms) = (
            reader.name(&entry, "phase"),
            reader.time(&entry, "completed_at"),
        );
        let output = reader.text_if(&entry, "output").map(str::to_owned);
        let (Some(phase), Some(at_ms)) = (phase, at_ms) else {
            continue;
        };
        let known = DOTAGENT
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(phase));
        if !seen.insert(known.unwrap_or(phase)) {
            reader.note(
                "duplicate_id",
                entry.place("phase"),
                format!("the phase '{phase}' is listed twice"),
            );
        }
        completed.push(CompletedPhase {
            phase: phase.to_owned(),
            at_ms,
            output,
        });
    }
    completed
}

fn approved(reader: &mut DocumentReader, fields: &Fields<'_>) -> Option<Vec<(String, i64)>> {
    let mut approved = Vec::new();
    for (place, value) in reader.list_if(fields, "user_checkpoints")? {
        let Some(entry) = reader.object(value, &place) else {
            continue;
        };
        let (phase, approved_ms) = (
            reader.name(&entry, "phase"),
            reader.time(&entry, "approved_at"),
        );
        if let (Some(phase), Some(approved_ms)) = (phase, approved_ms) {
            approved.push((phase.to_owned(), approved_ms));
        }
    }
    Some(approved)
}
