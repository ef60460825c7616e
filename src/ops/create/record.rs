//! Records what was captured; then what follows the commit point: eviction by policy, derived files and
//! counts against the baseline.

use crate::base::WorkPhase;
use crate::error::{Error, Result};
use crate::model::checkpoint::retention;
use crate::model::difference::retain_covered;
use crate::model::{
    ChangeCounts, Checkpoint, CheckpointKind, Coverage, Evicted, EvictionReason, Line, Moment,
    ObjectId, Operation, Policy, PolicyChange, Provenance, Record, RelPath,
};
use crate::ops::maintain::moved;
use crate::ops::restore::companions::{self, IN_USE};
use crate::ops::{
    Captured, CapturedScope, Context, CreateCounts, CreateOptions, CreateOutcome, LeftOut, Moved,
    Pending, Session, Warning, session,
};
use crate::store::trees::digest;
use crate::store::{
    Basis, Inventory, LockedStore, NewCheckpoint, ObjectKind, PackSet, Store, Sum, TreeMemo,
};

/// Records the capture in `pack`, then applies retention and updates derived files.
///
/// # Errors
/// The checkpoint cannot be recorded, or a scoped one cannot be read back. What follows the record
/// only warns.
pub fn record<'s>(
    context: &Context,
    session: &mut Session<'s>,
    mut pack: PackSet<'s>,
    gathered: CapturedScope,
    options: &CreateOptions,
    mut warnings: Vec<Warning>,
) -> Result<CreateOutcome> {
    let CapturedScope {
        captured,
        mut extras,
    } = gathered;
    if let Some(prompt) = &options.prompt {
        // The text of the prompt is no part of the state.
        extras.prompt = Some(pack.add(ObjectKind::Blob, prompt.as_bytes())?);
    }
    let record = new_record(context, session, &captured, options, &mut warnings)?;
    context.progress.begin(WorkPhase::Flushing, 0, 0);
    let before = session.locked.inventory().checkpoints.baseline().cloned();
    let new = NewCheckpoint {
        pack,
        tree: captured.tree,
        meta: captured.meta.clone(),
        extras,
        record,
    };
    let checkpoint = session.locked.record(new, &mut |_| Ok(()))?;
    let sum = checkpoint
        .is_scoped()
        .then(|| read_back(session.locked.store(), &checkpoint))
        .transpose()?;
    warnings.extend(captured.warnings.iter().cloned());
    let counts = count_changes(
        session.locked.store(),
        before.as_ref(),
        &checkpoint,
        &captured,
        &mut warnings,
    );
    let (left_out, left_out_told) =
        note_left_out(context, session, &checkpoint, &captured, &mut warnings);
    let change = PolicyChange {
        keep: options.keep,
        ..PolicyChange::default()
    };
    let policy = context.settings.keep.overruled(&change);
    let evicted = apply_retention(
        context,
        &mut session.locked,
        Some(policy),
        session.pending.as_ref(),
        &captured,
        &mut warnings,
    );
    Ok(CreateOutcome {
        checkpoint: Some(checkpoint),
        requested_reason: options.reason.clone(),
        counts,
        left_out,
        left_out_told,
        meta: captured.meta,
        evicted,
        content: sum,
        warnings,
        ..CreateOutcome::default()
    })
}

/// Returns what was left out, and whether that differs from what was noted; notes it, with the
/// databases in use, with one warning for each.
fn note_left_out(
    context: &Context,
    session: &mut Session<'_>,
    checkpoint: &Checkpoint,
    captured: &Captured,
    warnings: &mut Vec<Warning>,
) -> (LeftOut, bool) {
    let left_out = LeftOut::of(&captured.listing);
    let noted = session.locked.store().left_out();
    let lines = noted.as_deref().unwrap_or_default().split_inclusive('\n');
    let (mut told, known): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with(IN_USE));
    let is_other = noted.is_none() || known.concat() != left_out.to_text(&RelPath::to_string);
    let mut in_use = companions::in_use(&context.root, &captured.listing);
    let line = |path: &RelPath| format!("{IN_USE}{path}\n");
    in_use.retain(|path| !told.contains(&&*line(path)));
    let new: Vec<String> = in_use.iter().map(line).collect();
    told.extend(new.iter().map(String::as_str));
    // The report on a scope is incomplete, so it is shown each time and not saved for comparison.
    if (is_other || !new.is_empty()) && !checkpoint.is_scoped() {
        let text = left_out.to_text(&RelPath::to_string) + &told.concat();
        let written = session.locked.write_left_out(&text);
        let failed = Warning::bookkeeping("noting what was left out");
        warnings.extend(written.err().map(failed));
    }
    warnings.extend(
        in_use
            .into_iter()
            .map(|path| Warning::DatabaseInUse { path }),
    );
    (left_out, is_other)
}

