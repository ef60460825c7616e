//! `phase start` and `phase done`: the transitions that make checkpoints of the files, one more
//! after every third phase, and on request a commit in the project.

use std::ops::RangeInclusive;

use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::checkpoint::retention::Evicted;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::command::create_in;
use crate::ops::create::options::{CreateOptions, DedupPolicy};
use crate::ops::maintain::auto_gc::auto_gc;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::repository::Store;
use crate::store::trees::tree_memo::TreeMemo;
use crate::workflow::documents::sync::sync;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::report;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::transact::{choose, step, with_run};
use crate::workflow::engine::work::{StepOptions, StepOutcome, Work};
use crate::workflow::rules::change::{Change, Finish, PhaseChange, Start, phases};
use crate::workflow::rules::mini_commit::{
    mini_commit_due, mini_commit_message, project_commit_due,
};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::recover;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::{MiniCommit, Workflow};
use crate::workflow::words::reasons::{
    MINI_COMMIT, NOTING_NEW_FILES, phase_under_way, too_many_files,
};
use crate::workflow::words::run_error::RunError;
use crate::worktree::git::git_head;

/// Hex digits of an abbreviated commit id.
const SHORT_SHA: usize = 7;

/// Maximum number of new files recorded for one phase; more would not help a new session.
const MOST_NEW_FILES: usize = 50;

/// What came of the checkpoint that a transition asks for.
#[derive(Default)]
struct RunCheckpoint {
    /// `None` if none was made, as the warnings say.
    id: Option<ObjectId>,
    evicted: Vec<Evicted>,
}

/// Makes the checkpoint `pre-<phase>`, then begins the phase. No checkpoint is made beside a
/// running phase, because it would hold half of that phase's work.
///
/// # Errors
/// The rules forbid it, or the files cannot be captured; then nothing is changed.
pub fn start(
    context: &Context,
    options: &StepOptions,
    begin: &Start,
) -> Result<(StepOutcome, Vec<Warning>)> {
    with_run(context, options, |work, run| {
        start_in(work, options, &run, begin)
    })
}

/// As [`start`], under the lock that is held.
///
/// # Errors
/// As [`start`].
pub fn start_in(
    work: &mut Work<'_>,
    options: &StepOptions,
    run: &Run,
    begin: &Start,
) -> Result<StepOutcome> {
    let context = work.context;
    let change = |begin: Start| Change::Phase(PhaseChange::Start(begin));
    // Check the rules before any checkpoint is made.
    run.workflow.after(&change(begin.clone()), context.now_ms)?;
    let id = phases::to_start(&run.workflow, begin.phase.as_deref())?;
    let reason = format!("pre-{id}");
    let beside = run
        .workflow
        .running()
        .find(|other| other.id != id && other.status == PhaseStatus::InProgress);
    let made = match beside {
        _ if begin.no_snapshot => RunCheckpoint::default(),
        Some(other) => left_out(work, &reason, phase_under_way(&escape(&other.id))),
        None => phase_checkpoint(work, run, &reason, DedupPolicy::Never)?,
    };
    let begin = Start {
        phase: Some(id),
        before: made.id.map(ObjectId::to_hex),
        head: git_head::read(context.root.path()).and_then(|head| head.commit),
        ..begin.clone()
    };
    let run = reread(work, options, run)?;
    let mut outcome = work.change(&run, &change(begin))?;
    outcome.evicted = made.evicted;
    Ok(outcome)
}

