//! Commands that change one run: edits by hand are imported first, then the run is chosen.

use crate::error::Result;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::workflow::documents::conflict::Conflict;
use crate::workflow::documents::sync::{require_store, sync};
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::work::{StepOptions, StepOutcome, Work};
use crate::workflow::rules::change::Change;
use crate::workflow::words::refused;

/// Makes one transition.
///
/// # Errors
/// There is no such run, the rules forbid it, another process was first, or a file is malformed.
pub fn step(context: &Context, options: &StepOptions, change: &Change) -> Result<StepOutcome> {
    with_run(context, options, |work, run| work.change(&run, change))
}

/// Calls `act` while the store is locked and edits by hand are imported; the context gets
/// the warnings.
///
/// # Errors
/// There is no store, or `act` fails.
pub fn with_store<'w, T>(
    context: &'w Context,
    store: &'w Store,
    options: &StepOptions,
    act: impl FnOnce(&mut Work<'w>, Vec<Conflict>) -> Result<T>,
) -> Result<T> {
    let mut work = Work::begin(context, store, options)?;
    let conflicts = sync(&mut work)?;
    let done = act(&mut work, conflicts)?;
    for warning in work.session.warnings {
        context.pending_warnings.add(warning);
    }
    Ok(done)
}

/// As [`with_store`], with the chosen run.
///
/// # Errors
/// There is no such run, another process was first, a file of the run is malformed, or `act` fails.
pub fn with_run<T>(
    context: &Context,
    options: &StepOptions,
    act: impl FnOnce(&mut Work<'_>, Run) -> Result<T>,
) -> Result<T> {
    let store = require_store(context)?;
    with_store(context, &store, options, |work, conflicts| {
        let run = choose(&store, options, &conflicts)?;
        act(work, run)
    })
}

/// Returns the chosen run, if it can be worked on.
///
/// # Errors
/// The run cannot be read, another process moved it on, or a file of the run is malformed.
pub fn choose(store: &Store, options: &StepOptions, conflicts: &[Conflict]) -> Result<Run> {
    let named = options.run.as_deref();
    let run = or_conflict(Runs::pick_live(store, named), named, conflicts)?;
    check_expected(options, &run)?;
    let mut conflicts = conflicts.iter();
    match conflicts.find(|conflict| conflict.concerns(&run.workflow)) {
        Some(conflict) => Err(conflict.problem(Some(&run.workflow))),
        None => Ok(run),
    }
}

/// Makes a failure to find any run that of an unreadable file, whose run may be meant.
pub fn or_conflict(picked: Result<Run>, named: Option<&str>, left: &[Conflict]) -> Result<Run> {
    picked.map_err(|error| match left.first() {
        Some(conflict) if named.is_none() && error.is_of_run() => conflict.problem(None),
        _ => error,
    })
}

/// Checks that the run is at the revision that the caller expects.
///
/// # Errors
/// It is at another one.
pub fn check_expected(options: &StepOptions, run: &Run) -> Result<()> {
    let expected = options.expect.as_deref().unwrap_or_default();
    if run.tip.to_hex().starts_with(expected) {
        return Ok(());
    }
    let (id, at) = (run.workflow.named(), run.tip.short());
    let what = format!("workflow {id} is at {at}, not at {expected}");
    Err(refused("moved_on", what)
        .advise("check its state, then try again")
        .with_state(&run.workflow))
}
