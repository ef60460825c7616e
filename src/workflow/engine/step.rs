//! One transition: under the lock, what was edited by hand comes first, then the rules decide, then it is one commit.

use crate::error::problem::WorkflowProblem;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::store::repository::Store;
use crate::workflow::documents::sync::{self, Trouble};
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::workflow::Workflow;

/// Which run is meant, and by whom.
#[derive(Clone, Debug, Default)]
pub struct StepOptions {
    pub workflow: Option<String>,
    /// The revision that the caller saw, or the beginning of it: another one is a conflict.
    pub expect: Option<String>,
    pub actor: Option<String>,
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
        let problem = WorkflowProblem::refused("moved_on", what).hint("look at it again, then decide");
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
