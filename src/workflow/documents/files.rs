//! The files of a run: written before its commit, and moved or removed after it; and whether the
//! project's git would commit them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::json::parse;
use crate::base::time::utc_compact;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::model::default_rules::IGNORE_FILE;
use crate::ops::{Context, Warning};
use crate::store::Store;
use crate::workflow::documents::{CORRUPT, below, read_value, rel, render};
use crate::workflow::profiles::format::check_run;
use crate::workflow::profiles::{dispatch, phases, pipeline, registry};
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::{Finding, RunStatus, Runs, Workflow, words};
use crate::worktree::files::state_file::{self, remove_known, replace_known};
use crate::worktree::git::{find_index, git_head};
use crate::worktree::{RuleSources, RuleVerdict, Rules, WorkTree};

/// Number of archive folders to keep.
const KEPT_ARCHIVES: usize = 5;

/// Length of `_YYYYMMDD_HHMMSS`, the suffix after the id in the name of an archive folder.
const TIME_LENGTH: usize = 16;

/// Returns the documents that a run keeps in files.
pub fn of_run(workflow: &Workflow) -> impl Iterator<Item = (&String, &Value)> {
    let documents = workflow.documents.iter();
    documents.filter(|(path, _)| {
        workflow.profile.is_some() && dispatch::profile_of_path(path) == workflow.profile
    })
}

/// A file that was written, moved or removed.
struct Changed {
    path: RelPath,
    was: Option<Vec<u8>>,
    is: Option<Vec<u8>>,
    /// Where it was moved.
    to: Option<RelPath>,
}

/// Files that were changed, in order.
#[derive(Default)]
pub struct ChangedFiles(Vec<Changed>);

impl ChangedFiles {
    /// Makes the files what they were, as far as no other process has changed them since.
    pub fn take_back(&self, tree: &WorkTree) {
        for Changed { path, was, is, to } in self.0.iter().rev() {
            let is_back = match (was, is) {
                (Some(was), is) => replace_known(tree, path, is.as_deref(), was),
                (None, is) => remove_known(tree, path, is.as_deref().unwrap_or_default()),
            };
            if let (Ok(true), Some(to)) = (is_back, to) {
                take_back(tree, to);
            }
        }
    }
}

/// Changes files, one after the other; if one fails, those before it are as they were.
fn change_each<T>(
    tree: &WorkTree,
    mut files: impl Iterator<Item = T>,
    change: impl Fn(T) -> Result<Option<Changed>>,
) -> Result<ChangedFiles> {
    let mut changes = ChangedFiles::default();
    let done = files.try_for_each(|file| {
        changes.0.extend(change(file)?);
        Ok(())
    });
    match done {
        Ok(()) => Ok(changes),
        Err(why) => {
            changes.take_back(tree);
            Err(why)
        }
    }
}

/// Removes a file that is elsewhere too, and the folders that are empty without it.
fn take_back(tree: &WorkTree, path: &RelPath) {
    let _ = state_file::remove(tree, path);
    state_file::remove_empty_above(tree, path);
}

/// Writes the files of the next state, each atomically and only if it says what its `known` document
/// says.
///
/// # Errors
/// A file cannot be written, or was edited meanwhile; those before it are back.
pub fn write(
    tree: &WorkTree,
    next: &Workflow,
    known: &BTreeMap<String, Value>,
) -> Result<ChangedFiles> {
    change_each(tree, of_run(next), |(name, value)| {
        let path = rel(name);
        let was = state_file::read(tree, &path)?;
        let present = was.as_deref().and_then(|bytes| parse(bytes).ok());
        let has_gone = was.is_none() && fate(next, name, Leaving::Ended) != Fate::Stays;
        if has_gone || present.as_ref() == Some(value) {
            return Ok(None);
        }
        let is = render(value).into_bytes();
        let is_known = was.is_none() || present.is_some() && known.get(name) == present.as_ref();
        if !is_known || !replace_known(tree, &path, was.as_deref(), &is)? {
            return Err(changed_by_other(name));
        }
        let (is, to) = (Some(is), None);
        Ok(Some(Changed { path, was, is, to }))
    })
}

fn changed_by_other(path: &str) -> Error {
    words::moved_on(format!("{path} was changed by another process"))
}

/// Writes the schema of the pipeline state, if the project has none.
///
/// # Errors
/// It cannot be written.
pub fn write_schema(tree: &WorkTree) -> Result<()> {
    let (path, text) = (rel(pipeline::SCHEMA_FILE), pipeline::PIPELINE_SCHEMA);
    replace_known(tree, &path, None, text.as_bytes()).map(drop)
}

