//! `create`: captures the working directory and records it.

use crate::base::progress::WorkPhase;
use crate::error::{Error, Result};
use crate::model::checkpoint::baseline;
use crate::model::checkpoint::record::{Checkpoint, Record};
use crate::model::state::database::Database;
use crate::model::state::meta::Meta;
use crate::ops::capture::gather::{CapturedScope, Gathering, gather};
use crate::ops::capture::left_out::LeftOut;
use crate::ops::capture::pipeline::Captured;
use crate::ops::context::Context;
use crate::ops::contract::hold;
use crate::ops::create::copies::{self, Copies};
use crate::ops::create::create_terms::{self, RequestedOptions, TermsOptions};
use crate::ops::create::gate::{Gate, GateOptions};
use crate::ops::create::record::{Evicted, apply_retention, regular_record};
use crate::ops::database::backup::take_all;
use crate::ops::maintain::auto_gc::auto_gc;
use crate::ops::maintain::moved::{self, Moved};
use crate::ops::maintain::repair::salvage;
use crate::ops::open_store::open_usable;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::store::damage::salvage::Unreadable;
use crate::store::objects::pack::checkpoint_packs::PackSet;
use crate::store::refs::recording::NewCheckpoint;
use crate::store::repository::Store;
use crate::store::trees::digest::{self, Sum};
use crate::store::trees::meta_tree;
use crate::store::trees::tree_memo::TreeMemo;

/// Upper bound on a reason or source, in bytes.
const LONGEST_TEXT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    pub reason: Option<String>,
    pub source: Option<String>,
    pub keep: Option<usize>,
    pub gate: GateOptions,
    /// Accept a dangerous root and any number of files.
    pub force: bool,
    pub include_sensitive: Vec<String>,
    pub terms: TermsOptions,
    /// Renders the manifest of the plain copies, if these are to be made.
    pub copies: Option<copies::Render>,
    pub standing: DedupPolicy,
}

/// When an identical newest checkpoint is reused instead of making a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DedupPolicy {
    /// If it was made a moment ago, with the same reason and source.
    #[default]
    Recent,
    /// Whatever its age and reason: only the state counts.
    Always,
    /// Never reuse: the caller needs a checkpoint of its own.
    Never,
}

/// The options, parsed and checked.
#[derive(Clone)]
struct ResolvedOptions {
    reason: String,
    source: String,
    asked: RequestedOptions,
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
    /// The new checkpoint, or the one that was reused.
    pub checkpoint: Option<Checkpoint>,
    pub skipped: Option<Skipped>,
    pub requested_reason: String,
    pub counts: CreateCounts,
    pub left_out: LeftOut,
    /// Whether the set of left-out paths is new or has changed.
    pub left_out_changed: bool,
    pub meta: Meta,
    pub evicted: Vec<Evicted>,
    pub copies: Option<Copies>,
    pub databases: Vec<Database>,
    /// Digest of a scoped checkpoint, read back right after it was made.
    pub content: Option<Sum>,
    pub warnings: Vec<Warning>,
}