/// Makes the checkpoint after the phase, and ends the phase.
///
/// # Errors
/// The rules forbid it; the phase then stays under way.
pub fn done(
    context: &Context,
    options: &StepOptions,
    typed: &Finish,
) -> Result<(StepOutcome, Vec<Warning>)> {
    with_run(context, options, |work, run| {
        let change = |finish: Finish| Change::Phase(PhaseChange::Done(finish));
        let mut finish = observed(context, typed, &run.workflow)?;
        run.workflow
            .after(&change(finish.clone()), context.now_ms)?;
        let reason = format!("post-{}", finish.phase.as_deref().unwrap_or_default());
        let made = if finish.no_snapshot {
            RunCheckpoint::default()
        } else {
            phase_checkpoint(work, &run, &reason, DedupPolicy::Always)?
        };
        finish.after = made.id.map(ObjectId::to_hex);
        let is_pipeline = run.workflow.profiles.contains(&Profile::Pipeline);
        if finish.files.is_empty() && is_pipeline {
            let files = new_files(work.store(), &run.workflow, &finish);
            finish.files = work.warn_of(NOTING_NEW_FILES, files).unwrap_or_default();
        }
        let run = reread(work, options, &run)?;
        let mut outcome = work.change(&run, &change(finish))?;
        outcome.evicted = made.evicted;
        if is_pipeline && !typed.no_snapshot {
            match mini_checkpoint(work, &mut outcome) {
                // A hold delays it until the next phase is done.
                Err(e) if e.code == Code::HELD => {}
                done => drop(work.warn_of(MINI_COMMIT, done)),
            }
        }
        Ok(outcome)
    })
}

/// Makes the named checkpoint that is due after every third phase.
fn mini_checkpoint(work: &mut Work<'_>, outcome: &mut StepOutcome) -> Result<()> {
    let workflow = &outcome.run.workflow;
    let Some(range) = mini_commit_due(workflow) else {
        return Ok(());
    };
    let message = mini_commit_message(workflow, &range);
    let reason = message.lines().next().unwrap_or_default();
    let made = snapshot(work, workflow, reason, DedupPolicy::Never)?;
    let change = mini_commit(&range, made.id.map(ObjectId::to_hex), None);
    outcome.run = work.change(&outcome.run, &change)?.run;
    outcome.evicted.extend(made.evicted);
    Ok(())
}

fn mini_commit(
    range: &RangeInclusive<usize>,
    checkpoint: Option<String>,
    commit: Option<String>,
) -> Change {
    Change::MiniCommit(MiniCommit {
        completed: *range.end(),
        checkpoint,
        commit,
    })
}

/// Checks that a commit in the project is due once another phase is done, and possible there.
///
/// # Errors
/// Git would use a repository above the root, or finish an operation under way.
pub fn will_commit(context: &Context, options: &StepOptions) -> Result<bool> {
    let (status, _) = report::status(context, options.run.as_deref(), false)?;
    if project_commit_due(&status.run.workflow, 1).is_none() {
        return Ok(false);
    }
    match git_head::under_way(context.root.path()) {
        Ok(None) => Ok(true),
        Ok(Some(operation)) => Err(RunError::GitUnderWay {
            operation: operation.to_string(),
        }
        .into()),
        Err(why) => Err(RunError::NoRepository {
            why: why.to_string(),
        }
        .into()),
    }
}

/// Makes the commit in the project's own repository that is due, and records it.
///
/// The store is not locked during the commit: hooks of the project may run this program.
///
/// # Errors
/// The commit was refused; it stays due.
pub fn commit_project(
    context: &Context,
    options: &StepOptions,
    (done, warnings): &mut (StepOutcome, Vec<Warning>),
    commit: &dyn Fn(&str) -> Result<()>,
) -> Result<()> {
    let Some(range) = project_commit_due(&done.run.workflow, 0) else {
        return Ok(());
    };
    commit(&mini_commit_message(&done.run.workflow, &range))?;
    let made = git_head::read(context.root.path()).and_then(|head| head.commit);
    let of_run = StepOptions {
        actor: options.actor.clone(),
        ..StepOptions::of_run(&done.run.workflow.id)
    };
    let (step, more) = step(context, &of_run, &mini_commit(&range, None, made))?;
    done.run = step.run;
    warnings.extend(more);
    Ok(())
}

/// Reads the run again: a file of it may have been edited while a large directory was captured.
fn reread(work: &mut Work<'_>, options: &StepOptions, run: &Run) -> Result<Run> {
    if run.workflow.profiles.is_empty() {
        return Ok(run.clone());
    }
    let conflicts = sync(work)?;
    let of_run = StepOptions {
        run: Some(run.workflow.id.clone()),
        ..options.clone()
    };
    choose(work.store(), &of_run, &conflicts)
}

