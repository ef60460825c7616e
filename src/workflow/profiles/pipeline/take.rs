//! Takes an edited document into a run, which may know more than the document.

use serde_json::Value;

use super::listing::{ListPlace, PhaseListing, entries};
use super::paths;
use super::read::{self, ContextNotes, PhaseEntry, PipelineDocument};
use super::write::{export, is_same_commit};
use crate::model::run_id;
use crate::workflow::plan::{self, dependency_key};
use crate::workflow::profiles::document::project_of;
use crate::workflow::profiles::moving::{move_to, take_time, take_time_if};
use crate::workflow::profiles::overlay::is_same_time;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::flaw::Flaw;

/// Makes a run without phases, which [`take`] adds. The document has no id; the run gets a new one.
pub fn begin(value: &Value, root: &str) -> Result<Workflow, Vec<Finding>> {
    let read = read::document(value)?;
    let said = ["workflow_id", "checkpoint_id"]
        .iter()
        .find_map(|key| value.get(key).and_then(Value::as_str));
    let project = project_of(root);
    let made = || run_id::make("pipeline", project, read.created_ms);
    let id = said
        .filter(|said| run_id::is_legal(said))
        .map_or_else(made, str::to_owned);
    Ok(Workflow::new(
        id,
        "pipeline".to_owned(),
        project.to_owned(),
        read.created_ms,
    ))
}

/// # Errors
/// Every finding about the document; the run must then be discarded.
pub fn take(workflow: &mut Workflow, value: &Value, root: &str) -> Result<(), Vec<Finding>> {
    let read = read::document(value)?;
    let gone = vanished(workflow, &read)?;
    // Entries that we would write ourselves change nothing.
    let ours = export(workflow, root).value;
    let known = entries(&ours);
    workflow.phases.retain(|phase| !gone.contains(&phase.id));
    for phase in &mut workflow.phases {
        phase.dependencies.retain(|id| !gone.contains(id));
    }
    for entry in &read.entries {
        let was = known
            .iter()
            .find(|(id, ..)| *id == entry.id)
            .map(|(_, place, entry)| (*place, *entry));
        take_entry(workflow, entry, was, read.updated_ms.max(read.created_ms));
    }
    take_order(workflow, &read);
    take_context(workflow, &read.context, root);
    take_time(&mut workflow.created_ms, read.created_ms);
    take_time(&mut workflow.updated_ms, read.updated_ms);
    plan::cycle(&workflow.phases).map_or(Ok(()), |ids| {
        Err(vec![Flaw::Cycle(ids).at("remaining_phases")])
    })
}

/// Returns the phases missing in the document; a phase that has begun must not be missing.
fn vanished(workflow: &Workflow, read: &PipelineDocument) -> Result<Vec<String>, Vec<Finding>> {
    let (mut gone, mut findings) = (Vec::new(), Vec::new());
    for (phase, place) in PhaseListing::of(workflow).places() {
        let said = read.entries.iter().find(|entry| entry.id == phase.id);
        match (place, said.map(|entry| entry.place)) {
            (ListPlace::Completed, Some(ListPlace::Completed))
            | (ListPlace::Current | ListPlace::Remaining, Some(_)) => {}
            (ListPlace::Completed, _) => {
                let what = format!(
                    "'{}' is complete but no longer listed; this list only grows",
                    phase.id
                );
                findings.push(Finding::new("append_only", "completed_phases", what));
            }
            (_, None) if phase.status == PhaseStatus::Pending => gone.push(phase.id.clone()),
            (_, None) => {
                let what = format!("'{}' is in progress but no longer listed", phase.id);
                findings.push(Finding::new("phase_vanished", "current_phase", what));
            }
        }
    }
    // The format has no ids: a run is identified by its creation time.
    if !findings.is_empty() && !is_same_time(read.created_ms, workflow.created_ms) {
        let what =
            "it was begun at another time, and what was done is not in it: it is of another run";
        return Err(vec![Finding::new("other_run", "created_at", what)]);
    }
    if findings.is_empty() {
        Ok(gone)
    } else {
        Err(findings)
    }
}

