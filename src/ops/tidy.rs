//! The housekeeping at the end of a `create`: the limit on the store's size, then the cheap part of a prune, bounded in time.

use crate::ops::context::Context;
use crate::ops::session::Session;
use crate::ops::size_limit;
use crate::ops::warning::Warning;
use crate::store::{ObjectIds, Store, mark};

/// Packs above which a `create` tidies up after its id was printed.
const MANY_PACKS: usize = 50;
/// So many more packs are made before it does so again, if there is something to merge.
const NOT_FOR_PACKS: usize = 8;

/// Works on the lock that `create` holds. `out_of_time` is asked between steps.
pub fn tidy(context: &Context, session: &mut Session<'_>, out_of_time: &dyn Fn() -> bool) -> Vec<Warning> {
    if !session.locked.inventory().damaged.is_empty() {
        return Vec::new();
    }
    let mut warnings = Vec::new();
    if let Some(limit_bytes) = context.settings.max_store_size_bytes {
        match size_limit::keep_to_limit(session, limit_bytes) {
            Ok(told) => warnings.extend(told),
            Err(e) => warnings.push(Warning::bookkeeping("keeping to max_store_size")(e)),
        }
    }
    warnings.extend(merge_a_few(session, out_of_time));
    warnings
}

/// Whether there are many packs, and more than the last tidying up found nothing to do for.
fn is_due(store: &Store) -> bool {
    let packs = store.objects().packs().len();
    let left = store.packs_left_by_tidying();
    packs > MANY_PACKS && !(left..left.saturating_add(NOT_FOR_PACKS)).contains(&packs)
}

/// Drops dead packs and merges a few small ones.
fn merge_a_few(session: &Session<'_>, out_of_time: &dyn Fn() -> bool) -> Option<Warning> {
    let store = session.locked.store();
    if out_of_time() || !is_due(store) {
        return None;
    }
    let tidied = mark::live(store, &ObjectIds::default())
        .and_then(|live| session.locked.sweep_cheaply(&live, MANY_PACKS - NOT_FOR_PACKS, out_of_time));
    tidied.err().map(Warning::bookkeeping("tidying up packs"))
}
