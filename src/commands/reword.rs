//! `reword`: gives a checkpoint another reason.

use crate::commands::prelude::*;
use crate::ops::RewordOutcome;
use crate::ops::maintain::pin::reword;

/// Give a checkpoint another reason
///
/// Its id and content stay the same. Selectors find the new reason, and no longer the former one.
#[derive(Clone, Debug, clap::Args)]
pub struct RewordArgs {
    /// Checkpoint: an id, @, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
    /// New reason
    #[arg(value_name = "REASON", allow_hyphen_values = true)]
    pub reason: String,
}

impl Command for RewordArgs {
    type Answer = RewordOutcome;
    const TRAITS: Properties = Properties::USUAL;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<RewordOutcome>> {
        reword(context, &self.selector, &self.reason).map(Done::from)
    }
}

impl Text for RewordOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if self.nothing_to_do {
            outln!(out, "Already so: {}", self.checkpoint.named());
        } else {
            let (id, record) = (self.checkpoint.id.short(), &self.checkpoint.record);
            let (before, reason) = (escape(&self.reason_before), escape(&record.reason));
            outln!(out, "Reworded {id} ({before}): {reason}");
        }
    }
}
