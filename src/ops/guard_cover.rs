//! Whether a checkpoint covers what is about to be changed: by its terms, and by what it really holds.

use crate::error::Result;
use crate::model::checkpoint::Checkpoint;
use crate::model::entry::WhyNot;
use crate::model::rel_path::RelPath;
use crate::model::scope::{Scope, ScopePart};
use crate::ops::context::Context;
use crate::ops::held_state::HeldState;
use crate::store::Store;
use crate::worktree::sys::{ItemKind, kind_of};
use crate::worktree::tree_handle::WorkTree;

/// By its terms alone. Without a scope the whole directory is wanted, and all of it.
pub fn covers(checkpoint: &Checkpoint, wanted: Option<&Scope>) -> bool {
    match (wanted, &checkpoint.record.terms.scope) {
        (None, _) => checkpoint.is_whole() && checkpoint.is_complete(),
        (Some(_), None) => checkpoint.is_whole(),
        (Some(wanted), Some(held)) => held.holds(wanted),
    }
}

/// What of a scope it cannot bring back although it covers it: something that it could not read, or a named path that
/// stands on disk and that a rule left out, say.
///
/// # Errors
/// The checkpoint is damaged, or the system does not tell what stands on disk.
pub fn lacks(context: &Context, store: &Store, checkpoint: &Checkpoint, wanted: &Scope) -> Result<Option<String>> {
    let meta = store.companion(checkpoint)?.meta;
    let mut missed = meta.uncaptured.iter().filter(|(path, found)| found.why.makes_partial() && wanted.covers(path));
    if let Some((path, standing)) = missed.next() {
        return Ok(Some(format!("{path} ({})", standing.why.in_words())));
    }
    let work = WorkTree::open(context.root.path())?;
    let state = HeldState::new(store, checkpoint.tree, meta);
    for path in wanted.parts().iter().filter_map(ScopePart::as_path) {
        if let Some(link) = link_above(&work, path)? {
            return Ok(Some(format!("'{path}', which is reached through the symlink {link}")));
        }
        let held = || is_held(&state, path).map_err(|why| store.damage(checkpoint.id, why));
        if work.stat(path)?.is_some() && !held()? {
            return Ok(Some(format!("'{path}'")));
        }
    }
    Ok(None)
}

/// What lies behind a symlink is somewhere else, where no checkpoint looks.
fn link_above(work: &WorkTree, path: &RelPath) -> Result<Option<RelPath>> {
    for above in path.ancestors() {
        if work.stat(&above)?.is_some_and(|found| kind_of(&found) == ItemKind::Symlink) {
            return Ok(Some(above));
        }
    }
    Ok(None)
}

/// What has no bytes is held once it is known.
fn is_held(state: &HeldState<'_>, path: &RelPath) -> Result<bool, String> {
    let standing = state.meta.uncaptured.get(path);
    if standing.is_some_and(|found| matches!(found.why, WhyNot::Fifo | WhyNot::Socket | WhyNot::Device)) {
        return Ok(true);
    }
    Ok(state.has_dir(path)? || state.has_file(path)?)
}
