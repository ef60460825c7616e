//! `create`: captures the working directory and records it.

use crate::error::{Error, Result};
use crate::model::checkpoint::{Checkpoint, CheckpointKind, Coverage, Operation, Record};
use crate::model::meta::Meta;
use crate::model::meta_text;
use crate::model::object_id::ObjectId;
use crate::model::retention::{self, EvictionReason};
use crate::ops::capture::{CaptureOptions, CaptureOutcome, Captured, Sink, capture};
use crate::ops::context::Context;
use crate::ops::left_out::LeftOut;
use crate::ops::session::{self, Pending, Session};
use crate::ops::warning::Warning;
use crate::store::Store;
use crate::store::description::Description;
use crate::store::hash::{ObjectKind, hash_object};
use crate::store::locked::{LockedStore, NewCheckpoint};
use crate::store::size_gate::{self, GateKey};
use crate::store::stat_cache::StatCache;
use crate::store::trees;
use crate::worktree::tree_handle::WorkTree;

/// Longest reason or source, in bytes.
const LONGEST_TEXT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    pub reason: Option<String>,
    pub source: Option<String>,
    pub keep: Option<usize>,
    pub max_files: Option<u64>,
    pub session: Option<String>,
    /// Count again, whatever was decided for this session.
    pub recount: bool,
    /// Take a dangerous root, and any number of files.
    pub force: bool,
    pub include_sensitive: Vec<String>,
}

/// Why no checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    Dedup,
    TooManyFiles,
    Disabled,
}

#[derive(Debug)]
pub struct CreateOutcome {
    /// The new checkpoint, or with dedup the one that stands.
    pub checkpoint: Option<Checkpoint>,
    pub skipped: Option<Skipped>,
    pub requested_reason: String,
    pub counts: Counts,
    pub left_out: LeftOut,
    /// The set of what was left out is new or differs from the last time.
    pub left_out_changed: bool,
    pub meta: Meta,
    pub evicted: Vec<Evicted>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub files: u64,
    pub directories: u64,
    pub content_bytes: u64,
    pub added: u64,
    pub changed: u64,
    pub deleted: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evicted {
    pub id: ObjectId,
    pub reason: String,
    pub why: EvictionReason,
}

pub fn create(context: &Context, options: &CreateOptions) -> Result<CreateOutcome> {
    let reason = checked_text(options.reason.as_deref(), "manual", "reason")?;
    let fallback = context.environment.source.as_deref().filter(|source| !source.trim().is_empty()).unwrap_or("cli");
    let source = checked_text(options.source.as_deref(), fallback, "source")?;
    if context.environment.disabled {
        return Ok(nothing_made(reason, Skipped::Disabled, vec![Warning::Disabled]));
    }
    if !context.root.exists() {
        return Err(Error::RootMissing { root: context.root.path().to_path_buf() });
    }
    let store = open_store(context, options.force)?;
    let mut session = session::begin(context, &store)?;
    let gate = Gate::of(context, &store, options);
    if gate.remembered == Some(true) {
        let warning = Warning::TooManyFiles { limit: gate.limit, largest: Vec::new() };
        return Ok(nothing_made(reason, Skipped::TooManyFiles, with(session.warnings, warning)));
    }
    let _shield = context.interrupt.shield();
    let worktree = WorkTree::open(context.root.path())?;
    let mut pack = session.locked.begin_pack()?;
    let capture_options = CaptureOptions {
        also: &[],
        make_room: &[],
        limit_files: gate.limit_to_count(),
        include_sensitive: &options.include_sensitive,
    };
    match capture(context, Some(&store), &worktree, &capture_options, Sink::Pack(&mut pack))? {
        CaptureOutcome::OverLimit { limit, largest } => {
            gate.remember(&store, true);
            let warning = Warning::TooManyFiles { limit, largest };
            Ok(nothing_made(reason, Skipped::TooManyFiles, with(session.warnings, warning)))
        }
        CaptureOutcome::Done(captured) => {
            gate.remember(&store, false);
            if let Some(outcome) = deduplicated(context, &mut session, &captured, &reason) {
                return Ok(outcome);
            }
            let record = regular_record(context, &session, &captured, reason, source);
            let keep = options.keep.unwrap_or(context.settings.keep);
            finish(&mut session, pack, *captured, record, keep)
        }
    }
}

fn checked_text(given: Option<&str>, default: &str, what: &str) -> Result<String> {
    let text = given.unwrap_or(default).trim();
    if text.is_empty() {
        return Err(Error::Usage { what: format!("the {what} is empty") });
    }
    if text.len() > LONGEST_TEXT {
        return Err(Error::Usage { what: format!("the {what} is longer than {LONGEST_TEXT} bytes") });
    }
    Ok(text.to_owned())
}

fn with(mut warnings: Vec<Warning>, warning: Warning) -> Vec<Warning> {
    warnings.push(warning);
    warnings
}

fn nothing_made(requested_reason: String, skipped: Skipped, warnings: Vec<Warning>) -> CreateOutcome {
    CreateOutcome {
        checkpoint: None,
        skipped: Some(skipped),
        requested_reason,
        counts: Counts::default(),
        left_out: LeftOut::default(),
        left_out_changed: false,
        meta: Meta::default(),
        evicted: Vec::new(),
        warnings,
    }
}

/// Opens or makes the store, unless the root is no place for checkpoints. `force` is needed once: the store remembers.
fn open_store(context: &Context, force: bool) -> Result<Store> {
    let root = &context.root;
    let identity = root.identity().unwrap_or_default();
    let describe = |forced| Description::of_root(root.path(), context.now_ms, identity, forced);
    let dir = context.store_dir()?;
    let Some(why) = root.danger(&context.base, context.environment.home.as_deref()) else {
        return Store::open_or_create(dir, &describe(false));
    };
    let known = Store::open(dir.clone())?.and_then(|store| store.description().ok()?);
    if !force && !known.as_ref().is_some_and(|description| description.forced) {
        return Err(Error::UnsafeRoot { root: root.path().to_path_buf(), why });
    }
    let store = Store::open_or_create(dir, &describe(true))?;
    if known.is_some_and(|description| !description.forced) {
        describe(true).write(store.layout())?;
    }
    Ok(store)
}

/// The size gate for this call.
struct Gate {
    limit: u64,
    force: bool,
    key: Option<GateKey>,
    remembered: Option<bool>,
}

impl Gate {
    fn of(context: &Context, store: &Store, options: &CreateOptions) -> Self {
        let limit = options.max_files.unwrap_or(context.settings.max_files);
        let force = options.force || limit == 0;
        let session = options.session.as_ref().or(context.environment.session.as_ref()).filter(|s| !s.is_empty());
        let key = session.map(|session| {
            let rules = crate::ops::left_out::rules_digest(&store.exclusion_list(), &context.settings);
            GateKey { session: session.clone(), limit, rules }
        });
        let remembered = key.as_ref().filter(|_| !options.recount && !force);
        let remembered = remembered.and_then(|key| size_gate::recall(store.layout(), key));
        Self { limit, force, key, remembered }
    }

