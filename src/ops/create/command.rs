//! `create`: captures the working directory and records it.

use std::time::Duration;

use crate::base::text::escape_path;
use crate::error::{Code, Error, More, Result};
use crate::model::default_rules::IGNORE_FILE;
use crate::model::{Checkpoint, KeepClass, WhyNot};
use crate::ops::capture::gather::gather;
use crate::ops::capture::pipeline::rules_digest;
use crate::ops::contract::hold;
use crate::ops::create::copies;
use crate::ops::create::options::is_enabled;
use crate::ops::create::record::record;
use crate::ops::database::backup::back_up_all;
use crate::ops::maintain::repair::salvage;
use crate::ops::maintain::size_limit::{self, auto_gc, has_many_packs};
use crate::ops::open_store::open_usable;
use crate::ops::{
    Captured, CapturedScope, Context, CreateCounts, CreateOptions, CreateOutcome, DedupPolicy,
    LeftOut, Session, Skipped, Warning, session,
};
use crate::store::damage::salvage::Unreadable;
use crate::store::small_files::size_gate::{self, GateKey};
use crate::store::trees::meta_tree;
use crate::store::{Extras, Store};
use crate::worktree::tree_handle::place_below;

/// Captures the directory and records it. [`tidy`] is to follow once the answer is given.
pub fn create(context: &Context, options: &CreateOptions) -> Result<CreateOutcome> {
    if !is_enabled(context)? {
        return Ok(CreateOutcome::disabled(options));
    }
    match create_in_store(context, options) {
        // Another process removed the store while we waited for the lock: this is the first
        // checkpoint of a new one.
        Err(error) if error.code == Code::STORE_GONE => create_in_store(context, options),
        other => other,
    }
}

/// Like [`create`] under a lock already held, without plain copies.
pub fn create_in(
    context: &Context,
    session: &mut Session<'_>,
    options: &CreateOptions,
) -> Result<CreateOutcome> {
    if !is_enabled(context)? {
        return Ok(CreateOutcome::disabled(options));
    }
    capture_and_record(context, session, options)
}

/// Does the housekeeping after a new checkpoint until `out_of_time` returns true; nothing while
/// another process holds the lock. Returns its warnings.
pub fn tidy(
    context: &Context,
    made: &CreateOutcome,
    out_of_time: &dyn Fn() -> bool,
) -> Vec<Warning> {
    if made.skipped.is_some() || !context.settings.auto_prune {
        return Vec::new();
    }
    let Ok(Some(store)) = context.find_store() else {
        return Vec::new();
    };
    if made.needed_bytes.is_none() && !has_many_packs(&store) {
        return Vec::new();
    }
    let context = &Context {
        lock_wait: Duration::ZERO,
        ..context.stopped_by(&context.interrupt)
    };
    session::begin(context, &store).map_or_else(
        |_| Vec::new(),
        |mut session| {
            session.needed_bytes = made.needed_bytes;
            auto_gc(context, &mut session, out_of_time)
        },
    )
}

/// Opens and locks the store, replacing it if it has lost everything, and makes plain copies after
/// the record.
fn create_in_store(context: &Context, options: &CreateOptions) -> Result<CreateOutcome> {
    let store = open_usable(context, options.force)?;
    let fresh;
    let mut session = session::begin(context, &store)?;
    if session.locked.has_lost_all() {
        context.pending_warnings.add(Warning::reinitialized(salvage(
            context,
            store.dir(),
            Unreadable::Stops,
        )?));
        drop(session);
        fresh = open_usable(context, options.force)?;
        session = session::begin(context, &fresh)?;
    }
    let mut outcome = capture_and_record(context, &mut session, options)?;
    outcome
        .warnings
        .splice(0..0, context.pending_warnings.take());
    if let Some(checkpoint) = outcome.checkpoint.as_ref().filter(|_| options.copies) {
        let may_be_there = outcome.skipped == Some(Skipped::Dedup);
        let (store, warnings) = (session.locked.store(), &mut outcome.warnings);
        outcome.copies = copies::add(context, store, checkpoint, may_be_there, warnings);
    }
    outcome.needed_bytes = session.needed_bytes;
    Ok(outcome)
}

