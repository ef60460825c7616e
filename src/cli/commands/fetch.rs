//! `fetch`: brings the checkpoints of a remote.

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::remote::GitArgs;
use crate::cli::exit_code;
use crate::cli::run::RunCommand;
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::transfer::fetch::{self as fetch_op, FetchOptions};
use crate::view::remote as remote_view;

/// Bring what others pushed to a remote
///
/// Its checkpoints stand beside yours: 'checkpoint list --remote NAME' lists them, and NAME/latest
/// or NAME/ID names one to show, diff or restore. They do not count
/// towards your limits and are never removed automatically. Everything is checked first: a bad line
/// stays there and is named.
#[derive(Clone, Debug, clap::Args)]
pub struct FetchArgs {
    /// Remote [default: the only one, or origin]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Forget what is no longer there
    #[arg(long)]
    pub prune: bool,
    /// Bring everything again, also what is here: mends what is damaged of it
    #[arg(long)]
    pub refetch: bool,
    #[command(flatten)]
    pub git: GitArgs,
}

impl RunCommand for FetchArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let options = FetchOptions {
            name: self.name,
            prune: self.prune,
            refetch: self.refetch,
            limits: self.git.limits(cmd),
        };
        let outcome = fetch_op::fetch(context, &options)?;
        print_answer(
            cmd,
            || remote_view::fetch_json(&outcome),
            || remote_view::fetched(&outcome),
            &outcome.warnings,
        );
        Ok(exit_code::of_transfer(&outcome.warnings))
    }
}
