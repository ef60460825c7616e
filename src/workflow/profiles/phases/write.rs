//! Writes the phase file over the existing one.

use serde_json::Value;

use super::execution;
use super::progress::PhasesProgress;
use super::read::{self, PhaseState, PhasesDocument};
use crate::base::wildmatch::Glob;
use crate::model::path_pattern::has_marks;
use crate::workflow::profiles::document::Document;
use crate::workflow::profiles::overlay::{Overlay, in_order_of};
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;

/// Archive folder for the files of runs.
pub const ARCHIVE: &str = "memory/state/.archive";
const ORDER: &[&str] = &[
    "workflow_id",
    "started_at",
    "last_updated",
    "current_phase",
    "phase_status",
    "completed_phases",
    "user_checkpoints",
    "interruption_safe",
];
const COMPLETED_ORDER: &[&str] = &["phase", "completed_at", "output"];
const APPROVED_ORDER: &[&str] = &["phase", "approved_at"];

/// Returns the files to write; the task file only if there are tasks, or if it existed before.
pub fn export(workflow: &Workflow) -> Vec<Document> {
    let mut documents = vec![Document {
        path: PHASE_FILE.to_owned(),
        value: value(workflow),
    }];
    if !workflow.tasks.is_empty() || workflow.documents.contains_key(EXECUTION_FILE) {
        documents.push(Document {
            path: EXECUTION_FILE.to_owned(),
            value: execution::value(workflow),
        });
    }
    documents
}

pub fn value(workflow: &Workflow) -> Value {
    let base = workflow.documents.get(PHASE_FILE);
    let said = base
        .and_then(|base| read::document(base).ok())
        .map(|said| said.spelled_as_in(&workflow.phases));
    let (current, status) = current(workflow, said.as_ref());
    let mut document = Overlay::on(base, ORDER);
    // Keep an id in the document that is not valid for a run.
    document.put("workflow_id", workflow.id.as_str().into(), |_| true);
    document.set_time("started_at", workflow.created_ms);
    document.set_time("last_updated", workflow.updated_ms);
    document.put("current_phase", current.as_str().into(), |stands| {
        names(workflow, stands) == Some(&current)
    });
    let is_same = |stands: &Value| stands.as_str().and_then(PhaseState::read) == Some(status);
    document.put("phase_status", status.into_str().into(), is_same);
    // The last phase may be complete without being in the list.
    let is_said = |phase: &Phase| {
        status == PhaseState::Complete
            && phase.id == current
            && said.as_ref().is_some_and(|said| {
                said.current == current && said.status == status && !said.has_completed(&phase.id)
            })
    };
    let completed = completed(workflow, base, is_said);
    document.set("completed_phases", completed);
    let approved = approved(workflow, base);
    document.put_or_leave(
        "user_checkpoints",
        approved.clone().into(),
        approved.is_empty(),
        |stands| {
            stands
                .as_array()
                .map_or(stands.is_null() && approved.is_empty(), |stands| {
                    *stands == approved
                })
        },
    );
    // A flag cleared by another writer stays so until our next transition: see `end_foreign_write`.
    document.put_or_leave("interruption_safe", true.into(), true, |stands| {
        stands.is_boolean() || stands.is_null()
    });
    document.finish()
}

/// Returns the running phase, or between two phases the next one as `in_progress`: readers resume a
/// run only with that word. The document's values are kept while they mean the same.
fn current(workflow: &Workflow, said: Option<&PhasesDocument>) -> (String, PhaseState) {
    let listed: Vec<&str> = said
        .into_iter()
        .flat_map(|said| &said.completed)
        .map(|entry| &*entry.phase)
        .collect();
    let progress =
        PhasesProgress::of_run(workflow, said.map(|said| said.current.as_str()), &listed);
    if let Some(said) =
        said.filter(|said| PhasesProgress::of_document(said, &workflow.phases) == progress)
    {
        return (said.current.clone(), said.status);
    }
    let last = || {
        workflow
            .phases
            .last()
            .map(|phase| phase.id.clone())
            .unwrap_or_default()
    };
    let next = || workflow.next().map_or_else(last, |phase| phase.id.clone());
    let between = if progress.done.is_empty() {
        PhaseState::Pending
    } else {
        PhaseState::InProgress
    };
    match (workflow.status, progress.under_way) {
        _ if progress.is_complete => (last(), PhaseState::Complete),
        (RunStatus::Failed, under_way) => (
            under_way.map_or_else(next, |(id, _)| id),
            PhaseState::Failed,
        ),
        (_, Some(under_way)) => under_way,
        (_, None) => (next(), between),
    }
}

