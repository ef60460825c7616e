//! One transition of a run: the rules give the next state, which is committed and written to files.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::model::checkpoint::retention::Evicted;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::session::Session;
use crate::store::runs::run_writer::Recorded;
use crate::workflow::documents::find_documents::OnDisk;
use crate::workflow::documents::{leftovers, write_documents};
use crate::workflow::engine::run_json::{self, RunRow};
use crate::workflow::engine::runs::Run;
use crate::workflow::profiles::dispatch;
use crate::workflow::rules::change::Change;
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::run_error::RunError;

/// A run after a transition.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "StepAnswer")]
pub struct StepOutcome {
    #[serde(flatten, serialize_with = "run_json::row")]
    #[schemars(with = "RunRow")]
    pub run: Run,
    /// The log entry; the last one of several transitions.
    pub event: Change,
    /// The phase concerned; of a task the one that it is part of.
    pub phase: Option<Phase>,
    pub task: Option<Task>,
    /// What the checkpoints of this step pushed out.
    #[serde(rename = "dropped")]
    pub evicted: Vec<Evicted>,
    /// The state is recorded, but a file of a profile could not be written.
    #[serde(skip)]
    pub is_partial: bool,
}

/// Applies and records a change, and writes the files.
///
/// # Errors
/// The rules forbid it, or it cannot be recorded; then nothing is changed.
pub fn change_run(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    change: &Change,
    actor: &str,
) -> Result<StepOutcome> {
    let next = run.workflow.after(change, context.now_ms)?;
    let mut event = change.clone();
    actor.clone_into(&mut event.actor);
    if event.verb.starts_with("phase ") {
        event.phase = Some(run.workflow.phase_of(change)?);
    }
    record(context, session, Some(run.tip), next, event)
}

/// Abandons and archives a chosen run.
///
/// # Errors
/// As [`change_run`], or the run cannot be archived.
pub fn abandon_run(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    reason: &str,
    actor: &str,
) -> Result<StepOutcome> {
    let change = Change::new("abandon", actor).noting(reason.to_owned());
    let mut outcome = change_run(context, session, run, &change, actor)?;
    let id = outcome.run.workflow.id.clone();
    outcome.run.archived_as = session.locked.archive_workflow(&id, &id)?;
    leftovers::trim_archives(context, session);
    Ok(outcome)
}

/// Records a state as the next of its run, or without `before` as the first.
///
/// # Errors
/// As [`change_run`].
pub fn record(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<ObjectId>,
    next: Workflow,
    event: Change,
) -> Result<StepOutcome> {
    record_imported(context, session, before, next, event, None)
}

/// As [`record`], for a state read from a file, whose content is known and may be overwritten.
///
/// # Errors
/// As [`change_run`].
pub fn record_imported(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<ObjectId>,
    mut next: Workflow,
    mut event: Change,
    imported: Option<&OnDisk>,
) -> Result<StepOutcome> {
    event.session.clone_from(&context.environment.session);
    render_documents(context, &mut next);
    let _shield = context.interrupt.shield();
    let tip = record_state(context, session, before, &next, &event)?;
    let run = Run {
        tip,
        archived_as: None,
        workflow: next,
    };
    let is_partial = write_documents::project(context, session, &run.workflow, imported);
    let workflow = &run.workflow;
    let task = event.task.as_ref().and_then(|id| workflow.task(id));
    let phase = event.phase.as_ref().or_else(|| task?.phase.as_ref());
    let phase = phase.and_then(|id| workflow.phase(id));
    Ok(StepOutcome {
        phase: phase.cloned(),
        task: task.cloned(),
        run,
        event,
        evicted: Vec::new(),
        is_partial,
    })
}

/// Renders the files into the state, so that later edits can be told from our own writes.
pub fn render_documents(context: &Context, workflow: &mut Workflow) {
    let root = context.root.path().display().to_string();
    for profile in workflow.profiles.clone() {
        for document in dispatch::export(workflow, profile, &root) {
            workflow.documents.insert(document.path, document.value);
        }
    }
}

/// Records the commit, without writing files.
///
/// # Errors
/// Another process was first, or the commit cannot be written.
pub fn record_state(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<ObjectId>,
    next: &Workflow,
    event: &Change,
) -> Result<ObjectId> {
    let said = event.render(context.now_ms);
    let recorded = session.locked.record_workflow(
        &next.id,
        before,
        next.to_json().as_bytes(),
        &said,
        context.now_ms,
    )?;
    match recorded {
        Recorded::Done(tip) => Ok(tip),
        Recorded::Moved(_) => Err(RunError::MovedOn {
            run: next.id.clone(),
        }
        .into()),
    }
}
