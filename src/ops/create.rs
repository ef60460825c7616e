//! `create`: captures the working directory and records it.

use crate::error::{Error, Result};
use crate::model::checkpoint::{Checkpoint, Record};
use crate::model::meta::Meta;
use crate::model::progress::Phase;
use crate::ops::capture::{CaptureOptions, CaptureOutcome, Captured, Sink, capture};
use crate::ops::context::Context;
use crate::ops::gate::{Gate, GateOptions};
use crate::ops::left_out::LeftOut;
use crate::ops::moved::{self, Moved};
use crate::ops::record::{Evicted, meta_bytes, meta_id, regular_record, settle};
use crate::ops::repair::salvage_unusable;
use crate::ops::session::{self, Session};
use crate::ops::tidy::tidy;
use crate::ops::warning::Warning;
use crate::store::Store;
use crate::store::description::Description;
use crate::store::locked::NewCheckpoint;
use crate::store::pack_set::PackSet;
use crate::store::salvage::{Salvaged, Unreadable};
use crate::store::trees;
use crate::worktree::tree_handle::WorkTree;

/// Longest reason or source, in bytes.
const LONGEST_TEXT: usize = 4096;

#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    pub reason: Option<String>,
    pub source: Option<String>,
    pub keep: Option<usize>,
    pub gate: GateOptions,
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

/// Captures and records. `tell` is given the outcome as soon as it is certain; what follows is housekeeping, until
/// `out_of_time` says so, and what that met is returned.
pub fn create(
    context: &Context,
    options: &CreateOptions,
    tell: &mut dyn FnMut(&CreateOutcome),
    out_of_time: &dyn Fn() -> bool,
) -> Result<Vec<Warning>> {
    let reason = checked_text(options.reason.as_deref(), "manual", "reason")?;
    let fallback = context.environment.source.as_deref().filter(|source| !source.trim().is_empty()).unwrap_or("cli");
    let source = checked_text(options.source.as_deref(), fallback, "source")?;
    if context.environment.disabled {
        tell(&nothing_made(reason, Skipped::Disabled, vec![Warning::Disabled]));
        return Ok(Vec::new());
    }
    if !context.root.exists() {
        return Err(Error::RootMissing { root: context.root.path().to_path_buf() });
    }
    let made = |tell: &mut dyn FnMut(&CreateOutcome)| {
        make(context, options, reason.clone(), source.clone(), tell, out_of_time)
    };
    match made(tell) {
        // Somebody removed it while we waited for the lock: this is the first checkpoint of a new one.
        Err(Error::StoreGone { .. }) => made(tell),
        other => other,
    }
}

fn make(
    context: &Context,
    options: &CreateOptions,
    reason: String,
    source: String,
    tell: &mut dyn FnMut(&CreateOutcome),
    out_of_time: &dyn Fn() -> bool,
) -> Result<Vec<Warning>> {
    let (store, salvaged) = open_usable(context, options.force)?;
    let mut session = session::begin(context, &store)?;
    session.warnings.extend(salvaged.map(|salvaged| Warning::StoreReinitialized {
        whole: salvaged.whole,
        known: salvaged.whole + salvaged.lost.len(),
        kept_as: salvaged.kept_as,
    }));
    let outcome = create_locked(context, &store, &mut session, options, reason, source)?;
    tell(&outcome);
    let made = outcome.skipped.is_none() && context.settings.auto_prune;
    Ok(if made { tidy(context, &mut session, out_of_time) } else { Vec::new() })
}

