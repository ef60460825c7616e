//! Commits that plain git made in a store and that have no ref of ours yet.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::{manifest, message};
use crate::model::state::object_id::ObjectId;
use crate::store::layout::Layout;
use crate::store::objects::id_set::ObjectIds;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::refs::ref_files;

/// Lists commits of plain git that are not adopted yet, in no particular order. Writes nothing.
///
/// # Errors
/// The refs cannot be listed.
pub fn candidates(
    layout: &Layout,
    reader: &mut CommitReader<'_>,
    known: &ObjectIds,
    manifest: Option<&str>,
) -> Result<Vec<Checkpoint>> {
    let tips: Vec<ObjectId> = ref_files::tips(layout)?
        .into_values()
        .filter(|id| !known.contains(id))
        .collect();
    if tips.is_empty() {
        return Ok(Vec::new());
    }
    let mut line = line_of(reader, &tips, known);
    let made_by_hand = known.is_empty();
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
pub fn line_of(
    reader: &mut CommitReader<'_>,
    tips: &[ObjectId],
    known: &ObjectIds,
) -> Vec<ObjectId> {
    let mut seen: HashSet<ObjectId> = HashSet::new();
    let mut line = Vec::new();
    let mut pending = tips.to_vec();
    while let Some(id) = pending.pop() {
        if known.contains(&id) || !seen.insert(id) {
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
