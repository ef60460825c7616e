//! `workflow resume`: does with a run what was chosen. `workflow recover`: repairs what an interruption
//! left, reopens an archived run, and settles a file that cannot be understood.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{CommandWords, Result, Sentence};
use crate::model::json::TimeText;
use crate::ops::Context;
use crate::workflow::documents::{files, rel};
use crate::workflow::engine::init::{STARTED_FRESH, half_restarted, make_room, start_fresh};
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::transact::{FILE_GONE, choose, require_store, with_run, with_store};
use crate::workflow::engine::{phase, report};
use crate::workflow::rules::advice;
use crate::workflow::rules::dialog::Dialog;
use crate::workflow::rules::workflow::{EXECUTION_FILE, PHASE_FILE};
use crate::workflow::words::absent;
use crate::workflow::{
    Change, Chosen, Conflict, Phase, Profile, Run, RunStatus, Runs, Start, Status, StepOptions,
    Work,
};
use crate::worktree::files::state_file;

/// A run that was resumed; what was seen of it is from before, but for the next step.
#[derive(Serialize, JsonSchema)]
pub struct ResumeOutcome {
    pub done: Chosen,
    /// Repairs that were made.
    pub recovered: Vec<String>,
    pub last_activity_at: TimeText,
    #[serde(flatten)]
    pub status: Status,
}

/// Checks that a run is open, and that no file of it has a conflict.
///
/// # Errors
/// It is not.
pub fn check_open(status: &Status) -> Result<()> {
    let workflow = &status.run.workflow;
    let mut conflicts = status.seen.troubles.iter();
    if let Some(conflict) = conflicts.find(|conflict| conflict.concerns(workflow)) {
        return Err(conflict.problem().with_state(workflow));
    }
    if !workflow.status.is_open() {
        let (run, word) = (workflow.named(), workflow.word());
        let what = format!("nothing to resume: workflow {run} is {word}");
        return Err(absent("nothing_to_resume", what).next(status.run.ways_on()));
    }
    if !status.run.is_live() {
        return Err(status.run.refused_as_archived());
    }
    Ok(())
}

/// Does what was chosen, under the lock; if it `was_asked`, only if the run is still as it was shown.
///
/// # Errors
/// Another process changed the run, or a transition cannot be recorded.
pub fn resume(
    context: &Context,
    mut status: Status,
    chosen: Chosen,
    was_asked: bool,
) -> Result<ResumeOutcome> {
    let last_activity_at = TimeText::new(status.run.workflow.updated_ms);
    let mut recovered = Vec::new();
    if chosen != Chosen::Viewed {
        let mut of_run = StepOptions::of_run(&status.run.workflow.id);
        of_run.expect = was_asked.then(|| status.run.tip.to_hex());
        let run = with_run(context, &of_run, |work, run| {
            let step = match &chosen {
                Chosen::Picked(id) => return pick(work, run, id),
                Chosen::StartedFresh => start_fresh(work, &run)?,
                Chosen::Deleted | Chosen::Abandoned => work.abandon(&run, "")?,
                Chosen::Resumed | Chosen::Viewed | Chosen::Declined => {
                    // First repairs what the interruption left.
                    let (run, repairs) = repair_run(work, run, false)?;
                    recovered = repairs;
                    if !run.workflow.status.is_open() {
                        return Ok(run);
                    }
                    work.change(&run, &Change::new("resume"))?
                }
            };
            Ok(step.run)
        })?;
        status.seen.next = advice::advice(&run.workflow, &observe(context, &run.workflow)?);
        status.seen.recover.clear();
        status.run = run;
    }
    Ok(ResumeOutcome {
        done: chosen,
        recovered,
        last_activity_at,
        status,
    })
}

/// Begins the plan again of a run whose restart was killed halfway; `None` if there is none, or if
/// `word` is no answer that asks for a restart.
///
/// # Errors
/// As [`resume`].
pub fn restart_again(
    context: &Context,
    named: Option<&str>,
    word: &str,
) -> Result<Option<ResumeOutcome>> {
    let store = require_store(context)?;
    let find = || {
        let asks = |run: &Run| Dialog::first(&run.workflow).understand(word);
        let found = half_restarted(&store, named, &[STARTED_FRESH]);
        found.map(|found| found.filter(|run| asks(run) == Some(Chosen::StartedFresh)))
    };
    if find()?.is_none() {
        return Ok(None);
    }
    with_store(context, &store, &StepOptions::default(), |work, left| {
        let Some(run) = find()? else {
            return Ok(None);
        };
        make_room(work, &run.workflow, &left)?;
        Ok(Some(ResumeOutcome {
            done: Chosen::StartedFresh,
            recovered: Vec::new(),
            last_activity_at: TimeText::new(run.workflow.updated_ms),
            status: report::of_run(context, start_fresh(work, &run)?.run)?,
        }))
    })
}

