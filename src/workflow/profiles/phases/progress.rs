//! The progress of a run as this format tells it: what is done, under way, or all complete.

use std::collections::BTreeSet;

use super::read::{self, PhaseState, PhasesDocument};
use crate::workflow::plan::DOTAGENT;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::PHASE_FILE;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

#[derive(Debug, PartialEq, Eq)]
pub struct PhasesProgress {
    pub done: BTreeSet<String>,
    /// `None` between two phases.
    pub under_way: Option<(String, PhaseState)>,
    pub is_complete: bool,
}

impl PhasesProgress {
    /// Reads the progress. `complete` describes the previous phase, while the current one is
    /// already the next and has not begun; without a next phase it describes the current one. A
    /// phase that is redone is in both places.
    pub fn of_document(read: &PhasesDocument, phases: &[Phase]) -> Self {
        let mut done: BTreeSet<String> = read
            .completed
            .iter()
            .map(|entry| entry.phase.clone())
            .collect();
        let mut under_way = None;
        let mut is_complete = false;
        match read.status {
            PhaseState::Pending => {}
            PhaseState::InProgress | PhaseState::Failed => {
                done.remove(&read.current);
                under_way = Some((read.current.clone(), read.status));
            }
            PhaseState::Complete => {
                is_complete = is_last(read, phases);
                if is_complete {
                    done.insert(read.current.clone());
                }
            }
        }
        Self {
            done,
            under_way,
            is_complete,
        }
    }

    /// Returns the progress of a run. Of several running phases, the one named by the document
    /// counts, else the first.
    pub fn of_run(workflow: &Workflow, named: Option<&str>, listed: &[&str]) -> Self {
        let done = workflow
            .phases
            .iter()
            .filter(|phase| phase.is_done_in(listed));
        let named = named
            .and_then(|id| workflow.phase(id))
            .filter(|phase| phase.status.is_under_way());
        Self {
            done: done.map(|phase| phase.id.clone()).collect(),
            under_way: named
                .or_else(|| workflow.current())
                .map(|phase| (phase.id.clone(), status_of(phase))),
            is_complete: workflow.status == RunStatus::Complete || workflow.is_all_settled(),
        }
    }
}

fn is_last(read: &PhasesDocument, phases: &[Phase]) -> bool {
    let is_end = phases.last().is_none_or(|last| last.id == read.current);
    let is_known_end = DOTAGENT.last().is_some_and(|last| *last == read.current);
    is_end && (is_known_end || read.has_completed(&read.current))
}

/// Maps a status; a phase that awaits approval is under way here.
fn status_of(phase: &Phase) -> PhaseState {
    match phase.status {
        PhaseStatus::Failed => PhaseState::Failed,
        PhaseStatus::Complete | PhaseStatus::Skipped => PhaseState::Complete,
        PhaseStatus::Pending => PhaseState::Pending,
        PhaseStatus::InProgress | PhaseStatus::AwaitingApproval => PhaseState::InProgress,
    }
}

/// Returns the current phase of the file if it has not begun, and the status in the file.
pub fn named_unbegun(workflow: &Workflow) -> Option<(&Phase, &'static str)> {
    let read = read::document(workflow.documents.get(PHASE_FILE)?)
        .ok()?
        .spelled_as_in(&workflow.phases);
    let phase = workflow
        .phase(&read.current)
        .filter(|phase| phase.status == PhaseStatus::Pending)?;
    Some((phase, read.status.into_str()))
}

/// Returns the phases that a file may name: the planned ones, else the five.
pub fn known_names(workflow: &Workflow) -> Vec<&str> {
    let planned: Vec<&str> = workflow
        .phases
        .iter()
        .filter(|phase| !phase.is_unplanned)
        .map(|phase| phase.id.as_str())
        .collect();
    if planned.is_empty() {
        DOTAGENT.to_vec()
    } else {
        planned
    }
}