fn create_locked<'s>(
    context: &Context,
    store: &'s Store,
    session: &mut Session<'s>,
    options: &CreateOptions,
    reason: String,
    source: String,
) -> Result<CreateOutcome> {
    let mut warnings = std::mem::take(&mut session.warnings);
    let gate = Gate::of(context, store, &options.gate, options.force);
    if gate.remembered == Some(true) {
        let warning = Warning::TooManyFiles { limit: gate.limit, largest: Vec::new() };
        return Ok(nothing_made(reason, Skipped::TooManyFiles, with(warnings, warning)));
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
    match capture(context, Some(store), &worktree, &capture_options, Sink::Pack(&mut pack))? {
        CaptureOutcome::OverLimit { limit, largest } => {
            gate.remember(store, true);
            let warning = Warning::TooManyFiles { limit, largest };
            Ok(nothing_made(reason, Skipped::TooManyFiles, with(warnings, warning)))
        }
        CaptureOutcome::Done(captured) => {
            gate.remember(store, false);
            if let Some(newest) = standing(context, session, &captured) {
                warnings.extend(captured.warnings.iter().cloned());
                warnings.push(Warning::Dedup { standing: newest.id, reason: newest.record.reason.clone() });
                return Ok(deduplicated(newest, &captured, reason, warnings));
            }
            let mut record = regular_record(context, session, &captured, reason, source);
            if session.locked.inventory().ids().is_empty() {
                let moved = moved::look(context, &mut |newest| Ok(newest.tree == captured.tree))?;
                // The history of the old place may be put in front of this one later.
                record.sequence = moved.iter().map(|moved| moved.last_sequence + 1).max().unwrap_or_default();
                warnings.extend(moved.iter().map(Moved::warning));
            }
            let keep = options.keep.unwrap_or(context.settings.keep);
            context.progress.begin(Phase::Flushing, 0, 0);
            finish(session, pack, *captured, record, keep, warnings)
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

/// A store that nobody can work with is replaced by what can be read of it: a checkpoint now is worth more than a repair
/// that somebody has to ask for.
fn open_usable(context: &Context, force: bool) -> Result<(Store, Option<Salvaged>)> {
    match open_store(context, force) {
        Err(Error::StoreUnusable { .. }) => {
            let _shield = context.interrupt.shield();
            let salvaged = salvage_unusable(context, &context.store_dir()?, Unreadable::Stops)?;
            Ok((open_store(context, force)?, salvaged))
        }
        opened => Ok((opened?, None)),
    }
}

fn describe(context: &Context, forced: bool) -> Description {
    let identity = context.root.identity().unwrap_or_default();
    Description::of_root(context.root.path(), context.now_ms, identity, forced)
}

/// Opens or makes the store, unless the root is no place for checkpoints. `force` is needed once: the store remembers.
fn open_store(context: &Context, force: bool) -> Result<Store> {
    let root = &context.root;
    let describe = |forced| describe(context, forced);
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

/// The standing checkpoint, if this would be the same again a moment later. Safety checkpoints never stand for one.
fn standing(context: &Context, session: &Session<'_>, captured: &Captured) -> Option<Checkpoint> {
    let newest = session.locked.inventory().newest().filter(|c| !c.is_safety())?;
    let age_ms = context.now_ms.saturating_sub(newest.record.time_ms);
    let recent = (0..context.settings.dedup_window_ms).contains(&age_ms);
    let same = newest.tree == captured.tree && newest.meta == meta_id(&captured.meta);
    (recent && same).then(|| newest.clone())
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

fn counts(captured: &Captured) -> Counts {
    Counts {
        files: captured.listing.file_count() as u64,
        directories: captured.listing.dirs.len() as u64 - 1,
        content_bytes: captured.listing.content_bytes(),
        ..Counts::default()
    }
}

/// Records what was captured, then evicts and brings what is derived up to date.
fn finish<'s>(
    session: &mut Session<'s>,
    pack: PackSet<'s>,
    captured: Captured,
    record: Record,
    keep: usize,
    mut warnings: Vec<Warning>,
) -> Result<CreateOutcome> {
    let before = session.locked.inventory().newest().cloned();
    let requested_reason = record.reason.clone();
    let new = NewCheckpoint { pack, tree: captured.tree, meta: meta_bytes(&captured.meta), record };
    let checkpoint = session.locked.record(new, &mut |_| Ok(()))?;
    warnings.extend(captured.warnings.iter().cloned());
    if checkpoint.record.files == 0 && before.as_ref().is_some_and(|b| b.record.files > 0) {
        warnings.push(Warning::EmptyAfterFiles);
    }
    let mut counts = counts(&captured);
    match diff_counts(session.locked.store(), before.as_ref(), &checkpoint, &captured.meta, &mut counts) {
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

fn diff_counts(
    store: &Store,
    before: Option<&Checkpoint>,
    after: &Checkpoint,
    meta: &Meta,
    counts: &mut Counts,
) -> std::result::Result<(), String> {
    let Some(before) = before else {
        counts.added = after.record.files;
        return Ok(());
    };
    for change in trees::diff(store.objects(), Some(before.tree), Some(after.tree))? {
        match (change.before, change.after) {
            (None, _) => counts.added += 1,
            (_, None) if meta.hides(&change.path) => {}
            (_, None) => counts.deleted += 1,
            _ => counts.changed += 1,
        }
    }
    Ok(())
}
