//! `reword`: gives a checkpoint another reason. Its id stays the same.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::context::Context;
use crate::ops::create::options::{check_names_nothing_else, checked_text};
use crate::ops::select::checkpoint::find_own;
use crate::ops::session;
use crate::ops::warning::Warning;

#[derive(Debug)]
pub struct RewordOutcome {
    /// The checkpoint after the change.
    pub checkpoint: Checkpoint,
    /// The reason before.
    pub before: String,
    pub warnings: Vec<Warning>,
}

impl RewordOutcome {
    pub fn is_changed(&self) -> bool {
        self.before != self.checkpoint.record.reason
    }
}

pub fn reword(context: &Context, selector: &str, reason: &str) -> Result<RewordOutcome> {
    let reason = checked_text(Some(reason), "", "reason")?;
    check_names_nothing_else(context, &reason)?;
    let store = context.require_store()?;
    let mut session = session::begin(context, &store)?;
    let inventory = session.locked.inventory();
    let mut checkpoint = find_own(context, inventory, selector)?;
    let before = std::mem::replace(&mut checkpoint.record.reason, reason);
    if before != checkpoint.record.reason {
        let reason = checkpoint.record.reason.as_str();
        session.locked.reword(checkpoint.id, reason)?;
    }
    Ok(RewordOutcome {
        checkpoint,
        before,
        warnings: session.warnings,
    })
}
