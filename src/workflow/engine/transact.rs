//! What every command does first: it brings runs and their files together, so that what was done by
//! hand counts. Then the run to change is chosen.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Result;
use crate::ops::open_store::open_usable;
use crate::ops::{Context, Warning};
use crate::store::{Store, Transition};
use crate::workflow::documents::files;
use crate::workflow::documents::{OnDisk, in_place, read_value, rel, sweep};
use crate::workflow::engine::runs::damaged;
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::workflow::EXECUTION_FILE;
use crate::workflow::words::{moved_on, no_workflow, refused};
use crate::workflow::{
    Change, Conflict, Found, Leaving, Profile, Run, RunStatus, Runs, StepOptions, StepOutcome,
    Work, Workflow,
};
use crate::worktree::WorkTree;

/// Begins the note of a run that was archived because its file was gone.
pub const FILE_GONE: &str = "its file is no longer at";

/// Actor in the log for edits of a file.
const BY_HAND: &str = "file";

/// What a file adds to the record, if anything: the state, and the run of which it is the next.
type Verdict<'r> = Found<Option<(Option<&'r Run>, Workflow)>>;

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
        return Err(no_workflow(None));
    }
    open_usable(context, false)
}

/// Tells of a state file in the current directory, if that is not the root.
fn file_below(context: &Context) -> Option<Warning> {
    let current = Some(context.root.current()).filter(|current| !current.is_root())?;
    let dir = context.root.path().join(current.as_utf8()?);
    let file = in_place(&WorkTree::open(&dir).ok()?).into_iter().next()?;
    let (path, root) = (file.path, context.root.path().to_path_buf());
    Some(Warning::FileBelow { path, root })
}

/// For read-only commands: returns the store with all edits by hand imported, as far as possible, and
/// locks it only if there is something to record.
///
/// # Errors
/// As [`require_store`] and [`sync`].
pub fn open_imported(context: &Context) -> Result<(Store, Vec<Conflict>)> {
    if let Some(below) = file_below(context) {
        context.pending_warnings.add(below);
    }
    let store = require_store(context)?;
    let looked = if context.root.exists() {
        pass(context, &WorkTree::open_root(&context.root)?, &store, None)?
    } else {
        Some(Vec::new())
    };
    let conflicts = if let Some(conflicts) = looked {
        conflicts
    } else {
        let mut work = Work::begin(context, &store, &StepOptions::default())?;
        // What can be read is answered, whatever is in the way of the files.
        let finished = finish_prepared(&mut work);
        let is_finished = work.warn_of("moving the files of the run that has ended", finished);
        is_finished.map_or(Ok(Vec::new()), |()| sync(&mut work))?
    };
    Ok((store, conflicts))
}

/// Records what was done to the files, under the lock. Files that cannot be understood stay and are
/// returned.
///
/// # Errors
/// A file cannot be read or written, or a transition not be recorded.
pub fn sync(work: &mut Work<'_>) -> Result<Vec<Conflict>> {
    finish_prepared(work)?;
    let tree = WorkTree::open_root(&work.context.root)?;
    sweep(&tree);
    Ok(pass(work.context, &tree, work.store(), Some(work))?.unwrap_or_default())
}

/// Finishes the transition that a killed process prepared, or whose files could not be moved: they
/// would be taken for those of a new run.
///
/// # Errors
/// A file cannot be moved.
pub fn finish_prepared(work: &mut Work<'_>) -> Result<()> {
    let Some(prepared) = work.store().prepared_transition() else {
        return Ok(());
    };
    let read = |tip| Workflow::from_json(&work.store().workflow_state(tip).ok()?).ok();
    let before = prepared.parent.and_then(read);
    match read(prepared.commit) {
        Some(next) if is_recorded(work, &prepared, before.as_ref(), &next)? => {
            work.finish_recorded(before.as_ref(), &next)
        }
        _ => work.session.locked.forget_prepared(),
    }
}

/// Whether a prepared transition has been recorded. It is now if a killed process has written one of
/// its files, and no other has been edited since.
fn is_recorded(
    work: &Work<'_>,
    prepared: &Transition,
    before: Option<&Workflow>,
    next: &Workflow,
) -> Result<bool> {
    let none = BTreeMap::new();
    let known = before.map_or(&none, |before| &before.documents);
    let is_written = |(path, value): (&String, &Value)| {
        known.get(path) != Some(value) && read_value(&work.tree, path).as_ref() == Some(value)
    };
    let mut tips = work.store().workflows()?.into_iter();
    let tip = tips.find(|(id, _)| *id == next.id).map(|(_, tip)| tip);
    let is_finished = tip == prepared.parent
        && files::of_run(next).any(is_written)
        && files::write(&work.tree, next, known).is_ok();
    if is_finished {
        work.session
            .locked
            .record_prepared(prepared.commit, &next.id)?;
    }
    Ok(is_finished || tip == Some(prepared.commit))
}

