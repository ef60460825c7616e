//! Whose a file of a profile is: which run's, and whether it tells of another one by now.

use serde_json::Value;

use crate::store::runs::projected::Projected;
use crate::workflow::documents::find_documents::OnDisk;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{self, Profile};

/// The run whose file this is: as was noted when we wrote it, else the one that keeps it among its documents. A list of
/// tasks is of the open run whose phase lies beside it.
pub fn of<'r>(runs: &'r Runs, entry: Option<&Projected>, file: &OnDisk) -> Option<&'r Run> {
    let is_beside = |run: &&Run| {
        let workflow = &run.workflow;
        is_list(file) && workflow.status.is_open() && workflow.profiles.contains(&Profile::Phases)
    };
    let known = |run: &&Run| entry.is_some_and(|entry| run.workflow.id == entry.workflow);
    let keeps = |run: &&Run| run.workflow.documents.contains_key(&file.path);
    let mut runs =
        [&is_beside as &dyn Fn(&&Run) -> bool, &known, &keeps].into_iter().map(|is| runs.runs.iter().find(is));
    runs.find_map(|run| run)
}

fn is_list(file: &OnDisk) -> bool {
    file.path == profile::EXECUTION_FILE
}

/// Whether it is a list of tasks that was noted for an earlier run than the one beside which it lies.
pub fn is_from_another(run: &Run, entry: &Projected, file: &OnDisk) -> bool {
    is_list(file) && entry.workflow != run.workflow.id
}

/// Whether it is still as we wrote it for that one: then it tells nothing of this run.
pub fn is_left_over(run: &Run, entry: Option<&Projected>, file: &OnDisk) -> bool {
    let is_as_written = |entry: &Projected| entry.sum.is_some() && entry.sum == file.sum();
    entry.is_some_and(|entry| is_from_another(run, entry, file) && is_as_written(entry))
}

/// What is wrong with a list of tasks that names another run than the phase beside it, and did so when it was taken in
/// last.
pub fn other_run(run: &Run, file: &OnDisk, value: &Value) -> Option<Finding> {
    let workflow = &run.workflow;
    let named = value.get("workflow_id").and_then(Value::as_str)?;
    let known = [profile::PHASE_FILE, profile::EXECUTION_FILE].map(|path| workflow.documents.get(path));
    let mut known = known.into_iter().flatten().filter_map(|document| document.get("workflow_id"));
    if !is_list(file) || !workflow.status.is_open() || named == workflow.id || known.any(|known| known == named) {
        return None;
    }
    let what = format!("it is of the run '{named}', not of '{}'", workflow.named());
    Some(Finding::new("other_run", "workflow_id", what))
}

/// Whether a file now tells of another run than the one whose file it was.
pub fn is_of_another(run: &Run, file: &OnDisk, value: &Value) -> bool {
    let id = match file.profile {
        Profile::Phases => value.get("workflow_id"),
        Profile::Registry => value.get("checkpoint_id"),
        Profile::Pipeline => {
            let began = |value: &Value| value.get("created_at").cloned();
            let known = run.workflow.documents.get(&file.path).and_then(began);
            // Without a time it is of no other run: it is damaged.
            return began(value).is_some_and(|began| known != Some(began));
        }
    };
    let known = run.workflow.documents.get(&file.path).and_then(|known| match file.profile {
        Profile::Phases => known.get("workflow_id"),
        _ => known.get("checkpoint_id"),
    });
    id.is_some() && known.is_some() && id != known
}
