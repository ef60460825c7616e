//! How many entries a tree has with all below it, and how deep it is: a few small objects can stand
//! for more files than any disk holds.

use crate::error::Result;
use crate::model::ObjectId;
use crate::model::checkpoint::limits::{MOST_ENTRIES, MOST_LEVELS};
use crate::store::IdMap;

/// Extents of trees.
#[derive(Default)]
pub struct TreeExtents {
    known: IdMap<Extent>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    entries: u64,
    levels: usize,
}

impl TreeExtents {
    /// Whether a tree is within the bounds. `read` is called once for each tree that is not known
    /// yet, and returns how many entries it has and the trees among them.
    ///
    /// # Errors
    /// That of `check_interrupt`.
    pub fn is_within(
        &mut self,
        root: ObjectId,
        check_interrupt: &dyn Fn() -> Result<()>,
        read: &mut dyn FnMut(ObjectId) -> (u64, Vec<ObjectId>),
    ) -> Result<bool> {
        let mut open: Vec<(ObjectId, Vec<ObjectId>, Extent)> = Vec::new();
        let mut next = Some(root).filter(|root| !self.known.contains_key(root));
        loop {
            if let Some(id) = next.take() {
                check_interrupt()?;
                if open.len() >= MOST_LEVELS {
                    return Ok(false);
                }
                let (entries, below) = read(id);
                open.push((id, below, Extent { entries, levels: 1 }));
            }
            let Some((id, below, extent)) = open.last_mut() else {
                return Ok(self.known.contains_key(&root));
            };
            if let Some(child) = below.pop() {
                match self.known.get(&child) {
                    Some(known) => extent.add(*known),
                    None => next = Some(child),
                }
                continue;
            }
            let (id, extent) = (*id, *extent);
            if extent.entries > MOST_ENTRIES || extent.levels > MOST_LEVELS {
                return Ok(false);
            }
            self.known.insert(id, extent);
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
