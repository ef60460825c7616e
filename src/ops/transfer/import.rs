//! `import`: adds the checkpoints of a git bundle to the store of this root.

use std::io::BufRead;

use crate::error::Result;
use crate::model::ObjectId;
use crate::model::checkpoint::retention;
use crate::model::json::{JsonSchema, Serialize};
use crate::ops::open_store::{open_usable, refuse_below_top};
use crate::ops::session;
use crate::ops::{Context, Session, Warning};
use crate::store::transfer::receive;
use crate::store::transfer::take_over::TakeOverOptions;
use crate::store::{BundleTaken, Received};

const BELOW_TOP: &str = "nothing was imported; 'checkpoint -C {} import FILE' acts on all of it, 'checkpoint --here import FILE' on this directory";

/// What came in, and what it leads to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportOutcome {
    #[serde(flatten)]
    pub taken: BundleTaken,
    /// Number of checkpoints that the next create will evict.
    pub to_be_evicted: usize,
}

/// Reads a bundle to its end without holding up other commands, checks it, and adds it under the
/// lock. `name` is that of the bundle in messages; `force` begins a store even for a root that is
/// refused otherwise.
///
/// # Errors
/// The bundle is not taken, in which case nothing of it is there; or the store cannot be written.
pub fn import(
    context: &Context,
    name: &str,
    with_safety: bool,
    force: bool,
    input: &mut dyn BufRead,
) -> Result<(ImportOutcome, Vec<Warning>)> {
    // Until something is added, a signal ends the process: the input may never end.
    let header = receive::read_header(input, name)?;
    refuse_below_top(context, BELOW_TOP)?;
    let store = open_usable(context, force)?;
    let scratch = session::begin(context, &store)?.locked.begin_scratch()?;
    let check = || context.check_interrupt();
    let progress = &context.progress;
    let mut received = Received::read(scratch, header, input, name, &check, progress)?;
    let _shield = context.interrupt.shield();
    let mut session = session::begin(context, &store)?;
    let with = TakeOverOptions {
        name,
        safety: with_safety,
        check_run: context.workflows.check_run,
    };
    let mut taken = session
        .locked
        .take_over_bundle(&mut received, &with, &check, progress)?;
    let mut warnings = std::mem::take(&mut session.warnings);
    drop(session);
    drop(received);
    // Bring the manifest and `main` up to date with what came in.
    let session = session::begin(context, &store)?;
    session.locked.write_derived()?;
    warnings.extend(context.pending_warnings.take());
    let left = |(id, why): (_, String)| Warning::LeftBehind { id, why };
    warnings.extend(std::mem::take(&mut taken.bad).into_iter().map(left));
    let outcome = ImportOutcome {
        taken,
        to_be_evicted: to_be_evicted(context, &session),
    };
    Ok((outcome, warnings))
}

/// Counts the checkpoints that the next `create` evicts.
pub(super) fn to_be_evicted(context: &Context, session: &Session<'_>) -> usize {
    let locked = &session.locked;
    let needed = (context.workflows.needed)(locked.store());
    let mut line = locked.inventory().checkpoints.clone();
    // As if it were made now: one like the newest, which is never evicted itself.
    let newest = line.rev().find(|c| !c.is_safety()).cloned();
    if let Some(newest) = newest {
        let mut next = newest;
        next.id = ObjectId::from_bytes([0; 20]);
        next.pinned = false;
        next.record.sequence = u64::MAX;
        next.record.time_ms = context.now_ms;
        line.push(next);
    }
    let plan = retention::plan(&line, &context.settings.keep, context.now_ms, &needed);
    plan.evict.len()
}
