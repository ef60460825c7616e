//! `rewind`: back to the state before a prompt of an agent.

use crate::agent::marks;
use crate::answer::table::change_words;
use crate::base::time::age;
use crate::commands::prelude::*;
use crate::commands::restore::{self, CommonArgs, RestoreAnswer};
use crate::model::AgentSession;
use crate::ops::browse::prompts::{self, prompts};
use crate::ops::restore::commands as restore_op;
use crate::ops::{PromptsOutcome, RestoreOptions, TypedWords};
use crate::shell::terminal::picker::line_of;
use crate::shell::{PickedItem, PickerChoice};

/// Maximum number of other sessions that are named.
const NAMED_SESSIONS: usize = 5;

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

impl Command for PromptRewindArgs {
    type Answer = Either<PromptsOutcome, RestoreAnswer>;

    fn properties(&self) -> Properties {
        Properties {
            name: self.prompt.is_none().then_some("rewind.list"),
            ..self.common.properties()
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        let folder = environment::temporary_dir();
        let lost = |session: &AgentSession| {
            let (agent, id) = session.name();
            let lost = marks::lost(&folder, context.root.path(), agent, id).into_iter();
            lost.map(|lost| lost.note).collect()
        };
        let mut known = prompts(context, self.session.as_deref(), lost)?;
        let chosen = match self.prompt {
            None => choose(context, cmd, &known)?,
            Some(_) => None,
        };
        let number = chosen.as_ref().map(|(number, _)| *number);
        let Some(number) = self.prompt.or(number) else {
            if self.common.contract.contract {
                return Err(Error::usage("--contract needs N, the number of a prompt"));
            }
            let warnings = std::mem::take(&mut known.warnings);
            return Ok(Done::new(Either::First(known), warnings));
        };
        let (prompt, target) = prompts::before(&known, number)?;
        let again = known.rewind_command(&number.to_string());
        let options = RestoreOptions {
            words: TypedWords::of_checkpoint(target.to_hex()),
            common: self.common.resolve(context, cmd, Some(&again))?,
            ..RestoreOptions::default()
        };
        let named = format!("before prompt {number} ({})", line_of(&prompt.note));
        let mut also = known.also_before(number);
        let chosen = chosen.as_ref().map(|(_, chosen)| chosen);
        let mut consent = |planned: &_| {
            cmd.warn(&std::mem::take(&mut also));
            restore::consent(context, cmd, planned, Some(&named), chosen)
        };
        let mut outcome = restore_op::restore(context, &options, &mut consent)?;
        outcome.warnings.extend(also);
        let mut done = restore::answer(context, cmd, self.common.contract, again, outcome)?;
        done.answer.agent = Some(known.session.agent);
        Ok(done.map(Either::Second))
    }
}

/// Lets the user choose a prompt; `None` if there is no terminal or no prompt to choose.
fn choose(
    context: &Context,
    cmd: &CommandContext<'_>,
    known: &PromptsOutcome,
) -> Result<Option<(u32, PickedItem)>> {
    let choices = PickerChoice::prompts(known, context.now_ms).into_iter();
    let (numbers, choices): (Vec<u32>, Vec<PickerChoice>) = choices.unzip();
    if choices.is_empty() || !restore::may_choose(cmd) || !cmd.printer.for_a_person() {
        return Ok(None);
    }
    let question = "Go back to before which prompt?";
    let options = RestoreOptions::default();
    let chosen = restore::pick(context, cmd, question, &choices, &options)?;
    Ok(Some((numbers[chosen.at], chosen)))
}

impl Text for PromptsOutcome {
    fn write(&self, out: &mut Out<'_>) {
        for prompt in &self.prompts {
            let note = &prompt.note;
            let is_here = self.position == Some(note.number);
            let branch = note.rewound_to;
            let branch = branch.map(|number| format!(" (again from before {number})"));
            let before = prompt.before.as_ref().map(|before| before.id.short());
            outln!(
                out,
                "{}{:>3}  {:<8}  {:>6}  {:<8}  {}{}",
                if is_here { "*" } else { " " },
                note.number,
                before.as_deref().unwrap_or("-"),
                age(note.time_ms, out.context.now_ms),
                prompt.changes.map(change_words).unwrap_or_default(),
                line_of(note),
                branch.unwrap_or_default(),
            );
        }
        let session = &self.session;
        let (agent, id) = (escape(&session.agent), escape(&session.id));
        let mut prompts = self.prompts.iter();
        if self.prompts.is_empty() {
            talkln!(out, "no prompt of this session is known");
        } else {
            talkln!(out, "prompts of {agent}, session {id}");
        }
        if let Some(prompt) = prompts.find(|prompt| prompt.before.is_some()) {
            let number = prompt.note.number.to_string();
            let command = out.place.command(self.rewind_command(&number));
            talkln!(out, "'{command}' restores the state before prompt {number}");
        }
        match (self.position, &self.here) {
            (Some(_), _) => talkln!(out, "* you are here"),
            (None, Some(here)) => talkln!(out, "you are at {}", here.named()),
            (None, None) => {}
        }
        for other in self.others.iter().take(NAMED_SESSIONS) {
            let command = CommandWords::new(["rewind", "--session", &*self.name_of(other)]);
            let prompts = count(other.prompts.len(), "prompt", "prompts");
            let (agent, command) = (escape(&other.agent), out.place.command(command));
            talkln!(out, "{agent} had {prompts} here too: '{command}'");
        }
    }
}
