//! `bisect`: the first checkpoint for which a command fails.

use std::ffi::OsString;

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::browse::bisect as bisect_op;
use crate::ops::context::Context;
use crate::view::bisect as bisect_view;

/// Find the first checkpoint for which a command fails
///
/// Runs the command in copies of the checkpoints between GOOD and BAD; the directory is not
/// touched. Exit code 0 means good, 125 unknown, 1 to 124 bad; any other code, or a signal, ends
/// the search.
#[derive(Clone, Debug, clap::Args)]
pub struct BisectArgs {
    /// Checkpoint for which the command succeeds
    #[arg(value_name = "GOOD")]
    pub good: String,
    /// Later checkpoint for which it fails
    #[arg(value_name = "BAD")]
    pub bad: String,
    /// Command and its arguments, after --
    #[arg(value_name = "CMD", last = true, required = true)]
    pub command: Vec<OsString>,
}

impl RunCommand for BisectArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let children = cmd.children(context);
        let outcome = bisect_op::bisect(
            context,
            &self.good,
            &self.bad,
            &mut |dir, scratch| children.program(&self.command, dir, scratch),
            &mut |tested| cmd.printer.talk(&bisect_view::tested(tested)),
        )?;
        let code = if outcome.first_bad().is_some() {
            exit_code::DONE
        } else {
            exit_code::PARTIAL
        };
        print_answer(
            cmd,
            || bisect_view::json(&outcome, code),
            || bisect_view::human(&outcome),
            &outcome.warnings,
        );
        if code != exit_code::DONE {
            cmd.printer
                .failure(&bisect_view::undecided(&outcome, cmd.printer.err_paint()));
        }
        Ok(code)
    }
}
