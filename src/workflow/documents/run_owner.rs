//! Tells which run owns a profile file, and whether the file now describes another run.

use serde_json::Value;

use crate::store::runs::projected::Projected;
use crate::workflow::documents::find_documents::OnDisk;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{self, Profile};

/// Returns the run that owns the file: as noted when we wrote it, else the one that has it among
/// its documents. A task list belongs to the open run whose phase file lies beside it.
pub fn of<'r>(runs: &'r Runs, entry: Option<&Projected>, file: &OnDisk) -> Option<&'r Run> {
    let is_beside = |run: &&Run| {
        let workflow = &run.workflow;
        is_list(file) && workflow.status.is_open() && workflow.profiles.contains(&Profile::Phases)
    };
    let known = |run: &&Run| entry.is_some_and(|entry| run.workflow.id == entry.workflow);
    let keeps = |run: &&Run| run.workflow.documents.contains_key(&file.path);
    let mut runs = [&is_beside as &dyn Fn(&&Run) -> bool, &known, &keeps]
        .into_iter()
        .map(|is| runs.runs.iter().find(is));
    runs.find_map(|run| run)
}

fn is_list(file: &OnDisk) -> bool {
    file.path == profile::EXECUTION_FILE
}

/// Whether the file is a task list that was noted for an earlier run than the phase file beside it.
pub fn is_from_another(run: &Run, entry: &Projected, file: &OnDisk) -> bool {
    is_list(file) && entry.workflow != run.workflow.id
}

/// Whether that task list is unchanged since it was written for the earlier run; then it says
/// nothing about this one.
pub fn is_left_over(run: &Run, entry: Option<&Projected>, file: &OnDisk) -> bool {
    let is_as_written = |entry: &Projected| entry.sum.is_some() && entry.sum == file.sum();
    entry.is_some_and(|entry| is_from_another(run, entry, file) && is_as_written(entry))
}

/// Returns a finding if a task list newly names another run than the phase file beside it.
pub fn other_run(run: &Run, file: &OnDisk, value: &Value) -> Option<Finding> {
    let workflow = &run.workflow;
    let named = value.get("workflow_id").and_then(Value::as_str)?;
    let known =
        [profile::PHASE_FILE, profile::EXECUTION_FILE].map(|path| workflow.documents.get(path));
    let mut known = known
        .into_iter()
        .flatten()
        .filter_map(|document| document.get("workflow_id"));
    if !is_list(file)
        || !workflow.status.is_open()
        || named == workflow.id
        || known.any(|known| known == named)
    {
        return None;
    }
    let run = workflow.named();
    let what = format!("it belongs to run '{named}', not to '{run}'");
    Some(Finding::new("other_run", "workflow_id", what))
}

/// Whether the file now describes another run than its owner.
pub fn is_of_another(run: &Run, file: &OnDisk, value: &Value) -> bool {
    let id = match file.profile {
        Profile::Phases => value.get("workflow_id"),
        Profile::Registry => value.get("checkpoint_id"),
        Profile::Pipeline => {
            let began = |value: &Value| value.get("created_at").cloned();
            let known = run.workflow.documents.get(&file.path).and_then(began);
            // Without a time it is damaged, not the file of another run.
            return began(value).is_some_and(|began| known != Some(began));
        }
    };
    let known = run
        .workflow
        .documents
        .get(&file.path)
        .and_then(|known| match file.profile {
            Profile::Phases => known.get("workflow_id"),
            _ => known.get("checkpoint_id"),
        });
    id.is_some() && known.is_some() && id != known
}
