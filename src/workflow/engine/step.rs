//! One transition under the lock: edits by hand are imported first, then the rules decide, then one
//! commit is made.

use crate::error::{Error, Result};
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::workflow::documents::import_edits::{self, Conflict};
use crate::workflow::engine::runs::{Run, Runs};
use crate::workflow::engine::transition::{StepOutcome, change_run};
use crate::workflow::rules::change::Change;
use crate::workflow::words::run_error::RunError;

/// Which run is meant, and who acts.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StepOptions {
    /// Run [default: the newest open one]
    #[arg(short = 'w', long = "workflow", value_name = "WORKFLOW", global = true)]
    pub run: Option<String>,
    /// Revision at which the run must be, or the beginning of it; refuse otherwise
    #[arg(long, value_name = "REVISION", global = true)]
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub expect: Option<String>,
    /// Actor to record, for the tools over MCP [default: the source, as in create]
    #[arg(long, value_name = "NAME", global = true, hide = true)]
    pub actor: Option<String>,
}

/// Makes one transition.
///
/// # Errors
/// There is no such run, the rules forbid it, another process was first, or a file is malformed.
pub fn step(
    context: &Context,
    options: &StepOptions,
    change: &Change,
) -> Result<(StepOutcome, Vec<Warning>)> {
    with_run(context, options, |session, run| {
        change_run(context, session, &run, change, &actor(context, options))
    })
}

/// Calls `act` with the chosen run while the store is locked; returns the warnings of both.
///
/// # Errors
/// There is no such run, another process was first, a file of the run is malformed, or `act` fails.
pub fn with_run<T>(
    context: &Context,
    options: &StepOptions,
    act: impl FnOnce(&mut Session<'_>, Run) -> Result<T>,
) -> Result<(T, Vec<Warning>)> {
    let store = import_edits::require_store(context)?;
    let mut session = session::begin(context, &store)?;
    let conflicts = import_edits::import(context, &mut session)?;
    let run = choose(&store, options, &conflicts)?;
    Ok((act(&mut session, run)?, session.warnings))
}

/// Returns the chosen run, if it can be worked on.
///
/// # Errors
/// The run cannot be read, another process moved it on, or a file of the run has a conflict.
pub fn choose(store: &Store, options: &StepOptions, conflicts: &[Conflict]) -> Result<Run> {
    let run = match Runs::pick_live(store, options.run.as_deref()) {
        // The unreadable file may belong to the run that is meant.
        Err(error) if options.run.is_none() && error.is_of_run() => {
            return Err(conflicts
                .first()
                .map_or(error, |conflict| conflict.problem(None)));
        }
        picked => picked?,
    };
    check_expected(options, &run)?;
    match conflicts
        .iter()
        .find(|conflict| conflict.concerns(&run.workflow))
    {
        Some(conflict) => Err(conflict.problem(Some(&run.workflow))),
        None => Ok(run),
    }
}

/// Checks that the run is at the revision that the caller expects.
///
/// # Errors
/// It is at another one.
pub fn check_expected(options: &StepOptions, run: &Run) -> Result<()> {
    let Some(expected) = options.expect.as_deref() else {
        return Ok(());
    };
    if run.tip.to_hex().starts_with(expected) {
        return Ok(());
    }
    let error = RunError::NotAtExpected {
        run: run.workflow.named().to_owned(),
        at: run.tip.short(),
        expected: expected.to_owned(),
    };
    Err(Error::from(error).with_state(&run.workflow))
}

/// Returns the actor: as given, else from the environment, else `cli`.
pub fn actor(context: &Context, options: &StepOptions) -> String {
    let source = context.environment.source.as_deref();
    let named = options.actor.as_deref().or(source).map(str::trim);
    named
        .filter(|name| !name.is_empty())
        .unwrap_or("cli")
        .to_owned()
}
