//! `undo` and `redo`.

use crate::answer::plan::limit_words;
use crate::commands::prelude::*;
use crate::commands::restore::{self, CommonArgs, RestoreAnswer};
use crate::model::Checkpoint;
use crate::ops::browse::list::{ListedStep, undo_steps};
use crate::ops::restore::commands as restore_op;
use crate::ops::{CommonOptions, RestoreOutcome, StepsOutcome};

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

impl Command for UndoArgs {
    type Answer = Either<StepsOutcome, RestoreAnswer>;

    fn properties(&self) -> Properties {
        Properties {
            name: self.list.then_some("undo.list"),
            ..self.common.properties()
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        if self.list {
            let mut outcome = undo_steps(context)?;
            let warnings = std::mem::take(&mut outcome.warnings);
            return Ok(Done::new(Either::First(outcome), warnings));
        }
        let steps = self.steps.unwrap_or(1);
        let several = match steps {
            1 => Vec::new(),
            _ => self.several(context, steps as usize)?,
        };
        let several = |steps: u32| several.get((steps as usize).checked_sub(2)?);
        let again = CommandWords::new(["undo"]);
        let common = self.common.resolve(context, cmd, Some(&again))?;
        let consent = |named| {
            move |planned: &RestoreOutcome| restore::consent(context, cmd, planned, named, None)
        };
        // What stops a later step is found before the first one, as far as it shows already.
        let planned = CommonOptions {
            dry_run: true,
            ..common.clone()
        };
        for passed in 1..steps as usize {
            restore_op::undo(context, &planned, passed, &mut consent(None))?;
        }
        let named = several(steps).map(String::as_str);
        let mut whole = restore_op::undo(context, &common, 0, &mut consent(named))?;
        let mut passed = usize::from(whole.nothing_to_do);
        let (mut failed, mut undone) = (None, steps);
        for done in 1..steps {
            let next = match restore_op::undo(context, &common, passed, &mut consent(None)) {
                Ok(next) => next,
                Err(why) if whole.nothing_to_do => return Err(why),
                Err(why) => {
                    (failed, undone) = (Some(stopped_after(done, steps, why)), done);
                    break;
                }
            };
            passed = if next.nothing_to_do { passed + 1 } else { 0 };
            whole.add(next);
        }
        // Without consent, or by a signal, it ends as it would have before the first step.
        let is_part = failed.as_ref().is_some_and(|why| {
            let codes = [Code::CONSENT_NEEDED, Code::DECLINED, Code::INTERRUPTED];
            !codes.contains(&why.code)
        });
        let mut done = restore::answer(context, cmd, self.common.contract, again, whole)?;
        done.answer.several = several(undone).cloned();
        let done = match failed {
            None => done,
            failed => done.but(failed).exit_if(is_part, exit_code::PARTIAL),
        };
        Ok(done.map(Either::Second))
    }
}

/// A failure of a step, with the steps before it.
fn stopped_after(done: u32, steps: u32, cause: Error) -> Error {
    let left = (steps - done).to_string();
    let go_on = || Sentence::new("'checkpoint undo {} --yes' goes on", &[&left]);
    let needs_consent = cause.code == Code::CONSENT_NEEDED;
    let hint = needs_consent.then(go_on).or_else(|| cause.next.clone());
    cause.after(&format!("{done} of {steps} steps undone, and then"), hint)
}

impl UndoArgs {
    /// Names the first two steps, the first three, and so on; refuses if some are not there, before
    /// the first one is taken.
    fn several(&self, context: &Context, steps: usize) -> Result<Vec<String>> {
        let limit = match (self.common.dry_run, &self.common.plan.digest) {
            (true, _) => Some("--dry-run shows one step"),
            (false, Some(_)) => Some("--plan allows one step"),
            (false, None) => None,
        };
        if let Some(limit) = limit {
            let what = format!("{limit}; 'checkpoint undo --list' lists all");
            return Err(Error::usage(what));
        }
        let known = undo_steps(context)?.undo;
        if known.len() < steps {
            let only = format!("only {}; nothing was changed", known.len());
            let what = format!("{steps} restores cannot be undone, {only}");
            let next = Sentence::new("'checkpoint undo --list' lists them", &[]);
            return Err(Error::new(Code::NOTHING_FOUND, what).next(next));
        }
        let named =
            |(number, last)| format!("{number} restores, to before the {}", described(last));
        Ok((1..).zip(&known[..steps]).skip(1).map(named).collect())
    }
}

impl Command for RedoArgs {
    type Answer = RestoreAnswer;

    fn properties(&self) -> Properties {
        self.common.properties()
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<RestoreAnswer>> {
        let again = CommandWords::new(["redo"]);
        let common = self.common.resolve(context, cmd, Some(&again))?;
        let mut consent = |planned: &_| restore::consent(context, cmd, planned, None, None);
        let outcome = restore_op::redo(context, &common, &mut consent)?;
        restore::answer(context, cmd, self.common.contract, again, outcome)
    }
}

impl Text for StepsOutcome {
    fn write(&self, out: &mut Out<'_>) {
        write_stack("undo", &self.undo, out);
        write_stack("redo", &self.redo, out);
    }
}

fn write_stack(verb: &str, steps: &[ListedStep], out: &mut Out<'_>) {
    if steps.is_empty() {
        outln!(out, "{verb}   -");
    }
    let described: Vec<String> = steps.iter().map(described).collect();
    let width = described.iter().map(|text| text.chars().count()).max();
    let width = width.unwrap_or_default();
    for (at, (step, text)) in steps.iter().zip(&described).enumerate() {
        let label = if at == 0 { verb } else { "" };
        let when = out.ago(step.safety.record.time_ms);
        outln!(out, "{label:<4}  {:>2}  {text:<width$}  {when}", at + 1);
    }
}

fn described(step: &ListedStep) -> String {
    let target = step.target.as_ref().map(Checkpoint::named);
    let target = target.unwrap_or_else(|| "a checkpoint that is gone".to_owned());
    match limit_words(&step.paths, &step.filter) {
        all if all.is_empty() => format!("restore to {target}"),
        limits => format!("restore of {limits} from {target}"),
    }
}
