//! `pin` and `unpin`: protects a checkpoint from every retention policy.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::context::Context;
use crate::ops::select::checkpoint::find_own;
use crate::ops::session;
use crate::ops::warning::Warning;

#[derive(Debug)]
pub struct PinOutcome {
    /// The checkpoint after the change.
    pub checkpoint: Checkpoint,
    /// Whether this changed anything.
    pub changed: bool,
    pub warnings: Vec<Warning>,
}

/// Pins or unpins.
pub fn set_pinned(context: &Context, selector: &str, pinned: bool) -> Result<PinOutcome> {
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let mut checkpoint = find_own(context, session.locked.inventory(), selector)?;
    let changed = session.locked.set_pinned(checkpoint.id, pinned)?;
    checkpoint.pinned = pinned;
    Ok(PinOutcome {
        checkpoint,
        changed,
        warnings: session.warnings,
    })
}
