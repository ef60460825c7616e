//! Sequence numbers of adopted commits of plain git: they do not hold one, and their time is too coarse to order them.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::files::{atomic_file, checksummed_text, read_regular};
use crate::store::layout::Layout;

/// Reads the sequence number of each; empty if the file is missing or invalid.
pub fn read(layout: &Layout) -> BTreeMap<ObjectId, u64> {
    read_regular::read_text(&layout.adopted()).ok().and_then(|text| parse(&text)).unwrap_or_default()
}

/// Writes the file if it lacks one of the places.
///
/// # Errors
/// The file cannot be written.
pub fn remember(layout: &Layout, places: &BTreeMap<ObjectId, u64>) -> Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let known = read(layout);
    if places.iter().all(|(id, place)| known.get(id) == Some(place)) {
        return Ok(());
    }
    let lines: String = places.iter().map(|(id, place)| format!("{id} {place}\n")).collect();
    atomic_file::replace(&layout.adopted(), checksummed_text::seal(&lines).as_bytes())
}

fn parse(text: &str) -> Option<BTreeMap<ObjectId, u64>> {
    let lines = checksummed_text::unseal(text)?.lines();
    lines
        .map(|line| line.split_once(' ').and_then(|(id, at)| Some((ObjectId::from_hex(id)?, at.parse().ok()?))))
        .collect()
}
