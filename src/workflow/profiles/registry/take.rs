//! Takes an edited document into a run, which may know more than the document.

use serde_json::Value;

use super::paths::{path, project};
use super::progress::{self, RegistryProgress};
use super::read::{self, RegistryDocument, Word};
use super::write::export;
use crate::model::run_id;
use crate::workflow::profiles::moving::{move_run_to, move_to, take_time};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::{PhaseStatus, RunStatus};
use crate::workflow::rules::workflow::{Interruption, Workflow};

/// Makes a run without phases, which [`take`] adds.
pub fn begin(value: &Value, root: &str) -> Result<Workflow, Vec<Finding>> {
    let read = read::document(value)?;
    let project = project(&read, root);
    let made = || run_id::make(&read.kind, &project, read.created_ms);
    let id = if run_id::is_legal(&read.id) {
        read.id.clone()
    } else {
        made()
    };
    Ok(Workflow::new(id, read.kind, project, read.created_ms))
}

/// # Errors
/// Every finding about the document; the run must then be discarded.
pub fn take(workflow: &mut Workflow, value: &Value) -> Result<(), Vec<Finding>> {
    let read = read::document(value)?;
    let ours = export(workflow).value;
    if workflow.documents.contains_key(&path(workflow)) && ours["checkpoint_id"] != read.id.as_str()
    {
        let what = format!(
            "it belongs to run '{}', not to {}",
            read.id, ours["checkpoint_id"]
        );
        return Err(vec![Finding::new("other_run", "checkpoint_id", what)]);
    }
    let is_moved = |key: &str| ours.get(key) != value.get(key);
    let was_ended = !workflow.status.is_open();
    take_total(workflow, &read)?;
    if is_moved("current_phase") || is_moved("completed_phases") || is_moved("status") {
        take_progress(
            workflow,
            &read,
            !is_moved("current_phase") && !is_moved("status"),
        );
    }
    if is_moved("status") {
        take_word(workflow, &read, was_ended);
    }
    workflow.kind.clone_from(&read.kind);
    workflow.description.clone_from(&read.description);
    workflow.state.clone_from(&read.state);
    workflow.last_error.clone_from(&read.last_error);
    take_time(&mut workflow.created_ms, read.created_ms);
    take_time(&mut workflow.updated_ms, read.updated_ms);
    Ok(())
}

/// Adjusts the number of phases to the document: adds new ones, and removes ones that never began.
fn take_total(workflow: &mut Workflow, read: &RegistryDocument) -> Result<(), Vec<Finding>> {
    let taken_away = workflow.phases.get(read.total..).unwrap_or_default();
    if let Some(begun) = taken_away
        .iter()
        .find(|phase| phase.status != PhaseStatus::Pending)
    {
        let what = format!(
            "'{}' was begun and is none of {} phases",
            begun.id, read.total
        );
        return Err(vec![Finding::new("phase_vanished", "total_phases", what)]);
    }
    workflow.phases.truncate(read.total);
    for number in workflow.phases.len() + 1..=read.total {
        // Ids of an imported run may be numbers, too.
        let free = (number..=number + workflow.phases.len()).map(|id| id.to_string());
        let id = free
            .into_iter()
            .find(|id| workflow.phase(id).is_none())
            .unwrap_or_default();
        let mut phase = Phase::new(&id, &format!("Phase {number}"));
        // Numbers are an order, unless the document itself has gone on out of it.
        let is_begun = read.completed.contains(&number) || read.current == number;
        let before = workflow.phases.last();
        let before = before.filter(|_| !is_begun || read.completed.contains(&(number - 1)));
        phase.dependencies = before.map(|before| before.id.clone()).into_iter().collect();
        workflow.phases.push(phase);
    }
    let left: Vec<String> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.clone())
        .collect();
    for phase in &mut workflow.phases {
        phase.dependencies.retain(|id| left.contains(id));
    }
    Ok(())
}

fn take_progress(workflow: &mut Workflow, read: &RegistryDocument, is_same: bool) {
    let base = workflow.documents.get(&path(workflow));
    let completed = progress::completed(workflow, base)
        .map(|(_, number)| number)
        .collect();
    let (said, known) = (
        RegistryProgress::of_document(read),
        RegistryProgress {
            completed,
            ..RegistryProgress::of_run(workflow, None)
        },
    );
    // The document can name either of two parallel phases; the other one goes on.
    let named = said
        .under_way
        .and_then(|number| workflow.phases.get(number - 1));
    let left = known
        .under_way
        .filter(|_| !named.is_some_and(|phase| phase.status.is_under_way()));
    // A change cannot precede the beginning of the run.
    let at_ms = read.updated_ms.max(read.created_ms);
    let failed = read.word == Word::Ended(RunStatus::Failed);
    for (phase, number) in workflow.phases.iter_mut().zip(1..) {
        let is_left_out =
            phase.status == PhaseStatus::Skipped && !known.completed.contains(&number);
        let is_settled = phase.status.is_settled() && !is_left_out;
        if said.completed.contains(&number) {
            if !is_settled {
                move_to(phase, PhaseStatus::Complete, at_ms);
            }
        } else if said.under_way == Some(number) {
            // Between two phases we write the next one as current ourselves, so it has not begun.
            let is_ours = is_same
                && phase.status == PhaseStatus::Pending
                && known.completed == said.completed;
            if failed {
                move_to(phase, PhaseStatus::Failed, at_ms);
            } else if !phase.status.is_under_way() && !is_ours {
                move_to(phase, PhaseStatus::InProgress, at_ms);
            }
        } else if is_settled || left == Some(number) {
            move_to(phase, PhaseStatus::Pending, at_ms);
        }
    }
}

fn take_word(workflow: &mut Workflow, read: &RegistryDocument, was_ended: bool) {
    match read.word {
        Word::Ended(status) => move_run_to(workflow, status, read.updated_ms),
        Word::Pending | Word::InProgress | Word::Interrupted if was_ended => {
            move_run_to(workflow, RunStatus::Open, read.updated_ms);
        }
        Word::Pending | Word::InProgress | Word::Interrupted => {}
    }
    if read.word == Word::Interrupted {
        let reason = read.status.clone();
        workflow.interrupted.get_or_insert(Interruption {
            reason,
            at_ms: read.updated_ms,
        });
    } else if read.word == Word::InProgress {
        workflow.interrupted = None;
    }
}
