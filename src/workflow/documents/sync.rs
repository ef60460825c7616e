//! Brings runs and their files together, which every command does first: what was done by hand
//! counts.

use serde_json::Value;

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::repository::Store;
use crate::store::runs::run_line::PreparedTransition;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::files::{self, Leaving};
use crate::workflow::documents::{OnDisk, in_place, read_value, rel};
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::work::{StepOptions, Work};
use crate::workflow::profiles::{dispatch, registry};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::workflow::{EXECUTION_FILE, Finding, Profile, RunStatus, Workflow};
use crate::workflow::words;
use crate::worktree::tree_handle::WorkTree;

/// Actor in the log for edits of a file.
const BY_HAND: &str = "file";

/// What one file means.
enum Verdict<'r> {
    /// It says what is recorded, or is no document of a run.
    Nothing,
    Malformed(Finding),
    Edited(&'r Run, &'r Value),
    /// A run that is not recorded yet.
    New(&'r Value),
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
    if let Some(store) = context.find_store()? {
        return Ok(store);
    }
    if !context.root.exists() {
        return Err(context.no_store());
    }
    if in_place(&WorkTree::open_root(&context.root)?).is_empty() {
        return Err(words::no_workflow());
    }
    open_usable(context, false)
}

/// For read-only commands: locks the store only if there is something to record.
///
/// # Errors
/// As [`require_store`] and [`sync`].
pub fn open_imported(context: &Context) -> Result<Imported> {
    let store = require_store(context)?;
    let looked = if context.root.exists() {
        pass(context, &WorkTree::open_root(&context.root)?, &store, None)?
    } else {
        Some(Vec::new())
    };
    let conflicts = match looked {
        Some(conflicts) => conflicts,
        None => sync(&mut Work::begin(context, &store, &StepOptions::default())?)?,
    };
    Ok(Imported { store, conflicts })
}

/// Records what was done to the files, under the lock. Files that cannot be understood stay and are
/// returned.
///
/// # Errors
/// A file cannot be read or written, or a transition not be recorded.
pub fn sync(work: &mut Work<'_>) -> Result<Vec<Conflict>> {
    if let Some(prepared) = work.store().prepared_transition() {
        let is_written = finish_prepared(work, &prepared)?;
        work.session.locked.settle_prepared(&prepared, is_written)?;
    }
    let tree = WorkTree::open_root(&work.context.root)?;
    Ok(pass(work.context, &tree, work.store(), Some(work))?.unwrap_or_default())
}

/// Writes the files of a transition if a killed process has written one of them, and no other has
/// been edited since; returns whether they are all there.
fn finish_prepared(work: &Work<'_>, prepared: &PreparedTransition) -> Result<bool> {
    let store = work.store();
    let read = |tip| Workflow::from_json(&store.workflow_state(tip).ok()?).ok();
    let known = prepared.parent.and_then(read).unwrap_or_default().documents;
    let Some(next) = read(prepared.commit) else {
        return Ok(false);
    };
    let is_written = |(path, value): (&String, &Value)| {
        known.get(path) != Some(value) && read_value(&work.tree, path).as_ref() == Some(value)
    };
    let mut tips = store.workflows()?.into_iter();
    let tip = tips.find(|(id, _)| *id == prepared.id).map(|(_, tip)| tip);
    Ok(tip == prepared.parent
        && files::of_run(&next).any(is_written)
        && files::write(&work.tree, work.context.now_ms, &next, &known).is_ok())
}

/// Looks at all files and runs; `None` if there is something to record and no session to do it.
fn pass(
    context: &Context,
    tree: &WorkTree,
    store: &Store,
    mut work: Option<&mut Work<'_>>,
) -> Result<Option<Vec<Conflict>>> {
    let mut left = Vec::new();
    let mut runs = Runs::all(store)?;
    // A process was killed before it had moved the files of a run that ended.
    for run in runs
        .runs
        .iter()
        .filter(|run| files::has_leftovers(tree, run))
    {
        if work.is_none() {
            return Ok(None);
        }
        files::put_away(tree, &run.workflow, Leaving::Ended, context.now_ms)?;
    }
    runs.runs.retain(Run::is_live);
    for file in &in_place(tree) {
        let owner = owner_of(&runs, file);
        let malformed = |finding| Conflict {
            path: file.path.clone(),
            run: owner.map(|run| run.workflow.id.clone()),
            findings: vec![finding],
            raw: file.raw.clone(),
        };
        let verdict = judge(file, owner);
        let taken = match (&verdict, work.as_deref_mut()) {
            (Verdict::Nothing, _) => continue,
            (Verdict::Malformed(finding), _) => Err(finding.clone()),
            (_, None) => return Ok(None),
            (Verdict::Edited(run, value), Some(work)) => adopt(work, file, run, value)?,
            (Verdict::New(value), Some(work)) => begin(work, file, value, owner)?,
        };
        match taken {
            Err(finding) => left.push(malformed(finding)),
            Ok(()) => runs = Runs::live(store)?,
        }
    }
    for run in &runs.runs {
        let Some(why) = removed(tree, &run.workflow) else {
            continue;
        };
        let Some(work) = work.as_deref_mut() else {
            return Ok(None);
        };
        work.put_away(run, Leaving::Archived, Some(why))?;
    }
    Ok(Some(left))
}

