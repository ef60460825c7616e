//! The phases profile: a phase file, and a file for the tasks in the phase.

use serde_json::Value;

use crate::base::wildmatch::Glob;
use crate::model::run_id;
use crate::workflow::plan::{self, DOTAGENT};
use crate::workflow::profiles::document::{Document, Reading};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::phase::{Phase, PhaseOutput};
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

mod execution;
mod read;
mod standing;
mod take;
mod write;

pub const ARCHIVE: &str = "memory/state/.archive";

/// Returns the files to write; the task file only if there are tasks, or if it existed before.
pub fn export(workflow: &Workflow) -> Vec<Document> {
    let mut documents = vec![Document { path: PHASE_FILE.to_owned(), value: write::value(workflow) }];
    if !workflow.tasks.is_empty() || workflow.documents.contains_key(EXECUTION_FILE) {
        documents.push(Document { path: EXECUTION_FILE.to_owned(), value: execution::value(workflow) });
    }
    documents
}

/// Makes a run, with the five phases if the document names one of them, else with none; [`take`] does the rest.
pub fn begin(value: &Value, reading: Reading<'_>) -> Result<Workflow, Vec<Finding>> {
    let read = read::document(value)?;
    let project = super::document::project_of(reading.root);
    let named = [read.id.clone(), run_id::word(&read.id)]
        .into_iter()
        .find(|id| run_id::is_legal(id) && !run_id::is_empty_word(id));
    let id = named.unwrap_or_else(|| run_id::make("develop", project, read.started_ms));
    let mut workflow = Workflow::new(id, "develop".to_owned(), project.to_owned(), read.started_ms);
    let is_known = |name: &str| DOTAGENT.iter().any(|known| known.eq_ignore_ascii_case(name));
    if read.names().any(is_known) {
        workflow.phases = plan::preset("dotagent").unwrap_or_default();
    }
    Ok(workflow)
}

/// # Errors
/// Every finding about the document; the run must then be discarded.
pub fn take(workflow: &mut Workflow, path: &str, value: &Value, _reading: Reading<'_>) -> Result<(), Vec<Finding>> {
    if path == EXECUTION_FILE { execution::take(workflow, value) } else { take::take(workflow, value) }
}

/// Returns the current phase of the file if it has not begun, and the status in the file.
pub fn named_unbegun(workflow: &Workflow) -> Option<(&Phase, &'static str)> {
    let read = read::document(workflow.documents.get(PHASE_FILE)?).ok()?.spelled_as_in(&workflow.phases);
    let phase = workflow.phase(&read.current).filter(|phase| phase.status == PhaseStatus::Pending)?;
    Some((phase, read.status.word()))
}

/// Returns the phases that a file may name: the planned ones, else the five.
pub fn known_names(workflow: &Workflow) -> Vec<&str> {
    let planned: Vec<&str> =
        workflow.phases.iter().filter(|phase| !phase.is_unplanned).map(|phase| phase.id.as_str()).collect();
    if planned.is_empty() { DOTAGENT.to_vec() } else { planned }
}

/// Whether a path is an output of a phase, by name or by pattern.
fn is_output_of(phase: &Phase, path: &str) -> bool {
    phase.outputs.iter().any(|output| is_output(output, path))
}

fn is_output(output: &PhaseOutput, path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    output.path == path || Glob::compile(output.path.as_bytes()).is_some_and(|glob| glob.matches(path.as_bytes()))
}
