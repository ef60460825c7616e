//! What follows a new checkpoint: eviction by policy, the manifest, the stat cache.

use crate::error::Result;
use crate::model::checkpoint::retention;
use crate::model::{Evicted, EvictionReason, Line, Moment, ObjectId, Policy};
use crate::ops::session;
use crate::ops::{Captured, Context, Pending, Warning};
use crate::store::small_files::stat_cache;
use crate::store::{Basis, Inventory, LockedStore};

/// What follows the commit point: eviction by a policy if there is one, `main`, manifest, stat cache.
/// Failures undo nothing.
pub fn apply_retention(
    context: &Context,
    locked: &mut LockedStore<'_>,
    policy: Option<Policy>,
    pending: Option<&Pending>,
    captured: &Captured,
    warnings: &mut Vec<Warning>,
) -> Vec<Evicted> {
    let evicted = match evict(context, locked, policy, pending) {
        Ok(evicted) => evicted,
        Err(e) => {
            warnings.push(Warning::bookkeeping("evicting old checkpoints")(e));
            Vec::new()
        }
    };
    if let Err(e) = locked.write_derived() {
        warnings.push(Warning::bookkeeping("writing the manifest")(e));
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
    let holds = |basis: &Basis| stays(basis.checkpoint) && basis.restored.is_none_or(stays);
    if let Some(cache) = known.filter(|cache| holds(&cache.basis))
        && stat_cache::matches_listing(cache, listing, seen.rules)
    {
        return Ok(());
    }
    let packs = locked.store().objects().packs();
    locked.save_stat_cache(
        &Basis {
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
    policy: Option<Policy>,
    pending: Option<&Pending>,
) -> Result<Vec<Evicted>> {
    let Some(policy) = policy else {
        return Ok(Vec::new());
    };
    let needed = session::needed(context, locked.store(), pending);
    let line = &locked.inventory().checkpoints;
    let mut plan = retention::plan(line, &policy, context.now_ms, &needed);
    plan.evict_first(&is_before_tool(line));
    drop_planned(locked, &plan.evict)
}

/// Returns whether a checkpoint was made before a tool: those before prompts are worth more, since
/// their sessions go back to them.
pub fn is_before_tool(line: &Line) -> impl Fn(ObjectId) -> bool {
    |id| {
        let found = line.find(id);
        found.is_some_and(|found| found.record.provenance.event == Some(Moment::PreTool))
    }
}

/// Drops the planned checkpoints; returns them with their reasons.
pub fn drop_planned(
    locked: &mut LockedStore<'_>,
    plan: &[(ObjectId, EvictionReason)],
) -> Result<Vec<Evicted>> {
    let evicted = named(locked.inventory(), plan);
    let ids: Vec<ObjectId> = evicted.iter().map(|gone| gone.checkpoint.id).collect();
    locked.evict_checkpoints(&ids)?;
    Ok(evicted)
}

/// Returns the planned checkpoints with their reasons.
pub fn named(inventory: &Inventory, plan: &[(ObjectId, EvictionReason)]) -> Vec<Evicted> {
    let named = |&(id, why): &(ObjectId, EvictionReason)| {
        let checkpoint = inventory.get(id)?.clone();
        Some(Evicted { checkpoint, why })
    };
    plan.iter().filter_map(named).collect()
}
