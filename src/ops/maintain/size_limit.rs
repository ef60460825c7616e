//! Space in the store after a `create`: `max_store_size`, for which checkpoints are chosen to be evicted
//! until the store fits, and a few packs that are merged within a time bound.

use crate::error::Result;
use crate::model::checkpoint::retention::{self, SizePlan};
use crate::model::{Checkpoint, Evicted, Line, ObjectId};
use crate::ops::create::record::drop_planned;
use crate::ops::{Context, Pending, Session, Warning, session};
use crate::store::gc::disk_usage::{DiskUsage, bytes_below};
use crate::store::gc::repack::RepackOutcome;
use crate::store::{Effort, ObjectIds, Reach, Store};

/// A sweep pays off if dead bytes exceed one part in this many of the needed bytes.
const WORTH_A_SWEEP: u64 = 8;

/// Plans the eviction, apart from checkpoints that are `gone` anyway; reads every tree of those
/// that stay.
pub fn plan(
    context: &Context,
    store: &Store,
    checkpoints: &Line,
    gone: &ObjectIds,
    pending: Option<&Pending>,
    limit_bytes: u64,
) -> Result<SizePlan> {
    let needed = session::needed(context, store, pending);
    let mut usage = DiskUsage::new(store)?;
    let fixed_bytes = usage.fixed(checkpoints)?;
    let left = checkpoints.iter().filter(|c| !gone.contains(&c.id));
    let left: Vec<Checkpoint> = left.cloned().collect();
    retention::plan_size(
        &Line::from(left),
        context.now_ms,
        &needed,
        limit_bytes,
        fixed_bytes,
        &mut |c| usage.more_for(c),
    )
}

/// Sweeps; if a limit has to be met, as tightly as it takes.
pub fn sweep_to_fit(
    session: &Session<'_>,
    live: &Reach<'_>,
    limit_bytes: Option<u64>,
) -> Result<RepackOutcome> {
    let store = session.locked.store();
    let swept = session.locked.sweep(live, Effort::Usual, &|| false)?;
    if limit_bytes.is_none_or(|limit| bytes_below(store.dir()) <= limit) {
        return Ok(swept);
    }
    let tight = session.locked.sweep(live, Effort::Tight, &|| false)?;
    Ok(RepackOutcome {
        packs_before: swept.packs_before,
        ..tight
    })
}

/// Returns the warning for a store that is still over its limit after eviction.
pub fn warning(store: &Store, limit_bytes: Option<u64>) -> Option<Warning> {
    let (limit_bytes, needed_bytes) = excess(store, limit_bytes)?;
    Some(Warning::OverMaxStoreSize {
        limit_bytes,
        needed_bytes,
    })
}

/// Returns the limit and what the store takes, if that is more.
fn excess(store: &Store, limit_bytes: Option<u64>) -> Option<(u64, u64)> {
    let needed_bytes = bytes_below(store.dir());
    let limit_bytes = limit_bytes.filter(|limit| needed_bytes > *limit)?;
    Some((limit_bytes, needed_bytes))
}

/// Like [`warning`], for a store in which a prune might still free space.
pub fn warning_before_prune(
    context: &Context,
    store: &Store,
    checkpoints: &Line,
    pending: Option<&Pending>,
    limit_bytes: Option<u64>,
) -> Option<Warning> {
    let (limit_bytes, needed_bytes) = excess(store, limit_bytes)?;
    // A prune refuses as well if the trees cannot be read.
    let gone = ObjectIds::default();
    let planned = plan(context, store, checkpoints, &gone, pending, limit_bytes).ok();
    let helps =
        planned.is_some_and(|plan| !plan.evict.is_empty() || plan.needed_bytes <= limit_bytes);
    Some(if helps {
        Warning::PrunableStore {
            limit_bytes,
            needed_bytes,
        }
    } else {
        Warning::OverMaxStoreSize {
            limit_bytes,
            needed_bytes,
        }
    })
}

/// Evicts after a `create` until the store can fit, so that its answer names what went; does
/// nothing unless the packs alone exceed the limit.
pub fn evict_to_limit(context: &Context, session: &mut Session<'_>) -> Result<Vec<Evicted>> {
    let Some(limit_bytes) = context.settings.max_store_size_bytes else {
        return Ok(Vec::new());
    };
    let store = session.locked.store();
    store.objects().refresh()?;
    if packed_bytes(store) <= limit_bytes {
        return Ok(Vec::new());
    }
    let inventory = session.locked.inventory();
    if !inventory.damaged.is_empty() {
        return Ok(Vec::new());
    }
    let plan = plan(
        context,
        store,
        &inventory.checkpoints,
        &ObjectIds::default(),
        session.pending.as_ref(),
        limit_bytes,
    )?;
    session.needed_bytes = Some(plan.needed_bytes);
    drop_planned(&mut session.locked, &plan.evict)
}

/// Frees the space of what [`evict_to_limit`] evicted, or of much else that is dead.
pub fn shrink_to_limit(session: &Session<'_>, limit_bytes: u64) -> Result<Option<Warning>> {
    let Some(needed_bytes) = session.needed_bytes else {
        return Ok(None);
    };
    let store = session.locked.store();
    let is_worth = packed_bytes(store) > needed_bytes + needed_bytes / WORTH_A_SWEEP;
    if needed_bytes <= limit_bytes || is_worth {
        sweep_to_fit(
            session,
            &session.locked.live(&ObjectIds::default())?,
            Some(limit_bytes),
        )?;
    }
    Ok(warning(store, Some(limit_bytes)))
}

fn packed_bytes(store: &Store) -> u64 {
    let packs = store.objects().packs();
    packs.iter().map(|pack| pack.size_bytes).sum()
}

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
        match shrink_to_limit(session, limit_bytes) {
            Ok(told) => warnings.extend(told),
            Err(e) => warnings.push(Warning::bookkeeping("keeping to max_store_size")(e)),
        }
    }
    warnings.extend(merge_a_few(session, out_of_time));
    warnings
}

/// Whether some packs should be merged, as there are too many.
pub fn has_many_packs(store: &Store) -> bool {
    store.objects().packs().len() > MANY_PACKS
}

/// Whether there are many packs, and enough checkpoints were made since the last merge.
fn is_due(session: &Session<'_>) -> bool {
    let store = session.locked.store();
    let is_new = |last: ObjectId| {
        let checkpoints = &session.locked.inventory().checkpoints;
        let mut newest = checkpoints.rev().take(CHECKPOINTS_PER_MERGE);
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
