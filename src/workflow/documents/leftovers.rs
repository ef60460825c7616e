//! Removes what ended runs leave in the project: failed files of the registry, and archive folders.

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::workflow::documents::find_documents::rel;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::profiles::{phases, pipeline, registry};
use crate::workflow::rules::profile;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::reasons::TRIMMING_ARCHIVES;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

/// Default number of archive folders to keep.
pub const USUAL_ARCHIVES: usize = 5;

/// Length of `_YYYYMMDD_HHMMSS`, the suffix after the id in the name of an archive folder.
const TIME_LENGTH: usize = 16;

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
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    let work = WorkTree::open_root(&context.root)?;
    let names = state_file::list(&work, &rel(registry::FAILED)).unwrap_or_default();
    let mut paths: Vec<String> = names
        .iter()
        .map(|name| format!("{}/{name}", registry::FAILED))
        .collect();
    if paths.is_empty() {
        return Ok(paths);
    }
    let is_old = |run: &Run| {
        let ended_ms = run.workflow.finished_ms.unwrap_or(run.workflow.updated_ms);
        !run.workflow.status.is_open() && context.now_ms.saturating_sub(ended_ms) > max_age_ms
    };
    let old: Vec<Run> = Runs::all(store)?.runs.into_iter().filter(is_old).collect();
    paths.retain(|path| {
        old.iter()
            .any(|run| failed(&run.workflow).any(|own| own == *path))
    });
    if !dry_run {
        paths
            .iter()
            .try_for_each(|path| state_file::remove(&work, &rel(path)).map(drop))?;
    }
    Ok(paths)
}

/// Paths of the files of a run in the folder of failed files.
fn failed(workflow: &Workflow) -> impl Iterator<Item = String> {
    workflow
        .documents
        .keys()
        .filter_map(|path| registry::failed_path(path))
}

/// Removes the failed file of a run.
///
/// # Errors
/// The file cannot be removed.
pub fn remove_failed(context: &Context, workflow: &Workflow) -> Result<()> {
    if !context.root.exists() {
        return Ok(());
    }
    let work = WorkTree::open_root(&context.root)?;
    failed(workflow).try_for_each(|path| state_file::remove(&work, &rel(&path)).map(drop))
}

/// Removes the archive folders of a run and returns their paths.
///
/// # Errors
/// An entry of a folder cannot be removed.
pub fn remove_archives(context: &Context, id: &str) -> Result<Vec<String>> {
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    let work = WorkTree::open_root(&context.root)?;
    let mut removed = Vec::new();
    for above in [pipeline::ARCHIVE, phases::ARCHIVE] {
        let is_its = |name: &String| {
            name.len() == id.len() + TIME_LENGTH && name.starts_with(&format!("{id}_"))
        };
        for name in state_file::folders(&work, &rel(above))
            .unwrap_or_default()
            .into_iter()
            .filter(is_its)
        {
            let folder = format!("{above}/{name}");
            for file in state_file::list(&work, &rel(&folder))? {
                state_file::remove(&work, &rel(&format!("{folder}/{file}")))?;
            }
            state_file::remove_empty_folder(&work, &rel(&folder))?;
            removed.push(folder);
        }
    }
    Ok(removed)
}

/// Removes all but the newest archive folders. An error is only a warning, as the run has ended.
pub fn trim_archives(context: &Context, session: &mut Session<'_>) {
    let dropped = drop_old_archives(context, session, USUAL_ARCHIVES, false);
    let warning = dropped.err().map(Warning::bookkeeping(TRIMMING_ARCHIVES));
    session.warnings.extend(warning);
}

/// Removes the oldest archive folders of the `phases` profile whose runs the store has archived.
pub fn drop_old_archives(
    context: &Context,
    session: &Session<'_>,
    keep: usize,
    dry_run: bool,
) -> Result<Vec<String>> {
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    let known: Vec<String> = session
        .locked
        .store()
        .archived_workflows()?
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    let work = WorkTree::open_root(&context.root)?;
    let mut folders = state_file::folders(&work, &rel(phases::ARCHIVE)).unwrap_or_default();
    // `<id>_<YYYYMMDD_HHMMSS>`: the time is at the end.
    folders.retain(|name| {
        known.iter().any(|id| {
            name.strip_prefix(id.as_str())
                .is_some_and(|rest| rest.starts_with('_'))
        })
    });
    folders.sort_by_key(|name| {
        name.get(name.len().saturating_sub(TIME_LENGTH - 1)..)
            .map(str::to_owned)
    });
    let surplus = folders.len().saturating_sub(keep);
    folders.truncate(surplus);
    if !dry_run {
        for name in &folders {
            let folder = rel(&format!("{}/{name}", phases::ARCHIVE));
            for file in [profile::PHASE_FILE, profile::EXECUTION_FILE] {
                state_file::remove(&work, &folder.join(rel(file).name()))?;
            }
            state_file::remove_empty_folder(&work, &folder)?;
        }
    }
    Ok(folders
        .iter()
        .map(|name| format!("{}/{name}", phases::ARCHIVE))
        .collect())
}
