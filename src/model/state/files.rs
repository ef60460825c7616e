//! The captured files of one directory, either listed by the scan or read from the stat cache.

use std::ops::Range;
use std::sync::Arc;

use crate::model::{CachedBlock, FileView, ListedFile};

/// Files sorted bytewise by name; for an unchanged directory nothing is copied from the stat cache.
#[derive(Clone, Debug, Default)]
pub struct Files {
    listed: Vec<ListedFile>,
    /// Files in the stat cache; if present, `listed` is empty.
    cached: Option<CachedFiles>,
}

/// A range of records in a block.
#[derive(Clone, Debug)]
struct CachedFiles {
    block: Arc<CachedBlock>,
    range: Range<usize>,
}

impl From<Vec<ListedFile>> for Files {
    fn from(listed: Vec<ListedFile>) -> Self {
        Self {
            listed,
            cached: None,
        }
    }
}

impl Files {
    pub(in crate::model) fn cached(block: Arc<CachedBlock>, range: Range<usize>) -> Self {
        Self {
            listed: Vec::new(),
            cached: Some(CachedFiles { block, range }),
        }
    }

    pub fn len(&self) -> usize {
        self.cached
            .as_ref()
            .map_or(self.listed.len(), |cached| cached.range.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn at(&self, index: usize) -> Option<FileView<'_>> {
        match &self.cached {
            None => self.listed.get(index).map(view),
            Some(cached) => {
                (index < cached.range.len()).then(|| cached.block.file(cached.range.start + index))
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = FileView<'_>> {
        (0..self.len()).filter_map(|index| self.at(index))
    }

    /// Returns the file of that name.
    pub fn get(&self, name: &[u8]) -> Option<FileView<'_>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.at(middle)?;
            match found.name.cmp(name) {
                std::cmp::Ordering::Equal => return Some(found),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Whether the files are exactly this range of this block.
    pub(in crate::model) fn are_cached_as(
        &self,
        block: &Arc<CachedBlock>,
        range: &Range<usize>,
    ) -> bool {
        self.cached
            .as_ref()
            .is_some_and(|cached| Arc::ptr_eq(&cached.block, block) && cached.range == *range)
    }

    /// Converts to a list that can be changed.
    pub fn make_listed(&mut self) -> &mut Vec<ListedFile> {
        if self.cached.is_some() {
            let listed = self.iter().map(FileView::to_listed).collect();
            *self = Self {
                listed,
                cached: None,
            };
        }
        &mut self.listed
    }

    /// Returns the listed files; none if they are from the stat cache, with known blob ids.
    pub fn listed_mut(&mut self) -> &mut [ListedFile] {
        &mut self.listed
    }
}

fn view(file: &ListedFile) -> FileView<'_> {
    FileView {
        name: &file.name,
        kind: file.kind,
        stat: file.stat,
        id: file.id,
        racy: file.racy,
        earlier: None,
    }
}
