//! `pin` and `unpin`: protects a checkpoint from every retention policy.

use crate::base::json::{JsonSchema, Serialize};
use crate::error::Result;
use crate::model::Checkpoint;
use crate::ops::select::checkpoint::find_own;
use crate::ops::{Context, Warning, session};

/// A checkpoint that was pinned or unpinned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PinOutcome {
    #[serde(flatten)]
    pub checkpoint: Checkpoint,
    pub pinned: bool,
    /// True if it was so already.
    pub nothing_to_do: bool,
}

/// Pins or unpins.
pub fn set_pinned(
    context: &Context,
    selector: &str,
    pinned: bool,
) -> Result<(PinOutcome, Vec<Warning>)> {
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let checkpoint = find_own(context, session.locked.inventory(), selector)?;
    let changed = session.locked.set_pinned(checkpoint.id, pinned)?;
    let outcome = PinOutcome {
        checkpoint,
        pinned,
        nothing_to_do: !changed,
    };
    Ok((outcome, session.warnings))
}
