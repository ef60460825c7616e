//! Files that changed since a phase began.

use crate::error::Result;
use crate::model::json::{ChangeJson, CheckpointRef, JsonSchema, Serialize, TimeText};
use crate::model::restore_plan::{RestorePlan, RestoreScope};
use crate::model::state::object_id::ObjectId;
use crate::model::state::snapshot::Snapshot;
use crate::ops::capture::pipeline::{CaptureOptions, CaptureOutcome, capture};
use crate::ops::capture::sink::Sink;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::tree_handle::WorkTree;

/// What changed since a phase began.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DriftJson")]
pub struct FileDrift {
    pub phase_id: String,
    pub checkpoint: CheckpointRef,
    pub begun_at: TimeText,
    /// What was added, then what was changed, then what was deleted.
    pub changes: Vec<ChangeJson>,
}

/// Returns `None` if no phase is under way, its checkpoint is gone, or files cannot be captured.
///
/// # Errors
/// The directory cannot be read.
pub fn drift(context: &Context, store: &Store, workflow: &Workflow) -> Result<Option<FileDrift>> {
    let begun = workflow
        .running()
        .find_map(|phase| Some((phase, ObjectId::from_hex(phase.before.as_ref()?)?)));
    let Some((phase, id)) = begun.filter(|_| context.root.exists()) else {
        return Ok(None);
    };
    let inventory = store.inventory()?;
    let Some(checkpoint) = inventory.get(id) else {
        return Ok(None);
    };
    let Ok(held) = store.snapshot(&checkpoint) else {
        return Ok(None);
    };
    let worktree = WorkTree::open_root(&context.root)?;
    let options = CaptureOptions::default();
    let CaptureOutcome::Done(captured) =
        capture(context, Some(store), &worktree, &options, Sink::HashOnly)?
    else {
        return Ok(None);
    };
    let present = Snapshot::from(&captured.listing);
    let plan = RestorePlan::between(&held, &present, &RestoreScope::default(), &|_, _| true);
    let (added, changed): (Vec<_>, Vec<_>) = plan
        .write
        .iter()
        .partition(|(_, write)| write.before.is_none());
    let changed = changed.into_iter().map(|(path, _)| path);
    let begun_ms = phase.started_ms.unwrap_or(checkpoint.record.time_ms);
    Ok(Some(FileDrift {
        phase_id: phase.id.clone(),
        checkpoint: CheckpointRef::new(&checkpoint),
        begun_at: TimeText::new(begun_ms),
        changes: ChangeJson::all("added", added.into_iter().map(|(path, _)| path))
            .chain(ChangeJson::all(
                "modified",
                changed.chain(plan.chmod.keys()),
            ))
            .chain(ChangeJson::all("deleted", plan.delete.keys()))
            .collect(),
    }))
}
