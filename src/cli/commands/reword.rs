//! `reword`: gives a checkpoint another reason.

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::reword as reword_op;
use crate::view::reword as reword_view;

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

impl RunCommand for RewordArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let outcome = reword_op::reword(context, &self.selector, &self.reason)?;
        answer(
            cmd,
            || reword_view::json(&outcome),
            || reword_view::human(&outcome),
            &outcome.warnings,
        )
    }
}
