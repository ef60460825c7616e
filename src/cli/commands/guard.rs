//! `guard`: prints the id alone on stdout, or refuses with a distinct exit code.

use std::ffi::OsString;

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::commands::lists;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::guard as guard_op;
use crate::view::guard as guard_view;

/// Check that a recent and complete checkpoint covers a change
///
/// Prints its id if there is one; else exits with 4 and names the command that makes one. Nothing
/// is written.
#[derive(Clone, Debug, clap::Args)]
pub struct GuardArgs {
    /// Path or pattern that is about to change (repeatable; @FILE reads a list, - reads stdin)
    /// [default: anything]
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    pub scope: Vec<OsString>,
    /// Maximum age of the checkpoint [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub max_age: Option<String>,
    /// Also require that the checkpoint holds the files as they are now
    #[arg(long)]
    pub exact: bool,
}

impl RunCommand for GuardArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let scope = (!self.scope.is_empty())
            .then(|| lists::expand(&self.scope))
            .transpose()?;
        let (scope, max_age) = (scope.as_deref(), self.max_age.as_deref());
        let outcome = guard_op::guard(context, scope, max_age, self.exact)?;
        answer(
            cmd,
            || guard_view::json(&outcome),
            || guard_view::human(&outcome, context.now_ms),
            &outcome.warnings,
        )
    }
}
