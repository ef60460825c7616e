//! The three places for phases in the document, and which phase of a run stands in which.

use serde_json::Value;

use super::paths::FILE;
use crate::workflow::profiles::overlay::in_order_of;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

/// One of the three places for phases in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPlace {
    Completed,
    Current,
    Remaining,
}

impl ListPlace {
    /// Returns the status of a phase in this place. Programs move entries with their old status
    /// word, so the place wins over a word that does not fit; a current one with a note has begun.
    pub fn status(self, word: Option<&str>, is_noted: bool) -> PhaseStatus {
        let said = word.and_then(PhaseStatus::from_word);
        match (self, said) {
            (Self::Completed, Some(PhaseStatus::Skipped)) => PhaseStatus::Skipped,
            (Self::Completed, _) => PhaseStatus::Complete,
            (
                Self::Current,
                Some(status @ (PhaseStatus::Failed | PhaseStatus::AwaitingApproval)),
            ) => status,
            (Self::Current, Some(PhaseStatus::Pending)) if !is_noted => PhaseStatus::Pending,
            (Self::Current, _) => PhaseStatus::InProgress,
            (Self::Remaining, Some(status)) if status.is_under_way() => status,
            (Self::Remaining, _) => PhaseStatus::Pending,
        }
    }
}

pub struct PhaseListing<'w> {
    /// A skipped phase only if the document lists it, since that list never shrinks.
    pub completed: Vec<&'w Phase>,
    /// The phase under way, else one that could begin.
    pub current: Option<&'w Phase>,
    /// All other unsettled phases, including parallel ones under way, as the document has one place
    /// for those.
    pub remaining: Vec<&'w Phase>,
}

impl<'w> PhaseListing<'w> {
    pub fn of(workflow: &'w Workflow) -> Self {
        let base = workflow.documents.get(FILE);
        let completed = completed(workflow, base);
        let current = current(workflow, base, &completed);
        let is_left = |phase: &&Phase| {
            !phase.status.is_settled() && current.is_none_or(|current| current.id != phase.id)
        };
        let remaining = workflow.phases.iter().filter(is_left).collect();
        Self {
            completed,
            current,
            remaining,
        }
    }

    pub fn places(&self) -> impl Iterator<Item = (&'w Phase, ListPlace)> {
        let completed = self
            .completed
            .iter()
            .map(|phase| (*phase, ListPlace::Completed));
        let current = self
            .current
            .into_iter()
            .map(|phase| (phase, ListPlace::Current));
        completed.chain(current).chain(
            self.remaining
                .iter()
                .map(|phase| (*phase, ListPlace::Remaining)),
        )
    }
}

/// Append-only: phases listed in the document keep their order.
fn completed<'w>(workflow: &'w Workflow, base: Option<&Value>) -> Vec<&'w Phase> {
    let listed = completed_in(base);
    let mut done: Vec<&Phase> = workflow
        .phases
        .iter()
        .filter(|phase| phase.is_done_in(&listed))
        .collect();
    done.sort_by_key(|phase| phase.completed_ms);
    in_order_of(&mut done, &listed, |phase| &phase.id);
    done
}

fn completed_in(base: Option<&Value>) -> Vec<&str> {
    let entries = base.map(entries).unwrap_or_default();
    entries
        .into_iter()
        .filter(|(_, place, _)| *place == ListPlace::Completed)
        .map(|(id, ..)| id)
        .collect()
}

fn current<'w>(
    workflow: &'w Workflow,
    base: Option<&Value>,
    completed: &[&Phase],
) -> Option<&'w Phase> {
    let said = base.and_then(|base| base.get("current_phase"));
    let said_phase = said.and_then(id_of).and_then(|id| workflow.phase(id));
    if workflow.current().is_some() {
        return said_phase
            .filter(|phase| phase.status.is_under_way())
            .or_else(|| workflow.current());
    }
    let is_unmoved = completed_in(base).len() == completed.len();
    // The document says that nothing is under way, and nothing has changed since.
    if (is_unmoved && said.is_some_and(is_nothing)) || workflow.status == RunStatus::Complete {
        return None;
    }
    let can_begin = |phase: &&Phase| {
        !phase.status.is_settled() && (is_unmoved || workflow.unmet(phase).is_empty())
    };
    said_phase.filter(can_begin).or_else(|| workflow.next())
}

/// Returns the entries with their places; entries without an id are skipped.
pub fn entries(value: &Value) -> Vec<(&str, ListPlace, &Value)> {
    let list = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default()
    };
    let completed = list("completed_phases")
        .iter()
        .map(|entry| (ListPlace::Completed, entry));
    let current = value
        .get("current_phase")
        .into_iter()
        .map(|entry| (ListPlace::Current, entry));
    let remaining = list("remaining_phases")
        .iter()
        .map(|entry| (ListPlace::Remaining, entry));
    let of_id = |(place, entry)| Some((id_of(entry)?, place, entry));
    completed
        .chain(current)
        .chain(remaining)
        .filter_map(of_id)
        .collect()
}

fn id_of(entry: &Value) -> Option<&str> {
    entry
        .get("id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty())
}

/// Whether a value is `null` or an object of empty values.
pub fn is_nothing(value: &Value) -> bool {
    let says_nothing = |value: &Value| value.is_null() || value.as_str() == Some("");
    value.is_null()
        || value
            .as_object()
            .is_some_and(|map| map.values().all(says_nothing))
}