/// Makes the record; for a store's first checkpoint, checks whether the directory was moved here.
fn new_record(
    context: &Context,
    session: &Session<'_>,
    captured: &Captured,
    options: &CreateOptions,
    warnings: &mut Vec<Warning>,
) -> Result<Record> {
    let (reason, source) = (options.reason.clone(), options.source.clone());
    let is_whole = options.terms.scope.is_none();
    let mut record = record_of(context, captured, CheckpointKind::Regular, reason, source);
    record.terms = options.terms.clone();
    record.during_pending = session.pending.is_some();
    if let Some(provenance) = &options.provenance {
        record.provenance = provenance.clone().checked();
    }
    if !is_whole {
        record.coverage = Coverage::Scoped;
    }
    if session.locked.inventory().is_empty() {
        let moved = moved::find_moved_stores(context, &mut |newest| {
            Ok(is_whole && newest.tree == captured.tree)
        })?;
        // The history of the old location may be put in front of this one later.
        let next = moved.iter().map(|moved| moved.last_sequence + 1);
        record.sequence = next.max().unwrap_or_default();
        warnings.extend(moved.iter().map(Moved::warning));
    }
    Ok(record)
}

/// Returns the record of a safety checkpoint, taken before `operation`.
pub fn safety_record(
    context: &Context,
    captured: &Captured,
    operation: Operation,
    pending: bool,
) -> Record {
    let reason = if operation.paths.is_empty() && operation.filter.is_empty() {
        "pre-restore-safety"
    } else {
        "pre-restore-safety-file"
    };
    Record {
        operation: Some(operation),
        during_pending: pending,
        ..record_of(
            context,
            captured,
            CheckpointKind::Safety,
            reason.to_owned(),
            "checkpoint".to_owned(),
        )
    }
}

/// Returns the record of a whole directory, without terms.
fn record_of(
    context: &Context,
    captured: &Captured,
    kind: CheckpointKind,
    reason: String,
    source: String,
) -> Record {
    let agent = context.environment.agent.clone();
    let provenance = agent.map_or_else(Provenance::default, |agent| Provenance {
        agent: Some(agent.name.to_owned()),
        session: agent.session,
        ..Provenance::default()
    });
    Record {
        time_ms: context.now_ms,
        kind,
        coverage: if captured.listing.is_complete() {
            Coverage::Complete
        } else {
            Coverage::Partial
        },
        files: captured.listing.file_count() as u64,
        content_bytes: captured.listing.content_bytes(),
        reason,
        source,
        provenance: provenance.checked(),
        ..Record::default()
    }
}

/// Reads the checkpoint back, because the caller is about to rely on it.
fn read_back(store: &Store, checkpoint: &Checkpoint) -> Result<Sum> {
    let (snapshot, extras) = (store.snapshot(checkpoint)?, store.extras(checkpoint)?);
    let sum = digest::sum(store.objects(), &snapshot, &extras);
    sum.map_err(|why| {
        let short = checkpoint.id.short();
        let what = format!("checkpoint {short}, read back right after it was made,");
        Error::damaged(what, why)
    })
}

/// Counts what was captured, and what changed against the baseline.
fn count_changes(
    store: &Store,
    before: Option<&Checkpoint>,
    after: &Checkpoint,
    captured: &Captured,
    warnings: &mut Vec<Warning>,
) -> CreateCounts {
    let mut counts = CreateCounts::of(captured);
    let Some(before) = before else {
        return CreateCounts {
            added: after.record.files,
            ..counts
        };
    };
    if !after.is_scoped() && after.record.files == 0 && before.record.files > 0 {
        warnings.push(Warning::EmptyAfterFiles);
    }
    match TreeMemo::new(store.objects()).diff(Some(before.tree), Some(after.tree), &|_| true) {
        Ok(mut changes) => {
            let added = store.add_mode_changes(before, after, &mut changes);
            warnings.extend(
                added
                    .err()
                    .map(Warning::bookkeeping("comparing it with the baseline")),
            );
            retain_covered(&mut changes, &[], after, &captured.meta);
            let found = ChangeCounts::of(&changes);
            counts.added = found.added as u64;
            counts.modified = found.modified as u64;
            counts.deleted = found.deleted as u64;
        }
        Err(why) => warnings.push(Warning::bookkeeping("comparing it with the baseline")(why)),
    }
    counts
}

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
    let stays = known.is_some_and(|cache| holds(&cache.head.basis));
    let basis = Basis {
        checkpoint: newest.id,
        restored: seen.restored,
        packs: locked.store().objects().packs(),
        rules: seen.rules,
    };
    let watched = &seen.watched;
    locked.save_stat_cache((basis, watched.note.clone()), listing, (known, stays))?;
    if let Some(path) = &watched.missed {
        locked.write_monitor_off(&format!("watchman did not name {path}\n"))?;
    }
    Ok(())
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
