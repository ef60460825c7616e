//! `create`: captures the working directory and records it.

use crate::error::{Code, Error, Result};
use crate::model::default_rules::IGNORE_FILE;
use crate::model::state::entry::WhyNot;
use crate::ops::capture::gather::gather;
use crate::ops::capture::pipeline::{CaptureOutcome, Captured};
use crate::ops::context::Context;
use crate::ops::contract::hold;
use crate::ops::create::gate::Gate;
use crate::ops::create::options::{CreateOptions, ResolvedOptions, resolve};
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::ops::create::record::record;
use crate::ops::create::{copies, dedup};
use crate::ops::database::backup::back_up_all;
use crate::ops::maintain::auto_gc::auto_gc;
use crate::ops::maintain::repair::salvage;
use crate::ops::maintain::size_limit;
use crate::ops::open_store::open_usable;
use crate::ops::session::{self, Session};
use crate::ops::warning::Warning;
use crate::store::damage::salvage::Unreadable;

/// Captures the directory and records it. Calls `tell` once the outcome is certain, then runs
/// housekeeping until `out_of_time` returns true. Returns its warnings.
pub fn create(
    context: &Context,
    options: &CreateOptions,
    tell: &mut dyn FnMut(&CreateOutcome),
    out_of_time: &dyn Fn() -> bool,
) -> Result<Vec<Warning>> {
    let resolved = match resolve(context, options)? {
        Ok(resolved) => resolved,
        Err(disabled) => {
            tell(&disabled);
            return Ok(Vec::new());
        }
    };
    let mut attempt = || create_in_store(context, options, resolved.clone(), tell, out_of_time);
    match attempt() {
        // Another process removed the store while we waited for the lock: this is the first
        // checkpoint of a new one.
        Err(error) if error.code == Code::STORE_GONE => attempt(),
        other => other,
    }
}

/// Like [`create`] under a lock already held, without plain copies and housekeeping.
pub fn create_in(
    context: &Context,
    session: &mut Session<'_>,
    options: &CreateOptions,
) -> Result<CreateOutcome> {
    match resolve(context, options)? {
        Ok(resolved) => capture_and_record(context, session, options, resolved),
        Err(disabled) => Ok(disabled),
    }
}

/// Opens and locks the store, replacing it if it has lost everything, and makes plain copies after
/// the record.
fn create_in_store(
    context: &Context,
    options: &CreateOptions,
    resolved: ResolvedOptions,
    tell: &mut dyn FnMut(&CreateOutcome),
    out_of_time: &dyn Fn() -> bool,
) -> Result<Vec<Warning>> {
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
    let mut outcome = capture_and_record(context, &mut session, options, resolved)?;
    outcome
        .warnings
        .splice(0..0, context.pending_warnings.take());
    if let Some(render) = options.copies {
        let may_be_there = outcome.skipped == Some(Skipped::Dedup);
        let store = session.locked.store();
        let CreateOutcome {
            checkpoint,
            warnings,
            ..
        } = &mut outcome;
        outcome.copies = checkpoint
            .as_ref()
            .map(|c| copies::add(context, store, render, c, may_be_there, warnings));
    }
    tell(&outcome);
    let made = outcome.skipped.is_none() && context.settings.auto_prune;
    Ok(if made {
        auto_gc(context, &mut session, out_of_time)
    } else {
        Vec::new()
    })
}

/// Captures within the size gate, and records unless the newest checkpoint is identical.
fn capture_and_record(
    context: &Context,
    session: &mut Session<'_>,
    options: &CreateOptions,
    resolved: ResolvedOptions,
) -> Result<CreateOutcome> {
    hold::check_none_active(context, session)?;
    let store = session.locked.store();
    let warnings = std::mem::take(&mut session.warnings);
    let gate = Gate::of(context, store, &options.gate, options.force);
    // The decision remembered for a session concerns the whole directory.
    let is_whole = resolved.terms.scope.is_none();
    if is_whole && gate.remembered == Some(true) {
        return Ok(CreateOutcome::too_many_files(
            resolved.reason,
            warnings,
            gate.limit,
            Vec::new(),
        ));
    }
    let _shield = context.interrupt.shield();
    let mut pack = session.locked.begin_pack()?;
    let limit = if is_whole {
        gate.limit_to_count()
    } else {
        gate.limit_of_call()
    };
    let found = gather(
        context,
        store,
        &resolved,
        limit,
        &options.include_sensitive,
        &mut pack,
    )?;
    if is_whole {
        gate.remember(store, matches!(found, CaptureOutcome::OverLimit { .. }));
    }
    let mut gathered = match found {
        CaptureOutcome::Done(gathered) => gathered,
        CaptureOutcome::OverLimit { limit, largest } => {
            return Ok(CreateOutcome::too_many_files(
                resolved.reason,
                warnings,
                limit,
                largest,
            ));
        }
    };
    refuse_unread_rules(&gathered.captured)?;
    gathered.extras.databases =
        back_up_all(context, &session.locked, &resolved.databases, &mut pack)?;
    let databases = resolved.databases.clone();
    let newest = dedup::reusable(context, session, &gathered, &resolved, options.dedup)?;
    let mut outcome = if let Some(newest) = newest {
        dedup::reuse(newest, *gathered.captured, resolved.reason, warnings)
    } else {
        let keep = &options.keep;
        record(context, session, pack, gathered, resolved, keep, warnings)?
    };
    outcome.databases = databases;
    // A pattern that is misspelt shows in what is left out all the same.
    outcome.left_out_told |= !options.include_sensitive.is_empty() && outcome.skipped.is_none();
    evict_for_size(context, session, &mut outcome);
    Ok(outcome)
}

/// Refuses to record what an ignore file may leave out that cannot be read.
fn refuse_unread_rules(captured: &Captured) -> Result<()> {
    let mut uncaptured = captured.meta.uncaptured.iter();
    let unread = uncaptured.find(|(path, entry)| {
        path.name() == IGNORE_FILE && matches!(entry.why, WhyNot::Unreadable(_))
    });
    unread.map_or(Ok(()), |(path, _)| {
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
