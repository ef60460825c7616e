//! One transition: under the lock, what was edited by hand comes first, then the rules decide, then it is one commit.

use crate::error::{Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::model::workflow::change::Change;
use crate::model::workflow::event::Event;
use crate::model::workflow::problem::Problem;
use crate::model::workflow::{Workflow, profile};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::ops::workflow::documents::OnDisk;
use crate::ops::workflow::project;
use crate::ops::workflow::runs::{Run, Runs};
use crate::ops::workflow::sync::{self, Trouble};
use crate::store::repository::Store;
use crate::store::runs::run_writer::Recorded;

/// Which run is meant, and by whom.
#[derive(Clone, Debug, Default)]
pub struct StepOptions {
    pub workflow: Option<String>,
    /// The revision that the caller saw, or the beginning of it: another one is a conflict.
    pub expect: Option<String>,
    pub actor: Option<String>,
}

#[derive(Debug)]
pub struct StepOutcome {
    pub run: Run,
    /// What the log says of it; of several transitions the last.
    pub event: Event,
    pub warnings: Vec<Warning>,
    /// The state is recorded, but a file of a profile could not be written.
    pub is_partial: bool,
}

/// Makes one transition. `decide` is asked for it under the lock, with the state as it stands then.
///
/// # Errors
/// There is no such run, the rules forbid it, somebody else was first, or a file of it cannot be understood.
pub fn step(
    context: &Context,
    options: &StepOptions,
    decide: &mut dyn FnMut(&Workflow) -> Result<Change>,
) -> Result<StepOutcome> {
    with_run(context, options, |session, run| {
        let change = decide(&run.workflow)?;
        change_run(context, session, run, &change, &actor(context, options))
    })
}

/// Does something with the run that is meant while the store is locked.
///
/// # Errors
/// There is no such run, somebody else was first, a file of it cannot be understood, or as `act` says.
pub fn with_run<T>(
    context: &Context,
    options: &StepOptions,
    act: impl FnOnce(&mut Session<'_>, &Run) -> Result<T>,
) -> Result<T> {
    let store = sync::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let troubles = sync::sync(context, &mut session)?;
    let run = choose(&store, options, &troubles)?;
    act(&mut session, &run)
}

/// The run that is meant, if it can be worked on.
///
/// # Errors
/// It cannot be read, somebody moved it on, or a file of it was damaged by hand.
pub fn choose(store: &Store, options: &StepOptions, troubles: &[Trouble]) -> Result<Run> {
    let runs = Runs::live(store)?;
    let run = match runs.pick(options.workflow.as_deref()) {
        Err(Error::Workflow(problem)) if options.workflow.is_none() => {
            // A file that nobody could read may be the very run that is meant.
            return Err(troubles.first().map_or(Error::Workflow(problem), |trouble| trouble.problem(None).into()));
        }
        picked => picked?.clone(),
    };
    if let Some(expected) = options.expect.as_ref().filter(|expected| !run.tip.to_hex().starts_with(expected.as_str()))
    {
        let what = format!("workflow {} is at {}, not at {expected}", run.workflow.id, run.tip.short());
        let problem = Problem::refused("moved_on", what).hint("look at it again, then decide");
        return Err(problem.with_state(&run.workflow).into());
    }
    match troubles.iter().find(|trouble| trouble.concerns(&run.workflow)) {
        Some(trouble) => Err(trouble.problem(Some(&run.workflow)).into()),
        None => Ok(run),
    }
}

/// Who does it, as told, or as the environment says.
pub fn actor(context: &Context, options: &StepOptions) -> String {
    let told = options.actor.as_deref().or(context.environment.source.as_deref()).map(str::trim);
    told.filter(|told| !told.is_empty()).unwrap_or("cli").to_owned()
}

/// Applies and records a change, and writes the files.
///
/// # Errors
/// The rules forbid it, or it cannot be recorded; then nothing happened.
pub fn change_run(
    context: &Context,
    session: &mut Session<'_>,
    run: &Run,
    change: &Change,
    actor: &str,
) -> Result<StepOutcome> {
    let event = Event::of(change, &run.workflow, actor);
    let next = run.workflow.after(change, context.now_ms)?;
    record(context, session, Some(run.tip), next, event)
}

/// Records a state as the next of its run; without `before` as its first.
///
/// # Errors
/// As [`change_run`].
pub fn record(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<ObjectId>,
    next: Workflow,
    event: Event,
) -> Result<StepOutcome> {
    record_taken(context, session, before, next, event, None)
}

/// The same for a state that was read from a file: what stands in that file is known, and may be written over.
///
/// # Errors
/// As [`change_run`].
pub fn record_taken(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<ObjectId>,
    mut next: Workflow,
    mut event: Event,
    taken: Option<&OnDisk>,
) -> Result<StepOutcome> {
    event.session.clone_from(&context.environment.session);
    render_documents(context, &mut next);
    let _shield = context.interrupt.shield();
    let tip = record_state(context, session, before, &next, &event)?;
    let run = Run { tip, archived_as: None, workflow: next };
    let mut warnings = std::mem::take(&mut session.warnings);
    let is_partial = project::project(context, session, &run.workflow, taken, &mut warnings);
    Ok(StepOutcome { run, event, warnings, is_partial })
}

/// What its files are to say now stands in the state itself, so that a later edit can be told from our own writing.
pub fn render_documents(context: &Context, workflow: &mut Workflow) {
    let root = context.root.path().display().to_string();
    for profile in workflow.profiles.clone() {
        for document in profile::export(workflow, profile, &root) {
            workflow.documents.insert(document.path, document.value);
        }
    }
}

/// The commit alone.
///
/// # Errors
/// Somebody else was first, or it cannot be written.
pub fn record_state(
    context: &Context,
    session: &mut Session<'_>,
    before: Option<ObjectId>,
    next: &Workflow,
    event: &Event,
) -> Result<ObjectId> {
    let said = event.render(context.now_ms);
    let recorded =
        session.locked.record_workflow(&next.id, before, next.to_json().as_bytes(), &said, context.now_ms)?;
    match recorded {
        Recorded::Done(tip) => Ok(tip),
        Recorded::Moved(_) => {
            let what = format!("workflow {} was moved on by somebody else", next.id);
            Err(Problem::refused("moved_on", what).hint("look at it again, then decide").into())
        }
    }
}
