//! `show`: prints one checkpoint.

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::browse::list as list_op;
use crate::ops::context::Context;
use crate::view::show;

/// Show one checkpoint: what it holds and what changed in it
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Checkpoint: an id, latest, latest~N, a reason, or a time such as '10m ago'
    #[arg(value_name = "SEL", allow_hyphen_values = true)]
    pub selector: String,
}

impl RunCommand for ShowArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let outcome = list_op::show(context, &self.selector)?;
        print_answer(
            cmd,
            || show::json(&outcome),
            || show::human(&outcome, context.now_ms),
            &outcome.warnings,
        );
        Ok(exit_code::DONE)
    }
}