/// Captures within the size gate, and records unless the newest checkpoint is identical.
fn capture_and_record(
    context: &Context,
    session: &mut Session<'_>,
    options: &CreateOptions,
) -> Result<CreateOutcome> {
    hold::check_none_active(context, session)?;
    let store = session.locked.store();
    let warnings = std::mem::take(&mut session.warnings);
    let limit = options.max_files.unwrap_or(context.settings.max_files);
    let is_limited = !options.force && limit > 0;
    let gate = is_limited.then(|| gate_key(context, store, options, limit));
    let gate = gate.flatten();
    let remembered = gate.as_ref();
    let remembered = remembered.and_then(|key| size_gate::recall(store.layout(), key));
    let too_many = |mut warnings: Vec<Warning>, largest| {
        warnings.push(Warning::TooManyFiles { limit, largest });
        CreateOutcome::skipped(options, Skipped::TooManyFiles, warnings)
    };
    if remembered == Some(true) {
        return Ok(too_many(warnings, Vec::new()));
    }
    let _shield = context.interrupt.shield();
    let mut pack = session.locked.begin_pack()?;
    // A session that began under the limit goes on.
    let counted = (is_limited && remembered.is_none()).then_some(limit);
    let (found, largest) = match gather(context, store, options, counted, &mut pack) {
        Ok(gathered) => (Some(gathered), Vec::new()),
        Err(mut error) => match &mut error.more {
            More::TooManyFiles { largest, .. } => (None, std::mem::take(largest)),
            _ => return Err(error),
        },
    };
    if let Some(key) = gate.filter(|_| remembered.is_none()) {
        size_gate::remember(store.layout(), &key, found.is_none());
    }
    let Some(mut gathered) = found else {
        return Ok(too_many(warnings, largest));
    };
    refuse_unread_rules(&gathered.captured)?;
    gathered.extras.databases =
        back_up_all(context, &session.locked, &options.databases, &mut pack)?;
    let newest = reusable(context, session, &gathered, options)?;
    let directories = options.full_scan.then(|| {
        let paths = gathered.captured.listing.paths();
        let place = |path| place_below(context.root.path(), path);
        paths.iter().map(place).collect()
    });
    let mut outcome = match newest {
        Some(newest) => reuse(newest, gathered.captured, options, warnings),
        None => record(context, session, pack, gathered, options, warnings)?,
    };
    outcome.databases.clone_from(&options.databases);
    outcome.directories = directories.unwrap_or_default();
    // A pattern that is misspelt shows in what is left out all the same.
    outcome.left_out_told |= !options.include_sensitive.is_empty() && outcome.skipped.is_none();
    if options.is_marked {
        mark(session, &mut outcome);
    }
    evict_for_size(context, session, &mut outcome);
    Ok(outcome)
}

/// Keeps the checkpoint from every policy; it is as good without, so a failure is a warning.
fn mark(session: &Session<'_>, outcome: &mut CreateOutcome) {
    let made = outcome.checkpoint.as_ref();
    match made
        .map(|made| session.locked.mark_used(made.id))
        .transpose()
    {
        Ok(mark) => outcome.mark = mark,
        Err(why) => {
            let warning = Warning::bookkeeping("keeping it from every policy")(why);
            outcome.warnings.push(warning);
        }
    }
}

/// Returns the key under which the size gate of a session is remembered, which concerns the whole
/// directory.
fn gate_key(
    context: &Context,
    store: &Store,
    options: &CreateOptions,
    limit: u64,
) -> Option<GateKey> {
    let session = options.session.as_ref();
    let session = session.or(context.environment.session.as_ref())?;
    let is_whole = options.terms.scope.is_none();
    (is_whole && !session.is_empty()).then(|| GateKey {
        session: session.clone(),
        limit,
        rules: rules_digest(context, store),
    })
}

