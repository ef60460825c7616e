//! The progress of a run in terms of this format: completed numbers, and the one under way.

use std::collections::BTreeSet;

use serde_json::Value;

use super::read::{RegistryDocument, Word};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

#[derive(Debug, PartialEq, Eq)]
pub struct RegistryProgress {
    pub completed: BTreeSet<usize>,
    /// `None` between two phases.
    pub under_way: Option<usize>,
}

impl RegistryProgress {
    /// Reads the progress; a current phase that is listed as completed is not under way.
    pub fn of_document(read: &RegistryDocument) -> Self {
        let is_begun = read.current > 0
            && read.word != Word::Pending
            && !read.completed.contains(&read.current);
        let is_over = matches!(read.word, Word::Ended(status) if status == RunStatus::Complete);
        Self {
            completed: read.completed.clone(),
            under_way: (is_begun && !is_over).then_some(read.current),
        }
    }

    /// Returns the progress of a run. Of several running phases, the one named by the document
    /// counts, else the first.
    pub fn of_run(workflow: &Workflow, base: Option<&Value>) -> Self {
        let completed = completed(workflow, base).map(|(_, number)| number);
        let running = |number: usize| {
            let phase = number.checked_sub(1).and_then(|at| workflow.phases.get(at));
            phase.is_some_and(|phase| phase.status.is_under_way())
        };
        let named = current_in_document(base).filter(|number| running(*number));
        let first = || {
            workflow
                .current()
                .and_then(|phase| workflow.number_of(&phase.id))
        };
        Self {
            completed: completed.collect(),
            under_way: named.or_else(first),
        }
    }
}

/// Returns completed phases with their numbers; skipped ones only if the document lists them.
pub fn completed<'w>(
    workflow: &'w Workflow,
    base: Option<&Value>,
) -> impl Iterator<Item = (&'w Phase, usize)> {
    let listed = base
        .and_then(|base| base.get("completed_phases"))
        .and_then(Value::as_array);
    let listed: Vec<Value> = listed.cloned().unwrap_or_default();
    let is_done = move |(phase, number): &(&Phase, usize)| match phase.status {
        PhaseStatus::Skipped => listed.contains(&Value::from(*number)),
        status => status == PhaseStatus::Complete,
    };
    workflow.phases.iter().zip(1..).filter(is_done)
}

/// Returns the current phase of a document.
fn current_in_document(base: Option<&Value>) -> Option<usize> {
    usize::try_from(base?.get("current_phase")?.as_u64()?).ok()
}
