//! Brings runs and their files together, which every command does first: what was done by hand
//! counts.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::repository::Store;
use crate::store::runs::prepared::PreparedTransition;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::files::{self, Leaving};
use crate::workflow::documents::{OnDisk, in_place, open_root, read_value, rel};
use crate::workflow::engine::runs::{Run, Runs, free_id};
use crate::workflow::engine::work::{StepOptions, Work};
use crate::workflow::profiles::{dispatch, registry};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::{EXECUTION_FILE, Profile};
use crate::workflow::rules::status::RunStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words;
use crate::worktree::tree_handle::WorkTree;

/// Actor in the log for edits of a file.
const BY_HAND: &str = "file";

/// What one file means.
enum Verdict<'r> {
    /// It says what is recorded, or is no document of a run.
    Nothing,
    /// A task list of another run, which is not read.
    OfOtherRun,
    Malformed(Conflict),
    Edited(&'r Run, &'r Value),
    /// A run that is not recorded yet, with the run that owned the file until now.
    New(&'r Value, Option<&'r Run>),
}

/// A store with all edits by hand imported, as far as possible.
pub struct Imported {
    pub store: Store,
    pub conflicts: Vec<Conflict>,
}

/// Returns the store, and makes one if files wait to be imported.
///
/// # Errors
/// There is no store, and no file to import.
pub fn require_store(context: &Context) -> Result<Store> {
    find_store(context)?.ok_or_else(|| no_workflow(context))
}

fn find_store(context: &Context) -> Result<Option<Store>> {
    if let Some(store) = context.find_store()? {
        return Ok(Some(store));
    }
    let has_files = open_root(context)?.is_some_and(|work| !in_place(&work).is_empty());
    has_files.then(|| open_usable(context, false)).transpose()
}

/// Returns the error where there is no store.
pub fn no_workflow(context: &Context) -> Error {
    if !context.root.exists() {
        return context.no_store();
    }
    words::no_workflow()
}

/// For read-only commands: locks the store only if there is something to record. `None` without a
/// store.
///
/// # Errors
/// As [`sync`].
pub fn open_imported(context: &Context) -> Result<Option<Imported>> {
    let Some(store) = find_store(context)? else {
        return Ok(None);
    };
    let conflicts = match pass(context, &store, None)? {
        Some(conflicts) => conflicts,
        None => sync(&mut Work::begin(context, &store, &StepOptions::default())?)?,
    };
    Ok(Some(Imported { store, conflicts }))
}

/// Records what was done to the files, under the lock. Files that cannot be understood stay and are
/// returned.
///
/// # Errors
/// A file cannot be read or written, or a transition not be recorded.
pub fn sync(work: &mut Work<'_>) -> Result<Vec<Conflict>> {
    if let Some(prepared) = work.store().prepared_transition() {
        finish_prepared(work, &prepared)?;
        work.session.locked.forget_prepared()?;
    }
    Ok(pass(work.context, work.store(), Some(work))?.unwrap_or_default())
}

/// Finishes a transition if a killed process has written one of its files, and no other has been
/// edited since.
fn finish_prepared(work: &mut Work<'_>, prepared: &PreparedTransition) -> Result<()> {
    let (context, store) = (work.context, work.store());
    let mut tips = store.workflows()?.into_iter();
    let tip = tips.find(|(id, _)| *id == prepared.id).map(|(_, tip)| tip);
    let read = |tip| Workflow::from_json(&store.workflow_state(tip).ok()?).ok();
    let before = prepared.parent.and_then(read);
    let known = before.map(|before| before.documents).unwrap_or_default();
    let (Some(next), Some(tree)) = (read(prepared.commit), open_root(context)?) else {
        return Ok(());
    };
    let is_written = |(path, value): (&String, &Value)| {
        known.get(path) != Some(value) && read_value(&tree, path).as_ref() == Some(value)
    };
    if tip != prepared.parent || !files::of_run(&next).any(is_written) {
        return Ok(());
    }
    if files::write(context, &next, &[&known]).is_ok() {
        work.session.locked.publish_prepared(prepared)?;
    }
    Ok(())
}

