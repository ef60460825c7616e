//! `rewind`: back to the state before a prompt of an agent.

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::restore::{CommonArgs, PROPERTIES, print_restored};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::browse::prompts::{self, prompts};
use crate::ops::context::Context;
use crate::ops::restore::commands::{self as restore_op, RestoreOptions};
use crate::ops::restore::restore_options::Proposal;
use crate::ops::select::words::TypedWords;
use crate::view::rewind;

/// Restore the directory to the state before a prompt
///
/// Without N, lists the prompts of the newest session of an agent in this directory. Saves the
/// present state first; `checkpoint undo` brings it back. The conversation stays as it is.
#[derive(Clone, Debug, clap::Args)]
pub struct PromptRewindArgs {
    /// Number of the prompt, as listed
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub prompt: Option<u32>,
    /// Session instead of the newest: its name or the beginning of it, or current
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    #[command(flatten)]
    pub common: CommonArgs,
}

impl RunCommand for PromptRewindArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: self.prompt.is_none().then_some("rewind.list"),
            ..PROPERTIES
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let known = prompts(context, self.session.as_deref())?;
        let Some(number) = self.prompt else {
            print_answer(
                cmd,
                || rewind::json(&known),
                || rewind::human(&known, context.now_ms),
                &known.warnings,
            );
            return Ok(exit_code::DONE);
        };
        let target = prompts::before(&known, number)?;
        let options = RestoreOptions {
            words: TypedWords::of_checkpoint(target.to_hex()),
            common: self.common.resolve_planned(context, cmd)?,
            ..RestoreOptions::default()
        };
        let mut consent = |proposal: &Proposal<'_>| cmd.consent(context, proposal);
        let outcome = restore_op::restore(context, &options, &mut consent)?;
        let code = print_restored(cmd, "rewind", &outcome, None);
        if !outcome.dry_run {
            cmd.printer
                .talk(&rewind::conversation(&known.session.agent));
        }
        Ok(code)
    }
}