    /// A session that began under the limit goes on, whatever has come since.
    fn limit_to_count(&self) -> Option<u64> {
        (!self.force && self.remembered.is_none()).then_some(self.limit)
    }

    fn remember(&self, store: &Store, over: bool) {
        if let Some(key) = self.key.as_ref().filter(|_| self.limit_to_count().is_some()) {
            size_gate::remember(store.layout(), key, over);
        }
    }
}

/// The standing checkpoint, if this would be the same again a moment later. Safety checkpoints never stand for one.
fn deduplicated(
    context: &Context,
    session: &mut Session<'_>,
    captured: &Captured,
    reason: &str,
) -> Option<CreateOutcome> {
    let newest = session.locked.inventory().newest().filter(|c| !c.is_safety()).cloned()?;
    let age_ms = context.now_ms - newest.record.time_ms;
    let recent = (0..context.settings.dedup_window_ms).contains(&age_ms);
    if !recent || newest.tree != captured.tree || newest.meta != meta_id(&captured.meta) {
        return None;
    }
    let mut warnings = std::mem::take(&mut session.warnings);
    warnings.push(Warning::Dedup { standing: newest.id, reason: newest.record.reason.clone() });
    Some(CreateOutcome {
        counts: counts(captured),
        checkpoint: Some(newest),
        meta: captured.meta.clone(),
        left_out: LeftOut::of(&captured.listing),
        ..nothing_made(reason.to_owned(), Skipped::Dedup, warnings)
    })
}

/// The bytes of the meta blob; `None` where nothing differs from the standard.
pub fn meta_bytes(meta: &Meta) -> Option<Vec<u8>> {
    (*meta != Meta::default()).then(|| meta_text::render(meta))
}

fn meta_id(meta: &Meta) -> Option<ObjectId> {
    hash_object(ObjectKind::Blob, &meta_bytes(meta)?).ok()
}

fn counts(captured: &Captured) -> Counts {
    Counts {
        files: captured.listing.file_count() as u64,
        directories: captured.listing.dirs.len() as u64 - 1,
        content_bytes: captured.listing.content_bytes(),
        ..Counts::default()
    }
}

fn regular_record(
    context: &Context,
    session: &Session<'_>,
    captured: &Captured,
    reason: String,
    source: String,
) -> Record {
    Record {
        sequence: 0,
        time_ms: context.now_ms,
        kind: CheckpointKind::Regular,
        coverage: coverage(captured),
        files: captured.listing.file_count() as u64,
        content_bytes: captured.listing.content_bytes(),
        reason,
        source,
        operation: None,
        during_pending: session.pending.is_some(),
    }
}

/// The record of a safety checkpoint, taken before `operation`.
pub fn safety_record(context: &Context, captured: &Captured, operation: Operation, pending: bool) -> Record {
    let reason = if operation.paths.is_empty() { "pre-restore-safety" } else { "pre-restore-safety-file" };
    Record {
        sequence: 0,
        time_ms: context.now_ms,
        kind: CheckpointKind::Safety,
        coverage: coverage(captured),
        files: captured.listing.file_count() as u64,
        content_bytes: captured.listing.content_bytes(),
        reason: reason.to_owned(),
        source: "checkpoint".to_owned(),
        operation: Some(operation),
        during_pending: pending,
    }
}

fn coverage(captured: &Captured) -> Coverage {
    if captured.listing.is_complete() { Coverage::Complete } else { Coverage::Partial }
}

/// Records what was captured, then evicts and brings what is derived up to date.
fn finish<'s>(
    session: &mut Session<'s>,
    pack: crate::store::pack_writer::PackWriter<'s>,
    captured: Captured,
    record: Record,
    keep: usize,
) -> Result<CreateOutcome> {
    let before = session.locked.inventory().newest().cloned();
    let requested_reason = record.reason.clone();
    let new = NewCheckpoint { pack, tree: captured.tree, meta: meta_bytes(&captured.meta), record };
    let checkpoint = session.locked.record(new, &mut |_| Ok(()))?;
    let mut warnings = std::mem::take(&mut session.warnings);
    warnings.extend(captured.warnings.iter().cloned());
    if checkpoint.record.files == 0 && before.as_ref().is_some_and(|b| b.record.files > 0) {
        warnings.push(Warning::EmptyAfterFiles);
    }
    let mut counts = counts(&captured);
    match diff_counts(session.locked.store(), before.as_ref(), &checkpoint, &mut counts) {
        Ok(()) => {}
        Err(why) => warnings.push(Warning::Bookkeeping { step: "comparing it with the one before", why }),
    }
    let left_out = LeftOut::of(&captured.listing);
    let left_out_changed = session.locked.store().left_out().as_deref() != Some(&left_out.to_text());
    let evicted = settle(&mut session.locked, keep, session.pending.as_ref(), &captured, &mut warnings);
    if left_out_changed && let Err(e) = session.locked.write_left_out(&left_out.to_text()) {
        warnings.push(Warning::bookkeeping("noting what was left out")(e));
    }
    Ok(CreateOutcome {
        checkpoint: Some(checkpoint),
        skipped: None,
        requested_reason,
        counts,
        left_out,
        left_out_changed,
        meta: captured.meta,
        evicted,
        warnings,
    })
}

