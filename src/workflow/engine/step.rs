//! One transition under the lock: edits by hand are imported first, then the rules decide, then one
//! commit is made.

use crate::error::problem::WorkflowProblem;
use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::store::repository::Store;
use crate::workflow::documents::import_edits::{self, Conflict};
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::rules::change::Change;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::run_error::RunError;

/// Which run is meant, and who acts.
#[derive(Clone, Debug, Default)]
pub struct StepOptions {
    pub run: Option<String>,
    /// Revision that the caller saw, or a prefix of it; any other one is a conflict.
    pub expect: Option<String>,
    pub actor: Option<String>,
}

/// Makes one transition. `decide` is called under the lock, with the current state.
///
/// # Errors
/// There is no such run, the rules forbid it, another process was first, or a file is malformed.
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

/// Calls `act` with the chosen run while the store is locked.
///
/// # Errors
/// There is no such run, another process was first, a file of the run is malformed, or `act` fails.
pub fn with_run<T>(
    context: &Context,
    options: &StepOptions,
    act: impl FnOnce(&mut Session<'_>, &Run) -> Result<T>,
) -> Result<T> {
    let store = import_edits::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = import_edits::import(context, &mut session)?;
    let run = choose(&store, options, &conflicts)?;
    act(&mut session, &run)
}

/// Returns the chosen run, if it can be worked on.
///
/// # Errors
/// The run cannot be read, another process moved it on, or a file of the run has a conflict.
pub fn choose(store: &Store, options: &StepOptions, conflicts: &[Conflict]) -> Result<Run> {
    let run = match Runs::pick_live(store, options.run.as_deref()) {
        Err(Error::Workflow(problem)) if options.run.is_none() => {
            // The unreadable file may belong to the run that is meant.
            return Err(conflicts
                .first()
                .map_or(Error::Workflow(problem), |conflict| {
                    conflict.problem(None).into()
                }));
        }
        picked => picked?,
    };
    if let Some(expected) = options
        .expect
        .as_ref()
        .filter(|expected| !run.tip.to_hex().starts_with(expected.as_str()))
    {
        let error = RunError::NotAtExpected {
            run: run.workflow.named().to_owned(),
            at: run.tip.short(),
            expected: expected.clone(),
        };
        return Err(WorkflowProblem::from(error)
            .with_state(&run.workflow)
            .into());
    }
    match conflicts
        .iter()
        .find(|conflict| conflict.concerns(&run.workflow))
    {
        Some(conflict) => Err(conflict.problem(Some(&run.workflow)).into()),
        None => Ok(run),
    }
}

/// Returns the actor: as given, else from the environment, else `cli`.
pub fn actor(context: &Context, options: &StepOptions) -> String {
    let told = options
        .actor
        .as_deref()
        .or(context.environment.source.as_deref())
        .map(str::trim);
    told.filter(|told| !told.is_empty())
        .unwrap_or("cli")
        .to_owned()
}