/// Looks at all files and runs; `None` if there is something to record and no session to do it.
fn pass(
    context: &Context,
    store: &Store,
    mut work: Option<&mut Work<'_>>,
) -> Result<Option<Vec<Conflict>>> {
    let Some(tree) = open_root(context)? else {
        return Ok(Some(Vec::new()));
    };
    let mut left = Vec::new();
    let mut runs = Runs::live(store)?;
    for file in &in_place(&tree) {
        let verdict = judge(&runs, file);
        left.extend(match (verdict, work.as_deref_mut()) {
            (Verdict::Nothing, _) => None,
            (Verdict::Malformed(conflict), _) => Some(conflict),
            (Verdict::OfOtherRun, _) => {
                let path = file.path.clone();
                warn(context, RunWarning::OfOtherRun { path });
                None
            }
            (_, None) => return Ok(None),
            (Verdict::Edited(run, value), Some(work)) => {
                let conflict = adopt(work, file, run, value)?;
                runs = Runs::live(store)?;
                conflict
            }
            (Verdict::New(value, owner), Some(work)) => {
                let conflict = begin(work, (&tree, file), value, owner)?;
                runs = Runs::live(store)?;
                conflict
            }
        });
    }
    for run in &runs.runs {
        let workflow = &run.workflow;
        let gone = removed(&tree, workflow);
        // A process was killed before it had archived the run or moved its files.
        let is_abandoned = workflow.status == RunStatus::Abandoned;
        let is_unfinished =
            || is_abandoned || !files::leftovers(&tree, workflow, context.now_ms).is_empty();
        if gone.is_none() && (workflow.status.is_open() || !is_unfinished()) {
            continue;
        }
        let Some(work) = work.as_deref_mut() else {
            return Ok(None);
        };
        if let Some(why) = gone {
            files::put_all_aside(context, workflow, Leaving::Archived)?;
            archive(work, run, why)?;
            work.trim_archives();
        } else {
            files::finish(context, workflow)?;
            if is_abandoned {
                work.session.locked.archive_workflow(&workflow.id)?;
            }
        }
    }
    Ok(Some(left))
}

fn warn(context: &Context, warning: RunWarning) {
    context.pending_warnings.add(warning.into());
}

fn judge<'r>(runs: &'r Runs, file: &'r OnDisk) -> Verdict<'r> {
    let is_list = file.path == EXECUTION_FILE;
    // A new task list belongs to the open run whose phase file lies beside it.
    let owner = runs.runs.iter().find(|run| {
        let workflow = &run.workflow;
        workflow.profile == Some(file.profile)
            && (workflow.documents.contains_key(&file.path)
                || (is_list && workflow.status.is_open()))
    });
    let value = match &file.read {
        Ok(value) => value,
        Err(why) => {
            let findings = vec![Finding::new("no_json", "", why.clone())];
            return Verdict::Malformed(malformed(file, owner, findings));
        }
    };
    match owner {
        // A task list alone does not make a run.
        None if is_list => Verdict::Nothing,
        None => Verdict::New(value, None),
        Some(run) if run.workflow.documents.get(&file.path) == Some(value) => Verdict::Nothing,
        Some(run) if files::names_other_run(&run.workflow, &file.path, value) => {
            Verdict::OfOtherRun
        }
        Some(run) if is_of_another(run, file, value) => Verdict::New(value, Some(run)),
        Some(run) => Verdict::Edited(run, value),
    }
}

/// Whether the file now describes another run than its owner.
fn is_of_another(run: &Run, file: &OnDisk, value: &Value) -> bool {
    let key = match file.profile {
        Profile::Phases => "workflow_id",
        Profile::Registry => "checkpoint_id",
        // Without a time it is damaged, not the file of another run.
        Profile::Pipeline => "created_at",
    };
    let known = run.workflow.documents.get(&file.path);
    let known = known.and_then(|known| known.get(key));
    let named = value.get(key);
    named.is_some() && known.is_some() && named != known
}

