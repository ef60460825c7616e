//! `pin` and `unpin`: exempt a checkpoint from retention, or end that.

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::pin::{self as pin_op, PinOptions};
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

impl From<&PinArgs> for PinOptions {
    fn from(args: &PinArgs) -> Self {
        Self {
            selector: args.selector.clone(),
            pin: true,
        }
    }
}

impl From<&UnpinArgs> for PinOptions {
    fn from(args: &UnpinArgs) -> Self {
        Self {
            selector: args.selector.clone(),
            pin: false,
        }
    }
}

impl RunCommand for PinArgs {
    fn properties(&self) -> Properties {
        Properties {
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        run(context, cmd, "pin", &(&self).into())
    }
}

impl RunCommand for UnpinArgs {
    fn properties(&self) -> Properties {
        Properties {
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        run(context, cmd, "unpin", &(&self).into())
    }
}

fn run(
    context: &Context,
    cmd: &CommandContext<'_>,
    command: &str,
    options: &PinOptions,
) -> Result<u8> {
    let outcome = pin_op::pin(context, options)?;
    print_answer(
        cmd,
        || pin_view::json(command, &outcome),
        || pin_view::human(&outcome),
        &outcome.warnings,
    );
    Ok(exit_code::DONE)
}
