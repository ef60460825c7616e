//! The housekeeping at the end of a `create`: the limit on the store's size, then the cheap part of a prune, bounded in time.

use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::session::{self, Session};
use crate::ops::size_limit;
use crate::ops::warning::Warning;
use crate::store::{ObjectIds, mark};

/// Packs above which a `create` tidies up after its id was printed.
const MANY_PACKS: usize = 50;

/// Packs of transitions are about this large at most. So many may lie about, and so many become one at once: few, so that
/// no single transition is felt.
const TINY_BYTES: u64 = 64 << 10;
const MANY_TINY: usize = 16;
const GATHERED: usize = 12;
/// What was gathered is gathered once more where there are [`MANY_PACKS`].
const GATHERED_BYTES: u64 = 1 << 20;

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

/// What follows a transition of a workflow: the store is locked only where there is something to do.
pub fn tidy_after_transition(context: &Context, out_of_time: &dyn Fn() -> bool) -> Vec<Warning> {
    let tidied = || -> Result<Vec<Warning>> {
        let Some(store) = context.find_store()?.filter(|_| context.settings.auto_prune) else { return Ok(Vec::new()) };
        let packs = store.objects().packs();
        let largest_bytes = if packs.len() > MANY_PACKS { GATHERED_BYTES } else { TINY_BYTES };
        if packs.iter().filter(|pack| pack.size_bytes <= largest_bytes).count() <= MANY_TINY {
            return Ok(Vec::new());
        }
        let session = session::begin(context, &store)?;
        session.locked.gather_small_packs(GATHERED, largest_bytes, out_of_time)?;
        Ok(Vec::new())
    };
    tidied().unwrap_or_else(|e| vec![Warning::bookkeeping("tidying up packs")(e)])
}

/// Drops dead packs and merges a few small ones.
fn merge_a_few(session: &Session<'_>, out_of_time: &dyn Fn() -> bool) -> Option<Warning> {
    let store = session.locked.store();
    if out_of_time() || store.objects().packs().len() <= MANY_PACKS {
        return None;
    }
    let tidied = mark::live(store, &ObjectIds::default())
        .and_then(|live| session.locked.sweep_cheaply(&live, MANY_PACKS, out_of_time));
    tidied.err().map(Warning::bookkeeping("tidying up packs"))
}