fn malformed(file: &OnDisk, run: Option<&Run>, findings: Vec<Finding>) -> Conflict {
    Conflict {
        path: file.path.clone(),
        run: run.map(|run| run.workflow.id.clone()),
        findings,
        raw: file.bytes.clone(),
    }
}

/// Tells how the file of an open run has gone, if it has.
fn removed(work: &WorkTree, workflow: &Workflow) -> Option<String> {
    // A link or a directory in place of the file is there, too.
    let is_there = |path: &str| !matches!(work.stat(&rel(path)), Ok(None));
    let mut paths = files::of_run(workflow).map(|(path, _)| path);
    let gone = paths.find(|path| *path != EXECUTION_FILE && !is_there(path));
    let gone = gone.filter(|_| workflow.status.is_open())?.clone();
    let failed = registry::failed_path(&gone);
    Some(if failed.is_some_and(|failed| is_there(&failed)) {
        format!("{gone} was archived by hand")
    } else {
        format!("{gone} was removed by hand")
    })
}

fn adopt(work: &mut Work<'_>, file: &OnDisk, run: &Run, value: &Value) -> Result<Option<Conflict>> {
    let root = work.context.root.path().display().to_string();
    let mut next = run.workflow.clone();
    if let Err(finding) = dispatch::take(&mut next, &file.path, value, &root) {
        return Ok(Some(malformed(file, Some(run), vec![finding])));
    }
    end_if_settled(&mut next, work.context.now_ms);
    work.record(Some(run), next, event("external edit", file))?;
    Ok(None)
}

fn event(verb: &str, file: &OnDisk) -> Change {
    Change {
        note: Some(file.path.clone()),
        ..Change::new(verb, BY_HAND)
    }
}

/// Begins the run that a file describes, or reopens it if it is one that was archived with this
/// very file.
fn begin(
    work: &mut Work<'_>,
    (tree, file): (&WorkTree, &OnDisk),
    value: &Value,
    owner: Option<&Run>,
) -> Result<Option<Conflict>> {
    let context = work.context;
    let root = context.root.path().display().to_string();
    let mut next = match dispatch::begin(&file.path, value, &root) {
        Ok(next) => next,
        Err(finding) => return Ok(Some(malformed(file, owner, vec![finding]))),
    };
    if let Some(run) = owner {
        // A task list that came with the file stays; the one of the run goes with it.
        let is_left = |(path, value): &(&String, &Value)| {
            **path != file.path && read_value(tree, path).as_ref() == Some(*value)
        };
        for (path, _) in files::of_run(&run.workflow).filter(is_left) {
            files::put_aside(context, path, Some(&run.workflow.id))?;
        }
        archive(work, run, format!("{} was replaced by hand", file.path))?;
    }
    let all = Runs::all(work.store())?;
    let is_it = |run: &&Run| {
        !run.is_live()
            && matches!(run.workflow.status, RunStatus::Open | RunStatus::Complete)
            && files::of_run(&run.workflow).any(|known| known == (&file.path, value))
            && all.in_the_way(&run.workflow).next().is_none()
    };
    if let Some(run) = all.runs.iter().find(is_it) {
        let id = (work.session.locked).unarchive_workflow(run.id(), &run.workflow.id)?;
        warn(context, RunWarning::Reopened { id });
        files::write_missing(tree, &run.workflow)?;
        return Ok(None);
    }
    next.id = free_id(work.store(), &next.id)?;
    end_if_settled(&mut next, context.now_ms);
    work.record(None, next, event("import", file))?;
    Ok(None)
}

fn archive(work: &mut Work<'_>, run: &Run, why: String) -> Result<()> {
    if let Some(id) = work.session.locked.archive_workflow(&run.workflow.id)? {
        warn(work.context, RunWarning::PutAside { id, why });
    }
    Ok(())
}

/// Marks an open run as complete if all its phases are settled.
pub fn end_if_settled(workflow: &mut Workflow, now_ms: i64) {
    if workflow.status.is_open() && workflow.is_all_settled() {
        workflow.status = RunStatus::Complete;
        workflow.finished_ms = Some(now_ms);
    }
}
