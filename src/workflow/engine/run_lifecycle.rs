//! Abandons, archives, deletes and cleans up runs. An archived run can always be read.

use crate::base::time::{self, DAY_MS};
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::runs::projected::Projected;
use crate::workflow::documents::find_documents::{self, rel};
use crate::workflow::documents::import_edits::{self, Imported};
use crate::workflow::documents::leftovers::{self, USUAL_ARCHIVES, drop_old_archives};
use crate::workflow::documents::write_documents;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::step::{StepOptions, actor, choose};
use crate::workflow::engine::transition::abandon_run;
use crate::workflow::profiles::{dispatch, phases, pipeline, registry};
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::reasons::{EXPIRING, EndReason, NOTING_FILES};
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

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
    let store = import_edits::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let mut conflicts = import_edits::import(context, &mut session)?;
    let mut outcome = EndOutcome::default();
    if mode.abandon {
        // Abandoning the run is a valid answer to its missing file.
        conflicts.retain(|conflict| !conflict.is_gone());
        let options = StepOptions {
            run: named.map(str::to_owned),
            ..StepOptions::default()
        };
        let run = choose(&store, &options, &conflicts)?;
        let actor = actor(context, &options);
        let step = abandon_run(context, &mut session, &run, "", &actor)?;
        outcome.archived.extend(step.run.archived_as);
        return Ok((outcome, session.warnings));
    }
    let run = if mode.purge {
        Runs::all(&store)?.pick(named)?.clone()
    } else {
        Runs::pick_live(&store, named)?
    };
    let (id, name) = (&run.workflow.id, run.id());
    if mode.delete || mode.purge {
        if run.is_live() {
            remove_files(context, &mut session, &run.workflow)?;
        }
        leftovers::remove_failed(context, &run.workflow)?;
    } else {
        put_files_aside(context, &mut session, &run.workflow, false)?;
    }
    if mode.purge {
        outcome.removed_folders = leftovers::remove_archives(context, id)?;
        forget_notes(&session, id)?;
        session.locked.delete_workflow(name, !run.is_live())?;
        outcome.purged.push(name.to_owned());
    } else {
        let archived = session.locked.archive_workflow(name, name)?;
        outcome.archived.extend(archived);
    }
    if !mode.delete && !mode.purge {
        outcome.removed_folders = drop_old_archives(context, &session, USUAL_ARCHIVES, false)?;
    }
    let mut warnings = session.warnings;
    warnings.extend(unfinished(&run));
    Ok((outcome, warnings))
}

/// Names the phases of a live run that have not ended.
fn unfinished(run: &Run) -> Option<Warning> {
    let workflow = &run.workflow;
    let count = |is: &dyn Fn(&Phase) -> bool| workflow.phases.iter().filter(|p| is(p)).count();
    let under_way = count(&|phase| phase.status.is_under_way());
    let pending = count(&|phase| phase.status == PhaseStatus::Pending);
    let is_open = run.is_live() && workflow.status.is_open() && under_way + pending > 0;
    let unfinished = RunWarning::Unfinished {
        id: run.id().to_owned(),
        under_way,
        pending,
    };
    is_open.then_some(unfinished.into())
}

/// Clears the notes of files written for a purged run, or it would look as if it had lost its ref.
fn forget_notes(session: &Session<'_>, id: &str) -> Result<()> {
    let notes = session.locked.store().projected().into_iter();
    let forgotten = notes.map(|note| {
        if note.workflow == id {
            Projected { sum: None, ..note }
        } else {
            note
        }
    });
    session
        .locked
        .write_projected(&forgotten.collect::<Vec<_>>())
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
    let Some(Imported {
        store, warnings, ..
    }) = import_edits::open_imported(context)?
    else {
        return Ok((outcome, Vec::new()));
    };
    let mut session = session::begin(context, &store)?;
    for run in Runs::live(&store)?.runs {
        if !is_old(&run.workflow, options.max_age_ms, context.now_ms) {
            continue;
        }
        let id = &run.workflow.id;
        if options.dry_run {
            outcome.archived.push(id.clone());
        } else {
            put_files_aside(context, &mut session, &run.workflow, true)?;
            outcome
                .archived
                .extend(session.locked.archive_workflow(id, id)?);
        }
    }
    outcome.removed_files =
        leftovers::drop_failed(context, &store, FAILED_MAX_AGE_MS, options.dry_run)?;
    outcome.removed_folders =
        drop_old_archives(context, &session, USUAL_ARCHIVES, options.dry_run)?;
    Ok((outcome, warnings))
}

/// Archives expired runs of the registry, as its readers expect when a run begins; or warns.
pub fn expire(context: &Context, session: &mut Session<'_>) {
    if let Err(error) = expire_registry(context, session) {
        session.warnings.push(Warning::bookkeeping(EXPIRING)(error));
    }
}

