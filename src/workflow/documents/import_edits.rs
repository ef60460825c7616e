//! Imports edits of profile files into the store. Every command does this first.

use serde_json::Value;
use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::run_id;
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::repository::Store;
use crate::workflow::documents::classify::{Removed, Verdict, judge, judge_all, removed};
use crate::workflow::documents::conflict::ConflictKind;
use crate::workflow::documents::find_documents::{self, OnDisk};
use crate::workflow::documents::write_documents;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transition;
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::change::Change;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile;
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::reasons::EndReason;
use crate::workflow::words::run_error::RunError;

pub use crate::workflow::documents::conflict::Conflict;

/// Actor in the log for edits of a file.
const BY_HAND: &str = "file";

/// Returns the store, and makes one if profile files wait to be imported.
///
/// # Errors
/// There is no store, and no file to import.
pub fn require_store(context: &Context) -> Result<Store> {
    if let Some(store) = context.find_store()? {
        return Ok(store);
    }
    if find_documents::on_disk(context)?.is_empty() {
        return Err(no_workflow(context));
    }
    open_usable(context, false)
}

/// Returns the error where there is no store.
pub fn no_workflow(context: &Context) -> Error {
    if !context.root.exists() {
        return context.no_store();
    }
    RunError::NoWorkflow.into()
}

/// A store with all edits by hand imported, as far as possible.
pub struct Imported {
    pub store: Store,
    pub conflicts: Vec<Conflict>,
    pub warnings: Vec<Warning>,
}

/// For read-only commands: imports edits, and locks the store only if there are any. `None` without
/// a store.
pub fn open_imported(context: &Context) -> Result<Option<Imported>> {
    let files = find_documents::on_disk(context)?;
    let store = match context.find_store()? {
        Some(store) => store,
        None if files.is_empty() => return Ok(None),
        None => open_usable(context, false)?,
    };
    let verdicts = judge_all(&store, files)?;
    let removed = removed(context, &store)?;
    let is_all_written =
        unwritten(&store)?.is_empty() && !removed.iter().any(|one| one.is_put_aside);
    if is_all_written
        && verdicts
            .iter()
            .all(|(_, verdict)| matches!(verdict, Verdict::Nothing | Verdict::Conflict(_)))
    {
        let conflicts = conflicts(verdicts)
            .into_iter()
            .chain(removed.iter().map(Removed::conflict))
            .collect();
        return Ok(Some(Imported {
            store,
            conflicts,
            warnings: Vec::new(),
        }));
    }
    let mut session = session::begin(context, &store)?;
    let conflicts = import(context, &mut session)?;
    let warnings = std::mem::take(&mut session.warnings);
    drop(session);
    Ok(Some(Imported {
        store,
        conflicts,
        warnings,
    }))
}

/// Imports every edited file, under the lock. Files that cannot be imported stay and are returned.
///
/// # Errors
/// A file cannot be read, or a transition not be recorded.
pub fn import(context: &Context, session: &mut Session<'_>) -> Result<Vec<Conflict>> {
    let mut left = Vec::new();
    for (file, verdict) in judge_all(session.locked.store(), find_documents::on_disk(context)?)? {
        // An earlier file in this loop may have changed or begun the same run.
        let verdict = match verdict {
            Verdict::Nothing => verdict,
            _ => judge(session.locked.store(), &file)?,
        };
        left.extend(act(context, session, &file, verdict)?);
    }
    for one in removed(context, session.locked.store())? {
        if one.is_put_aside {
            end_run(context, session, &one.run, &EndReason::PutAside(one.path))?;
        } else {
            left.push(one.conflict());
        }
    }
    for run in unwritten(session.locked.store())? {
        write_documents::project(context, session, &run.workflow, None);
    }
    Ok(left)
}

/// Ends a run because the user removed or archived its file.
///
/// # Errors
/// It cannot be recorded.
pub fn end_run(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    why: &EndReason,
) -> Result<()> {
    let why = why.to_string();
    transition::abandon_run(context, session, run, &why, BY_HAND)?;
    session.warnings.push(
        RunWarning::PutAside {
            id: run.workflow.id.clone(),
            why,
        }
        .into(),
    );
    Ok(())
}

/// Open runs with a file that was never written: the process was killed before.
fn unwritten(store: &Store) -> Result<Vec<Run>> {
    let notes = store.projected();
    let is_unwritten = |run: &Run| {
        let is_known = |path: &str| {
            notes
                .iter()
                .any(|note| note.path == path && note.workflow == run.workflow.id)
        };
        let is_kept = |path: &str| {
            dispatch::profile_of_path(path)
                .is_some_and(|kept| run.workflow.profiles.contains(&kept))
        };
        run.workflow.status.is_open()
            && run
                .workflow
                .documents
                .keys()
                .any(|path| is_kept(path) && !is_known(path))
    };
    Ok(Runs::live(store)?
        .runs
        .into_iter()
        .filter(is_unwritten)
        .collect())
}

fn conflicts(verdicts: Vec<(OnDisk, Verdict)>) -> Vec<Conflict> {
    let conflict = |(_, verdict)| {
        if let Verdict::Conflict(conflict) = verdict {
            Some(conflict)
        } else {
            None
        }
    };
    verdicts.into_iter().filter_map(conflict).collect()
}

