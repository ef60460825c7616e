//! Pairs of versions whose delta did not pay off, remembered so that no prune tries them again.

use std::collections::HashSet;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::files::{atomic_file, read_regular};
use crate::store::layout::Layout;
use crate::store::objects::id_set::ObjectIds;

/// A newer version and an older one.
pub type Pair = (ObjectId, ObjectId);

/// Reads the known pairs; none if the file is unreadable.
pub fn read(layout: &Layout) -> HashSet<Pair> {
    let text = read_regular::read_text(&layout.rejected_bases()).unwrap_or_default();
    let pair = |line: &str| {
        let (newer, older) = line.split_once(' ')?;
        Some((ObjectId::from_hex(newer)?, ObjectId::from_hex(older)?))
    };
    text.lines().filter_map(pair).collect()
}

/// Adds pairs, and drops those with an object outside `live`.
///
/// # Errors
/// The file cannot be written.
pub fn add(layout: &Layout, pairs: &[Pair], live: &ObjectIds) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let mut known: Vec<Pair> = read(layout)
        .into_iter()
        .chain(pairs.iter().copied())
        .collect();
    known.retain(|(newer, older)| live.contains(newer) && live.contains(older));
    known.sort_unstable();
    known.dedup();
    let text: String = known
        .iter()
        .map(|(newer, older)| format!("{newer} {older}\n"))
        .collect();
    atomic_file::replace(&layout.rejected_bases(), text.as_bytes())
}
