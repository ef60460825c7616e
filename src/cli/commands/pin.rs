//! `pin` and `unpin`: exempt a checkpoint from retention, or end that.

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::pin as pin_op;
use crate::view::pin as pin_view;

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

impl RunCommand for PinArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        run(context, cmd, &self.selector, true)
    }
}

impl RunCommand for UnpinArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        run(context, cmd, &self.selector, false)
    }
}

fn run(context: &Context, cmd: &CommandContext<'_>, selector: &str, pinned: bool) -> Result<u8> {
    let outcome = pin_op::set_pinned(context, selector, pinned)?;
    let command = if pinned { "pin" } else { "unpin" };
    answer(
        cmd,
        || pin_view::json(command, &outcome),
        || pin_view::human(&outcome),
        &outcome.warnings,
    )
}
