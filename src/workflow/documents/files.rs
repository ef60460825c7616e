//! The files of a run: written before its commit, and moved or removed after it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::json::parse;
use crate::base::time::utc_compact;
use crate::error::Result;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::documents::{CORRUPT, below, open_root, rel, render, schema_text};
use crate::workflow::engine::runs::Runs;
use crate::workflow::profiles::pipeline_schema::SCHEMA_FILE;
use crate::workflow::profiles::{dispatch, phases, pipeline, registry};
use crate::workflow::rules::profile::{EXECUTION_FILE, PHASE_FILE, Profile};
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words;
use crate::worktree::files::replace_known::{remove_known, replace_known};
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// Default number of archive folders to keep.
pub const USUAL_ARCHIVES: usize = 5;

/// Length of `_YYYYMMDD_HHMMSS`, the suffix after the id in the name of an archive folder.
const TIME_LENGTH: usize = 16;

/// Returns the documents that a run keeps in files.
pub fn of_run(workflow: &Workflow) -> impl Iterator<Item = (&String, &Value)> {
    workflow.documents.iter().filter(|(path, _)| {
        workflow.profile.is_some() && dispatch::profile_of_path(path) == workflow.profile
    })
}

/// Writes the files of the next state, each atomically and only if it says what one of the `known`
/// documents says.
///
/// # Errors
/// A file cannot be written, or was edited meanwhile; the next command reads what was written.
pub fn write(context: &Context, next: &Workflow, known: &[&BTreeMap<String, Value>]) -> Result<()> {
    if next.profile.is_none() {
        return Ok(());
    }
    let moved_on = || words::moved_on(&next.id);
    let work = WorkTree::open_root(&context.root)?;
    for (path, value) in of_run(next) {
        let bytes = state_file::read(&work, &rel(path))?;
        let present = bytes.as_deref().and_then(|bytes| parse(bytes).ok());
        if present.as_ref() == Some(value) {
            continue;
        }
        let replaced = match (&bytes, &present) {
            (None, _) if !matches!(fate(next, path, 0), Fate::Stays) => continue,
            (None, _) => None,
            (_, Some(present)) if names_other_run(next, path, present) => {
                put_aside(context, path, None)?;
                None
            }
            (_, Some(present)) if known.iter().any(|all| all.get(path) == Some(present)) => {
                bytes.as_deref()
            }
            _ => return Err(moved_on()),
        };
        if !replace_known(&work, &rel(path), replaced, render(value).as_bytes())? {
            return Err(moved_on());
        }
    }
    Ok(())
}

/// Writes the schema of the pipeline state beside a new run, if the project has none.
///
/// # Errors
/// It cannot be written.
pub fn add_schema(context: &Context, workflow: &Workflow) -> Result<()> {
    if workflow.profile == Some(Profile::Pipeline) {
        let (work, place) = (WorkTree::open_root(&context.root)?, rel(SCHEMA_FILE));
        replace_known(&work, &place, None, schema_text().as_bytes())?;
    }
    Ok(())
}

/// Writes the missing files of a run.
///
/// # Errors
/// A file cannot be written.
pub fn write_missing(work: &WorkTree, workflow: &Workflow) -> Result<()> {
    of_run(workflow).try_for_each(|(path, value)| {
        replace_known(work, &rel(path), None, render(value).as_bytes()).map(drop)
    })
}

/// Whether a task list names another run than the phase file beside it.
pub fn names_other_run(workflow: &Workflow, path: &str, value: &Value) -> bool {
    let named = value.get("workflow_id").and_then(Value::as_str);
    let known = [PHASE_FILE, EXECUTION_FILE].map(|path| workflow.documents.get(path));
    let mut known = known
        .into_iter()
        .flatten()
        .filter_map(|document| document.get("workflow_id")?.as_str())
        .chain([workflow.id.as_str()]);
    path == EXECUTION_FILE && named.is_some_and(|named| known.all(|known| known != named))
}

/// What becomes of a file when its run has ended.
enum Fate {
    Stays,
    Removed,
    MovedTo(String),
}

fn fate(workflow: &Workflow, path: &str, now_ms: i64) -> Fate {
    match (dispatch::profile_of_path(path), workflow.status) {
        (Some(Profile::Registry), RunStatus::Failed | RunStatus::Abandoned) => {
            Fate::MovedTo(registry::failed_path(path).unwrap_or_default())
        }
        (Some(Profile::Phases), RunStatus::Abandoned) => {
            Fate::MovedTo(archived(Some(&workflow.id), path, now_ms))
        }
        (Some(Profile::Registry), RunStatus::Complete)
        | (Some(Profile::Pipeline), RunStatus::Abandoned) => Fate::Removed,
        _ => Fate::Stays,
    }
}

