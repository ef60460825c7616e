//! Files that changed since a phase began.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::restore_plan::{RestorePlan, RestoreScope};
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::snapshot::Snapshot;
use crate::ops::capture::pipeline::{CaptureOptions, CaptureOutcome, capture};
use crate::ops::capture::sink::Sink;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::tree_handle::WorkTree;

/// Changed paths, by kind of change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDrift {
    pub phase: String,
    pub checkpoint: Checkpoint,
    /// Milliseconds since 1970.
    pub since_ms: i64,
    pub added: Vec<RelPath>,
    pub changed: Vec<RelPath>,
    pub deleted: Vec<RelPath>,
}

impl FileDrift {
    pub fn count(&self) -> usize {
        self.added.len() + self.changed.len() + self.deleted.len()
    }
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
    let (added, mut changed): (Vec<_>, Vec<_>) = plan
        .write
        .iter()
        .partition(|(_, write)| write.before.is_none());
    let name = |(path, _): &(&RelPath, _)| (*path).clone();
    let added = added.iter().map(name).collect();
    let mut changed: Vec<RelPath> = changed.drain(..).map(|(path, _)| path.clone()).collect();
    changed.extend(plan.chmod.keys().cloned());
    let deleted = plan.delete.keys().cloned().collect();
    let since_ms = phase.started_ms.unwrap_or(checkpoint.record.time_ms);
    Ok(Some(FileDrift {
        phase: phase.id.clone(),
        checkpoint: checkpoint.into_owned(),
        since_ms,
        added,
        changed,
        deleted,
    }))
}
