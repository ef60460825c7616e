//! `pin` and `unpin`: exempt a checkpoint from retention, or end that.

use crate::commands::prelude::*;
use crate::ops::PinOutcome;
use crate::ops::maintain::pin::set_pinned;

/// Protect a checkpoint from eviction and deletion
#[derive(Clone, Debug, clap::Args)]
pub struct PinArgs {
    /// Checkpoint: an id, @, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
}

/// Remove the pin from a checkpoint
#[derive(Clone, Debug, clap::Args)]
pub struct UnpinArgs {
    /// Checkpoint: an id, @, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
}

impl Command for PinArgs {
    type Answer = PinOutcome;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<PinOutcome>> {
        set_pinned(context, &self.selector, true).map(Done::from)
    }
}

impl Command for UnpinArgs {
    type Answer = PinOutcome;

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<PinOutcome>> {
        set_pinned(context, &self.selector, false).map(Done::from)
    }
}

impl Text for PinOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let state = match (self.pinned, self.nothing_to_do) {
            (true, false) => "Pinned",
            (true, true) => "Already pinned:",
            (false, false) => "Unpinned",
            (false, true) => "Was not pinned:",
        };
        outln!(out, "{state} {}", self.checkpoint.named());
    }
}
