//! Adoption: commits that plain git made in this store become checkpoints like any others, under their own ids.
//!
//! A store made by hand is one line of commits on a branch, with a manifest beside it. Each commit that a row names
//! gets a ref of its own, and the branch goes, so that space can come back once the last of them is dropped. Later
//! commits of plain git are found on `main` and treated alike.

use std::collections::{BTreeMap, HashSet};

use crate::error::{Error, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::{manifest, message};
use crate::model::state::object_id::ObjectId;
use crate::store::files::atomic_file;
use crate::store::layout::Layout;
use crate::store::refs::adopted_places;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::refs::inventory::Inventory;
use crate::store::refs::ref_files::{self, Family};
use crate::store::repository::ObjectIds;

/// What plain git made and nobody has taken over yet, in no particular order. Nothing is written.
///
/// # Errors
/// The refs cannot be listed.
pub fn candidates(
    layout: &Layout,
    reader: &mut CommitReader<'_>,
    inventory: &Inventory,
    manifest: Option<&str>,
) -> Result<Vec<Checkpoint>> {
    let known = inventory.ids();
    let tips: Vec<ObjectId> = ref_files::tips(layout)?.into_values().filter(|id| !known.contains(id)).collect();
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let mut line = line_of(reader, &tips, &known);
    let made_by_hand = known.is_empty();
    if let Some(rows) = manifest.map(manifest::ids).filter(|rows| made_by_hand && !rows.is_empty()) {
        // Whoever keeps such a store by hand evicts by taking rows out. A tip may be too new to have one.
        line.retain(|id| tips.contains(id) || rows.iter().any(|row| id.to_hex().starts_with(row.as_str())));
    }
    Ok(line.into_iter().filter_map(|id| reader.checkpoint(id).ok()).collect())
}

/// The tips, and what lies below them down to a commit that is known or that we made.
fn line_of(reader: &mut CommitReader<'_>, tips: &[ObjectId], known: &ObjectIds) -> Vec<ObjectId> {
    let mut seen: HashSet<ObjectId> = HashSet::new();
    let mut line = Vec::new();
    let mut pending = tips.to_vec();
    while let Some(id) = pending.pop() {
        if known.contains(&id) || !seen.insert(id) {
            continue;
        }
        let Ok(commit) = reader.parts(id) else { continue };
        let ours = message::is_ours(&commit.message);
        if ours && !tips.contains(&id) {
            continue;
        }
        line.push(id);
        if !ours {
            pending.extend(commit.parents);
        }
    }
    line
}

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
    let found = candidates(layout, reader, inventory, manifest)?;
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
