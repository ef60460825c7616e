//! Takes an edited phase file into a run, which may know more than the file.

use serde_json::Value;

use super::progress::PhasesProgress;
use super::read::{self, CompletedPhase, PhaseState, PhasesDocument};
use super::write::is_output_of;
use super::{execution, write};
use crate::model::run_id;
use crate::workflow::plan::{self, DOTAGENT};
use crate::workflow::profiles::document::project_of;
use crate::workflow::profiles::moving::{move_run_to, move_to, take_time, take_time_if};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::Workflow;

/// Makes a run, with the five phases if the document names one of them, else with none; [`take`]
/// does the rest.
pub fn begin(value: &Value, root: &str) -> Result<Workflow, Vec<Finding>> {
    let read = read::document(value)?;
    let project = project_of(root);
    let named = [read.id.clone(), run_id::word(&read.id)]
        .into_iter()
        .find(|id| run_id::is_legal(id) && !run_id::is_empty_word(id));
    let id = named.unwrap_or_else(|| run_id::make("develop", project, read.started_ms));
    let mut workflow = Workflow::new(
        id,
        "develop".to_owned(),
        project.to_owned(),
        read.started_ms,
    );
    let is_known = |name: &str| {
        DOTAGENT
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    if read.names().any(is_known) {
        workflow.phases = plan::preset("dotagent").unwrap_or_default();
    }
    Ok(workflow)
}

/// # Errors
/// Every finding about the document; the run must then be discarded.
pub fn take(workflow: &mut Workflow, path: &str, value: &Value) -> Result<(), Vec<Finding>> {
    if path == EXECUTION_FILE {
        execution::take(workflow, value)
    } else {
        take_phase_file(workflow, value)
    }
}

fn take_phase_file(workflow: &mut Workflow, value: &Value) -> Result<(), Vec<Finding>> {
    let read = read::document(value)?.spelled_as_in(&workflow.phases);
    let ours = write::value(workflow);
    if workflow.documents.contains_key(PHASE_FILE) && ours["workflow_id"] != read.id.as_str() {
        let what = format!(
            "it belongs to run '{}', not to {}",
            read.id, ours["workflow_id"]
        );
        return Err(vec![Finding::new("other_run", "workflow_id", what)]);
    }
    // Drop phases left by a misspelled name that was corrected.
    workflow.forget_unplanned(|id| read.names().any(|name| name == id));
    for name in read.names() {
        if workflow.phase(name).is_none() {
            workflow.phases.push(Phase {
                is_unplanned: true,
                ..Phase::new(name, name)
            });
        }
    }
    // A document that we would write ourselves changes nothing.
    let said_by_us = read::document(&ours)
        .ok()
        .map(|ours| ours.spelled_as_in(&workflow.phases));
    if said_by_us
        .as_ref()
        .is_none_or(|ours| has_moved(ours, &read))
    {
        take_progress(workflow, &read, said_by_us.as_ref());
    }
    for entry in &read.completed {
        take_completed(workflow, entry);
    }
    for phase in workflow
        .phases
        .iter_mut()
        .filter(|phase| phase.status.is_under_way())
    {
        phase.completed_ms = phase.completed_ms.filter(|_| read.has_completed(&phase.id));
    }
    take_approvals(workflow, &read, said_by_us.as_ref());
    take_time(&mut workflow.created_ms, read.started_ms);
    take_time(&mut workflow.updated_ms, read.updated_ms);
    Ok(())
}

fn has_moved(ours: &PhasesDocument, said: &PhasesDocument) -> bool {
    let is_listed = |one: &PhasesDocument, other: &PhasesDocument| {
        one.completed
            .iter()
            .all(|entry| other.has_completed(&entry.phase))
    };
    ours.current != said.current
        || ours.status != said.status
        || !is_listed(ours, said)
        || !is_listed(said, ours)
}

fn take_progress(workflow: &mut Workflow, read: &PhasesDocument, ours: Option<&PhasesDocument>) {
    let said = PhasesProgress::of_document(read, &workflow.phases);
    let was_current = ours.map(|ours| ours.current.as_str());
    // A change cannot precede the beginning of the run.
    let at_ms = read.updated_ms.max(read.started_ms);
    // The document can name either of two parallel phases; the other one goes on.
    let is_beside = |(id, _): &(String, PhaseState)| {
        workflow
            .phase(id)
            .is_some_and(|phase| phase.status.is_under_way())
    };
    let has_left =
        |id: &str| was_current == Some(id) && !said.under_way.as_ref().is_some_and(is_beside);
    let left: Vec<String> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.clone())
        .filter(|id| has_left(id))
        .collect();
    let was_listed = |id: &str| ours.is_some_and(|ours| ours.has_completed(id));
    for phase in &mut workflow.phases {
        let is_left_out = phase.status == PhaseStatus::Skipped && !was_listed(&phase.id);
        if said.done.contains(&phase.id) {
            if !phase.status.is_settled() || is_left_out {
                move_to(phase, PhaseStatus::Complete, at_ms);
            }
        } else if let Some((_, status)) = said.under_way.as_ref().filter(|(id, _)| *id == phase.id)
        {
            let is_so = phase.status.is_under_way()
                && (phase.status == PhaseStatus::Failed) == (*status == PhaseState::Failed);
            if !is_so {
                let status = if *status == PhaseState::Failed {
                    PhaseStatus::Failed
                } else {
                    PhaseStatus::InProgress
                };
                move_to(phase, status, at_ms);
            }
        } else if (phase.status.is_settled() && !is_left_out) || left.contains(&phase.id) {
            move_to(phase, PhaseStatus::Pending, at_ms);
        }
    }
    if said.is_complete {
        move_run_to(workflow, RunStatus::Complete, at_ms);
    } else if workflow.status == RunStatus::Complete {
        move_run_to(workflow, RunStatus::Open, at_ms);
    }
}

fn take_completed(workflow: &mut Workflow, entry: &CompletedPhase) {
    let Some(phase) = workflow.phase_mut(&entry.phase) else {
        return;
    };
    take_time_if(&mut phase.completed_ms, Some(entry.at_ms));
    let Some(path) = entry
        .output
        .as_deref()
        .filter(|path| !is_output_of(phase, path))
    else {
        return;
    };
    match phase.outputs.first_mut() {
        Some(first) => (first.path, first.sha256) = (path.to_owned(), None),
        None => phase.outputs.push(PhaseOutput {
            path: path.to_owned(),
            required: true,
            sha256: None,
        }),
    }
}

/// Takes over approvals: a missing one was withdrawn, and a new one ends the wait of a phase.
fn take_approvals(workflow: &mut Workflow, read: &PhasesDocument, ours: Option<&PhasesDocument>) {
    let Some(approved) = &read.approved else {
        return;
    };
    let was_known = |id: &str| {
        ours.and_then(|ours| ours.approved.as_ref())
            .is_some_and(|list| list.iter().any(|(known, _)| known == id))
    };
    for phase in &mut workflow.phases {
        match approved.iter().find(|(id, _)| *id == phase.id) {
            Some((_, approved_ms)) => {
                take_time_if(&mut phase.approved_ms, Some(*approved_ms));
                if phase.status == PhaseStatus::AwaitingApproval && !was_known(&phase.id) {
                    phase.status = PhaseStatus::InProgress;
                }
            }
            None => phase.approved_ms = None,
        }
    }
}
