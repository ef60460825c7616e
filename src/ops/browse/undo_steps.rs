//! `undo --list`: the steps that can be undone and redone.

use crate::error::Result;
use crate::model::json::{JsonSchema, Serialize};
use crate::model::{Checkpoint, PathFilter, RelPath, Steps, UndoStep};
use crate::ops::browse::list::reader_warnings;
use crate::ops::maintain::moved;
use crate::ops::{Context, Moved, Warning};
use crate::store::{Inventory, Store};

/// A restore that can be undone or redone.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedStep {
    /// The checkpoint to which the restore led; null if it is gone.
    #[serde(rename = "restored_from")]
    pub target: Option<Checkpoint>,
    /// The state that the step would bring back.
    pub safety: Checkpoint,
    /// Paths that it was limited to; empty means everything.
    pub paths: Vec<RelPath>,
    #[serde(flatten)]
    pub filter: PathFilter,
}

/// Both stacks, the next step first.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StepsOutcome {
    /// Those that `undo` takes back.
    pub undo: Vec<ListedStep>,
    /// Those that `redo` brings back.
    pub redo: Vec<ListedStep>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

pub fn undo_steps(context: &Context) -> Result<StepsOutcome> {
    let Some(store) = context.find_store()? else {
        let moved = moved::find_without_capture(context)?;
        return Ok(StepsOutcome {
            warnings: moved.iter().map(Moved::warning).collect(),
            ..StepsOutcome::default()
        });
    };
    let inventory = store.inventory()?;
    let steps = Steps::of(inventory.checkpoints.safeties());
    Ok(StepsOutcome {
        undo: listed(&store, &inventory, steps.done),
        redo: listed(&store, &inventory, steps.taken_back),
        warnings: reader_warnings(context, &store, &inventory)?,
    })
}

fn listed(store: &Store, inventory: &Inventory, steps: Vec<UndoStep>) -> Vec<ListedStep> {
    let get = |id| inventory.get(id).cloned();
    let steps = steps.into_iter().rev().filter_map(|step| {
        Some(ListedStep {
            target: get(step.target).or_else(|| store.find_fetched(step.target)),
            safety: get(step.safety)?,
            paths: step.paths,
            filter: step.filter,
        })
    });
    steps.collect()
}
