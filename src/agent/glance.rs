//! A store at a glance, for status lines: no lock is taken and no directory
//! scanned.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::selector;
use crate::ops::context::Context;
use crate::ops::session;
use crate::workflow::engine::runs::{Run, Runs};

/// How a store stands.
#[derive(Debug)]
pub struct Glance {
    /// Number of checkpoints, without those that restores made.
    pub count: usize,
    pub latest: Option<Checkpoint>,
    /// The newest workflow that has not ended.
    pub run: Option<Run>,
    /// Whether a restore was interrupted.
    pub is_interrupted: bool,
}

/// Reads the store of a directory; `None` if there is none.
///
/// # Errors
/// The store cannot be read.
pub fn glance(context: &Context) -> Result<Option<Glance>> {
    let Some(store) = context.find_store()? else {
        return Ok(None);
    };
    let inventory = store.inventory()?;
    let checkpoints = &inventory.checkpoints;
    let runs = Runs::live(&store)?.runs.into_iter();
    Ok(Some(Glance {
        count: checkpoints.regular_count(),
        latest: selector::latest(checkpoints, 0).map(std::borrow::Cow::into_owned),
        run: runs.into_iter().find(|run| run.workflow.status.is_open()),
        is_interrupted: session::pending_unlocked(&store, checkpoints)?.is_some(),
    }))
}