/// What follows the commit point: eviction, `main`, manifest, stat cache. Nothing here can undo the checkpoint.
pub fn settle(
    locked: &mut LockedStore<'_>,
    keep: usize,
    pending: Option<&Pending>,
    captured: &Captured,
    warnings: &mut Vec<Warning>,
) -> Vec<Evicted> {
    let evicted = match evict(locked, keep, pending) {
        Ok(evicted) => evicted,
        Err(e) => {
            warnings.push(Warning::bookkeeping("evicting old checkpoints")(e));
            Vec::new()
        }
    };
    if let Err(e) = locked.write_derived() {
        warnings.push(Warning::bookkeeping("writing the manifest")(e));
    }
    if let Some(newest) = locked.inventory().newest() {
        let packs = locked.store().objects().packs();
        let cache = StatCache { checkpoint: newest.id, packs, listing: captured.listing.clone() };
        if let Err(e) = locked.write_stat_cache(&cache) {
            warnings.push(Warning::bookkeeping("writing the stat cache")(e));
        }
    }
    evicted
}

/// Drops what the policy drops. Their objects go with the next prune.
pub fn evict(locked: &mut LockedStore<'_>, keep: usize, pending: Option<&Pending>) -> Result<Vec<Evicted>> {
    let needed: Vec<ObjectId> = pending.map(|p| vec![p.target(), p.safety()]).unwrap_or_default();
    let plan = retention::plan(&locked.inventory().checkpoints, keep, &needed);
    let describe = |(id, why): &(ObjectId, EvictionReason)| Evicted {
        id: *id,
        reason: locked.inventory().get(*id).map(|c| c.record.reason.clone()).unwrap_or_default(),
        why: *why,
    };
    let evicted: Vec<Evicted> = plan.evict.iter().map(describe).collect();
    let ids: Vec<ObjectId> = evicted.iter().map(|gone| gone.id).collect();
    locked.drop_checkpoints(&ids)?;
    Ok(evicted)
}

fn diff_counts(
    store: &Store,
    before: Option<&Checkpoint>,
    after: &Checkpoint,
    counts: &mut Counts,
) -> std::result::Result<(), String> {
    let Some(before) = before else {
        counts.added = after.record.files;
        return Ok(());
    };
    for change in trees::diff(store.objects(), Some(before.tree), Some(after.tree))? {
        match (change.before, change.after) {
            (None, _) => counts.added += 1,
            (_, None) => counts.deleted += 1,
            _ => counts.changed += 1,
        }
    }
    Ok(())
}
