//! `workflow recover`: repairs what an interruption left, and resolves conflicts of files.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::import_edits;
use crate::workflow::engine::init_run::start_fresh;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::run_lifecycle;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::step::{StepOptions, actor, with_run};
use crate::workflow::engine::transition::{abandon_run, change_run};
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::recover;
use crate::workflow::words::reasons::EndReason;
use crate::workflow::words::run_error::RunError;

/// Repairs a run without resuming it.
///
/// # Errors
/// There is no such run.
pub fn repair(
    context: &Context,
    options: &StepOptions,
    dry_run: bool,
) -> Result<(RecoverOutcome, Vec<Warning>)> {
    with_run(context, options, |session, run| {
        let actor = actor(context, options);
        let (run, recovered) = repair_chosen(context, session, run, &actor, dry_run)?;
        Ok(RecoverOutcome {
            run: Some(run),
            recovered,
            dry_run,
            ..RecoverOutcome::default()
        })
    })
}

/// As [`repair`], of a chosen run; returns it, and each repair in words.
pub fn repair_chosen(
    context: &Context,
    session: &mut Session<'_>,
    mut run: Run,
    actor: &str,
    dry_run: bool,
) -> Result<(Run, Vec<String>)> {
    let observations = observe(context, &run.workflow)?;
    let mut what = Vec::new();
    for repair in recover::repairs(&run.workflow, &observations) {
        if !dry_run {
            run = change_run(context, session, &run, &repair.change, actor)?.run;
        }
        what.push(repair.what);
    }
    Ok((run, what))
}

/// Which side wins for a conflicting file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Take {
    File,
    State,
    // Archives the file and ends its run; for the single-file profiles the plan begins again.
    None,
    // Keeps a copy in the archive and leaves the file for the user to repair.
    #[value(skip)]
    Copy,
}

/// What was put right: a run, or a state file.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "RecoverAnswer")]
pub struct RecoverOutcome {
    pub run: Option<Run>,
    /// Each repair, in words.
    pub recovered: Vec<String>,
    pub dry_run: bool,
    pub file: Option<String>,
    /// Archive path of the file.
    #[serde(rename = "put_aside")]
    pub kept_as: Option<String>,
    /// Id of the run that was begun instead.
    pub started: Option<String>,
    /// Side that won.
    #[serde(skip)]
    pub take: Option<Take>,
}

/// Resolves the conflict of a file that failed to import. Overwritten files are archived first.
///
/// # Errors
/// The path has no conflict, or the content of the file is invalid.
pub fn resolve_conflict(
    context: &Context,
    path: &str,
    take: Take,
) -> Result<(RecoverOutcome, Vec<Warning>)> {
    let store = import_edits::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = import_edits::import(context, &mut session)?;
    let Some(conflict) = conflicts.iter().find(|conflict| conflict.path == path) else {
        return Err(RunError::NothingToSettle {
            path: path.to_owned(),
        }
        .into());
    };
    let run = Runs::live(&store)?
        .runs
        .into_iter()
        .find(|run| conflict.concerns(&run.workflow));
    let actor = actor(context, &StepOptions::default());
    let mut outcome = RecoverOutcome {
        file: Some(path.to_owned()),
        take: Some(take),
        ..RecoverOutcome::default()
    };
    match take {
        _ if conflict.is_gone() => {
            resolve_gone(context, &mut session, conflict, run.as_ref(), take)?;
        }
        Take::File => import_edits::import_file(context, &mut session, path, run.as_ref(), &actor)?,
        Take::State => {
            let run = run.ok_or_else(|| conflict.problem(None))?;
            outcome.kept_as = Some(run_lifecycle::put_aside(context, path, None)?);
            run_lifecycle::force_write(context, &mut session, &run)?;
        }
        Take::Copy => outcome.kept_as = Some(run_lifecycle::copy_aside(context, path)?),
        Take::None => fresh(
            context,
            &mut session,
            conflict,
            run.as_ref(),
            &actor,
            &mut outcome,
        )?,
    }
    Ok((outcome, session.warnings))
}

/// Ends the run of a missing file, or writes the file again.
fn resolve_gone(
    context: &Context,
    session: &mut Session<'_>,
    conflict: &Conflict,
    run: Option<&Run>,
    take: Take,
) -> Result<()> {
    match (take, run) {
        (Take::None, Some(run)) => {
            let why = EndReason::Removed(conflict.path.clone());
            import_edits::end_run(context, session, run, &why)
        }
        (Take::State, Some(run)) => run_lifecycle::force_write(context, session, run),
        _ => Err(conflict.problem(run.map(|run| &run.workflow))),
    }
}

fn fresh(
    context: &Context,
    session: &mut Session<'_>,
    conflict: &Conflict,
    run: Option<&Run>,
    actor: &str,
    outcome: &mut RecoverOutcome,
) -> Result<()> {
    let path = &conflict.path;
    let open = run.filter(|run| run.workflow.status.is_open());
    let of = open.map(|run| run.workflow.id.as_str());
    outcome.kept_as = Some(run_lifecycle::put_aside(context, path, of)?);
    let Some(run) = open else {
        if path == profile::PHASE_FILE {
            // A task list without its phase file would block the next run.
            run_lifecycle::put_aside(context, profile::EXECUTION_FILE, None)?;
        }
        return Ok(());
    };
    if dispatch::profile_of_path(path) == Some(Profile::Registry) {
        let why = EndReason::FileDamaged.to_string();
        abandon_run(context, session, run, &why, actor)?;
    } else {
        let begun = start_fresh(context, session, run, actor)?;
        outcome.started = Some(begun.run.workflow.id);
    }
    Ok(())
}
