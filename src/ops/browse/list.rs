//! `list` and `show`: the checkpoints, newest first, and the content of one.

use std::borrow::Cow;

use crate::error::Result;
use crate::model::checkpoint::baseline;
use crate::model::checkpoint::record::{Checkpoint, CheckpointKind, Coverage, DamagedCheckpoint};
use crate::model::difference::TreeChange;
use crate::model::state::database::Databases;
use crate::model::state::meta::Meta;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::maintain::moved::{self, Moved};
use crate::ops::select::checkpoint::latest;
use crate::ops::select::period::Period;
use crate::ops::select::words::{Lookup, TypedWords};
use crate::ops::session;
use crate::ops::warning::Warning;
use crate::store::lifecycle::description::{self, STORE_FORMAT};
use crate::store::refs::inventory::Inventory;
use crate::store::repository::Store;
use crate::store::trees::tree_memo::TreeMemo;

#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    pub limit: Option<usize>,
    /// A pattern with `*` and `?` that must match the whole reason.
    pub reason: Option<String>,
    pub source: Option<String>,
    pub period: Period,
    pub kind: Option<CheckpointKind>,
}

#[derive(Debug, Default)]
pub struct ListOutcome {
    /// Newest first.
    pub checkpoints: Vec<Checkpoint>,
    pub damaged: Vec<DamagedCheckpoint>,
    /// Whether there is a store for this root.
    pub exists: bool,
    pub warnings: Vec<Warning>,
}

pub fn list(context: &Context, options: &ListOptions) -> Result<ListOutcome> {
    let Some(store) = context.find_store()? else {
        let moved = moved::find_without_capture(context)?;
        return Ok(ListOutcome {
            warnings: moved.iter().map(Moved::warning).collect(),
            ..ListOutcome::default()
        });
    };
    let inventory = store.inventory()?;
    let wanted = |c: &Checkpoint| {
        options
            .reason
            .as_ref()
            .is_none_or(|pattern| glob(pattern, &c.record.reason))
            && options
                .source
                .as_ref()
                .is_none_or(|source| *source == c.record.source)
            && options.period.holds(c)
            && options.kind.is_none_or(|kind| kind == c.record.kind)
    };
    let newest_first = inventory.checkpoints.rev().filter(|c| wanted(c));
    let checkpoints = newest_first
        .take(options.limit.unwrap_or(usize::MAX))
        .map(Cow::into_owned)
        .collect();
    let warnings = reader_warnings(context, &store, &inventory)?;
    Ok(ListOutcome {
        checkpoints,
        damaged: inventory.all_damaged(),
        exists: true,
        warnings,
    })
}

/// Returns the warnings about the store's state that every read-only command gives.
pub fn reader_warnings(
    context: &Context,
    store: &Store,
    inventory: &Inventory,
) -> Result<Vec<Warning>> {
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    warnings.extend(session::another_root(
        context,
        store.description()?.as_ref(),
        inventory,
    ));
    warnings.extend(Warning::damaged(&inventory.all_damaged()));
    let ids = inventory.without_ref.clone();
    warnings.extend((!ids.is_empty()).then_some(Warning::RefsLost { ids }));
    let unadopted = inventory.unadopted.len();
    warnings.extend((unadopted > 0).then_some(Warning::Unadopted { count: unadopted }));
    warnings.extend(
        session::pending_unlocked(store, &inventory.checkpoints)?.map(|pending| pending.warning()),
    );
    let newer = description::format_of(store.layout()).filter(|found| *found > STORE_FORMAT);
    warnings.extend(newer.map(|found| Warning::StoreTooNew { found }));
    Ok(warnings)
}

/// Matches a pattern: `*` stands for any text, `?` for one character.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, from)) = star {
            // Only the last star needs to extend: earlier ones are settled.
            (p, t, star) = (at + 1, from + 1, Some((at, from + 1)));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[derive(Debug)]