/// Returns the archive path of a file: below a folder named by its run and the time.
fn archived(run: Option<&str>, path: &str, now_ms: i64) -> String {
    let folder = if path.starts_with("memory/") {
        phases::ARCHIVE
    } else {
        pipeline::ARCHIVE
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let (run, time) = (run.unwrap_or(CORRUPT), utc_compact(now_ms));
    format!("{folder}/{run}_{time}/{name}")
}

/// A file of a run that has ended, still there as recorded.
pub struct Leftover {
    path: String,
    bytes: Vec<u8>,
    /// Where it goes; `None` if it is removed.
    to: Option<String>,
}

/// Returns what is left of a run that has ended; an edited file is none of it.
pub fn leftovers(work: &WorkTree, workflow: &Workflow, now_ms: i64) -> Vec<Leftover> {
    let leftover = |(path, value): (&String, &Value)| {
        let to = match fate(workflow, path, now_ms) {
            Fate::Stays => return None,
            Fate::Removed => None,
            Fate::MovedTo(to) => Some(to),
        };
        let bytes = state_file::read(work, &rel(path)).ok().flatten()?;
        let path = path.clone();
        (parse(&bytes).ok().as_ref() == Some(value)).then_some(Leftover { path, bytes, to })
    };
    of_run(workflow).filter_map(leftover).collect()
}

/// Moves or removes what is left of a run that has ended.
///
/// # Errors
/// A file cannot be moved.
pub fn finish(context: &Context, workflow: &Workflow) -> Result<()> {
    if workflow.status.is_open() || workflow.profile.is_none() {
        return Ok(());
    }
    let work = WorkTree::open_root(&context.root)?;
    for Leftover { path, bytes, to } in leftovers(&work, workflow, context.now_ms) {
        if let Some(to) = to {
            state_file::replace(&work, &rel(&to), &bytes)?;
        }
        remove_known(&work, &rel(&path), &bytes)?;
    }
    Ok(())
}

/// Why the files of a run leave their places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    Archived,
    /// Nothing has happened in the run for too long.
    Expired,
    Deleted,
}

/// Archives the files of a run, each where its profile keeps old ones, or removes them. A file that
/// differs from the recorded state may be the only record, and is moved in any case.
///
/// # Errors
/// A file cannot be moved.
pub fn put_all_aside(context: &Context, workflow: &Workflow, why: Leaving) -> Result<()> {
    let Some(work) = open_root(context)? else {
        return Ok(());
    };
    for (path, value) in of_run(workflow) {
        let failed = registry::failed_path(path);
        let is_removed = match why {
            Leaving::Deleted => true,
            Leaving::Expired => failed.is_some(),
            Leaving::Archived => failed.is_some() && workflow.status == RunStatus::Complete,
        };
        if is_removed && is_as_recorded(&work, path, value)? {
            state_file::remove(&work, &rel(path))?;
            continue;
        }
        let failed = failed.filter(|_| why != Leaving::Deleted);
        let to = failed.unwrap_or_else(|| archived(Some(&workflow.id), path, context.now_ms));
        state_file::move_to(&work, &rel(path), &rel(&to))?;
    }
    Ok(())
}

/// Whether a file matches the last transition, so that removing it loses nothing.
fn is_as_recorded(work: &WorkTree, path: &str, value: &Value) -> Result<bool> {
    let bytes = state_file::read(work, &rel(path))?;
    Ok(bytes.is_none_or(|bytes| parse(&bytes).ok().as_ref() == Some(value)))
}

/// Archives a malformed file, which may be the only record, and returns its new path: beside the
/// files of its run, if that ends too.
///
/// # Errors
/// The file cannot be moved.
pub fn put_aside(context: &Context, path: &str, run: Option<&str>) -> Result<String> {
    let work = WorkTree::open_root(&context.root)?;
    // A directory or other non-file goes where no cleanup of runs looks.
    let run = run.filter(|_| state_file::read(&work, &rel(path)).is_ok());
    let to = archived(run, path, context.now_ms);
    state_file::move_any(&work, &rel(path), &rel(&to))?;
    Ok(to)
}

