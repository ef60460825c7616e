//! Adoption: turns commits that plain git made in this store into checkpoints under their own ids.
//!
//! A store made by hand is one line of commits on a branch, with a manifest beside it. Each commit
//! named by a row gets a ref, and the branch is removed, so that its space can be freed once all
//! are dropped. Later commits of plain git are found on `main` and adopted likewise.

use std::collections::{BTreeMap, HashSet};

use crate::base::random_name::random_hex;
use crate::error::Result;
use crate::model::checkpoint::{manifest, message};
use crate::model::{Checkpoint, ObjectId};
use crate::store::files::{atomic_file, checksummed_text};
use crate::store::refs::ref_files;
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
    let found = candidates(
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
    match remember_sequences(layout, &sequences) {
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

/// Reads the sequence numbers of adopted commits, which do not hold one, and whose time is too coarse
/// to order them; empty if the file is missing or invalid.
pub fn known_sequences(layout: &Layout) -> BTreeMap<ObjectId, u64> {
    checksummed_text::read(&layout.adopted()).unwrap_or_default()
}

/// Writes the file if it lacks one of the places.
///
/// # Errors
/// The file cannot be written.
pub fn remember_sequences(layout: &Layout, sequences: &BTreeMap<ObjectId, u64>) -> Result<()> {
    if sequences.is_empty() {
        return Ok(());
    }
    let known = known_sequences(layout);
    if sequences
        .iter()
        .all(|(id, sequence)| known.get(id) == Some(sequence))
    {
        return Ok(());
    }
    checksummed_text::write(&layout.adopted(), sequences)
}

/// Lists commits of plain git that are not adopted yet, in no particular order. Writes nothing.
/// `made_by_hand` says that there is no checkpoint so far.
///
/// # Errors
/// The refs cannot be listed.
pub fn candidates(
    layout: &Layout,
    reader: &mut CommitReader<'_>,
    is_known: &dyn Fn(ObjectId) -> bool,
    made_by_hand: bool,
    manifest: Option<&str>,
) -> Result<Vec<Checkpoint>> {
    let tips: Vec<ObjectId> = ref_files::tips(layout)?
        .into_values()
        .filter(|id| !is_known(*id))
        .collect();
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let mut line = line_of(reader, &tips, is_known);
    if let Some(rows) = manifest
        .map(manifest::ids)
        .filter(|rows| made_by_hand && !rows.is_empty())
    {
        // In a store kept by hand, removing a row evicts the checkpoint. A tip may be too new to
        // have a row.
        line.retain(|id| {
            tips.contains(id) || rows.iter().any(|row| id.to_hex().starts_with(row.as_str()))
        });
    }
    Ok(line
        .into_iter()
        .filter_map(|id| reader.checkpoint(id).ok())
        .collect())
}

/// The tips and their ancestors, down to a commit that is known or ours.
fn line_of(
    reader: &mut CommitReader<'_>,
    tips: &[ObjectId],
    is_known: &dyn Fn(ObjectId) -> bool,
) -> Vec<ObjectId> {
    let mut seen: HashSet<ObjectId> = HashSet::new();
    let mut line = Vec::new();
    let mut pending = tips.to_vec();
    while let Some(id) = pending.pop() {
        if is_known(id) || !seen.insert(id) {
            continue;
        }
        let Ok(commit) = reader.parts(id) else {
            continue;
        };
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
