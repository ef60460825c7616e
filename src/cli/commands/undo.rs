//! `undo` and `redo`.

use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::restore::{CommonArgs, print_restored};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::error::sentence::Sentence;
use crate::error::{Code, Error, Result};
use crate::ops::browse::undo_steps::undo_steps;
use crate::ops::context::Context;
use crate::ops::restore::commands as restore_op;
use crate::ops::restore::restore_options::{Proposal, RestoreOutcome};
use crate::view::undo;

/// Undo the last restore
///
/// Saves the present state first; 'checkpoint redo' brings it back.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// Restores to undo; one that changes nothing counts too [default: 1]
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// List what can be undone and redone, and change nothing
    #[arg(long, conflicts_with_all = ["steps", "dry_run", "verify", "contract"])]
    pub list: bool,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Redo the restore that was undone last
///
/// Saves the present state first; 'checkpoint undo' brings it back.
#[derive(Debug, clap::Args)]
pub struct RedoArgs {
    #[command(flatten)]
    pub common: CommonArgs,
}

impl RunCommand for UndoArgs {
    fn properties(&self) -> Properties {
        Properties {
            name: self.list.then_some("undo.list"),
            ..self.common.properties()
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        if self.list {
            let outcome = undo_steps(context)?;
            print_answer(
                cmd,
                || undo::json(&outcome),
                || undo::human(&outcome, context.now_ms),
                &outcome.warnings,
            );
            return Ok(exit_code::DONE);
        }
        let steps = self.steps.unwrap_or(1);
        if steps > 1 {
            self.refuse_too_many(context, steps as usize)?;
        }
        let common = self.common.resolve_planned(context, cmd)?;
        // One document for all steps.
        let contract = self.common.contract;
        let at_end = cmd.printer.json || contract.contract;
        let (mut code, mut passed, mut whole) = (exit_code::DONE, 0, None::<RestoreOutcome>);
        for done in 0..steps {
            let mut consent = |proposal: &Proposal<'_>| cmd.consent(context, proposal);
            let mut outcome = restore_op::undo(context, &common, passed, &mut consent)
                .map_err(|why| stopped_after(done, steps, whole.as_ref(), why))?;
            passed = if outcome.is_nothing_to_do() {
                passed + 1
            } else {
                0
            };
            if done + 1 < steps {
                outcome.beyond = None;
            }
            if !at_end {
                code = code.max(print_restored(context, cmd, "undo", contract, &outcome)?);
            }
            match &mut whole {
                Some(whole) => whole.add(outcome),
                None => whole = Some(outcome),
            }
        }
        let print = |whole| print_restored(context, cmd, "undo", contract, &whole);
        whole.filter(|_| at_end).map_or(Ok(code), print)
    }
}

/// A failure of a step, with the steps before it.
fn stopped_after(done: u32, steps: u32, so_far: Option<&RestoreOutcome>, cause: Error) -> Error {
    if so_far.is_none_or(RestoreOutcome::is_nothing_to_do) {
        return cause;
    }
    let left = steps - done;
    let hint = if cause.code == Code::CONSENT_NEEDED {
        let left = left.to_string();
        Some(Sentence::new(
            "'checkpoint undo {} --yes' goes on",
            &[&left],
        ))
    } else {
        cause.next.clone()
    };
    cause.after(&format!("{done} of {steps} steps undone, and then"), hint)
}

impl UndoArgs {
    /// Refuses several steps of which some are not there, before the first one is taken.
    fn refuse_too_many(&self, context: &Context, steps: usize) -> Result<()> {
        let limit = match (self.common.dry_run, &self.common.plan.digest) {
            (true, _) => Some("--dry-run shows one step"),
            (false, Some(_)) => Some("--plan allows one step"),
            (false, None) => None,
        };
        if let Some(limit) = limit {
            return Err(Error::usage(format!(
                "{limit}; 'checkpoint undo --list' lists all"
            )));
        }
        let known = undo_steps(context)?.undo.len();
        if steps > known {
            return Err(Error::new(
                Code::NOTHING_FOUND,
                format!("{steps} restores cannot be undone, only {known}; nothing was changed"),
            )
            .next(Sentence::new("'checkpoint undo --list' lists them", &[])));
        }
        Ok(())
    }
}

impl RunCommand for RedoArgs {
    fn properties(&self) -> Properties {
        self.common.properties()
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let common = self.common.resolve_planned(context, cmd)?;
        let outcome = restore_op::redo(context, &common, &mut |proposal| {
            cmd.consent(context, proposal)
        })?;
        print_restored(context, cmd, "redo", self.common.contract, &outcome)
    }
}
