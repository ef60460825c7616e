//! The listing of the last scan in the stat cache: a base, and a patch of changed directories.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::model::stat_cache::cached_block::{
    self, DECIDED_BY_NAMES, DirRecord, FILES_IN_BASE, HIDDEN_RULES,
};
use crate::model::{CachedBlock, Files, ListedUncaptured, ObjectId, Stat};

/// A listing read in place. Directory 0 is the root; children are contiguous, sorted by name.
#[derive(Debug)]
pub struct CachedListing {
    pub(in crate::model) base: Arc<CachedBlock>,
    patch: Option<Arc<CachedBlock>>,
    /// Index of the patch record by directory number.
    patched: HashMap<usize, usize>,
}

/// One directory of a cached listing.
#[derive(Clone, Debug)]
pub struct CachedDir<'k> {
    listing: &'k CachedListing,
    block: &'k Arc<CachedBlock>,
    pub(in crate::model) record: DirRecord,
}

impl CachedListing {
    /// Joins base and patch; `None` if the patch names a directory that the base lacks, or there is
    /// no root.
    pub fn new(base: CachedBlock, patch: Option<CachedBlock>) -> Option<Self> {
        let records = patch.as_ref().map_or(0, CachedBlock::dir_count);
        let mut patched = HashMap::with_capacity(records);
        for index in 0..records {
            let number = patch.as_ref()?.dir(index)?.number;
            if number >= base.dir_count() {
                return None;
            }
            patched.insert(number, index);
        }
        let has_root = base.dir_count() > 0;
        has_root.then(|| Self {
            base: Arc::new(base),
            patch: patch.map(Arc::new),
            patched,
        })
    }

    pub fn dir_count(&self) -> usize {
        self.base.dir_count()
    }

    /// Returns the approximate number of entries, by which a scan decides on helper threads.
    pub fn size(&self) -> usize {
        self.base.dir_count() + self.base.file_count()
    }

    /// Returns the blob id that the last scan read of a file that has had this stat since then.
    pub fn earlier_read(&self, dir: usize, name: &[u8], stat: &Stat) -> Option<ObjectId> {
        let files = self.dir(dir)?.files();
        let known = files.get(name)?;
        known.earlier.filter(|_| stat.same_content_as(&known.stat))
    }

    /// Returns the bytes of the patch; empty if there is none.
    pub fn patch_bytes(&self) -> &[u8] {
        self.patch.as_ref().map_or(&[], |patch| patch.as_bytes())
    }

    pub fn dir(&self, number: usize) -> Option<CachedDir<'_>> {
        let patch = self.patch.as_ref().zip(self.patched.get(&number));
        let (block, index) = patch.map_or((&self.base, number), |(patch, index)| (patch, *index));
        Some(CachedDir {
            listing: self,
            block,
            record: block.dir(index)?,
        })
    }

    /// Returns the numbers of the child directories, sorted by name; a patch never changes them.
    pub fn children(&self, number: usize) -> Range<usize> {
        let children = self
            .base
            .dir(number)
            .map(|record| record.children)
            .unwrap_or_default();
        // Children must follow their parents; anything else could be a cycle.
        if children.start > number && children.end <= self.base.dir_count() {
            children
        } else {
            0..0
        }
    }

    /// Returns the number of the child directory of that name.
    pub fn child(&self, number: usize, name: &[u8]) -> Option<usize> {
        let children = self.children(number);
        let (mut low, mut high) = (children.start, children.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle).cmp(name) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    pub fn name(&self, number: usize) -> &[u8] {
        self.base
            .dir(number)
            .map_or(&[], |record| self.base.name(record.name))
    }
}

impl CachedDir<'_> {
    pub fn stat(&self) -> &Stat {
        &self.record.stat
    }

    /// Whether an equal stat means equal names and, under equal rules, equal verdicts.
    pub fn is_decided_by_names(&self) -> bool {
        self.record.flags & DECIDED_BY_NAMES != 0
    }

    pub fn has_hidden_rules(&self) -> bool {
        self.record.flags & HIDDEN_RULES != 0
    }

    pub fn tree(&self) -> Option<ObjectId> {
        self.record.tree
    }

    /// Returns the files; none if the record is out of range.
    pub fn files(&self) -> Files {
        let block = self.block_of_files();
        let range = if self.record.files.end <= block.file_count() {
            self.record.files.clone()
        } else {
            0..0
        };
        Files::cached(Arc::clone(block), range)
    }

    pub(in crate::model) fn block_of_files(&self) -> &Arc<CachedBlock> {
        if self.record.flags & FILES_IN_BASE != 0 {
            &self.listing.base
        } else {
            self.block
        }
    }

    /// Whether the record is from the base, not the patch.
    pub(in crate::model) fn is_of_base(&self) -> bool {
        Arc::ptr_eq(self.block, &self.listing.base)
    }

    /// Returns the uncaptured items, sorted by name; `None` if they are unreadable.
    pub fn uncaptured(&self) -> Option<Vec<ListedUncaptured>> {
        cached_block::parse_uncaptured(self.block.rest(self.record.rest.clone()))
    }
}
