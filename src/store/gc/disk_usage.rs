//! Disk space taken by a store, and by its checkpoints: compressed bytes by the indexes, each
//! object counted once.

use std::path::Path;

use walkdir::{DirEntry, WalkDir};

use crate::error::Result;
use crate::model::{Checkpoint, Line, ObjectId};
use crate::store::objects::loose_files;
use crate::store::refs::ref_files;
use crate::store::{IdMap, ObjectIds, Reach, Store};

/// Bytes per object in an index: id, checksum, offset.
const INDEX_ENTRY_BYTES: u64 = 28;
/// Bytes of a pack and its index without their entries.
const EMPTY_PACK_BYTES: u64 = 1104;

/// Sum of the sizes of all files below a directory, in bytes. Unreadable ones count as zero.
pub fn bytes_below(dir: &Path) -> u64 {
    let files = WalkDir::new(dir)
        .follow_links(false)
        .follow_root_links(false)
        .into_iter()
        .filter_map(std::result::Result::ok);
    files
        .filter(|entry: &DirEntry| entry.file_type().is_file())
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.len())
        .sum()
}

/// Adds up the space of checkpoints one after the other.
pub struct DiskUsage<'s> {
    store: &'s Store,
    sizes: IdMap<u64>,
    counted: Reach<'s>,
    /// Bytes of the index of checkpoints for each of them.
    index_share: u64,
}

impl<'s> DiskUsage<'s> {
    /// # Errors
    /// A directory of the store cannot be listed. An unreadable index counts as zero.
    pub fn new(store: &'s Store) -> Result<Self> {
        let mut sizes = IdMap::default();
        for pack in store.objects().pack_list() {
            let Ok(index) = pack.index() else { continue };
            for entry in index.entries() {
                let bytes = pack.room_of(&entry) + INDEX_ENTRY_BYTES;
                sizes.entry(entry.id).or_insert(bytes);
            }
        }
        let dir = store.objects().objects_dir();
        for id in loose_files::list(dir)? {
            let bytes = loose_files::path_of(dir, &id)
                .symlink_metadata()
                .map_or(0, |found| found.len());
            sizes.entry(id).or_insert(bytes);
        }
        Ok(Self {
            store,
            sizes,
            counted: Reach::new(store),
            index_share: 0,
        })
    }

    /// Space that no checkpoint accounts for: files beside the objects, and objects of other refs.
    /// Called before [`Self::more_for`].
    ///
    /// # Errors
    /// A ref or an object cannot be read.
    pub fn fixed(&mut self, checkpoints: &Line) -> Result<u64> {
        let ours: ObjectIds = checkpoints.entries().map(|entry| entry.id).collect();
        let others = ref_files::roots(self.store.layout(), &ours)?;
        let others = others.into_iter().filter(|id| !ours.contains(id)).collect();
        let beside = bytes_below(self.store.dir())
            .saturating_sub(bytes_below(&self.store.layout().objects()));
        let index = self.store.layout().checkpoint_index().symlink_metadata();
        let index = index.map_or(0, |found| found.len());
        self.index_share = index / checkpoints.len().max(1) as u64;
        let beside = beside.saturating_sub(index);
        Ok(beside + EMPTY_PACK_BYTES + self.add(others)?)
    }

    /// Space that a checkpoint needs beyond those weighed before.
    ///
    /// # Errors
    /// One of its objects cannot be read.
    pub fn more_for(&mut self, checkpoint: &Checkpoint) -> Result<u64> {
        let objects = [checkpoint.id].into_iter().chain(checkpoint.meta);
        Ok(self.add(objects.collect())? + self.index_share)
    }

    fn add(&mut self, roots: Vec<ObjectId>) -> Result<u64> {
        let mut bytes = 0;
        let sizes = &self.sizes;
        self.counted.extend(roots, &mut |id| {
            bytes += sizes.get(&id).copied().unwrap_or(0);
        })?;
        Ok(bytes)
    }
}