/// Makes the running phases pending again, with their progress notes, and starts the picked one.
fn pick(work: &mut Work<'_>, mut run: Run, id: &str) -> Result<Run> {
    let start = Start {
        phase: Some(id.to_owned()),
        ..Start::default()
    };
    let reset = |phase: &Phase| Change::of_phase("reset", Some(&phase.id));
    let resets: Vec<Change> = run.workflow.running().map(reset).collect();
    // Checked before any change.
    let mut changes = resets.iter().cloned().chain([start.change()]);
    let now_ms = work.context.now_ms;
    let started = changes.try_fold(run.workflow.clone(), |state, change| {
        state.after(&change, now_ms)
    });
    started.map_err(|problem| {
        let ready = "'checkpoint workflow next {} --parallel' lists what can start";
        let next = Sentence::new(ready, &[&run.workflow.named()]);
        problem.next(next).with_state(&run.workflow)
    })?;
    for reset in &resets {
        run = work.change(&run, reset)?.run;
    }
    Ok(phase::start(work, &run, &start)?.run)
}

/// Which side counts for a malformed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Take {
    State,
    // Keeps a copy of a file without a run, for a repair by hand.
    #[value(skip)]
    Copy,
    // Archives the file and ends its run; for the single-file profiles the plan begins again.
    None,
}

/// What was put right: a run, or a state file.
#[derive(Default, Serialize, JsonSchema)]
pub struct RecoverOutcome {
    pub run: Option<Run>,
    /// Each repair, in words.
    pub recovered: Vec<String>,
    /// Whether the run was archived.
    pub reopened: bool,
    pub dry_run: bool,
    pub file: Option<String>,
    /// Archive path of the file.
    pub put_aside: Option<String>,
    /// Target of the link that was in place of the file.
    #[serde(skip)]
    pub link_to: Option<String>,
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
        let exact = |id| all.runs.iter().find(|run| run.workflow.id == id);
        let picked = named.and_then(|id| exact(id).or_else(|| all.pick(Some(id)).ok()));
        let archived = picked.filter(|run| !run.is_live());
        let run = match archived {
            Some(run) if dry_run => run.clone(),
            Some(run) => reopen(work, run, &conflicts)?,
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
fn reopen(work: &mut Work<'_>, run: &Run, left: &[Conflict]) -> Result<Run> {
    make_room(work, &run.workflow, left)?;
    let mut next = run.workflow.clone();
    next.is_archived = false;
    (next.status, next.finished_ms) = (RunStatus::Open, None);
    next.updated_ms = work.context.now_ms.max(next.updated_ms);
    let reopened = work.record(Some(run), next, Change::new("reopen"), true)?;
    Ok(reopened.run)
}

/// As [`repair`], of a chosen run; returns it, and each repair in words.
///
/// # Errors
/// A repair cannot be recorded.
pub fn repair_run(work: &mut Work<'_>, mut run: Run, dry_run: bool) -> Result<(Run, Vec<String>)> {
    let observations = observe(work.context, &run.workflow)?;
    let mut what = Vec::new();
    for repair in advice::repairs(&run.workflow, &observations) {
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
        let mut outcome = RecoverOutcome {
            file: conflict.map(|conflict| conflict.file.clone()),
            take: Some(take),
            ..RecoverOutcome::default()
        };
        let Some(conflict) = conflict else {
            // A killed process had put the file aside.
            let half_done = half_restarted(&store, Some(named), &[STARTED_FRESH, FILE_GONE])?;
            let half_done = half_done.filter(|run| {
                take == Take::None && run.workflow.profile != Some(Profile::Registry)
            });
            let run = half_done.ok_or_else(|| {
                absent("nothing_to_settle", format!("{named} needs no decision"))
                    .next(Sentence::command(CommandWords::new(["workflow", "status"])))
            })?;
            outcome.started = Some(start_fresh(work, &run)?.run.workflow.id);
            return Ok(outcome);
        };
        let path = &*conflict.file;
        let mut runs = Runs::live(&store)?.runs.into_iter();
        let run = runs.find(|run| conflict.concerns(&run.workflow));
        outcome.link_to = state_file::link_target(&work.tree, &rel(path));
        let now_ms = context.now_ms;
        if take == Take::State {
            let run = run.ok_or_else(|| conflict.problem())?;
            outcome.put_aside = Some(files::replace(&work.tree, &run.workflow, path, now_ms)?);
            if !run.workflow.documents.contains_key(path) {
                outcome.take = Some(Take::None);
            }
            return Ok(outcome);
        }
        if take == Take::Copy {
            outcome.put_aside = Some(files::copy_aside(&work.tree, path, now_ms)?);
            return Ok(outcome);
        }
        let open = run.filter(Run::is_open);
        let of = open.as_ref().map(|run| &*run.workflow.id);
        outcome.put_aside = Some(files::put_aside(&work.tree, path, of, now_ms)?);
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
