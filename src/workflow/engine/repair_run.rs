//! `workflow recover`: repairs what an interruption left, and settles files that failed to import.

use crate::error::Result;
use crate::error::problem::WorkflowProblem;
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::sync;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::resume::start_fresh;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::step::{StepOptions, actor, choose};
use crate::workflow::engine::transition::change_run;
use crate::workflow::engine::{abandon, run_lifecycle};
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::recover;

/// Repairs a run without resuming it; returns the run and a description of each repair.
///
/// # Errors
/// There is no such run.
pub fn mend(
    context: &Context,
    options: &StepOptions,
    dry_run: bool,
) -> Result<(Run, Vec<String>, Vec<Warning>)> {
    let store = sync::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = sync::sync(context, &mut session)?;
    let mut run = choose(&store, options, &conflicts)?;
    let observations = observe(context, &run.workflow)?;
    let (mut mended, mut warnings) = (Vec::new(), std::mem::take(&mut session.warnings));
    for mend in recover::mends(&run.workflow, &observations) {
        if !dry_run {
            let outcome = change_run(
                context,
                &mut session,
                &run,
                &mend.change,
                &actor(context, options),
            )?;
            warnings.extend(outcome.warnings);
            run = outcome.run;
        }
        mended.push(mend.what);
    }
    Ok((run, mended, warnings))
}

/// Which side wins for a conflicting file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    File,
    State,
    /// Archives the file and ends its run; for the single-file profiles the plan begins anew.
    None,
    /// Keeps a copy in the archive and leaves the file for the user to repair.
    Copy,
}

#[derive(Debug, Default)]
pub struct SettleOutcome {
    /// Archive path of the file.
    pub kept_as: Option<String>,
    /// Id of the run that was begun instead.
    pub started: Option<String>,
    /// The file was left unchanged.
    pub is_left: bool,
    pub warnings: Vec<Warning>,
}

/// Settles a file that could not be taken in. Overwritten files are archived first.
///
/// # Errors
/// The path has no conflict, or the content of the file is invalid.
pub fn settle(
    context: &Context,
    options: &StepOptions,
    path: &str,
    take: Take,
) -> Result<SettleOutcome> {
    let store = sync::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = sync::sync(context, &mut session)?;
    let Some(conflict) = conflicts.iter().find(|conflict| conflict.path == path) else {
        let what = format!("{path} needs no decision");
        return Err(WorkflowProblem::no_such("nothing_to_settle", what)
            .hint("checkpoint workflow status")
            .into());
    };
    let run = Runs::live(&store)?
        .runs
        .into_iter()
        .find(|run| conflict.concerns(&run.workflow));
    let actor = actor(context, options);
    let mut outcome = SettleOutcome::default();
    match take {
        _ if conflict.is_gone() => {
            settle_gone(context, &mut session, conflict, run.as_ref(), take)?;
        }
        Take::File => sync::take_file(context, &mut session, path, run.as_ref(), &actor)?,
        Take::State => {
            outcome.kept_as = Some(run_lifecycle::put_aside(context, path, None)?);
            if let Some(run) = &run {
                run_lifecycle::force_write(context, &mut session, run)?;
            }
        }
        Take::Copy => {
            outcome.kept_as = Some(run_lifecycle::copy_aside(context, path)?);
            outcome.is_left = true;
        }
        Take::None => outcome = fresh(context, &mut session, conflict, run.as_ref(), &actor)?,
    }
    outcome.warnings.append(&mut session.warnings);
    Ok(outcome)
}

/// Settles a missing file: ends the run, or writes the file anew.
fn settle_gone(
    context: &Context,
    session: &mut Session<'_>,
    conflict: &Conflict,
    run: Option<&Run>,
    take: Take,
) -> Result<()> {
    match (take, run) {
        (Take::None, Some(run)) => sync::end(
            context,
            session,
            run,
            &format!("{} was removed by hand", conflict.path),
        ),
        (Take::State, Some(run)) => run_lifecycle::force_write(context, session, run),
        _ => Err(conflict.problem(run.map(|run| &run.workflow)).into()),
    }
}

fn fresh(
    context: &Context,
    session: &mut Session<'_>,
    conflict: &Conflict,
    run: Option<&Run>,
    actor: &str,
) -> Result<SettleOutcome> {
    let open = run.filter(|run| run.workflow.status.is_open());
    let kept_as = run_lifecycle::put_aside(
        context,
        &conflict.path,
        open.map(|run| run.workflow.id.as_str()),
    )?;
    let mut outcome = SettleOutcome {
        kept_as: Some(kept_as),
        ..SettleOutcome::default()
    };
    let Some(run) = open else {
        if conflict.path == profile::PHASE_FILE {
            // A task list without its phase file would block the next run.
            run_lifecycle::put_aside(context, profile::EXECUTION_FILE, None)?;
        }
        return Ok(outcome);
    };
    if dispatch::profile_of_path(&conflict.path) == Some(Profile::Registry) {
        outcome.warnings =
            abandon::abandon_run(context, session, run, "its file was damaged", actor)?.warnings;
    } else {
        let begun = start_fresh(context, session, run, actor)?;
        (outcome.started, outcome.warnings) = (Some(begun.run.workflow.id), begun.warnings);
    }
    Ok(outcome)
}
