//! Adoption: turns commits that plain git made in this store into checkpoints under their own ids.
//!
//! A store made by hand is one line of commits on a branch, with a manifest beside it. Each commit
//! named by a row gets a ref, and the branch is removed, so that its space can be freed once all
//! are dropped. Later commits of plain git are found on `main` and adopted likewise.

use std::collections::BTreeMap;

use crate::base::random_name::random_hex;
use crate::error::Result;
use crate::model::{Checkpoint, ObjectId};
use crate::store::files::atomic_file;
use crate::store::refs::ref_files;
use crate::store::refs::{adopted_sequence, plain_git};
use crate::store::{CommitReader, Family, Inventory, Layout};

/// Writes a ref for each commit to adopt, then moves away what would keep the whole line alive.
/// Runs under the lock; after a kill in between the next run continues.
///
/// # Errors
/// A ref cannot be written or removed.
pub fn run(
    layout: &Layout,
    reader: &mut CommitReader<'_>,
    inventory: &mut Inventory,
    manifest: Option<&str>,
) -> Result<Vec<Checkpoint>> {
    let found = plain_git::candidates(
        layout,
        reader,
        &|id| inventory.knows(id),
        inventory.is_empty(),
        manifest,
    )?;
    let adopted = inventory
        .checkpoints
        .unindexed()
        .filter(|c| c.adopted)
        .chain(&found);
    let sequences: BTreeMap<ObjectId, u64> = adopted.map(|c| (c.id, c.record.sequence)).collect();
    match adopted_sequence::remember(layout, &sequences) {
        // With nothing new to adopt a full disk is tolerated, so that commands which free space
        // still run.
        Err(error) if found.is_empty() && error.is_full() => {}
        remembered => remembered?,
    }
    for checkpoint in &found {
        ref_files::write(layout, Family::Checkpoints, checkpoint.id, checkpoint.id)?;
    }
    for checkpoint in &found {
        inventory.checkpoints.push(checkpoint.clone());
    }
    remove_branches(layout, inventory)?;
    move_logs_away(layout)?;
    Ok(found)
}

/// Removes branches whose tip has a ref of its own, but not `main`, the newest checkpoint.
fn remove_branches(layout: &Layout, inventory: &Inventory) -> Result<()> {
    for (name, id) in ref_files::tips(layout)? {
        if !matches!(&*name, ref_files::MAIN | "HEAD") && inventory.knows(id) {
            atomic_file::remove_if_there(&layout.dir().join(name))?;
        }
    }
    Ok(())
}

/// Moves reflogs to where git does not look: they name commits that may be dropped later.
fn move_logs_away(layout: &Layout) -> Result<()> {
    let logs = layout.dir().join("logs");
    if logs.symlink_metadata().is_err() {
        return Ok(());
    }
    let aside = layout
        .own()
        .join(format!("logs-of-plain-git-{}", random_hex()));
    atomic_file::rename(&logs, &aside)
}

/// Keeps the commit of a detached HEAD by a ref: HEAD is about to be rewritten.
///
/// # Errors
/// The ref cannot be written.
pub fn keep_detached_head(layout: &Layout) -> Result<()> {
    match ref_files::detached_head(layout)? {
        Some(id) => ref_files::write(layout, Family::Foreign, id, id),
        None => Ok(()),
    }
}
