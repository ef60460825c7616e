//! `prune`: applies retention, frees the space of unreachable objects and merges packs.

use std::collections::{HashMap, HashSet};

use crate::base::json::{JsonSchema, Serialize};
use crate::base::{WorkPhase, read_regular};
use crate::error::Result;
use crate::model::checkpoint::manifest;
use crate::model::checkpoint::retention::{self, RetentionPlan};
use crate::model::{Checkpoint, Evicted, KeepReason, Line, ObjectId, Policy, PolicyChange};
use crate::ops::create::record::{drop_planned, is_before_tool, named};
use crate::ops::maintain::delete::{clear_leftovers, refuse_damage};
use crate::ops::maintain::size_limit;
use crate::ops::{Context, Pending, Session, Warning, session};
use crate::store::damage::unindexed_packs;
use crate::store::gc::disk_usage::bytes_below;
use crate::store::gc::{deltas, reach, repack_plan};
use crate::store::{Effort, Inventory, ObjectIds, Reach, Store};

/// Milliseconds for which plain git's index in a store is left alone: a user may be between `add`
/// and `commit`.
const GIT_INDEX_REST_MS: i64 = 3_600_000;

/// A checkpoint that stays, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Retained {
    pub checkpoint: Checkpoint,
    /// The rules that keep it.
    pub rules: Vec<KeepReason>,
}

/// What `prune` dropped, and the space that it freed.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct PruneOutcome {
    /// Whether there is a store for this root.
    #[serde(skip)]
    pub exists: bool,
    #[serde(rename = "dropped")]
    pub evicted: Vec<Evicted>,
    /// Those that stay, newest first.
    pub kept: Vec<Retained>,
    /// Rows of the manifest without a checkpoint that were removed.
    pub rows_removed: usize,
    #[serde(rename = "before_bytes")]
    pub bytes_before: u64,
    #[serde(rename = "after_bytes")]
    pub bytes_after: u64,
    pub packs_before: usize,
    pub packs_after: usize,
    pub dry_run: bool,
    /// Of a dry run: what goes without that anything has to be written first.
    #[serde(skip)]
    pub whole_pack_bytes: u64,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// Returns what a prune would drop by `change` that the configured policy keeps.
///
/// # Errors
/// The store cannot be read.
pub fn beyond(context: &Context, change: &PolicyChange) -> Result<Vec<Evicted>> {
    let configured = context.settings.keep;
    let asked = configured.overruled(change);
    let Some(store) = context.find_store()?.filter(|_| asked != configured) else {
        return Ok(Vec::new());
    };
    let inventory = store.inventory()?;
    let line = &inventory.checkpoints;
    let pending = session::pending_unlocked(&store, line)?;
    let needed = session::needed(context, &store, pending.as_ref());
    let plan = |policy| retention::plan_prune(line, policy, context.now_ms, &needed);
    let usual: HashSet<ObjectId> = plan(&configured).ids().collect();
    let mut beyond = plan(&asked).evict;
    beyond.retain(|(id, _)| !usual.contains(id));
    Ok(named(&inventory, &beyond))
}

/// What one call keeps.
#[derive(Clone, Debug, Default)]
pub struct KeepOptions {
    /// Changes of the configured policy.
    pub change: PolicyChange,
    /// The checkpoints that may go although the configured policy keeps them; `None`: all.
    pub agreed: Option<Vec<ObjectId>>,
}

pub fn prune(context: &Context, keep: &KeepOptions, dry_run: bool) -> Result<PruneOutcome> {
    let Some(store) = context.find_store()? else {
        return Ok(PruneOutcome::default());
    };
    if dry_run {
        return preview(context, &store, keep);
    }
    let leftovers = clear_leftovers(store.dir());
    let rows_before = rows(&store);
    let bytes_before = bytes_below(store.dir());
    let mut session = session::begin(context, &store)?;
    rebuild_indexes_and_drop_pins(&mut session)?;
    refuse_damage(&mut session)?;
    session
        .locked
        .drop_old_git_index(context.now_ms - GIT_INDEX_REST_MS)?;
    let (plan, _) = plan(
        context,
        &store,
        &session.locked.inventory().checkpoints,
        session.pending.as_ref(),
        keep,
    )?;
    let retained_now = retained(session.locked.inventory(), &plan);
    let (evicted, live) = evict(&mut session, &plan)?;
    context.progress.begin(WorkPhase::Packing, 0, 0);
    let limit = context.settings.max_store_size_bytes;
    let swept = size_limit::sweep_to_fit(&session, &live, limit)?;
    let mut warnings = session.warnings;
    warnings.extend(swept.no_space.map(Warning::not_freed));
    warnings.extend(size_limit::warning(&store, limit));
    warnings.extend(leftovers.err().map(Warning::bookkeeping(
        "removing what an earlier deletion left",
    )));
    let kept = session.locked.inventory().checkpoints.regular_count();
    let keep = context.settings.keep.overruled(&keep.change).last;
    warnings.extend(plan.over_keep.then_some(Warning::OverKeep { keep, kept }));
    Ok(PruneOutcome {
        exists: true,
        rows_removed: rows_before.saturating_sub(rows(&store)),
        evicted,
        kept: retained_now,
        bytes_before,
        bytes_after: bytes_below(store.dir()),
        packs_before: swept.packs_before,
        packs_after: swept.packs_after,
        warnings,
        ..PruneOutcome::default()
    })
}

