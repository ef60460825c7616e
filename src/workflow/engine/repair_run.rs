//! `workflow recover`: repairs what an interruption left, and resolves conflicts of files.

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
use crate::workflow::engine::step::{StepOptions, actor, choose};
use crate::workflow::engine::transition::{abandon_run, change_run};
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::recover;
use crate::workflow::words::reasons::EndReason;
use crate::workflow::words::run_error::RunError;

/// A run after its repairs, or with a dry run before them.
pub struct Repaired {
    pub run: Run,
    /// Each repair, in words.
    pub what: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// Repairs a run without resuming it.
///
/// # Errors
/// There is no such run.
pub fn repair(context: &Context, options: &StepOptions, dry_run: bool) -> Result<Repaired> {
    let store = import_edits::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = import_edits::import(context, &mut session)?;
    let run = choose(&store, options, &conflicts)?;
    let mut warnings = std::mem::take(&mut session.warnings);
    let actor = actor(context, options);
    let mut repaired = repair_chosen(context, &mut session, run, &actor, dry_run)?;
    warnings.append(&mut repaired.warnings);
    Ok(Repaired {
        warnings,
        ..repaired
    })
}

/// As [`repair`], of a chosen run.
pub fn repair_chosen(
    context: &Context,
    session: &mut Session<'_>,
    mut run: Run,
    actor: &str,
    dry_run: bool,
) -> Result<Repaired> {
    let observations = observe(context, &run.workflow)?;
    let (mut what, mut warnings) = (Vec::new(), Vec::new());
    for repair in recover::repairs(&run.workflow, &observations) {
        if !dry_run {
            let outcome = change_run(context, session, &run, &repair.change, actor)?;
            warnings.extend(outcome.warnings);
            run = outcome.run;
        }
        what.push(repair.what);
    }
    Ok(Repaired {
        run,
        what,
        warnings,
    })
}

/// Which side wins for a conflicting file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    File,
    State,
    /// Archives the file and ends its run; for the single-file profiles the plan begins again.
    None,
    /// Keeps a copy in the archive and leaves the file for the user to repair.
    Copy,
}

#[derive(Debug, Default)]
pub struct ConflictOutcome {
    /// Archive path of the file.
    pub kept_as: Option<String>,
    /// Id of the run that was begun instead.
    pub started: Option<String>,
    pub warnings: Vec<Warning>,
}

/// Resolves the conflict of a file that failed to import. Overwritten files are archived first.
///
/// # Errors
/// The path has no conflict, or the content of the file is invalid.
pub fn resolve_conflict(
    context: &Context,
    options: &StepOptions,
    path: &str,
    take: Take,
) -> Result<ConflictOutcome> {
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
    let actor = actor(context, options);
    let mut outcome = ConflictOutcome::default();
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
        Take::None => outcome = fresh(context, &mut session, conflict, run.as_ref(), &actor)?,
    }
    outcome.warnings.append(&mut session.warnings);
    Ok(outcome)
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
) -> Result<ConflictOutcome> {
    let open = run.filter(|run| run.workflow.status.is_open());
    let kept_as = run_lifecycle::put_aside(
        context,
        &conflict.path,
        open.map(|run| run.workflow.id.as_str()),
    )?;
    let mut outcome = ConflictOutcome {
        kept_as: Some(kept_as),
        ..ConflictOutcome::default()
    };
    let Some(run) = open else {
        if conflict.path == profile::PHASE_FILE {
            // A task list without its phase file would block the next run.
            run_lifecycle::put_aside(context, profile::EXECUTION_FILE, None)?;
        }
        return Ok(outcome);
    };
    if dispatch::profile_of_path(&conflict.path) == Some(Profile::Registry) {
        let why = EndReason::FileDamaged.to_string();
        outcome.warnings = abandon_run(context, session, run, &why, actor)?.warnings;
    } else {
        let begun = start_fresh(context, session, run, actor)?;
        (outcome.started, outcome.warnings) = (Some(begun.run.workflow.id), begun.warnings);
    }
    Ok(outcome)
}
