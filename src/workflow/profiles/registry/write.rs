//! Writes the document over the existing one.

use serde_json::Value;

use super::paths::path;
use super::progress::{self, RegistryProgress};
use super::read::{self, RegistryDocument, Word};
use crate::model::run_id;
use crate::workflow::profiles::document::Document;
use crate::workflow::profiles::overlay::{Overlay, in_order_of};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

const PROJECT: &str = "project_name";
const ORDER: &[&str] = &[
    "checkpoint_id",
    "workflow_type",
    "workflow_description",
    "created_at",
    "updated_at",
    "status",
    "current_phase",
    "total_phases",
    "completed_phases",
    "workflow_state",
    "last_error",
];

/// Returns the file to write.
pub fn export(workflow: &Workflow) -> Document {
    let path = path(workflow);
    Document {
        value: value(workflow, workflow.documents.get(&path)),
        path,
    }
}

fn value(workflow: &Workflow, base: Option<&Value>) -> Value {
    let progress = RegistryProgress::of_run(workflow, base);
    let mut document = Overlay::on(base, ORDER);
    // Keep an id in the document that is not valid for a run.
    document.put("checkpoint_id", workflow.id.as_str().into(), |_| true);
    document.set("workflow_type", &*workflow.kind);
    document.set("workflow_description", &*workflow.description);
    document.set_time("created_at", workflow.created_ms);
    document.set_time("updated_at", workflow.updated_ms);
    let is_same = |stands: &Value| {
        stands
            .as_str()
            .and_then(Word::read)
            .is_some_and(|word| says(word, workflow))
    };
    document.put("status", word(workflow).into(), is_same);
    document.set("current_phase", current(workflow, base, &progress));
    document.set("total_phases", workflow.phases.len());
    document.set("completed_phases", completed(workflow, base));
    document.set("workflow_state", state(workflow, base));
    let error = workflow.last_error.clone().unwrap_or_default();
    document.put_or_leave("last_error", error.clone(), error.is_null(), |stands| {
        *stands == error
    });
    document.finish()
}

/// Returns the free state with the project name, unless the existing document lacks that name.
fn state(workflow: &Workflow, base: Option<&Value>) -> Value {
    let mut state = workflow.state.clone();
    let is_wanted = base.is_none_or(|base| {
        base.get("workflow_state")
            .and_then(|was| was.get(PROJECT))
            .is_some()
    });
    if is_wanted && !state.contains_key(PROJECT) {
        state.shift_insert(
            0,
            PROJECT.to_owned(),
            run_id::snake(&workflow.project).into(),
        );
    }
    Value::Object(state)
}

/// Returns the status word: one for open runs, and one for each end.
fn word(workflow: &Workflow) -> &'static str {
    if workflow.status.is_open() {
        "in_progress"
    } else {
        workflow.word()
    }
}

fn says(word: Word, workflow: &Workflow) -> bool {
    match word {
        Word::Ended(status) => status == workflow.status,
        Word::InProgress => workflow.status.is_open(),
        Word::Interrupted => workflow.status.is_open() && workflow.interrupted.is_some(),
        Word::Pending => workflow.status.is_open() && workflow.current().is_none(),
    }
}

/// Returns the phase under way or next, or the last one at the end. The document's value is kept
/// while it means the same.
fn current(workflow: &Workflow, base: Option<&Value>, progress: &RegistryProgress) -> usize {
    let said = base.and_then(|base| read::document(base).ok());
    // Readers resume after the last listed phase, so the one after a skipped phase must be named.
    let is_gap = |phase: &Phase, number| {
        phase.status == PhaseStatus::Skipped && !progress.completed.contains(&number)
    };
    let has_gap = workflow
        .phases
        .iter()
        .zip(1..)
        .any(|(phase, number)| is_gap(phase, number));
    let means_the_same = |said: &RegistryDocument| {
        RegistryProgress::of_document(said) == *progress
            && said.current <= workflow.phases.len()
            && !has_gap
    };
    if let Some(said) = said.filter(means_the_same) {
        return said.current;
    }
    let next = || {
        workflow
            .next()
            .and_then(|phase| workflow.number_of(&phase.id))
    };
    progress
        .under_way
        .or_else(next)
        .unwrap_or(workflow.phases.len())
}

/// Returns the numbers in the order of the document; new ones by completion.
fn completed(workflow: &Workflow, base: Option<&Value>) -> Vec<Value> {
    let mut done: Vec<_> = progress::completed(workflow, base).collect();
    done.sort_by_key(|(phase, _)| phase.completed_ms);
    let mut numbers: Vec<String> = done
        .into_iter()
        .map(|(_, number)| number.to_string())
        .collect();
    let said = base
        .and_then(|base| base.get("completed_phases"))
        .and_then(Value::as_array);
    let said: Vec<String> = said
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    in_order_of(&mut numbers, &said, |number| number);
    numbers
        .iter()
        .filter_map(|number| number.parse::<usize>().ok())
        .map(Value::from)
        .collect()
}
