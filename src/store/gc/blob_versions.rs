//! Versions of large files: the contents of one path in successive checkpoints.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::state::object_id::ObjectId;
use crate::store::objects::catalogue::Catalogue;
use crate::store::objects::id_set::{IdMap, ObjectIds};
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK, TreeLine};

/// Smallest content, in bytes, for which deltas are worthwhile.
const SMALLEST_BYTES: u64 = 1 << 20;
/// Largest content, in bytes, that becomes a delta: a delta takes several times its memory, both to
/// make and to read.
const LARGEST_BYTES: u64 = 256 << 20;
/// Smallest compressed size, in bytes, of an object that is looked at.
const WORTH_A_LOOK_BYTES: u64 = 64 << 10;

/// Whether some large content of `live` is not in `newest`, without which there are no versions.
pub fn may_exist(catalogue: &Catalogue<'_>, live: &ObjectIds, newest: &ObjectIds) -> bool {
    live.difference(newest)
        .any(|id| catalogue.room_of(id) >= WORTH_A_LOOK_BYTES && is_large(catalogue, id))
}

fn is_large(catalogue: &Catalogue<'_>, id: &ObjectId) -> bool {
    let found = catalogue.kind_and_size(id);
    matches!(
        found,
        Some((ObjectKind::Blob, SMALLEST_BYTES..=LARGEST_BYTES))
    )
}

/// Lines of contents of large files by path, newest first. Each content is in one line at most.
///
/// # Errors
/// A tree cannot be read.
pub fn lines(
    catalogue: &Catalogue<'_>,
    trees_newest_first: &[ObjectId],
) -> Result<Vec<Vec<ObjectId>>, ReadFailure> {
    let mut finder = Finder {
        catalogue,
        known: IdMap::default(),
        is_large: IdMap::default(),
        older_than: IdMap::default(),
        heads: Vec::new(),
    };
    for pair in trees_newest_first.windows(2) {
        finder.compare_trees(pair[0], pair[1])?;
    }
    Ok(finder.lines())
}

struct Finder<'c> {
    catalogue: &'c Catalogue<'c>,
    /// Trees of the last older side, which is the newer side of the next comparison.
    known: IdMap<Arc<[u8]>>,
    is_large: IdMap<bool>,
    /// The next older content in a line; `None` at its end.
    older_than: IdMap<Option<ObjectId>>,
    heads: Vec<ObjectId>,
}

impl Finder<'_> {
    fn compare_trees(&mut self, newer: ObjectId, older: ObjectId) -> Result<(), ReadFailure> {
        let mut pending = vec![(newer, older)];
        let mut read = IdMap::default();
        while let Some((newer, older)) = pending.pop() {
            if newer == older {
                continue;
            }
            let newer = self.tree(newer)?;
            let id = older;
            let older = self.tree(id)?;
            read.insert(id, Arc::clone(&older));
            for (newer, older) in same_names(&newer, &older)? {
                match (newer.mode, older.mode) {
                    (MODE_DIRECTORY, MODE_DIRECTORY) => pending.push((newer.id, older.id)),
                    (MODE_DIRECTORY | MODE_GITLINK, _) | (_, MODE_DIRECTORY | MODE_GITLINK) => {}
                    _ => self.note(newer.id, older.id),
                }
            }
        }
        self.known = read;
        Ok(())
    }

    fn tree(&self, id: ObjectId) -> Result<Arc<[u8]>, ReadFailure> {
        match self.known.get(&id) {
            Some(known) => Ok(Arc::clone(known)),
            None => Ok(self.catalogue.read(&id)?.1.into()),
        }
    }

    fn note(&mut self, newer: ObjectId, older: ObjectId) {
        if self.older_than.contains_key(&older) || !self.is_large(older) || !self.is_large(newer) {
            return;
        }
        match self.older_than.get(&newer) {
            // The content has an older version from another path.
            Some(Some(_)) => return,
            Some(None) => {}
            None => self.heads.push(newer),
        }
        self.older_than.insert(newer, Some(older));
        self.older_than.insert(older, None);
    }

    fn is_large(&mut self, id: ObjectId) -> bool {
        let catalogue = self.catalogue;
        *self
            .is_large
            .entry(id)
            .or_insert_with(|| is_large(catalogue, &id))
    }

    fn lines(self) -> Vec<Vec<ObjectId>> {
        let older = |id: &ObjectId| self.older_than.get(id).copied().flatten();
        self.heads
            .iter()
            .map(|head| std::iter::successors(Some(*head), older).collect())
            .collect()
    }
}

/// Pairs of entries of two trees with the same name and different ids.
fn same_names<'t>(
    newer: &'t [u8],
    older: &'t [u8],
) -> Result<Vec<(TreeLine<'t>, TreeLine<'t>)>, ReadFailure> {
    let older: Vec<TreeLine<'t>> = tree_codec::lines(older).collect::<Result<_, _>>()?;
    let mut by_name: Option<HashMap<&[u8], TreeLine<'_>>> = None;
    let mut found = Vec::new();
    for (at, line) in tree_codec::lines(newer).enumerate() {
        let line = line?;
        // Usually the trees have the same names, at the same positions.
        let same = older
            .get(at)
            .filter(|other| other.name == line.name)
            .copied()
            .or_else(|| {
                let index = || older.iter().map(|line| (line.name, *line)).collect();
                by_name.get_or_insert_with(index).get(line.name).copied()
            });
        found.extend(
            same.filter(|other| other.id != line.id)
                .map(|other| (line, other)),
        );
    }
    Ok(found)
}
