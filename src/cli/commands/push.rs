//! `push`: sends checkpoints to a remote.

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::remote::GitArgs;
use crate::cli::run::RunCommand;
use crate::cli::{environment, exit_code};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::transfer::push::{self as push_op, PushOptions};
use crate::view::remote as remote_view;

/// Send new checkpoints to a remote
///
/// Sends checkpoints with their pins and scopes, and the workflows; safety checkpoints stay here.
/// What was pushed stays there when it is evicted here, until --prune. Git does the sending, with
/// your keys. Nothing is encrypted unless the remote is, see 'checkpoint help remotes'.
#[derive(Clone, Debug, clap::Args)]
pub struct PushArgs {
    /// Remote [default: the only one, or origin]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Replace the remote's copy: what was deleted here is deleted there
    #[arg(long)]
    pub prune: bool,
    /// Also checkpoints that keep the text of a prompt
    #[arg(long)]
    pub with_prompts: bool,
    #[command(flatten)]
    pub git: GitArgs,
}

impl RunCommand for PushArgs {
    const MAY_TAKE_LONG: bool = true;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let options = PushOptions {
            name: self.name,
            prune: self.prune,
            with_prompts: self.with_prompts,
            host: environment::host_name(),
            limits: self.git.limits(cmd),
        };
        let outcome = push_op::push(context, &options)?;
        print_answer(
            cmd,
            || remote_view::push_json(&outcome),
            || remote_view::pushed(&outcome),
            &outcome.warnings,
        );
        Ok(exit_code::of_transfer(&outcome.warnings))
    }
}
