//! `relink`: moves the checkpoints of a moved project.

use std::path::PathBuf;

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::environment;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::maintain::relink::{self as relink_op, RelinkOptions, Relinking};
use crate::view::relink as relink_view;

/// Bring the checkpoints of a moved project here
///
/// The checkpoints of a moved or renamed project stay under its old path until this command moves
/// them here, with their ids, pins and undo history.
#[derive(Clone, Debug, clap::Args)]
pub struct RelinkArgs {
    /// Former path of the project
    #[arg(value_name = "OLD-PATH")]
    pub old_path: PathBuf,
    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
}

impl RunCommand for RelinkArgs {
    const HAS_DRY_RUN: bool = true;
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let old_root = environment::absolute(&self.old_path)?;
        let options = RelinkOptions {
            old_root,
            as_given: self.old_path,
            yes: cmd.global.yes,
            dry_run: self.dry_run,
        };
        let mut ask = |relinking: &Relinking<'_>| {
            cmd.prompt.ask(
                &context.interrupt,
                relink_view::stake(relinking),
                &relink_view::question(relinking),
            )
        };
        let outcome = relink_op::relink(context, &options, &mut ask)?;
        answer(
            cmd,
            || relink_view::json(&outcome),
            || relink_view::human(&outcome),
            &outcome.warnings,
        )
    }
}
