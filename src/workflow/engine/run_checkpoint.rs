//! Makes the checkpoints that a run asks for, under the lock of its transition.

use crate::error::Result;
use crate::model::checkpoint::retention::Evicted;
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::command::create_in;
use crate::ops::create::options::{CreateOptions, DedupPolicy};
use crate::ops::maintain::auto_gc::auto_gc;
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::workflow::rules::workflow::Workflow;

/// What came of the checkpoint that a transition asks for.
#[derive(Debug, Default)]
pub struct RunCheckpoint {
    /// `None` if none was made, as the warnings say.
    pub id: Option<ObjectId>,
    pub evicted: Vec<Evicted>,
}

/// Makes a checkpoint of the files; an identical newest one causes no warning.
///
/// # Errors
/// The files cannot be captured, or the checkpoint cannot be recorded.
pub fn snapshot(
    context: &Context,
    session: &mut Session<'_>,
    workflow: &Workflow,
    reason: &str,
    dedup: DedupPolicy,
) -> Result<RunCheckpoint> {
    if context.settings.unread.is_some() {
        // The transition counts, and the warning on the settings says that no checkpoint is made.
        return Ok(RunCheckpoint::default());
    }
    let options = CreateOptions {
        dedup,
        ..CreateOptions::automatic(reason, &workflow.kind)?
    };
    let mut outcome = create_in(context, session, &options)?;
    if outcome.skipped.is_none() && context.settings.auto_prune {
        // The transitions merge packs themselves.
        outcome.warnings.extend(auto_gc(context, session, &|| true));
    }
    let warnings = outcome.warnings.into_iter();
    let warnings = warnings.filter(|warning| !matches!(warning, Warning::Dedup { .. }));
    session.warnings.extend(warnings);
    Ok(RunCheckpoint {
        id: outcome.checkpoint.map(|checkpoint| checkpoint.id),
        evicted: outcome.evicted,
    })
}
