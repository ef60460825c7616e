//! Housekeeping after a `create`: enforces the limit on the store's size, then merges a few packs
//! within a time bound.

use crate::model::ObjectId;
use crate::ops::maintain::size_limit;
use crate::ops::{Context, Session, Warning};
use crate::store::{Effort, ObjectIds, Store};

/// Number of packs above which a `create` merges some, after it has printed its id.
const MANY_PACKS: usize = 50;
/// How many checkpoints pass before the next merge: finding the live objects takes longer than a
/// small `create`.
const CHECKPOINTS_PER_MERGE: usize = 8;

/// `out_of_time` is polled between steps.
pub fn auto_gc(
    context: &Context,
    session: &mut Session<'_>,
    out_of_time: &dyn Fn() -> bool,
) -> Vec<Warning> {
    if !session.locked.inventory().damaged.is_empty() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    if let Some(limit_bytes) = context.settings.max_store_size_bytes {
        match size_limit::shrink_to_limit(session, limit_bytes) {
            Ok(told) => warnings.extend(told),
            Err(e) => warnings.push(Warning::bookkeeping("keeping to max_store_size")(e)),
        }
    }
    warnings.extend(merge_a_few(session, out_of_time));
    warnings
}

/// Whether there are so many packs that some should be merged.
pub fn has_many_packs(store: &Store) -> bool {
    store.objects().packs().len() > MANY_PACKS
}

/// Whether there are many packs, and enough checkpoints were made since the last merge.
fn is_due(session: &Session<'_>) -> bool {
    let store = session.locked.store();
    let is_new = |last: ObjectId| {
        let mut newest = session
            .locked
            .inventory()
            .checkpoints
            .rev()
            .take(CHECKPOINTS_PER_MERGE);
        newest.any(|checkpoint| checkpoint.id == last)
    };
    has_many_packs(store) && !store.last_gc().is_some_and(is_new)
}

/// Drops dead packs and merges a few small ones.
fn merge_a_few(session: &Session<'_>, out_of_time: &dyn Fn() -> bool) -> Option<Warning> {
    if out_of_time() || !is_due(session) {
        return None;
    }
    // Noted even if the merge fails; otherwise each `create` would retry it.
    if let Some(newest) = session.locked.inventory().newest() {
        session.locked.note_gc(newest.id);
    }
    let live = session.locked.live(&ObjectIds::default());
    let merged = live.and_then(|live| session.locked.sweep(&live, Effort::Cheap, out_of_time));
    merged.err().map(Warning::bookkeeping("tidying up packs"))
}
