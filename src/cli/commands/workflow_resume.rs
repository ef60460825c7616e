//! `workflow resume` and `workflow recover`: the commands that ask.

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::exit_code;
use crate::error::{Code, Error, Result};
use crate::ops::context::Context;
use crate::view::workflow::{json as runs_json, outcomes as workflow_view, questions};
use crate::workflow::documents::conflict::{Conflict, ConflictKind};
use crate::workflow::documents::import_edits::{self, Imported};
use crate::workflow::engine::repair_run::{self, Repaired, Take};
use crate::workflow::engine::report;
use crate::workflow::engine::resume as op;
use crate::workflow::engine::resume_questions::{Question, ResumeOptions};
use crate::workflow::engine::runs::Runs;
use crate::workflow::engine::step::StepOptions;
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::profile::Profile;

/// Repair a run after an interruption, or settle an unreadable state file
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// Run; with --take, path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// Side that counts: file, state or none; what it replaces is kept aside
    #[arg(long, value_name = "SIDE", value_parser = ["file", "state", "none"], conflicts_with = "dry_run")]
    pub take: Option<String>,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

pub fn resume(
    context: &Context,
    cmd: &CommandContext<'_>,
    mut options: ResumeOptions,
) -> Result<u8> {
    options.yes = cmd.global.yes;
    let asks = options.choose.is_none();
    if cmd.prompt.may_ask && asks && settle_first(context, cmd, options.run.as_deref())? {
        return Ok(exit_code::DONE);
    }
    let mut told = None;
    let mut ask = |question: &Question<'_>| {
        if cmd.prompt.may_ask && !matches!(question, Question::Refused(_)) {
            return cmd.prompt.words(
                &context.interrupt,
                &questions::question(question, context.now_ms),
            );
        }
        if let Question::Resume(status) | Question::Unsound(status) | Question::Refused(status) =
            question
        {
            told = Some(runs_json::undecided(status));
        }
        cmd.printer
            .talk(&questions::without_terminal(question, context.now_ms));
        Ok(None)
    };
    let outcome = op::resume(context, &options, &mut ask).map_err(|mut error| {
        if error.is_of_run() && error.run_details().detail.is_none() {
            error.run_details().detail = told;
        }
        error
    })?;
    let words = || workflow_view::resume(&outcome, asks, context.now_ms);
    answer(
        cmd,
        || runs_json::resume(&outcome),
        words,
        &outcome.warnings,
    )
}

/// Settles conflicts first; returns whether there is nothing left to resume. A file without an
/// owner does not keep the chosen run from being resumed.
fn settle_first(context: &Context, cmd: &CommandContext<'_>, named: Option<&str>) -> Result<bool> {
    let Some(Imported {
        store, conflicts, ..
    }) = import_edits::open_imported(context)?
    else {
        return Ok(false);
    };
    let meant = Runs::live(&store)?
        .pick(named)
        .ok()
        .cloned()
        .filter(|run| run.workflow.status.is_open());
    for conflict in &conflicts {
        let is_in_way = meant
            .as_ref()
            .map_or(named.is_none(), |run| conflict.concerns(&run.workflow));
        if !is_in_way && (named.is_some() || conflict.run.is_some()) {
            continue;
        }
        match settle(context, cmd, conflict, false) {
            Ok(Take::None | Take::Copy) if is_in_way => return Ok(true),
            Err(error) if error.code == Code::DECLINED && !is_in_way => {}
            settled => drop(settled?),
        }
    }
    Ok(meant.is_none() && !conflicts.is_empty())
}

/// Returns the conflict chosen by its path or run; without a name the first.
fn find_conflict(context: &Context, named: Option<&str>) -> Result<Option<Conflict>> {
    let Some(Imported { conflicts, .. }) = import_edits::open_imported(context)? else {
        return Ok(None);
    };
    let is_named = |conflict: &Conflict| {
        named.is_none_or(|named| conflict.path == named || conflict.run.as_deref() == Some(named))
    };
    Ok(conflicts.into_iter().find(is_named))
}

pub fn recover(context: &Context, cmd: &CommandContext<'_>, args: &RecoverArgs) -> Result<u8> {
    let conflict = find_conflict(context, args.what.as_deref())?;
    if let Some(word) = &args.take {
        let named = conflict
            .map(|conflict| conflict.path)
            .or_else(|| args.what.clone());
        let path = named.ok_or_else(|| Error::usage("--take needs the path of a file"))?;
        let side = match word.as_str() {
            "file" => Take::File,
            "state" => Take::State,
            _ => Take::None,
        };
        return settled(context, cmd, &path, side);
    }
    if let Some(conflict) = conflict {
        settle(context, cmd, &conflict, args.dry_run)?;
        return Ok(exit_code::DONE);
    }
    let options = StepOptions {
        run: args.what.clone(),
        ..StepOptions::default()
    };
    let Repaired {
        run,
        what,
        warnings,
    } = repair_run::repair(context, &options, args.dry_run)?;
    let words = || workflow_view::recovered(run.workflow.named(), &what, args.dry_run);
    answer(
        cmd,
        || runs_json::recover(&run, &what, args.dry_run, &warnings),
        words,
        &warnings,
    )
}

/// Shows a file that could not be imported, and asks how to settle the conflict.
fn settle(
    context: &Context,
    cmd: &CommandContext<'_>,
    conflict: &Conflict,
    dry_run: bool,
) -> Result<Take> {
    let status = conflict
        .run
        .as_deref()
        .map(|id| report::status(context, Some(id), false))
        .transpose()?;
    let problem = || conflict.problem(status.as_ref().map(|status| &status.run.workflow));
    let shown = questions::conflict(conflict);
    let answer = if dry_run {
        None
    } else {
        cmd.prompt.words(&context.interrupt, &shown)?
    };
    let Some(answer) = answer else {
        cmd.printer.talk(&format!("{}\n", shown.trim_end()));
        return Err(problem());
    };
    let side = side(conflict, &answer).ok_or(Error::declined())?;
    settled(context, cmd, &conflict.path, side)?;
    Ok(side)
}

/// Interprets an answer; only the words of the question are valid.
fn side(conflict: &Conflict, answer: &str) -> Option<Take> {
    let answer = answer.trim().to_ascii_lowercase();
    let is_yes = matches!(answer.as_str(), "y" | "yes");
    match (&conflict.kind, dispatch::profile_of_path(&conflict.path)) {
        (ConflictKind::BothChanged { .. }, _) => match answer.as_str() {
            "file" => Some(Take::File),
            "state" => Some(Take::State),
            _ => None,
        },
        (ConflictKind::Gone, _) => match answer.as_str() {
            "ended" => Some(Take::None),
            "anew" => Some(Take::State),
            _ => None,
        },
        (_, Some(Profile::Pipeline)) => match answer.as_str() {
            "recover" | "manual" | "manual recovery" if conflict.run.is_some() => Some(Take::State),
            "recover" | "manual" | "manual recovery" => Some(Take::Copy),
            "fresh" | "start fresh" => Some(Take::None),
            _ => None,
        },
        _ => is_yes.then_some(Take::None),
    }
}

fn settled(context: &Context, cmd: &CommandContext<'_>, path: &str, side: Take) -> Result<u8> {
    let outcome = repair_run::resolve_conflict(context, &StepOptions::default(), path, side)?;
    answer(
        cmd,
        || runs_json::settled(path, &outcome),
        || workflow_view::settled(path, side, &outcome),
        &outcome.warnings,
    )
}
