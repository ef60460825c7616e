//! `pin`, `unpin` and `reword`: protects a checkpoint from every retention policy, or gives it another
//! reason. Its id stays the same.

use crate::base::json::{JsonSchema, Serialize};
use crate::error::Result;
use crate::model::Checkpoint;
use crate::ops::create::options::{check_names_nothing_else, checked_text};
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

/// A checkpoint with another reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RewordOutcome {
    pub checkpoint: Checkpoint,
    pub reason_before: String,
    /// True if it was so already.
    pub nothing_to_do: bool,
}

pub fn reword(
    context: &Context,
    selector: &str,
    reason: &str,
) -> Result<(RewordOutcome, Vec<Warning>)> {
    let reason = checked_text(reason, "reason")?;
    check_names_nothing_else(context, &reason)?;
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let inventory = session.locked.inventory();
    let mut checkpoint = find_own(context, inventory, selector)?;
    let reason_before = std::mem::replace(&mut checkpoint.record.reason, reason);
    let reason = checkpoint.record.reason.as_str();
    let nothing_to_do = reason_before == reason;
    if !nothing_to_do {
        session.locked.reword(checkpoint.id, reason)?;
    }
    let outcome = RewordOutcome {
        checkpoint,
        reason_before,
        nothing_to_do,
    };
    Ok((outcome, session.warnings))
}