/// Returns the completed phases in the order of the document, then by completion; a redone phase is
/// among them.
fn completed(
    workflow: &Workflow,
    base: Option<&Value>,
    is_said: impl Fn(&Phase) -> bool,
) -> Vec<Value> {
    let known = entries(base, "completed_phases");
    let listed = ids(workflow, &known);
    let is_listed = |phase: &&Phase| {
        let is_again = phase.status.is_under_way() && phase.completed_ms.is_some();
        (phase.is_done_in(&listed) || is_again) && !is_said(phase)
    };
    let mut phases: Vec<&Phase> = workflow.phases.iter().filter(is_listed).collect();
    phases.sort_by_key(|phase| phase.completed_ms);
    in_order_of(&mut phases, &listed, |phase| &phase.id);
    let written = |phase: &&Phase| {
        let mut entry = Overlay::on(entry_of(workflow, &known, &phase.id), COMPLETED_ORDER);
        entry.put("phase", phase.id.as_str().into(), |stands| {
            names(workflow, stands) == Some(&phase.id)
        });
        match phase.completed_ms {
            Some(time_ms) => entry.set_time("completed_at", time_ms),
            None if entry.has("completed_at") => {}
            None => entry.set_time("completed_at", workflow.updated_ms),
        }
        write_output(&mut entry, phase);
        entry.finish()
    };
    phases.iter().map(written).collect()
}

/// Writes the first output without wildcards, since a pattern is not a file to look for.
fn write_output(entry: &mut Overlay, phase: &Phase) {
    let is_same = |stands: &Value| {
        stands
            .as_str()
            .is_some_and(|path| is_output_of(phase, path))
    };
    let named = phase
        .outputs
        .iter()
        .find(|output| !has_marks(output.path.as_bytes()));
    if let Some(output) = named {
        entry.put_or_leave("output", output.path.as_str().into(), true, is_same);
    }
}

fn approved(workflow: &Workflow, base: Option<&Value>) -> Vec<Value> {
    let known = entries(base, "user_checkpoints");
    let approved = |phase| {
        let phase: &Phase = phase;
        Some((phase, phase.approved_ms?))
    };
    let mut phases: Vec<(&Phase, i64)> = workflow.phases.iter().filter_map(approved).collect();
    phases.sort_by_key(|(_, approved_ms)| *approved_ms);
    in_order_of(&mut phases, &ids(workflow, &known), |(phase, _)| &phase.id);
    let written = |(phase, approved_ms): &(&Phase, i64)| {
        let mut entry = Overlay::on(entry_of(workflow, &known, &phase.id), APPROVED_ORDER);
        entry.put("phase", phase.id.as_str().into(), |stands| {
            names(workflow, stands) == Some(&phase.id)
        });
        entry.set_time("approved_at", *approved_ms);
        entry.finish()
    };
    phases.iter().map(written).collect()
}

fn entries<'v>(base: Option<&'v Value>, key: &str) -> Vec<&'v Value> {
    base.and_then(|base| base.get(key))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the phase that a value names, in any spelling.
fn names<'v>(workflow: &'v Workflow, value: &'v Value) -> Option<&'v str> {
    value
        .as_str()
        .map(|name| read::spelled(&workflow.phases, name))
}

fn ids<'v>(workflow: &'v Workflow, entries: &[&'v Value]) -> Vec<&'v str> {
    entries
        .iter()
        .filter_map(|entry| names(workflow, entry.get("phase")?))
        .collect()
}

fn entry_of<'v>(workflow: &'v Workflow, entries: &[&'v Value], id: &str) -> Option<&'v Value> {
    entries
        .iter()
        .find(|entry| entry.get("phase").and_then(|name| names(workflow, name)) == Some(id))
        .copied()
}

/// Whether a path is an output of a phase, by name or by pattern.
pub fn is_output_of(phase: &Phase, path: &str) -> bool {
    phase.outputs.iter().any(|output| is_output(output, path))
}

fn is_output(output: &PhaseOutput, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    output.path == path
        || Glob::compile(output.path.as_bytes()).is_some_and(|glob| glob.matches(path.as_bytes()))
}