fn act(
    context: &Context,
    session: &mut Session<'_>,
    file: &OnDisk,
    verdict: Verdict,
) -> Result<Option<Conflict>> {
    match verdict {
        Verdict::Nothing => Ok(None),
        Verdict::Conflict(conflict) => Ok(Some(conflict)),
        Verdict::Stale(workflow) => {
            write_documents::project(context, session, &workflow, None);
            Ok(None)
        }
        Verdict::Edited(run, value) => edited(context, session, file, run, &value),
        Verdict::New(value, before) => begun(context, session, file, &value, before),
    }
}

fn edited(
    context: &Context,
    session: &mut Session<'_>,
    file: &OnDisk,
    run: Run,
    value: &Value,
) -> Result<Option<Conflict>> {
    let root = context.root.path().display().to_string();
    let mut next = run.workflow.clone();
    if let Err(findings) = dispatch::take(&mut next, file.profile, &file.path, value, &root) {
        return Ok(Some(malformed(file, Some(run.workflow.id), findings)));
    }
    // Keep the time given in the file, so that the file stays as it was written.
    end_if_settled(&mut next, context.now_ms);
    let event = Change {
        note: Some(file.path.clone()),
        ..Change::new("external edit", BY_HAND)
    };
    record(context, session, Some(&run), next, event, Some(file))?;
    Ok(None)
}

fn begun(
    context: &Context,
    session: &mut Session<'_>,
    file: &OnDisk,
    value: &Value,
    before: Option<Run>,
) -> Result<Option<Conflict>> {
    let root = context.root.path().display().to_string();
    let mut next = match dispatch::begin(file.profile, &file.path, value, &root) {
        Ok(next) => next,
        // A task list alone does not make a run.
        Err(_) if file.path == profile::EXECUTION_FILE => return Ok(None),
        Err(findings) => {
            let run = before.map(|run| run.workflow.id);
            return Ok(Some(malformed(file, run, findings)));
        }
    };
    if let Some(run) = before.filter(|run| run.workflow.status.is_open()) {
        let reason = EndReason::Replaced(file.path.clone()).to_string();
        let change = Change::new("abandon", BY_HAND).noting(reason);
        let mut ended = run.workflow.after(&change, context.now_ms)?;
        ended.documents.remove(&file.path);
        ended.profiles.retain(|profile| *profile != file.profile);
        record(context, session, Some(&run), ended, change, None)?;
    }
    next.id = free_id(session.locked.store(), &next.id)?;
    end_if_settled(&mut next, context.now_ms);
    let event = Change {
        note: Some(file.path.clone()),
        ..Change::new("import", BY_HAND)
    };
    record(context, session, None, next, event, Some(file))?;
    Ok(None)
}

fn malformed(file: &OnDisk, run: Option<String>, findings: Vec<Finding>) -> Conflict {
    Conflict {
        path: file.path.clone(),
        run,
        kind: ConflictKind::Malformed {
            findings,
            raw: file.bytes.clone(),
        },
    }
}

fn record(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<&Run>,
    next: Workflow,
    event: Change,
    imported: Option<&OnDisk>,
) -> Result<()> {
    let before = before.map(|run| run.tip);
    transition::record_imported(context, session, before, next, event, imported).map(drop)
}

/// Marks an open run as complete if all its phases are settled.
pub fn end_if_settled(workflow: &mut Workflow, now_ms: i64) {
    if workflow.status.is_open() && workflow.is_all_settled() {
        workflow.status = RunStatus::Complete;
        workflow.finished_ms = Some(now_ms);
    }
}

/// Returns an id that no live or archived run has: `wanted`, or `wanted` with a number.
pub fn free_id(store: &Store, wanted: &str) -> Result<String> {
    let mut taken: BTreeSet<String> = store.workflows()?.into_iter().map(|(id, _)| id).collect();
    taken.extend(store.archived_workflows()?.into_iter().map(|(id, _)| id));
    taken.extend(store.torn_workflows()?);
    let numbered = (2..).map(|number| run_id::numbered(wanted, number));
    Ok(std::iter::once(wanted.to_owned())
        .chain(numbered)
        .find(|id| !taken.contains(id))
        .unwrap_or_default())
}

/// Imports a file as that of its run by the user's decision, even if the state differs.
///
/// # Errors
/// The file makes no sense, or there is no such run.
pub fn import_file(
    context: &Context,
    session: &mut Session<'_>,
    path: &str,
    run: Option<&Run>,
    actor: &str,
) -> Result<()> {
    let file = find_documents::on_disk(context)?
        .into_iter()
        .find(|file| file.path == path);
    let (Some(file), Some(run)) = (file, run) else {
        return Err(RunError::NoWorkflow.into());
    };
    let root = context.root.path().display().to_string();
    let mut next = run.workflow.clone();
    let imported = match &file.read {
        Ok(value) => dispatch::take(&mut next, file.profile, path, value, &root),
        Err(why) => Err(vec![Finding::new("no_json", "", why.clone())]),
    };
    if let Err(findings) = imported {
        let conflict = malformed(&file, Some(run.workflow.id.clone()), findings);
        return Err(conflict.problem(Some(&run.workflow)));
    }
    end_if_settled(&mut next, context.now_ms);
    let event = Change {
        note: Some(path.to_owned()),
        ..Change::new("external edit", actor)
    };
    record(context, session, Some(run), next, event, Some(&file))
}