/// Returns the run that owns a file. A new task list belongs to the open run whose phase file lies
/// beside it.
fn owner_of<'r>(runs: &'r Runs, file: &OnDisk) -> Option<&'r Run> {
    let is_list = file.path == EXECUTION_FILE;
    runs.runs.iter().find(|run| {
        run.workflow.profile == Some(file.profile)
            && (run.workflow.documents.contains_key(&file.path) || (is_list && run.is_open()))
    })
}

fn judge<'r>(file: &'r OnDisk, owner: Option<&'r Run>) -> Verdict<'r> {
    let value = match &file.read {
        Ok(value) => value,
        Err(why) => return Verdict::Malformed(Finding::new("no_json", "", why.clone())),
    };
    let run = match owner {
        Some(run) => run,
        // A task list alone does not make a run.
        None if file.path == EXECUTION_FILE => return Verdict::Nothing,
        None => return Verdict::New(value),
    };
    let known = run.workflow.documents.get(&file.path);
    let key = run_key(file.profile);
    let (named, of) = (value.get(key), known.and_then(|known| known.get(key)));
    if known == Some(value) {
        Verdict::Nothing
    } else if let Some(finding) = files::of_other_run(&run.workflow, &file.path, value) {
        Verdict::Malformed(finding)
    } else if file.path != EXECUTION_FILE && named.is_some() && of.is_some() && named != of {
        Verdict::New(value)
    } else {
        Verdict::Edited(run, value)
    }
}

/// Returns the key by which a document tells its run from others.
fn run_key(profile: Profile) -> &'static str {
    match profile {
        Profile::Phases => "workflow_id",
        Profile::Registry => "checkpoint_id",
        // Without a time it is damaged, not the file of another run.
        Profile::Pipeline => "created_at",
    }
}

/// Tells how the file of an open run has gone, if it has.
fn removed(tree: &WorkTree, workflow: &Workflow) -> Option<String> {
    // A link or a directory in place of the file is there, too.
    let is_there = |path: &str| !matches!(tree.stat(&rel(path)), Ok(None));
    let mut paths = files::of_run(workflow).map(|(path, _)| path);
    let gone = paths.find(|path| *path != EXECUTION_FILE && !is_there(path));
    let gone = gone.filter(|_| workflow.status.is_open())?;
    let is_failed = registry::failed_path(gone).is_some_and(|failed| is_there(&failed));
    let how = if is_failed { "archived" } else { "removed" };
    Some(format!("{gone} was {how} by hand"))
}

type Taken = std::result::Result<(), Finding>;

/// Takes over an edit; a file that came back reopens its run.
fn adopt(work: &mut Work<'_>, file: &OnDisk, run: &Run, value: &Value) -> Result<Taken> {
    let mut next = run.workflow.clone();
    next.is_archived = false;
    let taken = dispatch::take(&mut next, &file.path, value, &work.root());
    if taken.is_ok() {
        work.record(Some(run), next, event("external edit", file), false)?;
    }
    Ok(taken)
}

fn event(verb: &str, file: &OnDisk) -> Change {
    Change {
        actor: BY_HAND.to_owned(),
        ..Change::new(verb).noting(file.path.clone())
    }
}

/// Begins the run that a file describes, or reopens it if it is one that was archived with a
/// version of this file.
fn begin(work: &mut Work<'_>, file: &OnDisk, value: &Value, owner: Option<&Run>) -> Result<Taken> {
    let now_ms = work.context.now_ms;
    let mut next = match dispatch::begin(file.profile, Some(&file.path), value, &work.root()) {
        Ok(next) => next,
        Err(finding) => return Ok(Err(finding)),
    };
    if let Some(run) = owner {
        // A task list that came with the file stays; the one of the run goes with it.
        for (path, known) in files::of_run(&run.workflow) {
            if *path != file.path && read_value(&work.tree, path).as_ref() == Some(known) {
                files::put_aside(&work.tree, path, Some(&run.workflow.id), now_ms)?;
            }
        }
        let why = format!("{} was replaced by hand", file.path);
        work.archive(run, Some(why))?;
    }
    let all = Runs::all(work.store())?;
    let key = run_key(file.profile);
    let is_it = |run: &&Run| {
        let known = run.workflow.documents.get(&file.path);
        let known = known.filter(|_| run.workflow.profile == Some(file.profile));
        !run.is_live()
            && matches!(run.workflow.status, RunStatus::Open | RunStatus::Complete)
            && known.is_some_and(|known| known.get(key) == value.get(key))
            && all.in_the_way(&run.workflow).next().is_none()
    };
    let mut archived: Vec<&Run> = all.runs.iter().filter(is_it).collect();
    archived.sort_by_key(|run| run.workflow.documents.get(&file.path) != Some(value));
    let Some(run) = archived.first() else {
        next.id = all.free_id(&next.id);
        work.record(None, next, event("import", file), false)?;
        return Ok(Ok(()));
    };
    let id = run.workflow.id.clone();
    let warning = RunWarning::Reopened { id };
    work.context.pending_warnings.add(warning.into());
    files::write_missing(&work.tree, &run.workflow)?;
    adopt(work, file, run, value)
}