/// Looks at all files and runs; `None` if there is something to record and no session to do it.
fn pass(
    context: &Context,
    tree: &WorkTree,
    store: &Store,
    mut work: Option<&mut Work<'_>>,
) -> Result<Option<Vec<Conflict>>> {
    let mut left = Vec::new();
    if work.is_none() && store.prepared_transition().is_some() {
        return Ok(None);
    }
    let mut runs = Runs::live(store)?;
    let root = context.root.path().display().to_string();
    for file in in_place(tree) {
        let owner = owner_of(&runs, &file);
        match (judge(&file, owner, &root), work.as_deref_mut()) {
            (Ok(None), _) => continue,
            (Ok(Some(_)), None) => return Ok(None),
            (Ok(Some((Some(run), next))), Some(work)) => {
                work.record(Some(run), next, event("external edit", &file), false)?;
            }
            (Ok(Some((None, next))), Some(work)) => begin(work, &file, next, owner)?,
            (Err(findings), _) => left.push(Conflict {
                file: file.path,
                workflow: owner.map(|run| run.workflow.id.clone()),
                findings,
                raw: file.raw,
            }),
        }
        runs = Runs::live(store)?;
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

fn judge<'r>(file: &OnDisk, owner: Option<&'r Run>, root: &str) -> Verdict<'r> {
    let value = file.read.as_ref().map_err(|flaw| vec![flaw.clone()])?;
    let known = owner.and_then(|run| run.workflow.documents.get(&file.path));
    let is_list = file.path == EXECUTION_FILE;
    // A task list alone does not make a run.
    if known == Some(value) || owner.is_none() && is_list {
        return Ok(None);
    }
    let is_other = |known| !is_list && is_of_other(file.profile, known, value);
    let Some(run) = owner.filter(|_| !known.is_some_and(is_other)) else {
        let begun = dispatch::begin(file.profile, Some(&file.path), value, root)?;
        return Ok(Some((None, begun)));
    };
    let other = files::of_other_run(&run.workflow, &file.path, value);
    other.map_or(Ok(()), |other| Err(vec![other]))?;
    let mut next = run.workflow.clone();
    dispatch::take(&mut next, &file.path, value, root)?;
    Ok(Some((Some(run), next)))
}

/// Whether two documents tell of different runs.
fn is_of_other(profile: Profile, known: &Value, value: &Value) -> bool {
    let key = match profile {
        Profile::Phases => "workflow_id",
        Profile::Registry => "checkpoint_id",
        // Without a time it is damaged, not the file of another run.
        Profile::Pipeline => "created_at",
    };
    let ids = known.get(key).zip(value.get(key));
    ids.is_some_and(|(known, named)| known != named)
}

/// Tells how the file of an open run has gone, if it has.
fn removed(tree: &WorkTree, workflow: &Workflow) -> Option<String> {
    // A link or a directory in place of the file is there, too.
    let is_gone = |path: &&String| matches!(tree.stat(&rel(path)), Ok(None));
    let paths = files::of_run(workflow).map(|(path, _)| path);
    let mut paths = paths.filter(|path| *path != EXECUTION_FILE);
    let gone = paths.find(is_gone).filter(|_| workflow.status.is_open())?;
    Some(format!("{FILE_GONE} {gone}"))
}

fn event(verb: &str, file: &OnDisk) -> Change {
    Change {
        actor: BY_HAND.to_owned(),
        ..Change::new(verb).noting(file.path.clone())
    }
}

