//! `workflow resume` and `workflow recover`: the commands that ask.

use crate::answer::{Done, Out, Text, outln, talkln};
use crate::base::text::escape;
use crate::base::time::rfc3339_seconds;
use crate::commands::workflow::questions;
use crate::commands::workflow::report::{changed, findings, with_place};
use crate::error::{Code, Error, Result};
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::shell::command_context::CommandContext;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::sync::{self, Imported};
use crate::workflow::engine::recover::{self as repair_run, RecoverOutcome, Take};
use crate::workflow::engine::report;
use crate::workflow::engine::resume::{self as op, ResumeOutcome};
use crate::workflow::engine::resume_questions::{Question, ResumeOptions};
use crate::workflow::engine::runs::Runs;
use crate::workflow::engine::work::StepOptions;
use crate::workflow::rules::choices::Chosen;
use crate::workflow::rules::profile::Profile;

/// Repair a run after an interruption, or settle an unreadable state file
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// Run; with --take, path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// Side that counts: state or none; what it replaces is kept aside
    #[arg(long, value_name = "SIDE", conflicts_with = "dry_run")]
    pub take: Option<Take>,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

type Recovered = (RecoverOutcome, Vec<Warning>);

pub fn resume(
    context: &Context,
    cmd: &CommandContext<'_>,
    mut options: ResumeOptions,
) -> Result<(ResumeOutcome, Vec<Warning>)> {
    options.yes = cmd.global.yes;
    let mut detail = None;
    let mut ask = |question: &Question<'_>| {
        if cmd.prompt.may_ask && !matches!(question, Question::Refused(_)) {
            let text = questions::question(question, context.now_ms);
            return cmd.prompt.words(&context.interrupt, &text);
        }
        if let Question::Resume(status) | Question::Unsound(status) | Question::Refused(status) =
            question
        {
            detail = Some(status.detail(&questions::last_line(status)));
        }
        let text = questions::without_terminal(question, context.now_ms);
        cmd.printer.talk(&text);
        Ok(None)
    };
    let (mut outcome, warnings) =
        op::resume(context, &options, &mut ask).map_err(|mut error| {
            if error.is_of_run() && error.run_details().detail.is_none() {
                error.run_details().detail = detail;
            }
            error
        })?;
    with_place(&mut outcome.status);
    Ok((outcome, warnings))
}

/// Settles conflicts first; returns the last of them if there is nothing left to resume. A file
/// without an owner does not keep the chosen run from being resumed.
pub fn settle_first(
    context: &Context,
    cmd: &CommandContext<'_>,
    options: &ResumeOptions,
) -> Result<Option<Recovered>> {
    if !cmd.prompt.may_ask || options.choose.is_some() {
        return Ok(None);
    }
    let named = options.run.as_deref();
    let Some(Imported {
        store, conflicts, ..
    }) = sync::open_imported(context)?
    else {
        return Ok(None);
    };
    let meant = Runs::live(&store)?.pick(named).ok().cloned();
    let meant = meant.filter(|run| run.workflow.status.is_open());
    let print = |settled: Option<Recovered>| {
        if let Some(settled) = settled {
            cmd.print(context, &Done::from(settled));
        }
    };
    let mut last = None;
    for conflict in &conflicts {
        let is_in_way = match &meant {
            Some(run) => conflict.concerns(&run.workflow),
            None => named.is_none(),
        };
        if !is_in_way && (named.is_some() || conflict.run.is_some()) {
            continue;
        }
        print(last.take());
        let settled = match settle(context, cmd, conflict, false) {
            Err(error) if error.code == Code::DECLINED && !is_in_way => continue,
            settled => settled?,
        };
        if is_in_way && matches!(settled.0.take, Some(Take::None | Take::Copy)) {
            return Ok(Some(settled));
        }
        last = Some(settled);
    }
    if meant.is_some() {
        print(last.take());
    }
    Ok(last)
}

pub fn recover(
    context: &Context,
    cmd: &CommandContext<'_>,
    args: &RecoverArgs,
) -> Result<Recovered> {
    let named = args.what.as_deref();
    let imported = sync::open_imported(context)?;
    let is_named = |conflict: &Conflict| {
        named.is_none_or(|named| conflict.path == named || conflict.run.as_deref() == Some(named))
    };
    let conflicts = imported.into_iter().flat_map(|imported| imported.conflicts);
    let conflict = conflicts.into_iter().find(is_named);
    match (args.take, conflict) {
        (Some(take), conflict) => {
            let path = conflict.map(|conflict| conflict.path);
            let path = path
                .or_else(|| args.what.clone())
                .ok_or_else(|| Error::usage("--take needs the path of a file"))?;
            repair_run::resolve_conflict(context, &path, take)
        }
        (None, Some(conflict)) => settle(context, cmd, &conflict, args.dry_run),
        (None, None) => {
            let options = StepOptions {
                run: args.what.clone(),
                ..StepOptions::default()
            };
            repair_run::repair(context, &options, args.dry_run)
        }
    }
}