fn expire_registry(context: &Context, session: &mut Session<'_>) -> Result<()> {
    for run in Runs::live(session.locked.store())?.runs {
        let workflow = &run.workflow;
        let is_of_registry = workflow.profiles.contains(&Profile::Registry)
            && workflow.status != RunStatus::Complete;
        if is_of_registry && is_old(workflow, USUAL_MAX_AGE_MS, context.now_ms) {
            put_files_aside(context, session, workflow, true)?;
            session
                .locked
                .archive_workflow(&workflow.id, &workflow.id)?;
            let days = context.now_ms.saturating_sub(workflow.updated_ms) / DAY_MS;
            let expired = RunWarning::PutAside {
                id: workflow.id.clone(),
                why: EndReason::Idle { days }.to_string(),
            };
            session.warnings.push(expired.into());
        }
    }
    let removed =
        leftovers::drop_failed(context, session.locked.store(), FAILED_MAX_AGE_MS, false)?;
    session.warnings.extend(
        removed
            .into_iter()
            .map(|path| Warning::from(RunWarning::FailedFileRemoved { path })),
    );
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

/// Archives the files of a run's profiles, each where its profile keeps old ones; an edited file is
/// moved as it is. An expired registry file is removed.
///
/// # Errors
/// A file cannot be moved; the run is unchanged.
pub fn put_files_aside(
    context: &Context,
    session: &mut Session<'_>,
    workflow: &Workflow,
    is_expired: bool,
) -> Result<()> {
    for_files(context, session, workflow, &mut |work, path| {
        let goes = workflow.status == RunStatus::Complete
            || (is_expired && is_as_recorded(work, workflow, path)?);
        let to = match registry::failed_path(path) {
            Some(_) if goes => return state_file::remove(work, &rel(path)).map(drop),
            Some(failed) => failed,
            None => write_documents::archived(workflow, path, context.now_ms),
        };
        state_file::move_to(work, &rel(path), &rel(&to)).map(drop)
    })
}

/// Whether a file matches the last transition, so that removing it loses nothing.
fn is_as_recorded(work: &WorkTree, workflow: &Workflow, path: &str) -> Result<bool> {
    let Some(bytes) = state_file::read(work, &rel(path))? else {
        return Ok(true);
    };
    let said = find_documents::sum_of_text(&bytes);
    Ok(said.is_some() && said == workflow.documents.get(path).map(find_documents::sum))
}

/// Removes the files of a run. A file that differs from the recorded state is moved instead: it may
/// be the only record.
fn remove_files(context: &Context, session: &mut Session<'_>, workflow: &Workflow) -> Result<()> {
    for_files(context, session, workflow, &mut |work, path| {
        if is_as_recorded(work, workflow, path)? {
            state_file::remove(work, &rel(path)).map(drop)
        } else {
            put_aside(context, path, Some(&workflow.id)).map(drop)
        }
    })
}

fn for_files(
    context: &Context,
    session: &mut Session<'_>,
    workflow: &Workflow,
    act: &mut dyn FnMut(&WorkTree, &str) -> Result<()>,
) -> Result<()> {
    let mine = |path: &&String| {
        dispatch::profile_of_path(path).is_some_and(|profile| workflow.profiles.contains(&profile))
    };
    let paths: Vec<String> = workflow.documents.keys().filter(mine).cloned().collect();
    if paths.is_empty() || !context.root.exists() {
        return Ok(());
    }
    let work = WorkTree::open_root(&context.root)?;
    let mut notes = session.locked.store().projected();
    for path in &paths {
        act(&work, path)?;
        notes.retain(|note| note.path != *path);
        // Stays noted as one of our files, which no checkpoint captures.
        notes.push(Projected {
            path: path.clone(),
            sum: None,
            workflow: workflow.id.clone(),
        });
    }
    if let Err(e) = session.locked.write_projected(&notes) {
        session.warnings.push(Warning::bookkeeping(NOTING_FILES)(e));
    }
    Ok(())
}

/// Archives a malformed file, which may be the only record, and returns its new path: beside the
/// files of the run `of`, if that run ends too.
///
/// # Errors
/// The file cannot be moved.
pub fn put_aside(context: &Context, path: &str, of: Option<&str>) -> Result<String> {
    let work = WorkTree::open_root(&context.root)?;
    // A directory or other non-file goes where no cleanup of runs looks.
    let of = of.filter(|_| state_file::read(&work, &rel(path)).is_ok());
    let to = aside(context, path, of);
    state_file::move_any(&work, &rel(path), &rel(&to))?;
    Ok(to)
}

/// Archives a copy of a file that stays for the user to repair, and returns the path of the copy.
///
/// # Errors
/// The file cannot be read, or the copy not be written.
pub fn copy_aside(context: &Context, path: &str) -> Result<String> {
    let (work, to) = (
        WorkTree::open_root(&context.root)?,
        aside(context, path, None),
    );
    let bytes = state_file::read(&work, &rel(path))?.unwrap_or_default();
    state_file::replace(&work, &rel(&to), &bytes)?;
    Ok(to)
}

fn aside(context: &Context, path: &str, of: Option<&str>) -> String {
    let time = crate::base::time::utc_compact(context.now_ms);
    let folder = if path.starts_with("memory/") {
        phases::ARCHIVE
    } else {
        pipeline::ARCHIVE
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("{folder}/{}_{time}/{name}", of.unwrap_or("corrupt"))
}

/// Writes the files of a run from its state, over whatever is there.
///
/// # Errors
/// A file cannot be written.
pub fn force_write(context: &Context, session: &mut Session<'_>, run: &Run) -> Result<()> {
    let work = WorkTree::open_root(&context.root)?;
    let mut notes = session.locked.store().projected();
    for (path, value) in &run.workflow.documents {
        if dispatch::profile_of_path(path).is_none() {
            continue;
        }
        state_file::replace(&work, &rel(path), find_documents::render(value).as_bytes())?;
        notes.retain(|note| note.path != *path);
        let sum = Some(find_documents::sum(value));
        notes.push(Projected {
            path: path.clone(),
            sum,
            workflow: run.workflow.id.clone(),
        });
    }
    session.locked.write_projected(&notes)
}