pub struct ShowOutcome {
    pub checkpoint: Checkpoint,
    pub meta: Meta,
    /// The baseline when it was made; `changes` are relative to it.
    pub before: Option<Checkpoint>,
    pub changes: Vec<TreeChange>,
    /// What the changes are limited to; none for all.
    pub paths: Vec<RelPath>,
    /// What the restore, before which it was made, went back to.
    pub operation_target: Option<Checkpoint>,
    pub databases: Databases,
    /// The values that it holds, as a JSON object.
    pub state: Option<Vec<u8>>,
    pub warnings: Vec<Warning>,
}

/// Returns the paths of all files and links that a checkpoint holds.
pub fn files(context: &Context, checkpoint: &Checkpoint) -> Result<Vec<RelPath>> {
    let snapshot = context.require_store()?.snapshot(checkpoint)?;
    Ok(snapshot.files.into_keys().collect())
}

/// Shows a checkpoint, by default the latest, limited to paths if any are named.
pub fn show(context: &Context, words: &TypedWords) -> Result<ShowOutcome> {
    let store = context.require_store()?;
    let inventory = store.inventory()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let (checkpoint, paths) = match words.words.split_first() {
        Some((selector, paths)) => lookup.read_one("show", selector, paths)?,
        None => (latest(context, &inventory)?, Vec::new()),
    };
    let before = baseline::before(&inventory.checkpoints, checkpoint.record.sequence);
    let before = before.map(Cow::into_owned);
    let changes = TreeMemo::new(store.objects()).diff(
        before.as_ref().map(|c| c.tree),
        Some(checkpoint.tree),
        &|_| true,
    );
    let mut changes = changes.map_err(|why| store.damage(checkpoint.id, why))?;
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    let (checkpoint, meta) = if checkpoint.adopted {
        measured(&store, checkpoint)?
    } else {
        (checkpoint.clone(), store.meta(&checkpoint)?)
    };
    // Paths that could not be captured are reported as such, not as deleted.
    changes.retain(|change| {
        let is_asked_for =
            paths.is_empty() || paths.iter().any(|path| change.path.is_at_or_below(path));
        is_asked_for
            && checkpoint.covers(&change.path)
            && (change.after.is_some() || !meta.hides(&change.path))
    });
    if checkpoint.is_partial() {
        warnings.push(Warning::ShownIsPartial { id: checkpoint.id });
    }
    let databases = store.databases(&checkpoint)?;
    let state = store.extras(&checkpoint)?.state_document;
    let state = state.map(|id| store.objects().read(&id)).transpose();
    let state = state.map_err(|why| store.damage(checkpoint.id, why))?;
    let operation = checkpoint.record.operation.as_ref();
    let operation_target = operation.and_then(|operation| inventory.get(operation.target));
    Ok(ShowOutcome {
        state: state.map(|(_, bytes)| bytes),
        operation_target: operation_target.map(Cow::into_owned),
        paths,
        checkpoint,
        meta,
        before,
        changes,
        databases,
        warnings,
    })
}

/// Counts what the message of a plain git commit does not record.
fn measured(store: &Store, mut checkpoint: Checkpoint) -> Result<(Checkpoint, Meta)> {
    let snapshot = store.snapshot(&checkpoint)?;
    checkpoint.record.files = snapshot.files.len() as u64;
    for entry in snapshot.files.values() {
        let size = store
            .objects()
            .size(&entry.id)
            .map_err(|e| store.damage(checkpoint.id, e.to_string()))?;
        checkpoint.record.content_bytes += size;
    }
    if snapshot
        .uncaptured
        .values()
        .any(|entry| entry.why.makes_partial())
    {
        checkpoint.record.coverage = Coverage::Partial;
    }
    Ok((
        checkpoint,
        Meta {
            uncaptured: snapshot.uncaptured,
            ..Meta::default()
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_pattern_means_the_whole_reason() {
        for (pattern, text, expected) in [
            ("pre-*", "pre-wave-3", true),
            ("*wave*", "pre-wave-3", true),
            ("pre-wave-?", "pre-wave-3", true),
            ("pre", "pre-wave-3", false),
            ("*", "", true),
            ("?", "", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*d", "a-b-b-c", false),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
