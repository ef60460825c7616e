//! `pin` and `unpin`: what no policy may drop, because the user said so.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::context::Context;
use crate::ops::restore::commands::find;
use crate::ops::session;
use crate::ops::warning::Warning;

#[derive(Clone, Debug)]
pub struct PinOptions {
    pub selector: String,
    /// Pin it, or let it go.
    pub pin: bool,
}

#[derive(Debug)]
pub struct PinOutcome {
    /// As it is afterwards.
    pub checkpoint: Checkpoint,
    /// It was not so before.
    pub changed: bool,
    pub warnings: Vec<Warning>,
}

pub fn pin(context: &Context, options: &PinOptions) -> Result<PinOutcome> {
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let mut checkpoint = find(session.locked.inventory(), &options.selector, context.now_ms)?;
    let changed = session.locked.set_pinned(checkpoint.id, options.pin)?;
    checkpoint.pinned = options.pin;
    Ok(PinOutcome { checkpoint, changed, warnings: session.warnings })
}
