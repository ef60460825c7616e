//! `workflow resume`: shows the state of a run, asks as its profile does, and does what was chosen.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::model::json::TimeText;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::workflow::engine::init::start_fresh;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::phase;
use crate::workflow::engine::recover::repair_chosen;
use crate::workflow::engine::report::{self, Status};
use crate::workflow::engine::resume_questions::{Ask, ResumeOptions, decide};
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::transact::with_run;
use crate::workflow::engine::work::{StepOptions, StepOutcome, Work};
use crate::workflow::rules::advice;
use crate::workflow::rules::change::{Change, PhaseChange, Start};
use crate::workflow::rules::choices::Chosen;
use crate::workflow::rules::observation::Observations;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::run_error::{RunError, names_ready};

/// A run that was resumed; what was seen of it is from before, but for the next step.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ResumeAnswer")]
pub struct ResumeOutcome {
    pub done: Chosen,
    /// Repairs that were made.
    pub recovered: Vec<String>,
    pub last_activity_at: TimeText,
    #[serde(flatten)]
    pub status: Status,
    /// Findings and changed files were shown already with a question.
    #[serde(skip)]
    pub was_shown: bool,
}

/// # Errors
/// There is nothing to resume, the user cannot be asked (the error has the options), or a file
/// cannot be understood.
pub fn resume(
    context: &Context,
    options: &ResumeOptions,
    ask: &mut Ask<'_>,
) -> Result<(ResumeOutcome, Vec<Warning>)> {
    let (status, mut warnings) = report::status(context, options.run.as_deref(), true)?;
    check_open(&status)?;
    let mut outcome = ResumeOutcome {
        done: decide(&status, options, ask)?,
        recovered: Vec::new(),
        last_activity_at: TimeText::new(status.run.workflow.updated_ms),
        status,
        was_shown: options.choose.is_none(),
    };
    if outcome.done != Chosen::View {
        let chosen = outcome.done.clone();
        warnings.extend(act(context, &mut outcome, &chosen)?);
        let workflow = &outcome.status.run.workflow;
        let observations = if workflow.status.is_open() {
            observe(context, workflow)?
        } else {
            Observations::new()
        };
        outcome.status.seen.next = advice::advice(workflow, &observations);
    }
    Ok((outcome, warnings))
}

/// Checks that the run is open, and that no file of it has a conflict.
fn check_open(status: &Status) -> Result<()> {
    let workflow = &status.run.workflow;
    if let Some(conflict) = status
        .seen
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
fn act(context: &Context, outcome: &mut ResumeOutcome, chosen: &Chosen) -> Result<Vec<Warning>> {
    let shown = &outcome.status.run;
    let of_run = StepOptions {
        run: Some(shown.workflow.id.clone()),
        ..StepOptions::default()
    };
    let (run, warnings) = with_run(context, &of_run, |work, run| {
        if run.tip != shown.tip {
            let run_id = run.workflow.named().to_owned();
            return Err(Error::from(RunError::MovedOn { run: run_id }).with_state(&run.workflow));
        }
        let step = match chosen {
            Chosen::Pick(id) => {
                check_pick(&run.workflow, id, context.now_ms)?;
                let run = reset_running(work, run)?;
                start_picked(work, &of_run, &run, id)?
            }
            Chosen::StartFresh => start_fresh(work, &run)?,
            Chosen::Delete | Chosen::Abandon => work.abandon(&run, "")?,
            Chosen::Resume | Chosen::View | Chosen::Decline => {
                // First repairs what the interruption left.
                let (run, repairs) = repair_chosen(work, run, false)?;
                outcome.recovered = repairs;
                if !run.workflow.status.is_open() {
                    return Ok(run);
                }
                work.change(&run, &Change::Resume)?
            }
        };
        Ok(step.run)
    })?;
    outcome.status.run = run;
    Ok(warnings)
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
fn reset_running(work: &mut Work<'_>, mut run: Run) -> Result<Run> {
    let running: Vec<String> = run
        .workflow
        .running()
        .map(|phase| phase.id.clone())
        .collect();
    for phase in running {
        let change = Change::Phase(PhaseChange::Reset { phase });
        run = work.change(&run, &change)?.run;
    }
    Ok(run)
}

fn start_picked(
    work: &mut Work<'_>,
    options: &StepOptions,
    run: &Run,
    id: &str,
) -> Result<StepOutcome> {
    let begin = start(id);
    phase::start_in(work, options, run, &begin).map_err(|error| {
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
