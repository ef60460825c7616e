//! `workflow resume`: shows the state of a run, asks as its profile does, and does what was chosen.

use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::workflow::documents::import_edits;
use crate::workflow::engine::init_run::start_fresh;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::phase_transitions;
use crate::workflow::engine::repair_run::{Repaired, repair_chosen};
use crate::workflow::engine::report::{self, Status};
use crate::workflow::engine::resume_questions::{Ask, ResumeOptions, decide};
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::step::{StepOptions, actor, choose};
use crate::workflow::engine::transition::{StepOutcome, abandon_run, change_run};
use crate::workflow::rules::advice::{self, Advice};
use crate::workflow::rules::change::{Change, PhaseChange, Start};
use crate::workflow::rules::choices::Chosen;
use crate::workflow::rules::observation::Observations;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::run_error::{RunError, names_ready};

#[derive(Debug)]
pub struct ResumeOutcome {
    pub run: Run,
    pub done: ResumeAction,
    /// Repairs that were made, in words.
    pub repaired: Vec<String>,
    pub advice: Advice,
    /// Status of the run before.
    pub before: Status,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum ResumeAction {
    /// The run was only shown.
    Viewed,
    Resumed,
    StartedFresh,
    Picked,
    Deleted,
    Abandoned,
}

/// # Errors
/// There is nothing to resume, the user cannot be asked (the error has the options), or a file
/// cannot be understood.
pub fn resume(
    context: &Context,
    options: &ResumeOptions,
    ask: &mut Ask<'_>,
) -> Result<ResumeOutcome> {
    let status = report::status(context, options.run.as_deref(), true)?;
    check_open(&status)?;
    match decide(&status, options, ask)? {
        Chosen::View => Ok(ResumeOutcome {
            run: status.run.clone(),
            done: ResumeAction::Viewed,
            repaired: Vec::new(),
            advice: status.advice.clone(),
            warnings: status.warnings.clone(),
            before: status,
        }),
        chosen => {
            let (done, repaired) = act(context, &status, chosen)?;
            outcome(context, status, done, repaired)
        }
    }
}

/// Checks that the run is open, and that no file of it has a conflict.
fn check_open(status: &Status) -> Result<()> {
    let workflow = &status.run.workflow;
    if let Some(conflict) = status
        .conflicts
        .iter()
        .find(|conflict| conflict.concerns(workflow))
    {
        return Err(conflict.problem(Some(workflow)));
    }
    if workflow.status.is_open() {
        return if status.run.is_live() {
            Ok(())
        } else {
            Err(status.run.refused_as_archived())
        };
    }
    Err(RunError::NothingToResume {
        run: workflow.named().to_owned(),
        status: workflow.word(),
        name: status.run.id().to_owned(),
    }
    .into())
}

/// Does what was chosen, under the lock and only if the run is still as it was shown.
fn act(context: &Context, shown: &Status, chosen: Chosen) -> Result<(ResumeAction, Repaired)> {
    let of_run = StepOptions {
        run: Some(shown.run.workflow.id.clone()),
        ..StepOptions::default()
    };
    let store = import_edits::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = import_edits::import(context, &mut session)?;
    let run = choose(&store, &of_run, &conflicts)?;
    if run.tip != shown.run.tip {
        let run_id = run.workflow.named().to_owned();
        return Err(Error::from(RunError::MovedOn { run: run_id }).with_state(&run.workflow));
    }
    let actor = actor(context, &of_run);
    Ok(match chosen {
        Chosen::Pick(id) => {
            check_pick(&run.workflow, &id, context.now_ms)?;
            let run = reset_running(context, &mut session, run, &actor)?;
            drop(session);
            let outcome = start_picked(context, &of_run, &run, &id)?;
            (ResumeAction::Picked, unrepaired(outcome))
        }
        Chosen::StartFresh => {
            let outcome = start_fresh(context, &mut session, &run, &actor)?;
            (ResumeAction::StartedFresh, unrepaired(outcome))
        }
        Chosen::Delete => {
            let outcome = abandon_run(context, &mut session, &run, "", &actor)?;
            (ResumeAction::Deleted, unrepaired(outcome))
        }
        Chosen::Abandon => {
            let outcome = abandon_run(context, &mut session, &run, "", &actor)?;
            (ResumeAction::Abandoned, unrepaired(outcome))
        }
        Chosen::Resume | Chosen::View | Chosen::Decline => (
            ResumeAction::Resumed,
            go_on(context, &mut session, run, &actor)?,
        ),
    })
}

fn outcome(
    context: &Context,
    before: Status,
    done: ResumeAction,
    repaired: Repaired,
) -> Result<ResumeOutcome> {
    let Repaired {
        run,
        what,
        warnings,
    } = repaired;
    let observations = if run.workflow.status.is_open() {
        observe(context, &run.workflow)?
    } else {
        Observations::new()
    };
    Ok(ResumeOutcome {
        advice: advice::advice(&run.workflow, &observations),
        run,
        done,
        repaired: what,
        before,
        warnings,
    })
}

fn unrepaired(outcome: StepOutcome) -> Repaired {
    Repaired {
        run: outcome.run,
        what: Vec::new(),
        warnings: outcome.warnings,
    }
}

/// Repairs what the interruption left, and resumes the run.
fn go_on(context: &Context, session: &mut Session<'_>, run: Run, actor: &str) -> Result<Repaired> {
    let mut repaired = repair_chosen(context, session, run, actor, false)?;
    if repaired.run.workflow.status.is_open() {
        let outcome = change_run(context, session, &repaired.run, &Change::Resume, actor)?;
        repaired.warnings.extend(outcome.warnings);
        repaired.run = outcome.run;
    }
    Ok(repaired)
}

/// Checks that the phase can begin once the running ones are pending again, before any change.
fn check_pick(workflow: &Workflow, id: &str, now_ms: i64) -> Result<()> {
    let running = workflow.running().map(|phase| PhaseChange::Reset {
        phase: phase.id.clone(),
    });
    let begin = PhaseChange::Start(start(id));
    let started = running
        .chain([begin])
        .try_fold(workflow.clone(), |state, change| {
            state.after(&Change::Phase(change), now_ms)
        });
    started.map(drop).map_err(|problem| {
        problem
            .next(names_ready(workflow.named()))
            .with_state(workflow)
    })
}

/// Makes the running phases pending again, and keeps their progress notes.
fn reset_running(
    context: &Context,
    session: &mut Session<'_>,
    mut run: Run,
    actor: &str,
) -> Result<Run> {
    let running: Vec<String> = run
        .workflow
        .running()
        .map(|phase| phase.id.clone())
        .collect();
    for phase in running {
        let change = Change::Phase(PhaseChange::Reset { phase });
        run = change_run(context, session, &run, &change, actor)?.run;
    }
    Ok(run)
}

fn start_picked(
    context: &Context,
    options: &StepOptions,
    run: &Run,
    id: &str,
) -> Result<StepOutcome> {
    phase_transitions::start(context, options, &start(id)).map_err(|error| {
        if error.is_of_run() {
            error.with_state(&run.workflow)
        } else {
            error
        }
    })
}

fn start(id: &str) -> Start {
    Start {
        phase: Some(id.to_owned()),
        ..Start::default()
    }
}