/// Writes the missing files of a run.
///
/// # Errors
/// A file cannot be written.
pub fn write_missing(tree: &WorkTree, workflow: &Workflow) -> Result<()> {
    of_run(workflow).try_for_each(|(path, value)| {
        replace_known(tree, &rel(path), None, render(value).as_bytes()).map(drop)
    })
}

/// Returns the finding on a task list that names another run than the phase file beside it.
pub fn of_other_run(workflow: &Workflow, path: &str, value: &Value) -> Option<Finding> {
    let id_in = |document: &Value| document.get("workflow_id")?.as_str().map(str::to_owned);
    let known =
        [PHASE_FILE, EXECUTION_FILE].map(|path| workflow.documents.get(path).and_then(id_in));
    let id = id_in(value).filter(|id| path == EXECUTION_FILE && !id.is_empty())?;
    let id = Some(id).filter(|id| !known.contains(&Some(id.clone())))?;
    check_run("workflow_id", &id, workflow.named())
}

/// Why the files of a run leave their places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// The run has ended: only files as recorded leave.
    Ended,
    Archived,
    /// Nothing has happened in the run for too long.
    Expired,
    Deleted,
}

/// What becomes of a file.
#[derive(PartialEq)]
enum Fate {
    Stays,
    Removed,
    Moved,
}

fn fate(workflow: &Workflow, path: &str, why: Leaving) -> Fate {
    use RunStatus::{Abandoned, Complete, Failed, Open};
    let is_in_registry = registry::is_active_file(path);
    match (why, workflow.status, is_in_registry) {
        (Leaving::Deleted, ..)
        | (Leaving::Expired, _, true)
        | (Leaving::Ended | Leaving::Archived, Complete, true) => Fate::Removed,
        (Leaving::Ended, Abandoned, false) if path == pipeline::FILE => Fate::Removed,
        (Leaving::Ended, Open, _) | (Leaving::Ended, Complete | Failed, false) => Fate::Stays,
        _ => Fate::Moved,
    }
}

fn is_free(tree: &WorkTree, path: &str) -> bool {
    !matches!(tree.stat(&rel(path)), Ok(Some(_)))
}

