//! `phase start` and `phase done`: the transitions that are tied to checkpoints of the files.

use crate::error::{Error, Result};
use crate::model::object_id::ObjectId;
use crate::model::workflow::Workflow;
use crate::model::workflow::change::{Change, Finish, Start, phases};
use crate::model::workflow::profile::Profile;
use crate::model::workflow::recover;
use crate::ops::context::Context;
use crate::ops::create::{CreateOptions, CreateOutcome, Standing, create};
use crate::ops::gate::GateOptions;
use crate::ops::warning::Warning;
use crate::ops::workflow::look::look;
use crate::ops::workflow::mini_commit::mini_commit;
use crate::ops::workflow::report;
use crate::ops::workflow::runs::Run;
use crate::ops::workflow::step::{StepOptions, StepOutcome, choose, step};
use crate::ops::workflow::sync::Settled;
use crate::worktree::git_head;

/// Letters of a commit id that are kept where none is asked for in full.
const SHORT_SHA: usize = 7;

#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    pub step: StepOptions,
    pub phase: Option<String>,
    pub force: bool,
    /// Make no checkpoint.
    pub no_snapshot: bool,
}

#[derive(Clone, Debug, Default)]
pub struct DoneOptions {
    pub step: StepOptions,
    pub phase: Option<String>,
    pub commit: Option<String>,
    pub files: Vec<String>,
    pub decisions: Vec<String>,
    pub force: bool,
    pub no_snapshot: bool,
}

/// Makes the checkpoint `pre-<phase>`, then begins the phase.
///
/// # Errors
/// The rules forbid it, or there can be no checkpoint now; then nothing began.
pub fn start(context: &Context, options: &StartOptions) -> Result<StepOutcome> {
    let (run, earlier) = ahead(context, &options.step)?;
    let mut begin = Start { phase: options.phase.clone(), force: options.force, ..Start::default() };
    // Refused before anything is made; under the lock it is asked once more.
    run.workflow.after(&Change::StartPhase(begin.clone()), context.now_ms)?;
    let id = phases::to_start(&run.workflow, options.phase.as_deref())?;
    let (before, warnings) = snapshot(context, &run, &format!("pre-{id}"), options.no_snapshot, Standing::Never)?;
    begin.before = before.map(ObjectId::to_hex);
    begin.phase = Some(id);
    begin.head = git_head::read(context.root.path()).and_then(|head| head.commit);
    let mut outcome = step(context, &of_run(&options.step, &run), &mut |_| Ok(Change::StartPhase(begin.clone())))?;
    outcome.warnings.extend(earlier.into_iter().chain(warnings));
    Ok(outcome)
}

/// Ties the state after it to the phase, and ends it.
///
/// # Errors
/// The rules forbid it; then the phase goes on.
pub fn done(context: &Context, options: &DoneOptions) -> Result<StepOutcome> {
    let (run, earlier) = ahead(context, &options.step)?;
    let mut finish = finish(context, options, &run.workflow)?;
    run.workflow.after(&Change::FinishPhase(finish.clone()), context.now_ms)?;
    let id = finish.phase.clone().unwrap_or_default();
    let (after, warnings) = snapshot(context, &run, &format!("post-{id}"), options.no_snapshot, Standing::Always)?;
    finish.after = after.map(ObjectId::to_hex);
    let mut outcome = step(context, &of_run(&options.step, &run), &mut |_| Ok(Change::FinishPhase(finish.clone())))?;
    outcome.warnings.extend(earlier.into_iter().chain(warnings));
    if outcome.run.workflow.profiles.contains(&Profile::Pipeline) && !options.no_snapshot {
        add_mini_commit(context, &options.step, &mut outcome);
    }
    Ok(outcome)
}

/// Every third phase has a checkpoint of its own, by its name. That the phase is done stands whatever comes of it.
fn add_mini_commit(context: &Context, options: &StepOptions, outcome: &mut StepOutcome) {
    let options = StepOptions { actor: options.actor.clone(), ..StepOptions::default() };
    match mini_commit(context, &options, &outcome.run, None) {
        Ok(made) => {
            let Some(step) = made.step else { return };
            outcome.run = step.run;
            outcome.warnings.extend(step.warnings);
        }
        Err(e) => outcome.warnings.push(Warning::bookkeeping("making the checkpoint of every third phase")(e)),
    }
}

/// The run as it stands, files that were edited included.
fn ahead(context: &Context, options: &StepOptions) -> Result<(Run, Vec<Warning>)> {
    let Settled { store, troubles, warnings } = report::known(context)?;
    Ok((choose(&store, options, &troubles)?, warnings))
}

/// What was looked at must be what is changed.
fn of_run(options: &StepOptions, run: &Run) -> StepOptions {
    StepOptions { workflow: Some(run.workflow.id.clone()), ..options.clone() }
}

fn finish(context: &Context, options: &DoneOptions, workflow: &Workflow) -> Result<Finish> {
    let id = phases::meant(workflow, options.phase.as_deref())?;
    let sights = look(context, workflow)?;
    let phase = workflow.phase(&id);
    let head = git_head::read(context.root.path()).and_then(|head| head.commit);
    let was = phase.and_then(|phase| phase.head.clone());
    let moved = head.filter(|head| was.as_ref().is_some_and(|was| was != head));
    Ok(Finish {
        present: phase.map(|phase| recover::present(phase, &sights)).unwrap_or_default(),
        commit_sha: options.commit.clone().or_else(|| moved.map(|head| head.chars().take(SHORT_SHA).collect())),
        files: options.files.clone(),
        decisions: options.decisions.clone(),
        force: options.force,
        phase: Some(id),
        after: None,
    })
}

/// A checkpoint of the files as they are.
fn snapshot(
    context: &Context,
    run: &Run,
    reason: &str,
    is_off: bool,
    manner: Standing,
) -> Result<(Option<ObjectId>, Vec<Warning>)> {
    if is_off {
        return Ok((None, Vec::new()));
    }
    let options = CreateOptions {
        reason: Some(reason.to_owned()),
        source: Some(run.workflow.kind.clone()),
        standing: manner,
        gate: GateOptions::default(),
        ..CreateOptions::default()
    };
    let mut made = None;
    let mut tell = |outcome: &CreateOutcome| {
        made = Some((outcome.checkpoint.as_ref().map(|checkpoint| checkpoint.id), outcome.warnings.clone()));
    };
    let later = create(context, &options, &mut tell, &|| true)?;
    let (id, mut warnings) = made.ok_or_else(|| Error::unexpected("no checkpoint was told of".to_owned()))?;
    warnings.extend(later);
    warnings.retain(|warning| !matches!(warning, Warning::Dedup { .. }));
    Ok((id, warnings))
}