/// Plans what expiry, `keep` and the size limit drop; also returns the warning if that does not
/// suffice for the limit.
///
/// # Errors
/// The store is over its size limit, and a tree that stays cannot be read.
fn plan(
    context: &Context,
    store: &Store,
    checkpoints: &Line,
    pending: Option<&Pending>,
    keep: &KeepOptions,
) -> Result<(RetentionPlan, Option<Warning>)> {
    let needed = session::needed(context, store, pending);
    let plan_by =
        |policy: &Policy| retention::plan_prune(checkpoints, policy, context.now_ms, &needed);
    let mut plan = plan_by(&context.settings.keep.overruled(&keep.change));
    plan.evict_first(&is_before_tool(checkpoints));
    if let Some(agreed) = &keep.agreed {
        let usual = plan_by(&context.settings.keep);
        let allowed: HashSet<ObjectId> = usual.ids().chain(agreed.iter().copied()).collect();
        plan.evict.retain(|(id, _)| allowed.contains(id));
    }
    let limit = context
        .settings
        .max_store_size_bytes
        .filter(|limit| bytes_below(store.dir()) > *limit);
    let Some(limit_bytes) = limit else {
        return Ok((plan, None));
    };
    let gone = plan.ids().collect();
    let for_size = size_limit::plan(context, store, checkpoints, &gone, pending, limit_bytes)?;
    let too_large: Vec<ObjectId> = for_size.evict.iter().map(|(id, _)| *id).collect();
    plan.kept.retain(|(id, _)| !too_large.contains(id));
    plan.evict.extend(for_size.evict);
    let needed_bytes = for_size.needed_bytes;
    let warning = (needed_bytes > limit_bytes).then_some(Warning::OverMaxStoreSize {
        limit_bytes,
        needed_bytes,
    });
    Ok((plan, warning))
}

/// Evicts the planned checkpoints; everything that stays must be readable before. Returns it too.
fn evict<'s>(session: &mut Session<'s>, plan: &RetentionPlan) -> Result<(Vec<Evicted>, Reach<'s>)> {
    let store = session.locked.store();
    let mut reach = session.locked.live(&plan.ids().collect())?;
    let evicted = drop_planned(&mut session.locked, &plan.evict)?;
    if !evicted.is_empty() {
        session.locked.flush_drops()?;
    }
    // Plain git may have made a ref meanwhile: it does not take our lock.
    reach::extend(store, &ObjectIds::default(), &mut reach)?;
    Ok((evicted, reach))
}

/// Rebuilds damaged pack indexes and drops lost pins; checking this on every `create` would cost
/// too much.
fn rebuild_indexes_and_drop_pins(session: &mut Session<'_>) -> Result<()> {
    let count = unindexed_packs::write_indexes(session.locked.store().objects())?;
    session
        .warnings
        .extend((count > 0).then_some(Warning::IndexesRebuilt { packs: count }));
    session.locked.drop_lost_pins()
}

/// Computes what a prune would drop. Freed bytes count whole packs only; merging may free more.
fn preview(context: &Context, store: &Store, keep: &KeepOptions) -> Result<PruneOutcome> {
    let inventory = store.inventory()?;
    let pending = session::pending_unlocked(store, &inventory.checkpoints)?;
    let (plan, over_limit) = plan(
        context,
        store,
        &inventory.checkpoints,
        pending.as_ref(),
        keep,
    )?;
    let live = reach::live(store, &plan.ids().collect())?;
    let of_deltas = deltas::packs(store.layout());
    let room = repack_plan::survey(store.objects(), &live.met, &of_deltas)?.facts();
    let stays = repack_plan::plan(&room, Effort::Usual).keeps_all_packs();
    let dead_bytes: u64 = room
        .iter()
        .filter(|_| !stays)
        .map(|facts| facts.total_bytes - facts.live_bytes)
        .sum();
    let bytes_before = bytes_below(store.dir());
    let gone: HashSet<ObjectId> = plan.ids().collect();
    let stay = inventory.checkpoints.iter();
    let kept = stay
        .filter(|c| !c.is_safety() && !gone.contains(&c.id))
        .count();
    let keep = context.settings.keep.overruled(&keep.change).last;
    let over_keep = plan.over_keep.then_some(Warning::OverKeep { keep, kept });
    Ok(PruneOutcome {
        exists: true,
        rows_removed: plan.evict.len(),
        evicted: named(&inventory, &plan.evict),
        kept: retained(&inventory, &plan),
        bytes_before,
        bytes_after: bytes_before.saturating_sub(dead_bytes),
        packs_before: room.len(),
        packs_after: room.iter().filter(|facts| facts.live_objects > 0).count(),
        dry_run: true,
        whole_pack_bytes: (room.iter())
            .filter(|facts| facts.live_objects == 0)
            .map(|facts| facts.total_bytes)
            .sum(),
        warnings: Warning::damaged(&inventory.damaged)
            .into_iter()
            .chain(over_limit)
            .chain(Warning::refused_now(store))
            .chain(over_keep)
            .chain(pending.map(|pending| pending.warning()))
            .collect(),
    })
}

fn retained(inventory: &Inventory, plan: &RetentionPlan) -> Vec<Retained> {
    let known: HashMap<ObjectId, &Checkpoint> =
        inventory.checkpoints.iter().map(|c| (c.id, c)).collect();
    let retained = |(id, why): &(ObjectId, Vec<KeepReason>)| {
        let checkpoint = (*known.get(id)?).clone();
        let rules = why.clone();
        Some(Retained { checkpoint, rules })
    };
    plan.kept.iter().rev().filter_map(retained).collect()
}

fn rows(store: &Store) -> usize {
    let text = read_regular::read(&store.layout().manifest()).unwrap_or_default();
    manifest::ids(&String::from_utf8_lossy(&text)).len()
}
