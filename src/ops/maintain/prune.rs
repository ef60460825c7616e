//! `prune`: applies retention, frees the space of unreachable objects and merges packs.

use crate::base::progress::WorkPhase;
use crate::error::{Error, Result};
use crate::model::checkpoint::manifest;
use crate::model::checkpoint::retention::{self, EvictionPlan};
use crate::model::state::object_id::ObjectId;
use crate::ops::context::Context;
use crate::ops::create::apply_retention::{Evicted, drop_planned};
use crate::ops::maintain::delete::refuse_damage;
use crate::ops::maintain::delete_store::clear_leftovers;
use crate::ops::maintain::size_limit;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::store::gc::reach::Reach;
use crate::store::gc::usage::bytes_below;
use crate::store::gc::{blob_versions, mark, pack_usage};
use crate::store::objects::id_set::ObjectIds;
use crate::store::repository::Store;

/// Milliseconds for which plain git's index in a store is left alone: a user may be between `add` and `commit`.
const GIT_INDEX_REST_MS: i64 = 3_600_000;

#[derive(Clone, Copy, Debug, Default)]
pub struct PruneOptions {
    pub dry_run: bool,
    pub keep: Option<usize>,
}

#[derive(Debug, Default)]
pub struct PruneOutcome {
    /// Whether there is a store for this root.
    pub exists: bool,
    pub evicted: Vec<Evicted>,
    pub rows_removed: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub packs_before: usize,
    pub packs_after: usize,
    pub dry_run: bool,
    pub warnings: Vec<Warning>,
}

impl PruneOutcome {
    pub fn is_nothing(&self) -> bool {
        self.evicted.is_empty() && self.rows_removed == 0 && self.bytes_after >= self.bytes_before
    }
}

pub fn prune(context: &Context, options: PruneOptions) -> Result<PruneOutcome> {
    let Some(store) = context.find_store()? else { return Ok(PruneOutcome::default()) };
    let keep = options.keep.unwrap_or(context.settings.keep);
    if options.dry_run {
        return preview(context, &store, keep);
    }
    let leftovers = clear_leftovers(store.dir());
    let rows_before = rows(&store);
    let bytes_before = bytes_below(store.dir());
    let mut session = session::begin(context, &store)?;
    mend(&mut session)?;
    refuse_damage(&session)?;
    session.locked.drop_old_git_index(context.now_ms - GIT_INDEX_REST_MS)?;
    let limit = context.settings.max_store_size_bytes;
    let (evicted, needed) = evict_all(context, &mut session, keep)?;
    context.progress.begin(WorkPhase::Packing, 0, 0);
    let swept = size_limit::sweep_to_fit(&session, &needed.live, &needed.versions, limit)?;
    let mut warnings = session.warnings;
    warnings.extend(size_limit::warning(&store, limit));
    warnings.extend(leftovers.err().map(Warning::bookkeeping("removing what an earlier deletion left")));
    let kept = session.locked.inventory().checkpoints.iter().filter(|c| !c.is_safety()).count();
    if needed.over_keep {
        warnings.push(Warning::OverKeep { keep, kept });
    }
    Ok(PruneOutcome {
        exists: true,
        rows_removed: rows_before.saturating_sub(rows(&store)),
        evicted,
        bytes_before,
        bytes_after: bytes_below(store.dir()),
        packs_before: swept.packs_before,
        packs_after: swept.packs_after,
        dry_run: false,
        warnings,
    })
}

/// The objects that must stay in the store.
struct Needed {
    live: ObjectIds,
    /// Versions of large files at the same path, and states of workflows; the newest of each line first.
    versions: Vec<Vec<ObjectId>>,
    /// More checkpoints stay than `keep` allows, because they are protected.
    over_keep: bool,
}

