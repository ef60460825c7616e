//! Versions of large files: which contents stood at the same path in one checkpoint after the other.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::state::object_id::ObjectId;
use crate::store::objects::catalogue::Catalogue;
use crate::store::objects::hash::object_hash::ObjectKind;
use crate::store::objects::id_set::{IdMap, ObjectIds};
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_GITLINK, TreeLine};

/// Content below this gains too little.
const SMALLEST_BYTES: u64 = 1 << 20;
/// Content above this stays whole: a delta of it takes several times as much memory, when made and when read.
const LARGEST_BYTES: u64 = 256 << 20;
/// What takes less room in a pack than this is not worth a look.
const WORTH_A_LOOK_BYTES: u64 = 64 << 10;

/// Whether some large content of `live` is not in `newest`: only then can there be versions.
pub fn may_exist(catalogue: &Catalogue<'_>, live: &ObjectIds, newest: &ObjectIds) -> bool {
    live.difference(newest).any(|id| catalogue.room_of(id) >= WORTH_A_LOOK_BYTES && is_large(catalogue, id))
}

fn is_large(catalogue: &Catalogue<'_>, id: &ObjectId) -> bool {
    let found = catalogue.kind_and_size(id);
    matches!(found, Some((Some(ObjectKind::Blob), SMALLEST_BYTES..=LARGEST_BYTES)))
}

/// Contents of large files by path, in lines that begin with the newest. Each content stands in one line at most.
///
/// # Errors
/// In words: a tree cannot be read.
pub fn lines(catalogue: &Catalogue<'_>, trees_newest_first: &[ObjectId]) -> Result<Vec<Vec<ObjectId>>, String> {
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
    /// Trees of the last older side, which is the newer one of the next comparison.
    known: IdMap<Arc<[u8]>>,
    is_large: IdMap<bool>,
    /// What stands behind each content of a line; `None` at the end.
    older_than: IdMap<Option<ObjectId>>,
    heads: Vec<ObjectId>,
}

impl Finder<'_> {
    fn compare_trees(&mut self, newer: ObjectId, older: ObjectId) -> Result<(), String> {
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

    fn tree(&self, id: ObjectId) -> Result<Arc<[u8]>, String> {
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
            // It has an older one from another path.
            Some(Some(_)) => return,
            Some(None) => {}
            None => self.heads.push(newer),
        }
        self.older_than.insert(newer, Some(older));
        self.older_than.insert(older, None);
    }

    fn is_large(&mut self, id: ObjectId) -> bool {
        let catalogue = self.catalogue;
        *self.is_large.entry(id).or_insert_with(|| is_large(catalogue, &id))
    }

    fn lines(self) -> Vec<Vec<ObjectId>> {
        let older = |id: &ObjectId| self.older_than.get(id).copied().flatten();
        self.heads.iter().map(|head| std::iter::successors(Some(*head), older).collect()).collect()
    }
}

/// Lines of two trees that have the same name and differ.
fn same_names<'t>(newer: &'t [u8], older: &'t [u8]) -> Result<Vec<(TreeLine<'t>, TreeLine<'t>)>, String> {
    let older: Vec<TreeLine<'t>> = tree_codec::lines(older).collect::<Result<_, _>>()?;
    let mut by_name: Option<HashMap<&[u8], TreeLine<'_>>> = None;
    let mut found = Vec::new();
    for (at, line) in tree_codec::lines(newer).enumerate() {
        let line = line?;
        // Mostly nothing came or went, and each line stands where it stood.
        let same = older.get(at).filter(|other| other.name == line.name).copied().or_else(|| {
            let index = || older.iter().map(|line| (line.name, *line)).collect();
            by_name.get_or_insert_with(index).get(line.name).copied()
        });
        found.extend(same.filter(|other| other.id != line.id).map(|other| (line, other)));
    }
    Ok(found)
}
