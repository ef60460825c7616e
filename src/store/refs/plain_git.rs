//! Commits that plain git made in a store and that have no ref of ours yet.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::checkpoint::{manifest, message};
use crate::model::{Checkpoint, ObjectId};
use crate::store::refs::ref_files;
use crate::store::{CommitReader, Layout};

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
