//! How many entries a tree has with all below it, and how deep it is: a few small objects can stand
//! for more files than any disk holds.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::model::checkpoint::limits::{MOST_ENTRIES, MOST_LEVELS};
use crate::model::state::object_id::ObjectId;
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::odb::Objects;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, TreeEntry};

/// A tree, and an upper bound on its entries with all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedTree {
    pub tree: ObjectId,
    pub entries: u64,
    /// Whether all of it was checked.
    pub is_checked: bool,
}

/// Extents of trees.
#[derive(Default)]
pub struct TreeExtents {
    known: HashMap<ObjectId, Extent>,
    /// Trees that were judged beside a checked one, and are within the bounds.
    compared: HashSet<ObjectId>,
    /// What a tree has in the same place as one that was checked before: trees and blobs.
    pub unchanged: HashSet<ObjectId>,
    /// Trees that may still be compared: names alone would make that as long as a disk is large.
    comparisons_left: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    entries: u64,
    levels: usize,
}

impl TreeExtents {
    /// Begins with nothing known; `comparisons` bounds the reads of [`Self::entries_near`].
    pub fn new(comparisons: usize) -> Self {
        Self {
            comparisons_left: comparisons,
            ..Self::default()
        }
    }

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
        if self.compared.contains(&root) {
            return Ok(true);
        }
        Ok(self.of(root, check_interrupt, read)?.is_some())
    }

    /// Compares each tree with the one before it; `near` is like the first. Returns the last that is
    /// within the bounds.
    ///
    /// # Errors
    /// That of `check_interrupt`.
    pub fn follow(
        &mut self,
        objects: &Objects,
        roots: &[ObjectId],
        mut near: Option<BoundedTree>,
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<Option<BoundedTree>> {
        for root in roots {
            let entries = self.entries_near(objects, *root, near, check_interrupt)?;
            near = entries.map_or(near, |entries| {
                Some(BoundedTree {
                    tree: *root,
                    entries,
                    is_checked: false,
                })
            });
        }
        Ok(near)
    }

    /// Returns a bound on the entries of a tree; `None` if it is not within the bounds. What `near`
    /// has in the same place is not read.
    ///
    /// # Errors
    /// That of `check_interrupt`.
    fn entries_near(
        &mut self,
        objects: &Objects,
        root: ObjectId,
        near: Option<BoundedTree>,
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<Option<u64>> {
        if let Some(near) = near
            && let Some(entries) = self.compare(objects, root, near, check_interrupt)?
        {
            return Ok(Some(entries));
        }
        let extent = self.of(root, check_interrupt, &mut |id| read(objects, id))?;
        Ok(extent.map(|extent| extent.entries))
    }

    /// Bounds a tree by a checked one; `None` if they differ too much for that.
    fn compare(
        &mut self,
        objects: &Objects,
        root: ObjectId,
        near: BoundedTree,
        check_interrupt: &dyn Fn() -> Result<()>,
    ) -> Result<Option<u64>> {
        let (mut entries, mut compared) = (near.entries, HashSet::new());
        let mut open = vec![(root, near.tree, 1)];
        while let Some((id, other, level)) = open.pop() {
            if id == other {
                self.unchanged.extend(near.is_checked.then_some(id));
                continue;
            }
            check_interrupt()?;
            let left = self.comparisons_left.checked_sub(1);
            let pair = parse(objects, id).zip(parse(objects, other));
            let (Some(left), Some((tree, known))) = (left, pair) else {
                return Ok(None);
            };
            self.comparisons_left = left;
            entries = entries.saturating_add(tree.len() as u64);
            // Of the other, git may send a copy as a base.
            compared.extend([id, other]);
            for entry in tree {
                match tree_codec::find(&known, &entry.name) {
                    Some(same) if same.id == entry.id && same.mode == entry.mode => {
                        self.unchanged.extend(near.is_checked.then_some(entry.id));
                    }
                    Some(same) if same.is_directory() && entry.is_directory() => {
                        open.push((entry.id, same.id, level + 1));
                    }
                    _ if entry.is_directory() => {
                        let read = &mut |id| read(objects, id);
                        let below = self.of(entry.id, check_interrupt, read)?;
                        let Some(below) = below.filter(|e| level + e.levels <= MOST_LEVELS) else {
                            return Ok(None);
                        };
                        entries = entries.saturating_add(below.entries);
                    }
                    _ => {}
                }
            }
            if entries > MOST_ENTRIES {
                return Ok(None);
            }
        }
        self.compared.extend(compared);
        Ok(Some(entries))
    }

    /// The extent of a tree; `None` if it is not within the bounds.
    fn of(
        &mut self,
        root: ObjectId,
        check_interrupt: &dyn Fn() -> Result<()>,
        read: &mut dyn FnMut(ObjectId) -> (u64, Vec<ObjectId>),
    ) -> Result<Option<Extent>> {
        let mut open: Vec<(ObjectId, Vec<ObjectId>, Extent)> = Vec::new();
        let mut next = Some(root).filter(|root| !self.known.contains_key(root));
        loop {
            if let Some(id) = next.take() {
                check_interrupt()?;
                if open.len() >= MOST_LEVELS {
                    return Ok(None);
                }
                let (entries, below) = read(id);
                open.push((id, below, Extent { entries, levels: 1 }));
            }
            let Some((id, below, extent)) = open.last_mut() else {
                return Ok(self.known.get(&root).copied());
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
                return Ok(None);
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

fn parse(objects: &Objects, id: ObjectId) -> Option<Vec<TreeEntry>> {
    tree_codec::parse(&objects.read(&id).ok()?.1).ok()
}

/// The number of entries of a tree, and the trees in it. One that cannot be read counts as empty: the
/// check of the checkpoint names it.
fn read(objects: &Objects, id: ObjectId) -> (u64, Vec<ObjectId>) {
    let lines = |bytes: &[u8]| -> Result<_, ReadFailure> {
        let (mut entries, mut below) = (0, Vec::new());
        for line in tree_codec::lines(bytes) {
            let line = line?;
            entries += 1;
            below.extend((line.mode == MODE_DIRECTORY).then_some(line.id));
        }
        Ok((entries, below))
    };
    let bytes = objects.read(&id).map_err(ReadFailure::from);
    bytes
        .and_then(|(_, bytes)| lines(&bytes))
        .unwrap_or_default()
}
