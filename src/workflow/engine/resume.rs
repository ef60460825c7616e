//! `workflow resume`: does with a run what was chosen.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::error::sentence::Sentence;
use crate::model::json::TimeText;
use crate::ops::context::Context;
use crate::workflow::engine::init::start_fresh;
use crate::workflow::engine::observe::observe;
use crate::workflow::engine::phase::{self, Start};
use crate::workflow::engine::recover::repair_run;
use crate::workflow::engine::report::Status;
use crate::workflow::engine::runs::Run;
use crate::workflow::engine::transact::with_run;
use crate::workflow::engine::work::{StepOptions, Work};
use crate::workflow::rules::advice;
use crate::workflow::rules::change::Change;
use crate::workflow::rules::dialog::Chosen;
use crate::workflow::rules::workflow::Phase;
use crate::workflow::words::{absent, moved_on, starts_from_plan};

/// Show the state of a run, ask, and resume it
///
/// Without a terminal it asks nothing: it shows the same, exits with 4 and names the answers. A run
/// with errors is resumed only with --anyway.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ResumeOptions {
    /// Run [default: the newest open one]
    #[arg(value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Answer: y, n, restart, abandon or pick:ID; with registry r, s, v or d
    #[arg(long, value_name = "ANSWER")]
    pub choose: Option<String>,
    /// Resume even if 'workflow check' finds errors
    #[arg(long)]
    pub anyway: bool,
}

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
}

/// Checks that a run is open, and that no file of it has a conflict.
///
/// # Errors
/// It is not.
pub fn check_open(status: &Status) -> Result<()> {
    let workflow = &status.run.workflow;
    let mut conflicts = status.seen.troubles.iter();
    if let Some(conflict) = conflicts.find(|conflict| conflict.concerns(workflow)) {
        return Err(conflict.problem(Some(workflow)));
    }
    if !workflow.status.is_open() {
        let (run, word) = (workflow.named(), workflow.word());
        let what = format!("nothing to resume: workflow {run} is {word}");
        let next = starts_from_plan(&workflow.id);
        return Err(absent("nothing_to_resume", what).next(next));
    }
    if status.run.is_live() {
        Ok(())
    } else {
        Err(status.run.refused_as_archived())
    }
}

/// Does what was chosen, under the lock and only if the run is still as it was shown.
///
/// # Errors
/// Another process changed the run, or a transition cannot be recorded.
pub fn resume(context: &Context, mut status: Status, chosen: Chosen) -> Result<ResumeOutcome> {
    let last_activity_at = TimeText::new(status.run.workflow.updated_ms);
    let mut recovered = Vec::new();
    if chosen != Chosen::Viewed {
        let of_run = StepOptions::of_run(&status.run.workflow.id);
        let run = with_run(context, &of_run, |work, run| {
            if run.tip != status.run.tip {
                return Err(moved_on(run.workflow.named()).with_state(&run.workflow));
            }
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
    Ok(phase::start_in(work, &run, &start)?.run)
}