/// Begins the run that a file describes, or reopens it if it is one that was archived with a
/// version of this file.
fn begin(
    work: &mut Work<'_>,
    file: &OnDisk,
    mut next: Workflow,
    owner: Option<&Run>,
) -> Result<()> {
    let value = next.documents.get(&file.path).cloned().unwrap_or_default();
    if let Some(run) = owner {
        // A task list that came with the file stays; the one of the run goes with it.
        for (path, known) in files::of_run(&run.workflow) {
            if *path != file.path && read_value(&work.tree, path).as_ref() == Some(known) {
                let (id, now_ms) = (Some(&*run.workflow.id), work.context.now_ms);
                files::put_aside(&work.tree, path, id, now_ms)?;
            }
        }
        let why = format!("{} was replaced by hand", file.path);
        work.archive(run, Some(why))?;
    }
    let all = Runs::all(work.store())?;
    let is_it = |run: &&Run| {
        let known = run.workflow.documents.get(&file.path);
        let known = known.filter(|_| run.workflow.profile == Some(file.profile));
        !run.is_live()
            && matches!(run.workflow.status, RunStatus::Open | RunStatus::Complete)
            && known.is_some_and(|known| !is_of_other(file.profile, known, &value))
            && all.in_the_way(&run.workflow).next().is_none()
    };
    let mut archived: Vec<&Run> = all.runs.iter().filter(is_it).collect();
    archived.sort_by_key(|run| run.workflow.documents.get(&file.path) != Some(&value));
    let reopened = archived.first().and_then(|run| {
        let mut next = run.workflow.clone();
        next.is_archived = false;
        // An older version of the file may not be a next state.
        dispatch::take(&mut next, &file.path, &value, &work.root()).ok()?;
        Some((*run, next))
    });
    let Some((run, next)) = reopened else {
        // It may be the file of a run that cannot be read.
        all.lost.first().map_or(Ok(()), |lost| Err(damaged(lost)))?;
        next.id = all.free_id(&next.id);
        return work
            .record(None, next, event("import", file), false)
            .map(drop);
    };
    work.warn(Warning::Reopened {
        id: next.id.clone(),
    });
    files::write_missing(&work.tree, &run.workflow)?;
    work.record(Some(run), next, event("external edit", file), false)
        .map(drop)
}

/// Makes one transition.
///
/// # Errors
/// There is no such run, the rules forbid it, another process was first, or a file is malformed.
pub fn step(context: &Context, options: &StepOptions, change: &Change) -> Result<StepOutcome> {
    with_run(context, options, |work, run| work.change(&run, change))
}

/// Calls `act` while the store is locked and edits by hand are imported; the context gets
/// the warnings.
///
/// # Errors
/// There is no store, or `act` fails.
pub fn with_store<'w, T>(
    context: &'w Context,
    store: &'w Store,
    options: &StepOptions,
    act: impl FnOnce(&mut Work<'w>, Vec<Conflict>) -> Result<T>,
) -> Result<T> {
    if let Some(below) = file_below(context) {
        let what = "this directory has a state file of its own";
        return Err(refused("state_file_below", what).next(below.sentence()));
    }
    let mut work = Work::begin(context, store, options)?;
    let conflicts = sync(&mut work)?;
    let done = act(&mut work, conflicts)?;
    for warning in work.session.warnings {
        context.pending_warnings.add(warning);
    }
    Ok(done)
}

/// As [`with_store`], with the chosen run.
///
/// # Errors
/// There is no such run, another process was first, a file of the run is malformed, or `act` fails.
pub fn with_run<T>(
    context: &Context,
    options: &StepOptions,
    act: impl FnOnce(&mut Work<'_>, Run) -> Result<T>,
) -> Result<T> {
    let store = require_store(context)?;
    with_store(context, &store, options, |work, conflicts| {
        let run = choose(&store, options, &conflicts)?;
        act(work, run)
    })
}

/// Returns the chosen run, if it can be worked on.
///
/// # Errors
/// The run cannot be read, another process moved it on, or a file of the run is malformed.
pub fn choose(store: &Store, options: &StepOptions, conflicts: &[Conflict]) -> Result<Run> {
    let named = options.run.as_deref();
    let run = or_conflict(Runs::pick_live(store, named), named, conflicts)?;
    check_expected(options, &run)?;
    let mut conflicts = conflicts.iter();
    match conflicts.find(|conflict| conflict.concerns(&run.workflow)) {
        Some(conflict) => Err(conflict.problem().with_state(&run.workflow)),
        None => Ok(run),
    }
}

/// Makes a failure to find any run that of an unreadable file, whose run may be meant.
pub fn or_conflict(picked: Result<Run>, named: Option<&str>, left: &[Conflict]) -> Result<Run> {
    picked.map_err(|error| match left.first() {
        Some(conflict) if named.is_none() && error.is_of_run() => conflict.problem(),
        _ => error,
    })
}

/// Checks that the run is at the revision that the caller expects.
///
/// # Errors
/// It is at another one.
pub fn check_expected(options: &StepOptions, run: &Run) -> Result<()> {
    let expected = options.expect.as_deref().unwrap_or_default();
    if run.tip.to_hex().starts_with(expected) {
        return Ok(());
    }
    let (id, at) = (run.workflow.named(), run.tip.short());
    let what = format!("workflow {id} is at {at}, not at {expected}");
    Err(moved_on(what).with_state(&run.workflow))
}
