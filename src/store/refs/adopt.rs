//! Adoption: commits that plain git made in this store become checkpoints like any others, under their own ids.
//!
//! A store made by hand is one line of commits on a branch, with a manifest beside it. Each commit that a row names
//! gets a ref of its own, and the branch goes, so that space can come back once the last of them is dropped. Later
//! commits of plain git are found on `main` and treated alike.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::object_id::ObjectId;
use crate::store::files::atomic_file;
use crate::store::layout::Layout;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::refs::inventory::Inventory;
use crate::store::refs::ref_files::{self, Family};
use crate::store::refs::{adopted_places, plain_git};

/// Gives each of them its ref, then moves away what would keep the whole line alive. Runs under the lock; a kill
/// in between leaves a state from which the next run goes on.
///
/// # Errors
/// A ref cannot be written or removed.
pub fn run(
    layout: &Layout,
    reader: &mut CommitReader<'_>,
    inventory: &mut Inventory,
    manifest: Option<&str>,
) -> Result<Vec<Checkpoint>> {
    let found = plain_git::candidates(layout, reader, &inventory.ids(), manifest)?;
    let adopted = inventory.checkpoints.iter().filter(|c| c.adopted).chain(&found);
    let places: BTreeMap<ObjectId, u64> = adopted.map(|c| (c.id, c.record.sequence)).collect();
    match adopted_places::remember(layout, &places) {
        // Where nothing new is adopted it can wait for room, and what gives room back cannot wait for it.
        Err(Error::Io { source, .. }) if found.is_empty() && atomic_file::is_full(&source) => {}
        remembered => remembered?,
    }
    for checkpoint in &found {
        ref_files::write(layout, Family::Checkpoints, checkpoint.id, checkpoint.id)?;
    }
    inventory.checkpoints.extend(found.iter().cloned());
    remove_branches(layout, inventory)?;
    move_logs_away(layout)?;
    Ok(found)
}

/// A branch whose tip has a ref of its own is not needed; `main` is, and follows the newest checkpoint.
fn remove_branches(layout: &Layout, inventory: &Inventory) -> Result<()> {
    let known = inventory.ids();
    for (name, id) in ref_files::tips(layout)? {
        if !matches!(&*name, ref_files::MAIN | "HEAD") && known.contains(&id) {
            atomic_file::remove_if_there(&layout.dir().join(name))?;
        }
    }
    Ok(())
}

/// Reflogs name commits that are to be dropped one day. They are kept where git does not look.
fn move_logs_away(layout: &Layout) -> Result<()> {
    let logs = layout.dir().join("logs");
    if logs.symlink_metadata().is_err() {
        return Ok(());
    }
    let aside = layout.own().join(format!("logs-of-plain-git-{}", atomic_file::random_hex()));
    atomic_file::rename(&logs, &aside)
}

/// A detached HEAD is about to be rewritten: the commit that it names must not be lost by that.
///
/// # Errors
/// Its ref cannot be written.
pub fn keep_detached_head(layout: &Layout) -> Result<()> {
    match ref_files::detached_head(layout)? {
        Some(id) => ref_files::write(layout, Family::Foreign, id, id),
        None => Ok(()),
    }
}