impl CreateOutcome {
    /// Whether something requested could not be captured.
    pub fn is_partial(&self) -> bool {
        self.meta.uncaptured.values().any(|standing| standing.why.makes_partial())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateCounts {
    pub files: u64,
    pub directories: u64,
    pub content_bytes: u64,
    pub added: u64,
    pub changed: u64,
    pub deleted: u64,
}

/// Captures and records. `tell` gets the outcome as soon as it is certain; housekeeping follows until `out_of_time`,
/// and its warnings are returned.
pub fn create(
    context: &Context,
    options: &CreateOptions,
    tell: &mut dyn FnMut(&CreateOutcome),
    out_of_time: &dyn Fn() -> bool,
) -> Result<Vec<Warning>> {
    options.copies.map_or(Ok(()), |_| copies::check(&options.terms))?;
    let wanted = match wanted(context, options)? {
        Ok(wanted) => wanted,
        Err(disabled) => {
            tell(&disabled);
            return Ok(Vec::new());
        }
    };
    let made = |tell: &mut dyn FnMut(&CreateOutcome)| make(context, options, wanted.clone(), tell, out_of_time);
    match made(tell) {
        // Another process removed the store while we waited for the lock: this is the first checkpoint of a new one.
        Err(Error::StoreGone { .. }) => made(tell),
        other => other,
    }
}

/// Like [`create`] under a lock already held, without plain copies and housekeeping.
pub fn create_in(context: &Context, session: &mut Session<'_>, options: &CreateOptions) -> Result<CreateOutcome> {
    match wanted(context, options)? {
        Ok(wanted) => make_locked(context, session, options, wanted),
        Err(disabled) => Ok(disabled),
    }
}

/// Resolves the options; if checkpoints are disabled, returns the outcome instead.
fn wanted(context: &Context, options: &CreateOptions) -> Result<std::result::Result<ResolvedOptions, CreateOutcome>> {
    let reason = checked_text(options.reason.as_deref(), "manual", "reason")?;
    let fallback = context.environment.source.as_deref().filter(|source| !source.trim().is_empty()).unwrap_or("cli");
    let source = checked_text(options.source.as_deref(), fallback, "source")?;
    if context.environment.disabled {
        return Ok(Err(nothing_made(reason, Skipped::Disabled, vec![Warning::Disabled])));
    }
    if !context.root.exists() {
        return Err(Error::RootMissing { root: context.root.path().to_path_buf() });
    }
    Ok(Ok(ResolvedOptions { reason, source, asked: create_terms::parse(context, &options.terms)? }))
}

fn make(
    context: &Context,
    options: &CreateOptions,
    wanted: ResolvedOptions,
    tell: &mut dyn FnMut(&CreateOutcome),
    out_of_time: &dyn Fn() -> bool,
) -> Result<Vec<Warning>> {
    let store = open_usable(context, options.force)?;
    let fresh;
    let mut session = session::begin(context, &store)?;
    if session.locked.has_lost_all() {
        context.unsaid.add(Warning::reinitialized(salvage(context, store.dir(), Unreadable::Stops)?));
        drop(session);
        fresh = open_usable(context, options.force)?;
        session = session::begin(context, &fresh)?;
    }
    let mut outcome = make_locked(context, &mut session, options, wanted)?;
    outcome.warnings.splice(0..0, context.unsaid.take());
    if let Some(render) = options.copies {
        let may_be_there = outcome.skipped == Some(Skipped::Dedup);
        let store = session.locked.store();
        let CreateOutcome { checkpoint, warnings, .. } = &mut outcome;
        outcome.copies = checkpoint.as_ref().map(|c| copies::add(context, store, render, c, may_be_there, warnings));
    }
    tell(&outcome);
    let made = outcome.skipped.is_none() && context.settings.auto_prune;
    Ok(if made { auto_gc(context, &mut session, out_of_time) } else { Vec::new() })
}

fn make_locked(
    context: &Context,
    session: &mut Session<'_>,
    options: &CreateOptions,
    wanted: ResolvedOptions,
) -> Result<CreateOutcome> {
    hold::check_none_stands(context, session)?;
    let databases = wanted.asked.databases.clone();
    let mut outcome = create_locked(context, session, options, wanted)?;
    outcome.databases = if outcome.checkpoint.is_some() { databases } else { Vec::new() };
    Ok(outcome)
}

fn create_locked(
    context: &Context,
    session: &mut Session<'_>,
    options: &CreateOptions,
    wanted: ResolvedOptions,
) -> Result<CreateOutcome> {
    let store = session.locked.store();
    let mut warnings = std::mem::take(&mut session.warnings);
    let gate = Gate::of(context, store, &options.gate, options.force);
    let is_whole = wanted.asked.terms.scope.is_none();
    if is_whole && gate.remembered == Some(true) {
        let warning = Warning::TooManyFiles { limit: gate.limit, largest: Vec::new() };
        return Ok(nothing_made(wanted.reason, Skipped::TooManyFiles, with(warnings, warning)));
    }
    let _shield = context.interrupt.shield();
    let mut pack = session.locked.begin_pack()?;
    // The decision remembered for a session concerns the whole directory.
    let limit = if is_whole { gate.limit_to_count() } else { gate.limit_of_call() };
    match gather(context, store, &wanted.asked, limit, &options.include_sensitive, &mut pack)? {
        Gathering::OverLimit { limit, largest } => {
            if is_whole {
                gate.remember(store, true);
            }
            let warning = Warning::TooManyFiles { limit, largest };
            Ok(nothing_made(wanted.reason, Skipped::TooManyFiles, with(warnings, warning)))
        }
        Gathering::Done(mut gathered) => {
            if is_whole {
                gate.remember(store, false);
            }
            gathered.beside.databases = take_all(context, &session.locked, &wanted.asked.databases, &mut pack)?;
            if let Some(newest) = standing(context, session, &gathered, &wanted, options.standing)? {
                warnings.extend(gathered.captured.warnings.iter().cloned());
                warnings.push(Warning::Dedup { standing: newest.id, reason: newest.record.reason.clone() });
                return Ok(deduplicated(newest, &gathered.captured, wanted.reason, warnings));
            }
            let keep = options.keep.unwrap_or(context.settings.keep);
            let record = first_of_place(context, session, &gathered, wanted, &mut warnings)?;
            context.progress.begin(WorkPhase::Flushing, 0, 0);
            finish(context, session, pack, gathered, record, keep, warnings)
        }
    }
}

/// Makes the record; for the first checkpoint of a store, checks whether the directory was moved here.
fn first_of_place(
    context: &Context,
    session: &Session<'_>,
    gathered: &CapturedScope,
    wanted: ResolvedOptions,
    warnings: &mut Vec<Warning>,
) -> Result<Record> {
    let captured = &gathered.captured;
    let terms = wanted.asked.terms;
    let is_whole = terms.scope.is_none();
    let mut record = regular_record(context, session, captured, wanted.reason, wanted.source, terms);
    if session.locked.inventory().ids().is_empty() {
        let moved = moved::look(context, &mut |newest| Ok(is_whole && newest.tree == captured.tree))?;
        // The history of the old location may be put in front of this one later.
        record.sequence = moved.iter().map(|moved| moved.last_sequence + 1).max().unwrap_or_default();
        warnings.extend(moved.iter().map(Moved::warning));
    }
    Ok(record)
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
        counts: CreateCounts::default(),
        left_out: LeftOut::default(),
        left_out_changed: false,
        meta: Meta::default(),
        evicted: Vec::new(),
        copies: None,
        databases: Vec::new(),
        content: None,
        warnings,
    }
}

/// Returns the newest checkpoint if it can be reused; a safety checkpoint never is.
fn standing(
    context: &Context,
    session: &Session<'_>,
    gathered: &CapturedScope,
    wanted: &ResolvedOptions,
    manner: DedupPolicy,
) -> Result<Option<Checkpoint>> {
    let Some(newest) = session.locked.inventory().newest().filter(|c| !c.is_safety()) else { return Ok(None) };
    let record = &newest.record;
    let age_ms = context.now_ms.saturating_sub(record.time_ms);
    let is_named_alike = record.reason == wanted.reason && record.source == wanted.source;
    let may_stand = match manner {
        DedupPolicy::Recent => is_named_alike && (0..context.settings.dedup_window_ms).contains(&age_ms),
        DedupPolicy::Always => true,
        DedupPolicy::Never => false,
    };
    if !may_stand || newest.tree != gathered.captured.tree || record.terms != wanted.asked.terms {
        return Ok(None);
    }
    let meta = meta_tree::id_of(&gathered.captured.meta, &gathered.beside);
    let meta = meta.map_err(|e| Error::unexpected(e.to_string()))?;
    Ok((newest.meta == meta).then(|| newest.clone()))
}

fn deduplicated(newest: Checkpoint, captured: &Captured, reason: String, warnings: Vec<Warning>) -> CreateOutcome {
    CreateOutcome {
        counts: counts(captured),
        checkpoint: Some(newest),
        meta: captured.meta.clone(),
        left_out: LeftOut::of(&captured.listing),
        ..nothing_made(reason, Skipped::Dedup, warnings)
    }
}

fn counts(captured: &Captured) -> CreateCounts {
    CreateCounts {
        files: captured.listing.file_count() as u64,
        directories: captured.listing.dirs.len() as u64 - 1,
        content_bytes: captured.listing.content_bytes(),
        ..CreateCounts::default()
    }
}

/// Records the capture, then applies retention and updates derived files.
fn finish<'s>(
    context: &Context,
    session: &mut Session<'s>,
    pack: PackSet<'s>,
    gathered: CapturedScope,
    record: Record,
    keep: usize,
    mut warnings: Vec<Warning>,
) -> Result<CreateOutcome> {
    let CapturedScope { captured, beside } = gathered;
    let before = baseline::of(&session.locked.inventory().checkpoints).cloned();
    let requested_reason = record.reason.clone();
    let new = NewCheckpoint { pack, tree: captured.tree, meta: captured.meta.clone(), beside, record };
    let checkpoint = session.locked.record(new, &mut |_| Ok(()))?;
    let held = checkpoint.is_scoped().then(|| read_back(session.locked.store(), &checkpoint)).transpose()?;
    warnings.extend(captured.warnings.iter().cloned());
    if !checkpoint.is_scoped() && checkpoint.record.files == 0 && before.as_ref().is_some_and(|b| b.record.files > 0) {
        warnings.push(Warning::EmptyAfterFiles);
    }
    let mut counts = counts(&captured);
    match diff_counts(session.locked.store(), before.as_ref(), &checkpoint, &captured.meta, &mut counts) {
        Ok(()) => {}
        Err(why) => warnings.push(Warning::Bookkeeping { step: "comparing it with the baseline", why }),
    }
    let left_out = LeftOut::of(&captured.listing);
    let left_out_changed = session.locked.store().left_out().as_deref() != Some(&left_out.to_text());
    let evicted =
        apply_retention(context, &mut session.locked, keep, session.pending.as_ref(), &captured, &mut warnings);
    // What is left out of a scope says nothing about the whole, so it is reported each time and not noted.
    if left_out_changed
        && !checkpoint.is_scoped()
        && let Err(e) = session.locked.write_left_out(&left_out.to_text())
    {
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
        copies: None,
        databases: Vec::new(),
        content: held,
        warnings,
    })
}

/// Reads the checkpoint back, because the caller is about to rely on it.
fn read_back(store: &Store, checkpoint: &Checkpoint) -> Result<Sum> {
    let (snapshot, extras) = (store.snapshot(checkpoint)?, store.extras(checkpoint)?);
    let sum = digest::sum(store.objects(), &snapshot, &extras.beside);
    let what = || format!("checkpoint {}, read back right after it was made,", checkpoint.id.short());
    sum.map_err(|why| Error::Damaged { what: what(), why })
}

fn diff_counts(
    store: &Store,
    before: Option<&Checkpoint>,
    after: &Checkpoint,
    meta: &Meta,
    counts: &mut CreateCounts,
) -> std::result::Result<(), String> {
    let Some(before) = before else {
        counts.added = after.record.files;
        return Ok(());
    };
    let changes = TreeMemo::new(store.objects()).diff(Some(before.tree), Some(after.tree), &|_| true)?;
    for change in changes.into_iter().filter(|change| after.covers(&change.path)) {
        match (change.before, change.after) {
            (None, _) => counts.added += 1,
            (_, None) if meta.hides(&change.path) => {}
            (_, None) => counts.deleted += 1,
            _ => counts.changed += 1,
        }
    }
    Ok(())
}
