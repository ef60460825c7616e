//! `guard`: prints the id alone on stdout, or refuses with a distinct exit code.

use std::ffi::OsString;

use crate::cli::command_context::CommandContext;
use crate::cli::run::RunCommand;
use crate::cli::{exit_code, lists};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::contract::guard::{self as guard_op, GuardOptions};
use crate::view::guard as guard_view;

/// Tell whether a fresh and whole checkpoint covers a change
///
/// Exit 0 and its id on stdout if there is one; exit 4 if there is none, with
/// the command that makes one. Nothing is written.
#[derive(Clone, Debug, clap::Args)]
pub struct GuardArgs {
    /// What is to be changed (several; @FILE has one a line, - reads them)
    /// [default: anything]
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    pub scope: Vec<OsString>,
    /// How old it may be [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub max_age: Option<String>,
}

impl RunCommand for GuardArgs {
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let scope = (!self.scope.is_empty()).then(|| lists::expand(&self.scope)).transpose()?;
        let outcome = guard_op::guard(context, &GuardOptions { scope, max_age: self.max_age })?;
        if cmd.printer.json {
            cmd.printer.result(&guard_view::json(&outcome));
        } else {
            cmd.say(&guard_view::human(&outcome, context.now_ms), &outcome.warnings);
        }
        Ok(exit_code::DONE)
    }
}
