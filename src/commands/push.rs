//! `push`: sends checkpoints to a remote.

use crate::commands::export::write_left_out;
use crate::commands::prelude::*;
use crate::commands::remote::{GitArgs, transferred};
use crate::ops::PushOutcome;
use crate::ops::transfer::push::{PushOptions, push};

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

impl Command for PushArgs {
    type Answer = PushOutcome;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<PushOutcome>> {
        let options = PushOptions {
            name: self.name,
            prune: self.prune,
            with_prompts: self.with_prompts,
            host: environment::host_name(),
            limits: self.git.limits(cmd),
        };
        push(context, &options).map(transferred)
    }
}

impl Text for PushOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let (remote, total) = (&self.remote, checkpoints(self.checkpoint_count));
        match self.checkpoints.len() {
            _ if self.nothing_to_do => outln!(out, "{remote} is up to date: {total}"),
            0 => outln!(
                out,
                "Pushed pins, reasons or workflows to {remote}: {total}"
            ),
            sent => outln!(out, "Pushed {} to {remote}", checkpoints(sent)),
        }
        if self.removed_lines > 0 {
            let removed = count(self.removed_lines, "former line", "former lines");
            outln!(out, "Removed {removed} there.");
        }
        write_left_out(self.left_out_for_prompts.len(), "pushes", out);
    }
}
