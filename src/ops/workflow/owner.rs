//! Whose a file of a profile is: which run's, and whether it tells of another one by now.

use serde_json::Value;

use crate::model::workflow::profile::{Profile, phases};
use crate::ops::workflow::documents::OnDisk;
use crate::ops::workflow::runs::{Run, Runs};
use crate::store::projected::Projected;

/// The run whose file this is: as was noted when we wrote it, else the one that keeps it among its documents. A list of
/// tasks that another program wrote is of the run whose phase lies beside it.
pub fn of<'r>(runs: &'r Runs, entry: Option<&Projected>, file: &OnDisk) -> Option<&'r Run> {
    let known = entry.and_then(|entry| runs.runs.iter().find(|run| run.workflow.id == entry.workflow));
    let keeps = |run: &&Run| run.workflow.documents.contains_key(&file.path);
    let is_beside = |run: &&Run| file.path == phases::EXECUTION_FILE && is_list_of(run, file);
    known.or_else(|| runs.runs.iter().find(keeps)).or_else(|| runs.runs.iter().find(is_beside))
}

/// One that names no run is of whichever is there.
fn is_list_of(run: &Run, file: &OnDisk) -> bool {
    let workflow = &run.workflow;
    let named = file.read.as_ref().ok().and_then(|value| value.get("workflow_id")).and_then(Value::as_str);
    let kept = workflow.documents.get(phases::PHASE_FILE).and_then(|phase| phase.get("workflow_id"));
    let is_same = |named| named == workflow.id || kept.and_then(Value::as_str) == Some(named);
    workflow.status.is_open() && workflow.profiles.contains(&Profile::Phases) && named.is_none_or(is_same)
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