/// Removes failed files of runs that ended more than `max_age_ms` ago, if the store still has them.
///
/// # Errors
/// The runs cannot be read, or a file cannot be removed.
pub fn drop_failed(
    context: &Context,
    store: &Store,
    max_age_ms: i64,
    dry_run: bool,
) -> Result<Vec<String>> {
    let Some(work) = open_root(context)? else {
        return Ok(Vec::new());
    };
    let mut paths = below(&work, registry::FAILED);
    if paths.is_empty() {
        return Ok(paths);
    }
    let mut old = Runs::all(store)?.runs;
    old.retain(|run| {
        let ended_ms = run.workflow.finished_ms.unwrap_or(run.workflow.updated_ms);
        let has_ended = !run.is_live() || !run.workflow.status.is_open();
        has_ended && context.now_ms.saturating_sub(ended_ms) > max_age_ms
    });
    let old: Vec<String> = old.iter().flat_map(|run| failed(&run.workflow)).collect();
    paths.retain(|path| old.contains(path));
    for path in paths.iter().filter(|_| !dry_run) {
        state_file::remove(&work, &rel(path))?;
    }
    Ok(paths)
}

/// Returns the paths of the files of a run in the folder of failed files.
fn failed(workflow: &Workflow) -> impl Iterator<Item = String> {
    let paths = workflow.documents.keys();
    paths.filter_map(|path| registry::failed_path(path))
}

/// Removes the failed file of a run.
///
/// # Errors
/// The file cannot be removed.
pub fn remove_failed(context: &Context, workflow: &Workflow) -> Result<()> {
    let Some(work) = open_root(context)? else {
        return Ok(());
    };
    failed(workflow).try_for_each(|path| state_file::remove(&work, &rel(&path)).map(drop))
}

/// Removes the archive folders of a run and returns their paths.
///
/// # Errors
/// An entry of a folder cannot be removed.
pub fn remove_archives(context: &Context, id: &str) -> Result<Vec<String>> {
    let Some(work) = open_root(context)? else {
        return Ok(Vec::new());
    };
    let of = |archive| archives(&work, archive, &[id.to_owned()]);
    let removed = [of(pipeline::ARCHIVE), of(phases::ARCHIVE)].concat();
    remove_folders(&work, &removed)?;
    Ok(removed)
}

/// Returns the folders `<id>_<YYYYMMDD_HHMMSS>` of these runs, the oldest first.
fn archives(work: &WorkTree, archive: &str, ids: &[String]) -> Vec<String> {
    let mut names = state_file::folders(work, &rel(archive)).unwrap_or_default();
    names.retain(|name| {
        let is_of = |id: &String| {
            let rest = name.strip_prefix(id.as_str());
            rest.is_some_and(|rest| rest.len() == TIME_LENGTH && rest.starts_with('_'))
        };
        ids.iter().any(is_of)
    });
    names.sort_by_key(|name| name.get(name.len() - TIME_LENGTH..).map(str::to_owned));
    let path = |name| format!("{archive}/{name}");
    names.into_iter().map(path).collect()
}

/// Removes the documents in archive folders, and each folder that is then empty.
fn remove_folders(work: &WorkTree, folders: &[String]) -> Result<()> {
    let places = ["memory/state", ".claude", registry::FOLDER];
    let is_document = |name: &&String| {
        let mut paths = places.iter().map(|place| format!("{place}/{name}"));
        paths.any(|path| dispatch::profile_of_path(&path).is_some())
    };
    for folder in folders {
        let names = state_file::list(work, &rel(folder))?;
        for name in names.iter().filter(is_document) {
            state_file::remove(work, &rel(&format!("{folder}/{name}")))?;
        }
        state_file::remove_empty_folder(work, &rel(folder))?;
    }
    Ok(())
}

/// Removes the oldest archive folders of the `phases` profile whose runs the store has archived.
///
/// # Errors
/// The refs cannot be read, or an entry of a folder cannot be removed.
pub fn drop_old_archives(
    context: &Context,
    store: &Store,
    keep: usize,
    dry_run: bool,
) -> Result<Vec<String>> {
    let Some(work) = open_root(context)? else {
        return Ok(Vec::new());
    };
    let known = store.archived_workflows()?.into_iter();
    let known: Vec<String> = known.map(|(id, _)| id).collect();
    let mut folders = archives(&work, phases::ARCHIVE, &known);
    folders.truncate(folders.len().saturating_sub(keep));
    if !dry_run {
        remove_folders(&work, &folders)?;
    }
    Ok(folders)
}
