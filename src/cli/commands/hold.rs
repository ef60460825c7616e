//! `hold` and `release`: keep checkpoints from being made for a while.

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::hold as hold_op;
use crate::view::hold as hold_view;

/// Refuse new checkpoints until the hold is released
///
/// Meanwhile `create` exits with 4; a restore, undo or redo still makes its safety checkpoint. A
/// hold expires by itself.
#[derive(Clone, Debug, clap::Args)]
pub struct HoldArgs {
    /// Name of the hold; taking it again renews it
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Time until it expires by itself, at most 24h [default: 30m]
    #[arg(long = "for", value_name = "TIME")]
    pub span: Option<String>,
}

/// Release a hold
#[derive(Clone, Debug, clap::Args)]
pub struct ReleaseArgs {
    /// Name of the hold [default: the only one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

impl RunCommand for HoldArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let outcome = hold_op::hold(context, self.name, self.span.as_deref())?;
        answer(
            cmd,
            || hold_view::hold_json(&outcome),
            || hold_view::hold(&outcome),
            &outcome.warnings,
        )
    }
}

impl RunCommand for ReleaseArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let outcome = hold_op::release(context, self.name.as_deref())?;
        answer(
            cmd,
            || hold_view::release_json(&outcome),
            || hold_view::release(&outcome),
            &outcome.warnings,
        )
    }
}
