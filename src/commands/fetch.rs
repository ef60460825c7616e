//! `fetch`: brings the checkpoints of a remote.

use crate::commands::prelude::*;
use crate::commands::remote::{GitArgs, transferred};
use crate::ops::FetchOutcome;
use crate::ops::transfer::fetch::fetch;

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

impl Command for FetchArgs {
    type Answer = FetchOutcome;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<FetchOutcome>> {
        let (name, limits) = (self.name.as_deref(), self.git.limits(cmd));
        fetch(context, name, self.prune, self.refetch, limits).map(transferred)
    }
}

impl Text for FetchOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let (remote, total) = (&self.remote, checkpoints(self.checkpoint_count));
        match self.checkpoints.len() {
            _ if self.is_refetched && self.has_own_lines => outln!(
                out,
                "Fetched all of {remote} again: {total}, and what was pushed from here"
            ),
            _ if self.is_refetched => outln!(out, "Fetched all of {remote} again: {total}"),
            0 if self.is_changed => outln!(out, "Fetched pins, reasons or workflows from {remote}"),
            0 => outln!(out, "Nothing new at {remote}: {total}"),
            added => outln!(out, "Fetched {} from {remote}", checkpoints(added)),
        }
        if self.forgotten_lines > 0 {
            let lines = count(self.forgotten_lines, "line that is", "lines that are");
            outln!(out, "Forgot {lines} no longer there.");
        }
        if self.gone_lines > 0 {
            let gone = count(self.gone_lines, "line is", "lines are");
            outln!(
                out,
                "{gone} here and no longer there; \
                 'checkpoint fetch {remote} --prune' forgets what is gone."
            );
        }
    }
}
