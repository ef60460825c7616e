//! Ends, archives, deletes and cleans up runs. An archived run can always be read.

use crate::base::time::{self, DAY_MS};
use crate::error::{Error, Result};
use crate::ops::{Context, Warning};
use crate::workflow::documents::files;
use crate::workflow::engine::transact::{choose, require_store, with_store};
use crate::workflow::{
    Conflict, Leaving, Profile, Run, RunStatus, Runs, StepOptions, Work, Workflow,
};

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
    /// Archive folders, and expired files of failed runs, that were removed from the project.
    pub removed_paths: Vec<String>,
    pub dry_run: bool,
}

/// Ends a run in any state; `why` is noted with `abandon`.
///
/// # Errors
/// There is no such run; with `abandon`, it has ended already.
pub fn end(context: &Context, named: Option<&str>, mode: EndMode, why: &str) -> Result<EndOutcome> {
    let store = require_store(context)?;
    let options = named.map(StepOptions::of_run).unwrap_or_default();
    with_store(context, &store, &options, |work, conflicts| {
        // A killed process had moved its files.
        let is_of_it = |warning: &Warning| matches!(warning, Warning::PutAside { id, .. } if Some(&**id) == named);
        let is_half_done = !mode.abandon && context.pending_warnings.remove(is_of_it);
        let run = match mode {
            EndMode { abandon: true, .. } => choose(&store, &options, &conflicts)?,
            _ if mode.purge || is_half_done => Runs::all(&store)?.pick(named)?.clone(),
            _ => Runs::pick_live(&store, named)?,
        };
        let workflow = &run.workflow;
        let mut moved = files::ChangedFiles::default();
        if mode.delete || mode.purge {
            Runs::all(&store)?.check_only(named)?;
            if run.is_live() {
                let put = files::put_away(&work.tree, workflow, Leaving::Deleted, context.now_ms);
                let mut conflicts = conflicts.iter();
                let conflict = conflicts.find(|conflict| conflict.concerns(workflow));
                moved = put.map_err(|why| conflict.map_or(why, Conflict::problem))?;
            }
        }
        let ended = end_run(work, &run, mode, why);
        ended.inspect_err(|_| moved.take_back(&work.tree))
    })
}

/// Ends a run whose file is deleted already, if that is wanted.
fn end_run(work: &mut Work<'_>, run: &Run, mode: EndMode, why: &str) -> Result<EndOutcome> {
    let mut outcome = EndOutcome::default();
    let id = run.workflow.id.clone();
    if mode.delete || mode.purge {
        files::remove_failed(&work.tree, &run.workflow)?;
    }
    if mode.purge {
        outcome.removed_paths = files::remove_archives(&work.tree, &id)?;
        let left = files::left_in_archives(&work.tree, &id).into_iter();
        left.for_each(|path| work.warn(Warning::KeptMalformed { path }));
        work.session.locked.delete_workflow(&id)?;
        files::remove_empty_folders(&work.tree);
        outcome.purged.push(id);
        return Ok(outcome);
    }
    if mode.abandon {
        work.abandon(run, why)?;
    } else if run.is_live() {
        work.put_away(run, Leaving::Archived, None)?;
        outcome.removed_paths.append(&mut work.removed_folders);
    }
    outcome.archived.push(id);
    Ok(outcome)
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
pub fn cleanup(context: &Context, options: CleanupOptions) -> Result<EndOutcome> {
    let mut outcome = EndOutcome {
        dry_run: options.dry_run,
        ..EndOutcome::default()
    };
    let store = match require_store(context) {
        Err(error) if error.is_of_run() => return Ok(outcome),
        store => store?,
    };
    with_store(context, &store, &StepOptions::default(), |work, _| {
        let mut runs = Runs::live(&store)?.runs;
        runs.retain(|run| is_old(&run.workflow, options.max_age_ms, context.now_ms));
        for run in runs {
            if !options.dry_run {
                work.put_away(&run, Leaving::Expired, None)?;
            }
            outcome.archived.push(run.workflow.id);
        }
        let before_ms = context.now_ms.saturating_sub(FAILED_MAX_AGE_MS);
        let folders = files::drop_old_archives(&work.tree, &store, options.dry_run)?;
        let files = files::drop_failed(&work.tree, &store, before_ms, options.dry_run)?;
        outcome.removed_paths =
            [std::mem::take(&mut work.removed_folders), folders, files].concat();
        Ok(outcome)
    })
}

/// Archives expired runs of the registry, as its readers expect when a run begins; or warns.
pub fn expire(work: &mut Work<'_>) {
    let expired = expire_registry(work);
    work.warn_of("archiving what is too old", expired);
}

fn expire_registry(work: &mut Work<'_>) -> Result<()> {
    let now_ms = work.context.now_ms;
    for run in Runs::live(work.store())?.runs {
        let workflow = &run.workflow;
        if workflow.profile == Some(Profile::Registry)
            && workflow.status != RunStatus::Complete
            && is_old(workflow, USUAL_MAX_AGE_MS, now_ms)
        {
            let days = now_ms.saturating_sub(workflow.updated_ms) / DAY_MS;
            let why = format!("nothing happened in it for {days} days");
            work.put_away(&run, Leaving::Expired, Some(why))?;
        }
    }
    let before_ms = now_ms.saturating_sub(FAILED_MAX_AGE_MS);
    for path in files::drop_failed(&work.tree, work.store(), before_ms, false)? {
        work.warn(Warning::FailedFileRemoved { path });
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
