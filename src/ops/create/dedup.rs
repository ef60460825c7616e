//! Deduplication: whether an identical newest checkpoint is reused.

use crate::error::{Error, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::capture::gather::CapturedScope;
use crate::ops::capture::left_out::LeftOut;
use crate::ops::capture::pipeline::Captured;
use crate::ops::context::Context;
use crate::ops::create::options::{DedupPolicy, ResolvedOptions};
use crate::ops::create::outcome::{CreateCounts, CreateOutcome, Skipped};
use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::store::trees::meta_tree::{self, Extras};

/// Returns the newest checkpoint if it can be reused; a safety checkpoint never is.
pub fn reusable(
    context: &Context,
    session: &Session<'_>,
    captured: &CapturedScope,
    resolved: &ResolvedOptions,
    policy: DedupPolicy,
) -> Result<Option<Checkpoint>> {
    let Some(newest) = session
        .locked
        .inventory()
        .newest()
        .filter(|c| !c.is_safety())
    else {
        return Ok(None);
    };
    let record = &newest.record;
    let age_ms = context.now_ms.saturating_sub(record.time_ms);
    let is_named_alike = record.reason == resolved.reason && record.source == resolved.source;
    let may_reuse = match policy {
        DedupPolicy::Recent => {
            is_named_alike && (0..context.settings.dedup_window_ms).contains(&age_ms)
        }
        DedupPolicy::Always => true,
        DedupPolicy::SameState => record.terms.scope.is_none() && record.terms.expiry.is_none(),
        DedupPolicy::Never => false,
    };
    let is_alike = policy == DedupPolicy::SameState || record.terms == resolved.terms;
    if !may_reuse || newest.tree != captured.captured.tree || !is_alike {
        return Ok(None);
    }
    let meta = meta_tree::id_of(&captured.captured.meta, &captured.extras);
    let meta = meta.map_err(|e| Error::unexpected(e.to_string()))?;
    let is_same = newest.meta == meta
        || (record.provenance.event.is_some() && has_equal_meta(session, newest, captured)?);
    Ok(is_same.then(|| newest.clone()))
}

/// Whether a checkpoint holds the captured meta, whatever prompt it names.
fn has_equal_meta(
    session: &Session<'_>,
    newest: &Checkpoint,
    captured: &CapturedScope,
) -> Result<bool> {
    let held = session.locked.store().meta_and_extras(newest)?;
    let extras = Extras {
        prompt: None,
        ..held.extras
    };
    Ok(held.meta == captured.captured.meta && extras == captured.extras)
}

/// Returns the outcome of a `create` for which an identical checkpoint was reused.
pub fn reuse(
    newest: Checkpoint,
    captured: Captured,
    reason: String,
    mut warnings: Vec<Warning>,
) -> CreateOutcome {
    warnings.extend(captured.warnings.iter().cloned());
    warnings.push(Warning::Dedup {
        existing: newest.id,
        reason: newest.record.reason.clone(),
    });
    CreateOutcome {
        counts: CreateCounts::of(&captured),
        checkpoint: Some(newest),
        left_out: LeftOut::of(&captured.listing),
        meta: captured.meta,
        ..CreateOutcome::skipped(reason, Skipped::Dedup, warnings)
    }
}
