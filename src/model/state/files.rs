//! The captured files of one directory, either listed by the scan or read from the stat cache.

use std::ops::Range;
use std::sync::Arc;

use crate::model::stat_cache::cached_block::CachedBlock;
use crate::model::state::stat::{FileView, ListedFile};

/// Files sorted bytewise by name; for an unchanged directory nothing is copied from the stat cache.
#[derive(Clone, Debug, Default)]
pub struct Files {
    listed: Vec<ListedFile>,
    /// Files in the stat cache; if present, `listed` is empty.
    kept: Option<CachedFiles>,
}

/// A range of records in a block.
#[derive(Clone, Debug)]
struct CachedFiles {
    block: Arc<CachedBlock>,
    range: Range<usize>,
}

impl From<Vec<ListedFile>> for Files {
    fn from(listed: Vec<ListedFile>) -> Self {
        Self { listed, kept: None }
    }
}

impl Files {
    pub(in crate::model) fn kept(block: Arc<CachedBlock>, range: Range<usize>) -> Self {
        Self {
            listed: Vec::new(),
            kept: Some(CachedFiles { block, range }),
        }
    }

    pub fn len(&self) -> usize {
        self.kept
            .as_ref()
            .map_or(self.listed.len(), |kept| kept.range.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    pub fn at(&self, index: usize) -> Option<FileView<'_>> {
        match &self.kept {
            None => self.listed.get(index).map(view),
            Some(kept) => {
                (index < kept.range.len()).then(|| kept.block.file(kept.range.start + index))
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
    pub(in crate::model) fn are_kept_as(
        &self,
        block: &Arc<CachedBlock>,
        range: &Range<usize>,
    ) -> bool {
        self.kept
            .as_ref()
            .is_some_and(|kept| Arc::ptr_eq(&kept.block, block) && kept.range == *range)
    }

    /// Converts to a list that can be changed.
    pub fn make_listed(&mut self) -> &mut Vec<ListedFile> {
        if self.kept.is_some() {
            let listed = self.iter().map(FileView::to_listed).collect();
            *self = Self { listed, kept: None };
        }
        &mut self.listed
    }

    /// Returns the listed files; none if the files are from the stat cache, whose blob ids are
    /// known.
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
    }
}
