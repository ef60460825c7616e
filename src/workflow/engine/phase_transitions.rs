//! `phase start` and `phase done`: the transitions that make checkpoints of the files.

use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::options::DedupPolicy;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::refs::commit_reader::read_checkpoint;
use crate::store::repository::Store;
use crate::store::trees::tree_memo::TreeMemo;
use crate::workflow::documents::import_edits;
use crate::workflow::engine::make_mini_commit;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::run_checkpoint::{RunCheckpoint, snapshot};
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::step::{StepOptions, actor, choose, with_run};
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::rules::change::{Change, Given};
use crate::workflow::rules::profile::Profile;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::reasons::{
    MINI_COMMIT, NOTING_NEW_FILES, phase_under_way, too_many_files,
};
use crate::worktree::git::git_head;

/// Hex digits of an abbreviated commit id.
const SHORT_SHA: usize = 7;

/// Maximum number of new files recorded for one phase; more would not help a new session.
const MOST_NEW_FILES: usize = 50;

/// Start a phase, with a checkpoint of the files before it
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Start {
    /// Phase [default: the next one]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Start it despite open dependencies or shared files
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
}

/// End a phase, with a checkpoint of the files after it
///
/// In the profile 'pipeline' every third phase is followed by a checkpoint of its own.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Finish {
    /// Phase [default: the only one under way]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Commit made in the phase [default: HEAD, if it moved]
    #[arg(long = "commit", value_name = "SHA")]
    pub commit_sha: Option<String>,
    /// File made or changed in the phase (repeatable)
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Decision made in the phase (repeatable)
    #[arg(long = "decision", value_name = "TEXT")]
    pub decisions: Vec<String>,
    /// End it despite missing outputs and open tasks
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
    /// After every third phase, also commit everything in the project's own repository
    #[arg(long)]
    pub project_git: bool,
}

impl Start {
    pub fn change(&self) -> Change {
        let given = Given {
            force: self.force,
            ..Given::default()
        };
        Change {
            given,
            ..Change::of_phase("start", self.phase.as_deref())
        }
    }
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
    with_run(context, options, |session, run| {
        start_in(context, session, options, &run, begin)
    })
}

/// As [`start`], under the lock that is held.
pub fn start_in(
    context: &Context,
    session: &mut Session<'_>,
    options: &StepOptions,
    run: &Run,
    begin: &Start,
) -> Result<StepOutcome> {
    let mut change = begin.change();
    // Check the rules before any checkpoint is made.
    run.workflow.after(&change, context.now_ms)?;
    let id = run.workflow.phase_of(&change)?;
    let reason = format!("pre-{id}");
    let beside = run
        .workflow
        .running()
        .find(|other| other.id != id && other.status == PhaseStatus::InProgress);
    let made = match beside {
        _ if begin.no_snapshot => RunCheckpoint::default(),
        Some(other) => left_out(session, &reason, phase_under_way(&escape(&other.id))),
        None => phase_checkpoint(context, session, run, &reason, DedupPolicy::Never)?,
    };
    change.phase = Some(id);
    change.checkpoints = made.id.map(ObjectId::to_hex).into_iter().collect();
    change.given.commit = git_head::read(context.root.path()).and_then(|head| head.commit);
    let run = reread(context, session, options, run)?;
    let actor = actor(context, options);
    let mut outcome = change_run(context, session, &run, &change, &actor)?;
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
    with_run(context, options, |session, run| {
        let mut change = observed(context, typed, &run.workflow)?;
        run.workflow.after(&change, context.now_ms)?;
        let id = change.phase.clone().unwrap_or_default();
        let made = if typed.no_snapshot {
            RunCheckpoint::default()
        } else {
            let reason = format!("post-{id}");
            phase_checkpoint(context, session, &run, &reason, DedupPolicy::Always)?
        };
        change.checkpoints = made.id.map(ObjectId::to_hex).into_iter().collect();
        let is_pipeline = run.workflow.profiles.contains(&Profile::Pipeline);
        if typed.files.is_empty() && is_pipeline {
            match new_files(session.locked.store(), &run.workflow, &change) {
                Ok(files) => change.given.files = files,
                Err(why) => session
                    .warnings
                    .push(Warning::bookkeeping(NOTING_NEW_FILES)(why)),
            }
        }
        let run = reread(context, session, options, &run)?;
        let actor = actor(context, options);
        let mut outcome = change_run(context, session, &run, &change, &actor)?;
        outcome.evicted = made.evicted;
        if is_pipeline && !typed.no_snapshot {
            add_mini_commit(context, session, &actor, &mut outcome);
        }
        Ok(outcome)
    })
}

