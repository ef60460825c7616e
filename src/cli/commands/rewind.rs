//! `rewind`: back to the state before a prompt of an agent.

use crate::base::interrupt::Interrupt;
use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::commands::restore::{CommonArgs, may_choose, preview, print_restored, show_lines};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::cli::terminal::picker::{self, PickedItem};
use crate::error::{Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::prompts::{self, PromptsOutcome, prompts};
use crate::ops::context::Context;
use crate::ops::restore::commands::{self as restore_op, RestoreOptions};
use crate::ops::restore::restore_options::Proposal;
use crate::ops::select::words::TypedWords;
use crate::view::picker::PickerChoice;
use crate::view::rewind;

/// Restore the directory to the state before a prompt
///
/// Without N, lists the prompts of the newest session of an agent in this directory, on a terminal to
/// choose from. Saves the present state first; `checkpoint undo` brings it back. The conversation
/// stays as it is.
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
            ..self.common.properties()
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let known = prompts(context, self.session.as_deref())?;
        let chosen = match self.prompt {
            None => choose(context, cmd, &known)?,
            Some(_) => None,
        };
        let number = chosen.as_ref().map(|(number, _)| *number);
        if let Some(number) = number {
            let _ = cmd.chosen.set(number.to_string());
        }
        let Some(number) = self.prompt.or(number) else {
            if self.common.contract.contract {
                return Err(Error::usage("--contract needs N, the number of a prompt"));
            }
            print_answer(
                cmd,
                || rewind::json(&known),
                || rewind::human(&known, context.now_ms),
                &known.warnings,
            );
            return Ok(exit_code::DONE);
        };
        let (prompt, target) = prompts::before(&known, number)?;
        let options = RestoreOptions {
            words: TypedWords::of_checkpoint(target.to_hex()),
            common: self.common.resolve_planned(context, cmd)?,
            ..RestoreOptions::default()
        };
        let (words, mut also) = (rewind::named(&prompt.note), known.also_before(number));
        let chosen = chosen.as_ref().map(|(_, chosen)| chosen);
        let mut consent = |proposal: &Proposal<'_>| {
            cmd.warn(&std::mem::take(&mut also));
            let named = Some(&*words);
            cmd.consent_chosen(context, &Proposal { named, ..*proposal }, chosen)
        };
        let mut outcome = restore_op::restore(context, &options, &mut consent)?;
        outcome.warnings.extend(also);
        let contract = self.common.contract;
        let code = print_restored(context, cmd, "rewind", contract, &outcome)?;
        if !outcome.dry_run {
            cmd.printer
                .talk(&rewind::conversation(&known.session.agent));
        }
        Ok(code)
    }
}

/// Lets the user choose a prompt; `None` if there is no terminal or no prompt to choose.
fn choose(
    context: &Context,
    cmd: &CommandContext<'_>,
    known: &PromptsOutcome,
) -> Result<Option<(u32, PickedItem)>> {
    let (numbers, choices): (Vec<u32>, Vec<PickerChoice>) =
        PickerChoice::prompts(known, context.now_ms)
            .into_iter()
            .unzip();
    if choices.is_empty() || !may_choose(cmd) || !cmd.printer.for_a_person() {
        return Ok(None);
    }
    let options = RestoreOptions::default();
    let plan = |id: ObjectId, stop: &Interrupt| preview(context, &options, id, stop);
    let (interrupt, paint) = (&context.interrupt, cmd.printer.err_paint());
    let question = "Go back to before which prompt?";
    let show = |id: ObjectId| show_lines(context, cmd, id);
    let chosen = picker::choose(
        question,
        &choices,
        interrupt,
        paint,
        Some(&plan),
        Some(&show),
    )?;
    Ok(Some((numbers[chosen.at], chosen)))
}
