//! How many entries a tree has with all below it, and how deep it is: a few small objects can stand
//! for more files than any disk holds.

use std::collections::HashMap;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::odb::Objects;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY};

/// Most entries of a tree that is imported, with all below it.
pub const MOST_ENTRIES: u64 = 4_000_000;
/// Most levels of it.
pub const MOST_LEVELS: u32 = 2000;

/// Extents of trees, each read once.
#[derive(Default)]
pub struct TreeExtents(HashMap<ObjectId, Extent>);

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    entries: u64,
    levels: u32,
}

impl TreeExtents {
    /// Whether a tree is within the bounds. One that cannot be read counts as empty: the check of
    /// the checkpoint names it.
    ///
    /// # Errors
    /// That of `check_interrupt`.
    pub fn is_within(
        &mut self,
        objects: &Objects,
        root: ObjectId,
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<bool> {
        let mut open: Vec<(ObjectId, Vec<ObjectId>, Extent)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(id) = next.take() {
                check_interrupt()?;
                if open.len() as u64 >= u64::from(MOST_LEVELS) {
                    return Ok(false);
                }
                let (entries, below) = read(objects, id).unwrap_or_default();
                open.push((id, below, Extent { entries, levels: 1 }));
            }
            let Some((id, below, extent)) = open.last_mut() else {
                return Ok(true);
            };
            if let Some(child) = below.pop() {
                match self.0.get(&child) {
                    Some(known) => extent.add(*known),
                    None => next = Some(child),
                }
                continue;
            }
            let (id, extent) = (*id, *extent);
            if extent.entries > MOST_ENTRIES || extent.levels > MOST_LEVELS {
                return Ok(false);
            }
            self.0.insert(id, extent);
            open.pop();
            if let Some((_, _, above)) = open.last_mut() {
                above.add(extent);
            }
        }
    }
}

impl Extent {
    fn add(&mut self, below: Self) {
        self.entries = self.entries.saturating_add(below.entries);
        self.levels = self.levels.max(below.levels + 1);
    }
}

/// The number of entries of a tree, and the trees in it.
fn read(objects: &Objects, id: ObjectId) -> Result<(u64, Vec<ObjectId>), ReadFailure> {
    let (_, bytes) = objects.read(&id)?;
    let (mut entries, mut below) = (0, Vec::new());
    for line in tree_codec::lines(&bytes) {
        let line = line?;
        entries += 1;
        below.extend((line.mode == MODE_DIRECTORY).then_some(line.id));
    }
    Ok((entries, below))
}