/// Returns the newest checkpoint, or the baseline of the directory, if it can be reused.
fn reusable(
    context: &Context,
    session: &Session<'_>,
    captured: &CapturedScope,
    options: &CreateOptions,
) -> Result<Option<Checkpoint>> {
    let inventory = session.locked.inventory();
    let newest = match options.dedup {
        DedupPolicy::Standing => inventory.checkpoints.baseline(),
        _ => inventory.newest(),
    };
    let may_be_safety = options.dedup == DedupPolicy::Standing;
    let Some(newest) = newest.filter(|c| may_be_safety || !c.is_safety()) else {
        return Ok(None);
    };
    // Those of a watcher are thinned with age; what is asked for stays as it is asked for.
    if newest.class() == KeepClass::Watched && options.dedup != DedupPolicy::Standing {
        return Ok(None);
    }
    let record = &newest.record;
    let age_ms = context.now_ms.saturating_sub(record.time_ms);
    let is_named_alike = record.reason == options.reason && record.source == options.source;
    let may_reuse = match options.dedup {
        DedupPolicy::Recent => {
            is_named_alike && (0..context.settings.dedup_window_ms).contains(&age_ms)
        }
        DedupPolicy::Always => true,
        DedupPolicy::SameState | DedupPolicy::Standing => {
            record.terms.scope.is_none() && record.terms.expiry.is_none()
        }
        DedupPolicy::Never => false,
    };
    let asks_nothing = [DedupPolicy::SameState, DedupPolicy::Standing];
    let is_alike = asks_nothing.contains(&options.dedup) || record.terms == options.terms;
    if !may_reuse || newest.tree != captured.captured.tree || !is_alike {
        return Ok(None);
    }
    let meta = meta_tree::id_of(&captured.captured.meta, &captured.extras);
    let meta = meta.map_err(|e| Error::unexpected(e.to_string()))?;
    let is_same = newest.meta == meta
        || (record.provenance.event.is_some() && has_equal_meta(session, newest, captured)?);
    Ok(is_same.then(|| newest.clone()))
}

/// Whether a checkpoint holds the captured meta, whatever prompt it names.
fn has_equal_meta(
    session: &Session<'_>,
    newest: &Checkpoint,
    captured: &CapturedScope,
) -> Result<bool> {
    let held = session.locked.store().meta_and_extras(newest)?;
    let extras = Extras {
        prompt: None,
        ..held.extras
    };
    Ok(held.meta == captured.captured.meta && extras == captured.extras)
}

/// Returns the outcome of a `create` for which an identical checkpoint was reused.
fn reuse(
    newest: Checkpoint,
    captured: Captured,
    options: &CreateOptions,
    mut warnings: Vec<Warning>,
) -> CreateOutcome {
    warnings.extend(captured.warnings.iter().cloned());
    warnings.push(Warning::Dedup {
        existing: newest.id,
        reason: newest.record.reason.clone(),
    });
    CreateOutcome {
        counts: CreateCounts::of(&captured),
        checkpoint: Some(newest),
        left_out: LeftOut::of(&captured.listing),
        meta: captured.meta,
        ..CreateOutcome::skipped(options, Skipped::Dedup, warnings)
    }
}

/// Refuses to record what an ignore file may leave out that cannot be read.
fn refuse_unread_rules(captured: &Captured) -> Result<()> {
    let mut uncaptured = captured.meta.uncaptured.iter();
    let unread = uncaptured.find(|(path, entry)| {
        path.name() == IGNORE_FILE && matches!(entry.why, WhyNot::Unreadable(_))
    });
    let above = captured.warnings.iter().find_map(|warning| match warning {
        Warning::IgnoreFileUnreadable { path } => Some(escape_path(path)),
        _ => None,
    });
    let unread = unread.map(|(path, _)| path.to_string()).or(above);
    unread.map_or(Ok(()), |path| {
        Err(Error::nothing_held(format!(
            "{path} cannot be read, and what it leaves out would be recorded"
        )))
    })
}

/// Evicts what the new checkpoint leaves no room for, before the answer, which names it.
fn evict_for_size(context: &Context, session: &mut Session<'_>, outcome: &mut CreateOutcome) {
    if outcome.skipped.is_some() || !context.settings.auto_prune {
        return;
    }
    match size_limit::evict_to_limit(context, session) {
        Ok(evicted) => outcome.evicted.extend(evicted),
        Err(e) => outcome
            .warnings
            .push(Warning::bookkeeping("keeping to max_store_size")(e)),
    }
}
