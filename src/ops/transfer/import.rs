//! `import`: adds the checkpoints of a git bundle to the store of this root.

use std::io::BufRead;

use crate::error::Result;
use crate::model::checkpoint::retention;
use crate::ops::context::Context;
use crate::ops::open_store::open_usable;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::store::transfer::receive::{self, Received};
use crate::store::transfer::take_over::{BundleTaken, TakeOverOptions};

#[derive(Clone, Debug, Default)]
pub struct ImportBundleOptions {
    /// Name of the bundle in messages.
    pub name: String,
    pub with_safety: bool,
    /// Begins a store even for a root that is refused otherwise.
    pub force: bool,
}

#[derive(Debug)]
pub struct ImportOutcome {
    pub taken: BundleTaken,
    /// Checkpoints beyond what the policy keeps, of which the next `create` evicts the oldest.
    pub too_many: usize,
    pub warnings: Vec<Warning>,
}

/// Reads a bundle to its end without holding up other commands, checks it, and adds it under the
/// lock.
///
/// # Errors
/// The bundle is not taken, in which case nothing of it is there; or the store cannot be written.
pub fn import(
    context: &Context,
    options: &ImportBundleOptions,
    input: &mut dyn BufRead,
) -> Result<ImportOutcome> {
    // Until something is added, a signal ends the process: the input may never end.
    let header = receive::read_header(input, &options.name)?;
    let store = open_usable(context, options.force)?;
    let scratch = session::begin(context, &store)?.locked.begin_scratch()?;
    let check = || context.check_interrupt();
    let progress = &context.progress;
    let mut received = Received::read(scratch, header, input, &options.name, &check, progress)?;
    let _shield = context.interrupt.shield();
    let mut session = session::begin(context, &store)?;
    let with = TakeOverOptions {
        name: &options.name,
        safety: options.with_safety,
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
    Ok(ImportOutcome {
        taken,
        too_many: too_many(context, &session),
        warnings,
    })
}

/// Counts the checkpoints that the next `create` evicts.
pub(super) fn too_many(context: &Context, session: &Session<'_>) -> usize {
    let locked = &session.locked;
    let needed = (context.workflows.needed)(locked.store());
    let line = &locked.inventory().checkpoints;
    let plan = retention::plan(line, &context.settings.keep, context.now_ms, &needed);
    plan.evict.len()
}