/// Returns the archive path of a file: below a folder named by its run and the time, or the next
/// second in which the path is free.
fn archived(tree: &WorkTree, run: Option<&str>, path: &str, now_ms: i64) -> String {
    let folder = match path.split_once('/') {
        Some(("memory", _)) => phases::ARCHIVE,
        _ => pipeline::ARCHIVE,
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let run = run.unwrap_or(CORRUPT);
    let times = (now_ms..).step_by(1_000).map(utc_compact);
    let mut paths = times.map(|time| format!("{folder}/{run}_{time}/{name}"));
    paths.find(|path| is_free(tree, path)).unwrap_or_default()
}

/// Archives or removes the files of a run, each as its profile wants it. A file that differs from
/// the recorded state may be the only record, and is never removed.
///
/// # Errors
/// A file cannot be moved; those before it are back.
pub fn put_away(
    tree: &WorkTree,
    workflow: &Workflow,
    why: Leaving,
    now_ms: i64,
) -> Result<ChangedFiles> {
    let leaves = |path: &str| fate(workflow, path, why) != Fate::Stays;
    let files = of_run(workflow).filter(|(path, _)| leaves(path));
    let put = |file| put_one_away(tree, workflow, file, why, now_ms);
    change_each(tree, files, put)
}

fn put_one_away(
    tree: &WorkTree,
    workflow: &Workflow,
    (path, value): (&String, &Value),
    why: Leaving,
    now_ms: i64,
) -> Result<Option<Changed>> {
    let Some(bytes) = state_file::read(tree, &rel(path))? else {
        return Ok(None);
    };
    let is_recorded = parse(&bytes).ok().as_ref() == Some(value);
    if why == Leaving::Ended && !is_recorded {
        return Ok(None);
    }
    // Another file under that name may be the only record.
    let is_for_ours = |failed: &String| {
        is_free(tree, failed) || is_recorded && read_value(tree, failed).as_ref() == Some(value)
    };
    let failed =
        registry::failed_path(path).filter(|failed| why != Leaving::Deleted && is_for_ours(failed));
    let to = failed.unwrap_or_else(|| archived(tree, Some(&workflow.id), path, now_ms));
    let is_moved = !is_recorded || fate(workflow, path, why) != Fate::Removed;
    let (path, to) = (rel(path), is_moved.then(|| rel(&to)));
    match &to {
        None => drop(remove_known(tree, &path, &bytes)?),
        Some(to) => {
            if is_recorded {
                state_file::remove(tree, to)?;
            }
            state_file::move_known(tree, &path, to, &bytes)?;
        }
    }
    let (was, is) = (Some(bytes), None);
    Ok(Some(Changed { path, was, is, to }))
}

/// Archives a file that is malformed or of another run, which may be the only record, and returns
/// its new path: beside the files of its run, if that ends too.
///
/// # Errors
/// The file cannot be moved.
pub fn put_aside(tree: &WorkTree, path: &str, run: Option<&str>, now_ms: i64) -> Result<String> {
    // A directory or other non-file goes where no cleanup of runs looks.
    let run = run.filter(|_| state_file::read(tree, &rel(path)).is_ok());
    let to = archived(tree, run, path, now_ms);
    state_file::move_any(tree, &rel(path), &rel(&to))?;
    Ok(to)
}

/// As [`put_aside`], and writes the files of the run from its state. A run whose file is missing is
/// archived: a file is replaced, and at no time away.
///
/// # Errors
/// As [`put_aside`], or a file cannot be written.
pub fn replace(tree: &WorkTree, workflow: &Workflow, path: &str, now_ms: i64) -> Result<String> {
    let document = of_run(workflow).find(|(known, _)| *known == path);
    let found = state_file::read(tree, &rel(path)).ok().flatten();
    let aside = if let (Some((_, value)), Some(bytes)) = (document, found) {
        let to = copy(tree, path, &bytes, now_ms)?;
        let text = render(value);
        let written = replace_known(tree, &rel(path), Some(&bytes), text.as_bytes());
        if !written.inspect_err(|_| take_back(tree, &rel(&to)))? {
            return Err(changed_by_other(path));
        }
        to
    } else {
        put_aside(tree, path, None, now_ms)?
    };
    write_missing(tree, workflow)?;
    Ok(aside)
}

/// As [`put_aside`], of a file that stays.
///
/// # Errors
/// The file cannot be read, or the copy not be written.
pub fn copy_aside(tree: &WorkTree, path: &str, now_ms: i64) -> Result<String> {
    let bytes = state_file::read(tree, &rel(path))?.unwrap_or_default();
    copy(tree, path, &bytes, now_ms)
}

/// Writes into the archive what a file says; beside the file first, where a killed process may leave it.
fn copy(tree: &WorkTree, path: &str, bytes: &[u8], now_ms: i64) -> Result<String> {
    let to = archived(tree, None, path, now_ms);
    let beside = rel(path).parent().unwrap_or_default();
    let beside = beside.join(&state_file::temporary_name());
    let made = state_file::replace(tree, &beside, bytes);
    made.and_then(|()| state_file::move_any(tree, &beside, &rel(&to)))
        .inspect_err(|_| {
            take_back(tree, &beside);
            take_back(tree, &rel(&to));
        })?;
    Ok(to)
}

/// Removes the folders for the files of runs that are empty.
pub fn remove_empty_folders(tree: &WorkTree) {
    let folders = [
        registry::FAILED,
        registry::FOLDER,
        pipeline::ARCHIVE,
        phases::ARCHIVE,
    ];
    let inside = folders.map(|folder| rel(folder).join(b"file"));
    for path in inside.into_iter().chain([rel(PHASE_FILE)]) {
        state_file::remove_empty_above(tree, &path);
    }
}

/// Removes failed files of runs that ended before a time, if they are as recorded.
///
/// # Errors
/// The runs cannot be read, or a file cannot be read or removed.
pub fn drop_failed(
    tree: &WorkTree,
    store: &Store,
    before_ms: i64,
    dry_run: bool,
) -> Result<Vec<String>> {
    let mut old = Runs::all(store)?.runs;
    old.retain(|run| {
        let ended_ms = run.workflow.finished_ms.unwrap_or(run.workflow.updated_ms);
        !run.is_open() && ended_ms < before_ms
    });
    let mut paths = Vec::new();
    for run in &old {
        for (path, bytes) in failed(tree, &run.workflow)? {
            if dry_run || remove_known(tree, &rel(&path), &bytes)? {
                paths.push(path);
            }
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the files of a run in the folder of failed files that are as recorded: another may be the
/// only record.
fn failed(tree: &WorkTree, workflow: &Workflow) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for (path, value) in &workflow.documents {
        let Some(path) = registry::failed_path(path) else {
            continue;
        };
        let found = state_file::read(tree, &rel(&path))?;
        let found = found.filter(|bytes| parse(bytes).ok().as_ref() == Some(value));
        files.extend(found.map(|bytes| (path, bytes)));
    }
    Ok(files)
}

/// Removes the failed file of a run, if it is as recorded.
///
/// # Errors
/// The file cannot be read or removed.
pub fn remove_failed(tree: &WorkTree, workflow: &Workflow) -> Result<()> {
    let mut files = failed(tree, workflow)?.into_iter();
    files.try_for_each(|(path, bytes)| remove_known(tree, &rel(&path), &bytes).map(drop))
}

/// Removes the archive folders of a run and returns their paths.
///
/// # Errors
/// An entry of a folder cannot be removed.
pub fn remove_archives(tree: &WorkTree, id: &str) -> Result<Vec<String>> {
    remove_folders(tree, archives_of(tree, id))
}

/// Returns the files that are left in the archive folders of a run.
pub fn left_in_archives(tree: &WorkTree, id: &str) -> Vec<String> {
    let folders = archives_of(tree, id);
    folders
        .iter()
        .flat_map(|folder| below(tree, folder))
        .collect()
}

fn archives_of(tree: &WorkTree, id: &str) -> Vec<String> {
    let of = |archive| archives(tree, archive, &[id.to_owned()]);
    [of(pipeline::ARCHIVE), of(phases::ARCHIVE)].concat()
}

/// Returns the folders `<id>_<YYYYMMDD_HHMMSS>` of these runs, the oldest first.
fn archives(tree: &WorkTree, archive: &str, ids: &[String]) -> Vec<String> {
    let mut names = state_file::folders(tree, &rel(archive)).unwrap_or_default();
    let is_time = |rest: &str| rest.len() == TIME_LENGTH && rest.starts_with('_');
    let is_of = |id: &String, name: &str| name.strip_prefix(id.as_str()).is_some_and(is_time);
    names.retain(|name| ids.iter().any(|id| is_of(id, name)));
    names.sort_by_key(|name| name.get(name.len() - TIME_LENGTH..).map(str::to_owned));
    let path = |name| format!("{archive}/{name}");
    names.into_iter().map(path).collect()
}

/// Removes the documents in archive folders, and returns the folders that went with them. What is
/// malformed is nowhere else, and stays.
fn remove_folders(tree: &WorkTree, folders: Vec<String>) -> Result<Vec<String>> {
    let mut removed = Vec::new();
    for folder in folders {
        let mut paths = below(tree, &folder);
        paths.retain(|path| {
            path.rsplit('.').next() == Some("json") && read_value(tree, path).is_some()
        });
        for path in paths {
            state_file::remove(tree, &rel(&path))?;
        }
        if state_file::remove_empty_folder(tree, &rel(&folder))? {
            removed.push(folder);
        }
    }
    Ok(removed)
}

/// Removes all but the newest archive folders of the `phases` profile whose runs the store has
/// archived.
///
/// # Errors
/// The refs cannot be read, or an entry of a folder cannot be removed.
pub fn drop_old_archives(tree: &WorkTree, store: &Store, dry_run: bool) -> Result<Vec<String>> {
    let mut known = Runs::all(store)?.runs;
    known.retain(|run| !run.is_live());
    let known: Vec<String> = known.into_iter().map(|run| run.workflow.id).collect();
    let mut folders = archives(tree, phases::ARCHIVE, &known);
    folders.truncate(folders.len().saturating_sub(KEPT_ARCHIVES));
    if dry_run {
        return Ok(folders);
    }
    remove_folders(tree, folders)
}

/// Returns a warning with the missing `.gitignore` line if the files, which may be private, are
/// neither ignored nor committed already.
pub fn ignore_missing(context: &Context, workflow: &Workflow) -> Option<Warning> {
    let root = context.root.path();
    git_head::read(root)?;
    let (path, _) = of_run(workflow).last()?;
    let (tree, tracked) = (WorkTree::open(root).ok()?, find_index::load(root).ok()?);
    let ignore_file_of = |dir: &RelPath| {
        let read = state_file::read(&tree, &dir.join(IGNORE_FILE));
        read.ok().flatten()
    };
    let verdict = Rules::new(RuleSources::default()).judge_at(&rel(path), false, &ignore_file_of);
    if matches!(verdict, RuleVerdict::LeaveOut(_)) || tracked.contains(path.as_bytes()) {
        return None;
    }
    let folder = path.rsplit_once('/').filter(|_| path != pipeline::FILE);
    let pattern = folder.map_or(path.clone(), |(folder, _)| format!("{folder}/"));
    let ignore_file = root.join(".gitignore");
    Some(Warning::NotIgnored {
        pattern,
        ignore_file,
    })
}
