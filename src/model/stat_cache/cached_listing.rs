//! The listing of the last scan in the stat cache: a block for each directory, read when it is needed.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::model::stat_cache::cached_block::{BlockPlace, CachedBlock, CachedDir};
use crate::model::{Files, ObjectId, Stat};

/// Where the bytes of the cache come from.
pub trait CacheBytes: Debug + Send + Sync {
    /// Returns the bytes of a block and where they are in these; `None` if they are not there, or
    /// their sum is wrong.
    fn block(&self, place: &BlockPlace) -> Option<(Arc<Vec<u8>>, Range<usize>)>;
}

/// A listing read in place.
#[derive(Debug)]
pub struct CachedListing {
    pub root: CachedDir,
    bytes: Box<dyn CacheBytes>,
}

impl CachedListing {
    pub fn new(root: CachedDir, bytes: Box<dyn CacheBytes>) -> Self {
        Self { root, bytes }
    }

    /// Returns the content of a directory; `None` if it cannot be read.
    pub fn block(&self, place: &BlockPlace) -> Option<Arc<CachedBlock>> {
        let (bytes, range) = self.bytes.block(place)?;
        CachedBlock::parse(bytes, range, place.at).map(Arc::new)
    }

    /// Returns the approximate number of entries, by which a scan decides on helper threads.
    pub fn size(&self) -> usize {
        self.root.summary.files as usize
    }

    /// Whether all of it can be read.
    pub fn is_whole(&self) -> bool {
        let mut pending = vec![self.root.place];
        while let Some(place) = pending.pop() {
            let Some(block) = self.block(&place) else {
                return false;
            };
            for index in 0..block.dir_count() {
                let Some((_, dir)) = block.dir(index) else {
                    return false;
                };
                pending.push(dir.place);
            }
        }
        true
    }

    /// Returns the blob id that the last scan read of a file that has had this stat since then.
    pub fn earlier_read(&self, dir: &BlockPlace, name: &[u8], stat: &Stat) -> Option<ObjectId> {
        let files = Files::cached(self.block(dir)?);
        let known = files.get(name)?;
        known.earlier.filter(|_| stat.same_content_as(&known.stat))
    }
}
