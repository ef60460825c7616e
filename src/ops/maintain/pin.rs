//! `pin` and `unpin`: protects a checkpoint from every retention policy.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::context::Context;
use crate::ops::select::checkpoint::find_own;
use crate::ops::session;
use crate::ops::warning::Warning;

#[derive(Clone, Debug)]
pub struct PinOptions {
    pub selector: String,
    /// Pin if true, unpin if false.
    pub pin: bool,
}

#[derive(Debug)]
pub struct PinOutcome {
    /// The checkpoint after the change.
    pub checkpoint: Checkpoint,
    /// Whether this changed anything.
    pub changed: bool,
    pub warnings: Vec<Warning>,
}

pub fn pin(context: &Context, options: &PinOptions) -> Result<PinOutcome> {
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let mut checkpoint = find_own(context, session.locked.inventory(), &options.selector)?;
    let changed = session.locked.set_pinned(checkpoint.id, options.pin)?;
    checkpoint.pinned = options.pin;
    Ok(PinOutcome {
        checkpoint,
        changed,
        warnings: session.warnings,
    })
}
