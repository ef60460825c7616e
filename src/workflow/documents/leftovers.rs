//! Removes what ended runs leave in the project: failed files of the registry, and archive folders.

use crate::error::Result;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::documents::find_documents::rel;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::profiles::{phases, pipeline, registry};
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::tree_handle::WorkTree;

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
    let work = WorkTree::open(context.root.path())?;
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
    let work = WorkTree::open(context.root.path())?;
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
    let work = WorkTree::open(context.root.path())?;
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