fn take_entry(
    workflow: &mut Workflow,
    entry: &PhaseEntry,
    was: Option<(ListPlace, &Value)>,
    updated_ms: i64,
) {
    let at = workflow
        .phases
        .iter()
        .position(|phase| phase.id == entry.id)
        .unwrap_or_else(|| {
            workflow.phases.push(Phase::new(&entry.id, &entry.name));
            workflow.phases.len() - 1
        });
    let phase = &mut workflow.phases[at];
    phase.name.clone_from(&entry.name);
    if let Some(status) = status_in_document(entry, was) {
        move_to(phase, status, entry.timestamp_ms.unwrap_or(updated_ms));
    }
    take_time_if(
        &mut phase.completed_ms,
        entry
            .timestamp_ms
            .filter(|_| entry.place == ListPlace::Completed),
    );
    // Dependencies on skipped phases are omitted from the document, but stay in the run.
    let ours = was.and_then(|(_, was)| was.get(dependency_key(was.as_object())));
    let is_new =
        |said: &&Vec<String>| ours.is_none_or(|ours| *ours != Value::from(said.as_slice()));
    if let Some(dependencies) = entry.dependencies.as_ref().filter(is_new) {
        phase.dependencies.clone_from(dependencies);
    }
    let is_taken_away =
        |key: &str| was.is_some_and(|(place, was)| place == entry.place && was.get(key).is_some());
    match &entry.commit_sha {
        Some(sha)
            if phase
                .commit_sha
                .as_deref()
                .is_some_and(|known| is_same_commit(sha, known)) => {}
        None if !is_taken_away("commit_sha") => {}
        said => phase.commit_sha.clone_from(said),
    }
    if entry.progress.is_some() || is_taken_away("progress_description") {
        phase.progress = entry.progress.clone().filter(|note| !note.is_empty());
    }
}

/// Returns the status that the document gives, if it is new.
fn status_in_document(entry: &PhaseEntry, was: Option<(ListPlace, &Value)>) -> Option<PhaseStatus> {
    let has_note = entry
        .progress
        .as_deref()
        .is_some_and(|note| !note.is_empty());
    let said = entry.place.status(entry.status.as_deref(), has_note);
    let Some((place, was)) = was else {
        return Some(said);
    };
    let text = |key: &str| was.get(key).and_then(Value::as_str);
    let is_noted = entry.place == ListPlace::Current
        && entry.progress.as_deref() != text("progress_description");
    let is_new = place != entry.place
        || entry.status.as_deref() != text("status")
        || (is_noted && entry.progress.is_some());
    is_new.then_some(said)
}

/// Sorts the remaining phases as in the document; other phases keep their positions.
fn take_order(workflow: &mut Workflow, read: &PipelineDocument) {
    let rank = |id: &str| {
        let mut remaining = read
            .entries
            .iter()
            .filter(|entry| entry.place == ListPlace::Remaining);
        remaining.position(|entry| entry.id == id)
    };
    let slots: Vec<usize> = (0..workflow.phases.len())
        .filter(|at| rank(&workflow.phases[*at].id).is_some())
        .collect();
    let mut remaining: Vec<Phase> = slots
        .iter()
        .map(|at| workflow.phases[*at].clone())
        .collect();
    remaining.sort_by_key(|phase| rank(&phase.id));
    for (at, phase) in slots.into_iter().zip(remaining) {
        workflow.phases[at] = phase;
    }
}

fn take_context(workflow: &mut Workflow, said: &ContextNotes, root: &str) {
    let notes = &mut workflow.context;
    if let Some(branch) = &said.branch {
        notes.branch = Some(branch.clone()).filter(|branch| !branch.is_empty());
    }
    if let Some(decisions) = &said.key_decisions {
        notes.key_decisions.clone_from(decisions);
    }
    if let Some(files) = &said.file_paths {
        notes.file_paths = files
            .iter()
            .map(|path| paths::relative(path, root).into_owned())
            .collect();
    }
    if let Some(description) = &said.description {
        workflow.description.clone_from(description);
    }
}
