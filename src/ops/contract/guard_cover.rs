//! Whether a checkpoint covers a coming change: by its terms and by its content.

use std::ops::ControlFlow;

use crate::base::cut_list::and_more;
use crate::error::Result;
use crate::model::{Checkpoint, RelPath, Scope, ScopePart, WhyNot};
use crate::ops::browse::diff::compare;
use crate::ops::{Context, Detail, Globs, LazySnapshot, PatchOptions, TypedWords};
use crate::store::{ReadFailure, Store};
use crate::worktree::WorkTree;

/// Maximum number of uncovered paths that a refusal names.
const NAMED_UNCOVERED: usize = 10;

/// Whether its terms cover the scope; no scope means the whole directory.
pub fn covers(checkpoint: &Checkpoint, wanted: Option<&Scope>) -> bool {
    match (wanted, &checkpoint.record.terms.scope) {
        (_, None) => checkpoint.is_whole(),
        (None, Some(_)) => false,
        (Some(wanted), Some(held)) => held.holds(wanted),
    }
}

/// Returns what a covering checkpoint still cannot restore within the scope, such as an unreadable
/// file, or a named path on disk that a rule left out.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be examined.
pub fn lacks(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    wanted: Option<&Scope>,
) -> Result<Option<String>> {
    let meta = store.meta(checkpoint)?;
    let is_wanted = |path: &RelPath| wanted.is_none_or(|scope| scope.covers(path));
    let missed = meta.uncaptured.iter();
    let missed: Vec<String> = missed
        .filter(|(path, found)| found.why.makes_partial() && is_wanted(path))
        .map(|(path, found)| format!("{} ({})", context.shown(path), found.why.in_words()))
        .collect();
    if !missed.is_empty() {
        // A new checkpoint would lack the same.
        let listed = and_more(&missed, NAMED_UNCOVERED);
        let fix = "fix that first, or name with --scope what will be changed";
        return Ok(Some(format!("{listed}: {fix}")));
    }
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    let work = WorkTree::open_root(&context.root)?;
    let state = LazySnapshot::new(store, checkpoint.tree, meta);
    for path in wanted.parts().iter().filter_map(ScopePart::as_path) {
        let held = || is_held(&state, path).map_err(|why| store.damage(checkpoint.id, why));
        if work.stat(path)?.is_some() && !held()? {
            return Ok(Some(format!("'{}'", context.shown(path))));
        }
    }
    Ok(None)
}

/// Returns the first path within the scope that is not now as the checkpoint holds it.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be read.
pub fn edited(
    context: &Context,
    checkpoint: &Checkpoint,
    wanted: Option<&Scope>,
) -> Result<Option<RelPath>> {
    let words = TypedWords::of_checkpoint(checkpoint.id.to_hex());
    let names = PatchOptions {
        detail: Detail::Names,
        context: 0,
        binary: false,
    };
    let go_on = &mut |_: &_| ControlFlow::Continue(());
    let found = compare::diff(context, &words, &Globs::default(), names, go_on)?;
    let unread = found.not_compared.into_iter();
    let unread = unread.filter(|(_, why)| why.makes_partial() || matches!(why, WhyNot::Secret(_)));
    let other = found.other;
    let mut paths = found
        .files
        .into_iter()
        .map(|file| file.path)
        .chain(other.modes.into_iter().map(|sides| sides.path))
        .chain(other.empty_dirs_added)
        .chain(other.empty_dirs_deleted)
        .chain(unread.map(|(path, _)| path));
    Ok(paths.find(|path| wanted.is_none_or(|scope| scope.covers(path))))
}

/// Returns the first part of a scope that matches no file of the checkpoint nor, if it is a path,
/// anything on disk.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be examined.
pub fn unmatched<'s>(
    context: &Context,
    store: &Store,
    checkpoint: &Checkpoint,
    wanted: &'s Scope,
) -> Result<Option<&'s ScopePart>> {
    let state = LazySnapshot::new(store, checkpoint.tree, store.meta(checkpoint)?);
    let work = WorkTree::open_root(&context.root)?;
    let mut all = None;
    for part in wanted.parts() {
        let is_matched = match part.as_path() {
            Some(path) if work.stat(path)?.is_some() => true,
            Some(path) => is_held(&state, path).map_err(|why| store.damage(checkpoint.id, why))?,
            None => {
                let held = match &all {
                    Some(held) => held,
                    None => all.insert(store.snapshot(checkpoint)?),
                };
                held.files
                    .keys()
                    .chain(held.dirs.keys())
                    .any(|path| part.covers(path))
            }
        };
        if !is_matched {
            return Ok(Some(part));
        }
    }
    Ok(None)
}

/// Whether a path is held; a special file, which has no bytes, is held once recorded.
fn is_held(state: &LazySnapshot<'_>, path: &RelPath) -> Result<bool, ReadFailure> {
    let found = state.meta.uncaptured.get(path).map(|found| &found.why);
    if let Some(WhyNot::Fifo | WhyNot::Socket | WhyNot::Device) = found {
        return Ok(true);
    }
    state.holds(path)
}