/// Makes a checkpoint of the files; an identical newest one causes no warning.
fn snapshot(
    work: &mut Work<'_>,
    workflow: &Workflow,
    reason: &str,
    dedup: DedupPolicy,
) -> Result<RunCheckpoint> {
    let context = work.context;
    if context.settings.unread.is_some() {
        // The transition counts, and the warning on the settings says that no checkpoint is made.
        return Ok(RunCheckpoint::default());
    }
    let options = CreateOptions {
        dedup,
        ..CreateOptions::automatic(reason, &workflow.kind)?
    };
    let mut outcome = create_in(context, &mut work.session, &options)?;
    if outcome.skipped.is_none() && context.settings.auto_prune {
        // The transitions merge packs themselves.
        let pruned = auto_gc(context, &mut work.session, &|| true);
        outcome.warnings.extend(pruned);
    }
    let warnings = outcome.warnings.into_iter();
    let warnings = warnings.filter(|warning| !matches!(warning, Warning::Dedup { .. }));
    work.session.warnings.extend(warnings);
    Ok(RunCheckpoint {
        id: outcome.checkpoint.map(|checkpoint| checkpoint.id),
        evicted: outcome.evicted,
    })
}

/// Makes a checkpoint for a phase; under a hold none is made, and the transition is still recorded.
fn phase_checkpoint(
    work: &mut Work<'_>,
    run: &Run,
    reason: &str,
    dedup: DedupPolicy,
) -> Result<RunCheckpoint> {
    match snapshot(work, &run.workflow, reason, dedup) {
        Err(error) if error.code == Code::HELD => {
            let why = error.why().unwrap_or_default().to_owned();
            Ok(left_out(work, reason, why))
        }
        made => made,
    }
}

fn left_out(work: &mut Work<'_>, reason: &str, why: String) -> RunCheckpoint {
    let reason = reason.to_owned();
    work.warn(RunWarning::SnapshotLeftOut { reason, why });
    RunCheckpoint::default()
}

/// Returns files created during the phase, as far as the checkpoints around it show.
fn new_files(store: &Store, workflow: &Workflow, finish: &Finish) -> Result<Vec<String>> {
    let phase = finish.phase.as_deref().and_then(|id| workflow.phase(id));
    let ids = [
        phase.and_then(|phase| phase.before.as_deref()),
        finish.after.as_deref(),
    ];
    let [Some(before), Some(after)] = ids.map(|id| ObjectId::from_hex(id?)) else {
        return Ok(Vec::new());
    };
    let tree = |id: ObjectId| read_checkpoint(store.objects(), id).map(|read| read.tree);
    // One of the checkpoints has been dropped since.
    let (Ok(before), Ok(after)) = (tree(before), tree(after)) else {
        return Ok(Vec::new());
    };
    let changes = TreeMemo::new(store.objects())
        .diff(Some(before), Some(after), &|_| true)
        .map_err(Error::unexpected)?;
    let new = changes.iter().filter(|change| change.before.is_none());
    let files: Vec<String> = new
        .filter_map(|new| String::from_utf8(new.path.as_bytes().to_vec()).ok())
        .collect();
    if files.len() > MOST_NEW_FILES {
        return Err(Error::unexpected(too_many_files(files.len())));
    }
    Ok(files)
}

/// Adds what is seen of the files to what was typed.
fn observed(context: &Context, typed: &Finish, workflow: &Workflow) -> Result<Finish> {
    let id = phases::under_way_id(workflow, typed.phase.as_deref())?;
    let observations = observe(context, workflow)?;
    let phase = workflow.phase(&id);
    let head = git_head::read(context.root.path()).and_then(|head| head.commit);
    let was = phase.and_then(|phase| phase.head.clone());
    let moved = head.filter(|head| was.as_ref().is_some_and(|was| was != head));
    let mut finish = Finish {
        commit_sha: typed
            .commit_sha
            .clone()
            .or_else(|| moved.map(|head| head.chars().take(SHORT_SHA).collect())),
        ..typed.clone()
    };
    if let Some(phase) = phase {
        finish.present = recover::present(phase, &observations);
        finish.flaws = recover::flaws(phase, &observations);
        finish.task_flaws = recover::task_flaws(workflow, phase, &observations);
    }
    finish.phase = Some(id);
    Ok(finish)
}