/// Evicts what `keep` and the size limit drop; returns that and the live objects.
fn evict_all(context: &Context, session: &mut Session<'_>, keep: usize) -> Result<(Vec<Evicted>, Needed)> {
    let store = session.locked.store();
    let needed = session::needed(context, store, session.pending.as_ref());
    let checkpoints = &session.locked.inventory().checkpoints;
    let EvictionPlan { evict: plan, over_keep } = retention::plan_prune(checkpoints, keep, context.now_ms, &needed);
    let gone: ObjectIds = plan.iter().map(|(id, _)| *id).collect();
    // Everything that stays must be readable before anything is dropped.
    let mut reach = Reach::new(store);
    reach.extend(session.locked.inventory().newest().map(|newest| newest.id).into_iter().collect(), &mut |_| ())?;
    let newest = reach.met.clone();
    mark::extend(store, &gone, &mut reach)?;
    let mut evicted = drop_planned(&mut session.locked, &plan)?;
    if let Some(limit_bytes) = context.settings.max_store_size_bytes {
        let for_size = size_limit::evict_to_fit(context, session, limit_bytes)?;
        if !for_size.is_empty() {
            evicted.extend(for_size);
            reach = Reach::new(store);
        }
    }
    // Plain git may have made a ref meanwhile: it does not take our lock.
    mark::extend(store, &ObjectIds::default(), &mut reach)?;
    let mut versions = versions(session, &reach, &newest)?;
    versions.extend(session.locked.store().workflow_states()?);
    Ok((evicted, Needed { live: reach.met, versions, over_keep }))
}

fn versions(session: &Session<'_>, reach: &Reach<'_>, newest: &ObjectIds) -> Result<Vec<Vec<ObjectId>>> {
    if !blob_versions::may_exist(reach.catalogue(), &reach.met, newest) {
        return Ok(Vec::new());
    }
    let trees: Vec<ObjectId> = session.locked.inventory().checkpoints.iter().rev().map(|c| c.tree).collect();
    let damaged = |why| Error::Damaged { what: "a tree that was just read".into(), why };
    blob_versions::lines(reach.catalogue(), &trees).map_err(damaged)
}

/// Rebuilds damaged pack indexes and drops lost pins; checking this on every `create` would cost too much.
fn mend(session: &mut Session<'_>) -> Result<()> {
    let count = session.locked.mend_indexes()?.len();
    session.warnings.extend((count > 0).then_some(Warning::IndexesRebuilt { count }));
    session.locked.drop_lost_pins()
}

/// Computes what a prune would drop. Freed bytes count whole packs only; merging may free more.
fn preview(context: &Context, store: &Store, keep: usize) -> Result<PruneOutcome> {
    let inventory = store.inventory()?;
    let pending = session::look(store, &inventory.checkpoints)?;
    let needed = session::needed(context, store, pending.as_ref());
    let mut evict = retention::plan_prune(&inventory.checkpoints, keep, context.now_ms, &needed).evict;
    if let Some(limit_bytes) = context.settings.max_store_size_bytes {
        let gone: ObjectIds = evict.iter().map(|(id, _)| *id).collect();
        let left: Vec<_> = inventory.checkpoints.iter().filter(|c| !gone.contains(&c.id)).cloned().collect();
        evict.extend(size_limit::plan(context, store, &left, pending.as_ref(), limit_bytes)?.evict);
    }
    let gone: ObjectIds = evict.iter().map(|(id, _)| *id).collect();
    let live = mark::live(store, &gone)?;
    let room = pack_usage::survey(store.objects(), &live)?.facts();
    let dead_bytes: u64 = room.iter().map(|facts| facts.total_bytes - facts.live_bytes).sum();
    let bytes_before = bytes_below(store.dir());
    let evicted = inventory.checkpoints.iter().filter_map(|c| {
        let (_, why) = evict.iter().find(|(id, _)| *id == c.id)?;
        Some(Evicted { id: c.id, reason: c.record.reason.clone(), why: *why })
    });
    Ok(PruneOutcome {
        exists: true,
        evicted: evicted.collect(),
        rows_removed: gone.len(),
        bytes_before,
        bytes_after: bytes_before.saturating_sub(dead_bytes),
        packs_before: room.len(),
        packs_after: room.iter().filter(|facts| facts.live_objects > 0).count(),
        dry_run: true,
        warnings: Warning::damaged(&inventory.damaged).into_iter().collect(),
    })
}

fn rows(store: &Store) -> usize {
    let text = std::fs::read(store.layout().manifest()).unwrap_or_default();
    manifest::ids(&String::from_utf8_lossy(&text)).len()
}
