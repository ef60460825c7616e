//! The housekeeping at the end of a `create`: the cheap part of a prune, bounded in time.

use crate::ops::session::Session;
use crate::ops::warning::Warning;
use crate::store::{ObjectIds, mark};

/// Packs above which a `create` tidies up after its id was printed.
const MANY_PACKS: usize = 50;

/// Drops dead packs and merges a few small ones, on the lock that `create` holds. `out_of_time` is asked between steps.
pub fn tidy(session: &Session<'_>, out_of_time: &dyn Fn() -> bool) -> Vec<Warning> {
    let store = session.locked.store();
    if store.objects().packs().len() <= MANY_PACKS || !session.locked.inventory().damaged.is_empty() {
        return Vec::new();
    }
    let tidied = mark::live(store, &ObjectIds::new())
        .and_then(|live| session.locked.sweep_cheaply(&live, MANY_PACKS, out_of_time));
    tidied.err().map(Warning::bookkeeping("tidying up packs")).into_iter().collect()
}
