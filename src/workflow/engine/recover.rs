//! `workflow recover`: repairs what an interruption left, reopens an archived run, and settles a
//! file that cannot be understood.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::error::sentence::{CommandWords, Sentence};
use crate::ops::context::Context;
use crate::workflow::documents::files;
use crate::workflow::documents::sync::require_store;
use crate::workflow::engine::init::{make_room, start_fresh};
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transact::{choose, with_store};
use crate::workflow::engine::work::{StepOptions, Work};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::recover;
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE, Profile, RunStatus};
use crate::workflow::words::absent;

/// Which side counts for a malformed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Take {
    State,
    // Archives the file and ends its run; for the single-file profiles the plan begins again.
    None,
}

/// What was put right: a run, or a state file.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "RecoverAnswer")]
pub struct RecoverOutcome {
    pub run: Option<Run>,
    /// Each repair, in words.
    pub recovered: Vec<String>,
    /// Whether the run was archived.
    pub reopened: bool,
    pub dry_run: bool,
    pub file: Option<String>,
    /// Archive path of the file.
    #[serde(rename = "put_aside")]
    pub kept_as: Option<String>,
    /// Id of the run that was begun instead.
    pub started: Option<String>,
    /// Side that won.
    #[serde(skip)]
    pub take: Option<Take>,
}

/// Repairs a run without resuming it. One that is archived is reopened first.
///
/// # Errors
/// There is no such run, or an open run has a file that it needs.
pub fn repair(context: &Context, named: Option<&str>, dry_run: bool) -> Result<RecoverOutcome> {
    let store = require_store(context)?;
    let options = named.map(StepOptions::of_run).unwrap_or_default();
    with_store(context, &store, &options, |work, conflicts| {
        let all = Runs::all(&store)?;
        let picked = named.and_then(|id| all.pick(Some(id)).ok());
        let archived = picked.filter(|run| !run.is_live());
        let run = match archived {
            Some(run) if dry_run => run.clone(),
            Some(run) => reopen(work, run)?,
            None => choose(&store, &options, &conflicts)?,
        };
        let (run, recovered) = repair_run(work, run, dry_run)?;
        Ok(RecoverOutcome {
            run: Some(run),
            recovered,
            reopened: archived.is_some(),
            dry_run,
            ..RecoverOutcome::default()
        })
    })
}

/// Takes a run out of the archive and writes its files.
fn reopen(work: &mut Work<'_>, run: &Run) -> Result<Run> {
    make_room(work, &run.workflow)?;
    let mut next = run.workflow.clone();
    next.is_archived = false;
    (next.status, next.finished_ms) = (RunStatus::Open, None);
    next.updated_ms = work.context.now_ms.max(next.updated_ms);
    let reopened = work.record(Some(run), next, Change::new("reopen"), true)?;
    files::remove_failed(&work.tree, &run.workflow)?;
    Ok(reopened.run)
}

/// As [`repair`], of a chosen run; returns it, and each repair in words.
///
/// # Errors
/// A repair cannot be recorded.
pub fn repair_run(work: &mut Work<'_>, mut run: Run, dry_run: bool) -> Result<(Run, Vec<String>)> {
    let observations = observe(work.context, &run.workflow)?;
    let mut what = Vec::new();
    for repair in recover::repairs(&run.workflow, &observations) {
        if !dry_run {
            run = work.change(&run, &repair.change)?.run;
        }
        what.push(repair.what);
    }
    Ok((run, what))
}

/// Settles a malformed file, named by its path or its run; it is archived.
///
/// # Errors
/// No such file is malformed, or there is no state to write it from.
pub fn resolve_conflict(context: &Context, named: &str, take: Take) -> Result<RecoverOutcome> {
    let store = require_store(context)?;
    let options = StepOptions::default();
    with_store(context, &store, &options, |work, conflicts| {
        let mut conflicts = conflicts.iter();
        let conflict = conflicts.find(|conflict| conflict.is_named(named));
        let conflict = conflict.ok_or_else(|| {
            absent("nothing_to_settle", format!("{named} needs no decision"))
                .next(Sentence::command(CommandWords::new(["workflow", "status"])))
        })?;
        let path = &*conflict.path;
        let mut runs = Runs::live(&store)?.runs.into_iter();
        let run = runs.find(|run| conflict.concerns(&run.workflow));
        let mut outcome = RecoverOutcome {
            file: Some(path.to_owned()),
            take: Some(take),
            ..RecoverOutcome::default()
        };
        let now_ms = context.now_ms;
        if take == Take::State {
            let run = run.ok_or_else(|| conflict.problem(None))?;
            outcome.kept_as = Some(files::put_aside(&work.tree, path, None, now_ms)?);
            files::write_missing(&work.tree, &run.workflow)?;
            return Ok(outcome);
        }
        let open = run.filter(Run::is_open);
        let of = open.as_ref().map(|run| &*run.workflow.id);
        outcome.kept_as = Some(files::put_aside(&work.tree, path, of, now_ms)?);
        match open {
            Some(run) if run.workflow.profile == Some(Profile::Registry) => {
                work.abandon(&run, "its file was damaged")?;
            }
            Some(run) => outcome.started = Some(start_fresh(work, &run)?.run.workflow.id),
            // A task list without its phase file would block the next run.
            None if path == PHASE_FILE => {
                files::put_aside(&work.tree, EXECUTION_FILE, None, now_ms)?;
            }
            None => {}
        }
        Ok(outcome)
    })
}
