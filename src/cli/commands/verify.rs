//! `verify`: prints findings on stdout, and one line on stderr if there is damage.

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::verify as verify_op;
use crate::view::verify as verify_view;
use crate::view::words;

/// Check the store and every checkpoint in it
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// Checkpoint: an id, @, latest~N, a reason, or a time such as '10m ago' [default: all]
    #[arg(value_name = "SEL", conflicts_with = "repair")]
    pub selector: Option<String>,
    /// Read and hash every object
    #[arg(long)]
    pub full: bool,
    /// Repair what can be repaired; damaged data is kept beside the store
    #[arg(long)]
    pub repair: bool,
}

impl RunCommand for VerifyArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let outcome = verify_op::verify(context, self.selector.as_deref(), self.full, self.repair)?;
        let code = if outcome.is_whole() {
            exit_code::DONE
        } else {
            exit_code::DAMAGED
        };
        if cmd.printer.json {
            cmd.printer.result(&verify_view::json(&outcome, code));
        } else {
            if !outcome.exists {
                cmd.print_no_store(context);
            }
            cmd.print_output(&verify_view::human(&outcome), &outcome.warnings);
        }
        if code != exit_code::DONE {
            let failure = verify_view::failure(&outcome);
            cmd.printer
                .failure(&words::error(&failure, cmd.printer.err_paint()));
        }
        Ok(code)
    }
}
