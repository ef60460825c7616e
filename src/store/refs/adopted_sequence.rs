//! Sequence numbers of adopted commits of plain git: they do not hold one, and their time is too
//! coarse to order them.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::ObjectId;
use crate::store::Layout;
use crate::store::files::checksummed_text;

/// Reads the sequence number of each; empty if the file is missing or invalid.
pub fn read(layout: &Layout) -> BTreeMap<ObjectId, u64> {
    checksummed_text::read(&layout.adopted()).unwrap_or_default()
}

/// Writes the file if it lacks one of the places.
///
/// # Errors
/// The file cannot be written.
pub fn remember(layout: &Layout, sequences: &BTreeMap<ObjectId, u64>) -> Result<()> {
    if sequences.is_empty() {
        return Ok(());
    }
    let known = read(layout);
    if sequences
        .iter()
        .all(|(id, sequence)| known.get(id) == Some(sequence))
    {
        return Ok(());
    }
    checksummed_text::write(&layout.adopted(), sequences)
}