/// Makes the named checkpoint that is due after every third phase. A failure is a warning: the
/// phase stays done.
fn add_mini_commit(
    context: &Context,
    session: &mut Session<'_>,
    actor: &str,
    outcome: &mut StepOutcome,
) {
    match make_mini_commit::make_checkpoint(context, session, &outcome.run, actor) {
        Ok(Some(step)) => {
            outcome.run = step.run;
            outcome.evicted.extend(step.evicted);
        }
        // A hold delays it until the next phase is done.
        Ok(_) => {}
        Err(e) if e.code == Code::HELD => {}
        Err(e) => session.warnings.push(Warning::bookkeeping(MINI_COMMIT)(e)),
    }
}

/// Reads the run again: a file of it may have been edited while a large directory was captured.
fn reread(
    context: &Context,
    session: &mut Session<'_>,
    options: &StepOptions,
    run: &Run,
) -> Result<Run> {
    if run.workflow.profiles.is_empty() {
        return Ok(run.clone());
    }
    let conflicts = import_edits::import(context, session)?;
    let of_run = StepOptions {
        run: Some(run.workflow.id.clone()),
        ..options.clone()
    };
    choose(session.locked.store(), &of_run, &conflicts)
}

/// Makes a checkpoint for a phase; under a hold none is made, and the transition is still recorded.
fn phase_checkpoint(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    reason: &str,
    dedup: DedupPolicy,
) -> Result<RunCheckpoint> {
    match snapshot(context, session, &run.workflow, reason, dedup) {
        Err(error) if error.code == Code::HELD => {
            let why = error.why().unwrap_or_default().to_owned();
            Ok(left_out(session, reason, why))
        }
        made => made,
    }
}

fn left_out(session: &mut Session<'_>, reason: &str, why: String) -> RunCheckpoint {
    let reason = reason.to_owned();
    let warning = RunWarning::SnapshotLeftOut { reason, why };
    session.warnings.push(warning.into());
    RunCheckpoint::default()
}

/// Returns files created during the phase, as far as the checkpoints around it show.
fn new_files(store: &Store, workflow: &Workflow, done: &Change) -> Result<Vec<String>> {
    let phase = done.phase.as_deref().and_then(|id| workflow.phase(id));
    let ids = [
        phase.and_then(|phase| phase.before.as_deref()),
        done.checkpoints.first().map(String::as_str),
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

/// Returns the change that was typed, with what is seen of the files.
fn observed(context: &Context, typed: &Finish, workflow: &Workflow) -> Result<Change> {
    let change = Change::of_phase("done", typed.phase.as_deref());
    let id = workflow.phase_of(&change)?;
    let was = workflow.phase(&id).and_then(|phase| phase.head.as_ref());
    let head = git_head::read(context.root.path()).and_then(|head| head.commit);
    let moved = head.filter(|head| was.is_some_and(|was| was != head));
    let moved = moved.map(|head| head.chars().take(SHORT_SHA).collect());
    let given = Given {
        force: typed.force,
        commit: typed.commit_sha.clone().or(moved),
        files: typed.files.clone(),
        decisions: typed.decisions.clone(),
        observed: observe(context, workflow)?,
        ..Given::default()
    };
    let phase = Some(id);
    Ok(Change {
        phase,
        given,
        ..change
    })
}
