//! Makes the checkpoints that a run asks for, under the lock of its transition.

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::command::create_in;
use crate::ops::create::options::{CreateOptions, DedupPolicy};
use crate::ops::maintain::auto_gc::auto_gc;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::workflow::rules::workflow::Workflow;

/// Makes a checkpoint of the files; an identical newest one causes no warning. `None` if none is
/// made, as the warnings say.
///
/// # Errors
/// The files cannot be captured, or the checkpoint cannot be recorded.
pub fn snapshot(
    context: &Context,
    session: &mut Session<'_>,
    workflow: &Workflow,
    reason: &str,
    dedup: DedupPolicy,
) -> Result<(Option<ObjectId>, Vec<Warning>)> {
    let options = CreateOptions {
        reason: Some(reason.to_owned()),
        source: Some(workflow.kind.clone()),
        dedup,
        ..CreateOptions::default()
    };
    let mut outcome = create_in(context, session, &options)?;
    if outcome.skipped.is_none() && context.settings.auto_prune {
        // The transitions merge packs themselves.
        outcome.warnings.extend(auto_gc(context, session, &|| true));
    }
    outcome
        .warnings
        .retain(|warning| !matches!(warning, Warning::Dedup { .. }));
    Ok((
        outcome.checkpoint.map(|checkpoint| checkpoint.id),
        outcome.warnings,
    ))
}
