//! What follows a new checkpoint: eviction by policy, the manifest, the stat cache.

use crate::error::Result;
use crate::model::checkpoint::retention::{self, EvictionReason};
use crate::model::state::object_id::ObjectId;
use crate::ops::capture::pipeline::Captured;
use crate::ops::context::Context;
use crate::ops::session::{self, Pending};
use crate::ops::warning::Warning;
use crate::store::locked::LockedStore;
use crate::store::refs::inventory::Inventory;
use crate::store::small_files::stat_cache::{self, Basis};

/// A checkpoint that a policy dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    pub id: ObjectId,
    pub reason: String,
    pub why: EvictionReason,
}

/// What follows the commit point: eviction, `main`, manifest, stat cache. Failures undo nothing.
pub fn apply_retention(
    context: &Context,
    locked: &mut LockedStore<'_>,
    keep: usize,
    pending: Option<&Pending>,
    captured: &Captured,
    warnings: &mut Vec<Warning>,
) -> Vec<Evicted> {
    let evicted = match evict(context, locked, keep, pending) {
        Ok(evicted) => evicted,
        Err(e) => {
            warnings.push(Warning::bookkeeping("evicting old checkpoints")(e));
            Vec::new()
        }
    };
    if let Err(e) = locked.write_derived() {
        warnings.push(Warning::bookkeeping("writing the manifest")(e));
    }
    if let Err(e) = locked.pack_refs() {
        warnings.push(Warning::bookkeeping("packing refs")(e));
    }
    if let Err(e) = save_stat_cache(locked, captured) {
        warnings.push(Warning::bookkeeping("writing the stat cache")(e));
    }
    evicted
}

/// Writes the stat cache for the next scan, unless an equal one exists and its checkpoint stays.
fn save_stat_cache(locked: &LockedStore<'_>, captured: &Captured) -> Result<()> {
    let Captured {
        listing,
        seen: Some(seen),
        ..
    } = captured
    else {
        return Ok(());
    };
    let Some(newest) = locked.inventory().newest() else {
        return Ok(());
    };
    let known = seen.cache.as_ref().filter(|_| seen.trusted);
    let stays = |id: ObjectId| locked.inventory().checkpoints.holds(id);
    if let Some(cache) =
        known.filter(|cache| stays(cache.checkpoint()) && cache.restored().is_none_or(stays))
        && stat_cache::matches_listing(cache, listing, seen.rules)
    {
        return Ok(());
    }
    let packs = locked.store().objects().packs();
    locked.save_stat_cache(
        Basis {
            checkpoint: newest.id,
            restored: seen.restored,
            packs,
            rules: seen.rules,
        },
        listing,
        known,
    )
}

/// Evicts by policy. The objects go with the next prune.
fn evict(
    context: &Context,
    locked: &mut LockedStore<'_>,
    keep: usize,
    pending: Option<&Pending>,
) -> Result<Vec<Evicted>> {
    let needed = session::needed(context, locked.store(), pending);
    let plan = retention::plan_of_line(&locked.inventory().checkpoints, keep, &needed).evict;
    drop_planned(locked, &plan)
}

/// Drops the planned checkpoints; returns them with their reasons.
pub fn drop_planned(
    locked: &mut LockedStore<'_>,
    plan: &[(ObjectId, EvictionReason)],
) -> Result<Vec<Evicted>> {
    let evicted = named(locked.inventory(), plan);
    let ids: Vec<ObjectId> = evicted.iter().map(|gone| gone.id).collect();
    locked.evict_checkpoints(&ids)?;
    Ok(evicted)
}

/// Returns the planned checkpoints with their reasons.
pub fn named(inventory: &Inventory, plan: &[(ObjectId, EvictionReason)]) -> Vec<Evicted> {
    let named = |&(id, why): &(ObjectId, EvictionReason)| Evicted {
        id,
        reason: inventory
            .get(id)
            .map(|c| c.record.reason.clone())
            .unwrap_or_default(),
        why,
    };
    plan.iter().map(named).collect()
}
