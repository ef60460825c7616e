//! Ends, archives, deletes and cleans up runs. An archived run can always be read.

use crate::base::time::{self, DAY_MS};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::workflow::documents::files::Leaving::{Archived, Deleted, Expired};
use crate::workflow::documents::files::{self, USUAL_ARCHIVES, drop_old_archives};
use crate::workflow::documents::sync::require_store;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transact::{choose, with_store};
use crate::workflow::engine::work::{StepOptions, Work};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;

/// Default age in milliseconds at which a cleanup archives open runs.
const USUAL_MAX_AGE_MS: i64 = 7 * DAY_MS;
/// The same for failed and abandoned runs.
const FAILED_MAX_AGE_MS: i64 = 30 * DAY_MS;

/// How a run ends. Without any of these it is archived as it is, with its files.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[group(id = "mode", multiple = false)]
pub struct EndMode {
    /// Record that it was given up
    #[arg(long)]
    pub abandon: bool,
    /// Remove its files; the archive keeps the run
    #[arg(long)]
    pub delete: bool,
    /// Drop it with all its transitions and its archived files
    #[arg(long)]
    pub purge: bool,
}

/// Runs that were ended, and the files that went with them.
#[derive(Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct EndOutcome {
    /// Names under which runs were archived.
    pub archived: Vec<String>,
    /// Runs dropped with all their transitions.
    pub purged: Vec<String>,
    /// Archive folders that were removed from the project.
    pub removed_folders: Vec<String>,
    /// Expired files of failed runs.
    pub removed_files: Vec<String>,
    pub dry_run: bool,
}

/// Ends a run in any state.
///
/// # Errors
/// There is no such run; with `abandon`, it has ended already.
pub fn end(
    context: &Context,
    named: Option<&str>,
    mode: EndMode,
) -> Result<(EndOutcome, Vec<Warning>)> {
    let store = require_store(context)?;
    let options = StepOptions {
        run: named.map(str::to_owned),
        ..StepOptions::default()
    };
    with_store(context, &store, &options, |work, conflicts| {
        let mut outcome = EndOutcome::default();
        if mode.abandon {
            let run = choose(&store, &options, &conflicts)?;
            let step = work.abandon(&run, "")?;
            outcome.archived.extend(step.run.archived_as);
            return Ok(outcome);
        }
        let run = if mode.purge {
            Runs::all(&store)?.pick(named)?.clone()
        } else {
            Runs::pick_live(&store, named)?
        };
        let is_deleted = mode.delete || mode.purge;
        if run.is_live() {
            let leaving = if is_deleted { Deleted } else { Archived };
            files::put_all_aside(context, &run.workflow, leaving)?;
        }
        if is_deleted {
            files::remove_failed(context, &run.workflow)?;
        }
        if mode.purge {
            outcome.removed_folders = files::remove_archives(context, &run.workflow.id)?;
            work.session
                .locked
                .delete_workflow(run.id(), !run.is_live())?;
            outcome.purged.push(run.id().to_owned());
        } else {
            outcome
                .archived
                .extend(work.session.locked.archive_workflow(run.id())?);
        }
        work.session.warnings.extend(unfinished(&run));
        if !is_deleted {
            outcome.removed_folders = drop_old_archives(context, &store, USUAL_ARCHIVES, false)?;
        }
        Ok(outcome)
    })
}

/// Names the phases of a live run that have not ended.
fn unfinished(run: &Run) -> Option<Warning> {
    let (id, phases) = (run.id().to_owned(), &run.workflow);
    let under_way = phases.running().count();
    let pending = phases.remaining().count();
    let is_open = run.is_live() && phases.status.is_open() && under_way + pending > 0;
    let unfinished = RunWarning::Unfinished {
        id,
        under_way,
        pending,
    };
    is_open.then_some(unfinished.into())
}

/// Archive old runs, and clean up those that failed long ago
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct CleanupOptions {
    /// Age at which an untouched open run is archived
    #[arg(long = "max-age", value_name = "TIME", default_value = "7d", value_parser = span)]
    pub max_age_ms: i64,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

fn span(typed: &str) -> std::result::Result<i64, Error> {
    time::parse_span(typed).ok_or_else(|| Error::bad_span("--max-age", typed))
}

/// Archives runs complete or idle for too long, and removes all but the newest archive folders.
///
/// # Errors
/// A run or file cannot be read or written.
pub fn cleanup(context: &Context, options: CleanupOptions) -> Result<(EndOutcome, Vec<Warning>)> {
    let mut outcome = EndOutcome {
        dry_run: options.dry_run,
        ..EndOutcome::default()
    };
    let store = match require_store(context) {
        Err(error) if error.is_of_run() => return Ok((outcome, Vec::new())),
        store => store?,
    };
    with_store(context, &store, &StepOptions::default(), |work, _| {
        for run in Runs::live(&store)?.runs {
            let id = &run.workflow.id;
            if !is_old(&run.workflow, options.max_age_ms, context.now_ms) {
                continue;
            }
            if options.dry_run {
                outcome.archived.push(id.clone());
            } else {
                files::put_all_aside(context, &run.workflow, Expired)?;
                outcome
                    .archived
                    .extend(work.session.locked.archive_workflow(id)?);
            }
        }
        outcome.removed_files =
            files::drop_failed(context, &store, FAILED_MAX_AGE_MS, options.dry_run)?;
        outcome.removed_folders =
            drop_old_archives(context, &store, USUAL_ARCHIVES, options.dry_run)?;
        Ok(outcome)
    })
}

/// Archives expired runs of the registry, as its readers expect when a run begins; or warns.
pub fn expire(work: &mut Work<'_>) {
    let expired = expire_registry(work);
    work.warn_of("archiving what is too old", expired);
}

fn expire_registry(work: &mut Work<'_>) -> Result<()> {
    let context = work.context;
    for run in Runs::live(work.store())?.runs {
        let workflow = &run.workflow;
        let is_of_registry =
            workflow.profile == Some(Profile::Registry) && workflow.status != RunStatus::Complete;
        if is_of_registry && is_old(workflow, USUAL_MAX_AGE_MS, context.now_ms) {
            files::put_all_aside(context, workflow, Expired)?;
            work.session.locked.archive_workflow(&workflow.id)?;
            let days = context.now_ms.saturating_sub(workflow.updated_ms) / DAY_MS;
            work.warn(RunWarning::PutAside {
                id: workflow.id.clone(),
                why: format!("nothing happened in it for {days} days"),
            });
        }
    }
    let removed = files::drop_failed(context, work.store(), FAILED_MAX_AGE_MS, false)?;
    for path in removed {
        work.warn(RunWarning::FailedFileRemoved { path });
    }
    Ok(())
}

fn is_old(workflow: &Workflow, max_age_ms: i64, now_ms: i64) -> bool {
    let age_ms = now_ms.saturating_sub(workflow.updated_ms);
    match workflow.status {
        RunStatus::Complete => true,
        RunStatus::Open => age_ms > max_age_ms,
        RunStatus::Failed | RunStatus::Abandoned => age_ms > FAILED_MAX_AGE_MS,
    }
}
