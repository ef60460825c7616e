//! `bisect`: the first checkpoint for which a command fails.

use std::ffi::OsString;

use crate::commands::prelude::*;
use crate::ops::BisectOutcome;
use crate::ops::browse::bisect::{TestedCheckpoint, bisect};

/// Find the first checkpoint for which a command fails
///
/// Runs the command at the top of copies of the checkpoints between GOOD and BAD; the directory is
/// not touched. Exit code 0 means good, 125 unknown, 1 to 124 bad; any other code, or a signal,
/// ends the search.
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

impl Command for BisectArgs {
    type Answer = BisectOutcome;

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<BisectOutcome>> {
        let children = cmd.children(context);
        let done = Done::from(bisect(
            context,
            &self.good,
            &self.bad,
            &mut |dir, scratch| children.program(&self.command, dir, scratch),
            &mut |tested| cmd.printer.talk(&test_line(tested)),
        )?);
        let is_undecided = done.answer.first_bad.is_none();
        Ok(done.exit_if(is_undecided, exit_code::PARTIAL))
    }
}

impl Text for BisectOutcome {
    /// The result is only ids, for use in scripts.
    fn write(&self, out: &mut Out<'_>) {
        for candidate in &self.candidates {
            outln!(out, "{}", candidate.id.short());
        }
        let Some(bad) = &self.first_bad else {
            out.remark = undecided(self, out.talk_paint);
            return;
        };
        let (good, first_bad) = (self.last_good.named(), bad.named());
        let (from, to) = (self.last_good.id.short(), bad.id.short());
        let diff = out.place.advice(&format!("checkpoint diff {from} {to}"));
        talkln!(
            out,
            "first bad checkpoint: {first_bad}; the good one before it: {good}"
        );
        talkln!(out, "to see what changed: {diff}");
    }
}

fn test_line(tested: &TestedCheckpoint) -> String {
    let ran = tested.exit.is_some();
    let how = if ran { "" } else { ", without a run" };
    let (checkpoint, verdict) = (tested.checkpoint.named(), tested.verdict.into_str());
    format!("testing {checkpoint}: {verdict}{how}\n")
}

/// Explains why there is no single answer.
fn undecided(outcome: &BisectOutcome, paint: Paint) -> String {
    let number = checkpoints(outcome.candidates.len());
    let ids: Vec<String> = outcome.candidates.iter().map(|c| c.id.short()).collect();
    let (lead, ids) = (paint.red("checkpoint:"), ids.join(" "));
    let good = outcome.last_good.id.short();
    format!(
        "{lead} the first bad one is among these {number}, which could not be tested: {ids}; the last good one is {good}\n"
    )
}
