//! `status`: prints one screen, or one line.

use crate::cli::command_context::CommandContext;
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::browse::status as status_op;
use crate::ops::context::Context;
use crate::view::status::{self, StatusView};
use crate::workflow::engine::report;

/// Show a summary of the store, and what changed in the directory
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct StatusArgs {
    /// Print one line for a shell's prompt and skills, without scanning the directory
    #[arg(long)]
    pub brief: bool,
}

impl RunCommand for StatusArgs {
    fn properties(&self) -> Properties {
        Properties {
            may_take_long: !self.brief,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let outcome = status_op::status(context, self.brief)?;
        if cmd.printer.json {
            cmd.printer
                .result(&status::json(&outcome, cmd.global.verbose));
            return Ok(exit_code::DONE);
        }
        if !outcome.exists && !self.brief {
            cmd.print_no_store(context);
        }
        let open_runs = if outcome.exists {
            report::open_runs(context)?
        } else {
            Vec::new()
        };
        let said = if self.brief {
            status::brief(&outcome, open_runs.first(), context.now_ms)
        } else {
            status::human(
                &outcome,
                &StatusView {
                    open_runs: &open_runs,
                    home: context.environment.home.as_deref(),
                    now_ms: context.now_ms,
                    verbose: cmd.global.verbose,
                    paint: cmd.printer.out_paint(),
                },
            )
        };
        cmd.print_output(&said, &outcome.warnings);
        Ok(exit_code::DONE)
    }
}