/// Shows a file that could not be imported, and asks how to settle the conflict.
fn settle(
    context: &Context,
    cmd: &CommandContext<'_>,
    conflict: &Conflict,
    dry_run: bool,
) -> Result<Recovered> {
    let status = conflict.run.as_deref();
    let status = status.map(|id| report::status(context, Some(id), false));
    let status = status.transpose()?;
    let shown = questions::conflict(conflict);
    let answer = if dry_run {
        None
    } else {
        cmd.prompt.words(&context.interrupt, &shown)?
    };
    let Some(answer) = answer else {
        cmd.printer.talk(&format!("{}\n", shown.trim_end()));
        let state = status.as_ref().map(|(status, _)| &status.run.workflow);
        return Err(conflict.problem(state));
    };
    let take = questions::side(conflict, &answer).ok_or_else(Error::declined)?;
    repair_run::resolve_conflict(context, &conflict.path, take)
}

impl Text for ResumeOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let workflow = &self.status.run.workflow;
        let seen = &self.status.seen;
        let goes_on = matches!(self.done, Chosen::Resume | Chosen::Pick(_));
        if goes_on && !self.was_shown {
            let drift = seen.drift.iter().filter(|drift| !drift.changes.is_empty());
            out.talk
                .extend(drift.map(|drift| changed(drift, out.context.now_ms)));
            out.talk.push_str(&findings(seen));
        }
        for what in &self.recovered {
            talkln!(out, "recovered: {}", escape(what));
        }
        match self.done {
            Chosen::View => {
                out.result.push_str(&questions::details(workflow));
                return;
            }
            Chosen::Resume | Chosen::Pick(_) | Chosen::Decline => {
                let is_phases = workflow.profiles.first() == Some(&Profile::Phases);
                let next = workflow
                    .next()
                    .map(|next| if is_phases { &next.id } else { &next.name });
                let from = next.map(|next| format!(" from {} phase", escape(next)));
                let (named, from) = (escape(workflow.named()), from.unwrap_or_default());
                talkln!(out, "Resuming workflow {named}{from}");
                let last = rfc3339_seconds(self.last_activity_at.ms());
                talkln!(out, "Last activity: {last}");
                let completed = workflow.completed().map(|phase| escape(&phase.id));
                let completed: Vec<String> = completed.collect();
                let none = || "nothing yet".to_owned();
                let completed = Some(completed.join(", ")).filter(|ids| !ids.is_empty());
                talkln!(out, "Completed: {}", completed.unwrap_or_else(none));
            }
            Chosen::StartFresh => {
                talkln!(out, "Started {}; the old run was archived", workflow.id);
            }
            Chosen::Delete => return talkln!(out, "Deleted; the archive keeps it"),
            Chosen::Abandon => return talkln!(out, "Abandoned; the archive keeps it"),
        }
        outln!(out, "Next: {}", seen.next.words);
    }
}

impl Text for RecoverOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if let (Some(path), Some(take)) = (&self.file, self.take) {
            let path = escape(path);
            let kept = self.kept_as.as_ref();
            let done = match take {
                Take::State => format!("Wrote {path} from the recorded state"),
                Take::None => format!("Put {path} aside"),
                Take::Copy => format!("Left {path} for you to fix"),
            };
            let kept = kept.map(|to| format!("; what it said is kept as {}", escape(to)));
            outln!(out, "{done}{}.", kept.unwrap_or_default());
            if let Some(id) = &self.started {
                outln!(out, "Started {id}; the old run was archived");
            }
            return;
        }
        let id = self.run.as_ref().map(|run| escape(run.workflow.named()));
        let id = id.unwrap_or_default();
        let word = if self.dry_run { "would be" } else { "was" };
        if self.reopened {
            outln!(out, "Workflow {id} {word} reopened.");
        } else if self.recovered.is_empty() {
            outln!(out, "Nothing to recover in {id}.");
        }
        if self.recovered.is_empty() {
            return;
        }
        outln!(out, "In {id} this {word} repaired:");
        for what in &self.recovered {
            outln!(out, "  {}", escape(what));
        }
    }
}
