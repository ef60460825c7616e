//! A snapshot: the state of a directory by path, from a checkpoint or from disk.

use std::collections::BTreeMap;

use crate::model::{Entry, ListedDir, ListedUncaptured, Listing, RelPath, WhyNot};

/// Files, directories and uncaptured entries, each by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub files: BTreeMap<RelPath, Entry>,
    /// All directories with their permission bits, including the root.
    pub dirs: BTreeMap<RelPath, u32>,
    pub uncaptured: BTreeMap<RelPath, UncapturedEntry>,
}

/// Why the entry at a path of a snapshot is not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncapturedEntry {
    pub why: WhyNot,
    pub is_dir: bool,
}

impl From<&ListedUncaptured> for UncapturedEntry {
    fn from(item: &ListedUncaptured) -> Self {
        Self {
            why: item.why.clone(),
            is_dir: item.is_dir,
        }
    }
}

impl Snapshot {
    /// Adds what a listed directory holds, but for its subdirectories. Files whose blob is unknown
    /// are left out.
    pub fn add_content(&mut self, path: &RelPath, dir: &ListedDir) {
        for file in dir.files.iter() {
            let Some(id) = file.id else { continue };
            let entry = Entry {
                kind: file.kind,
                perm: file.stat.perm(),
                id,
                size_bytes: file.stat.size_bytes,
            };
            self.files.insert(path.join(file.name), entry);
        }
        self.uncaptured.extend(
            dir.uncaptured
                .iter()
                .map(|item| (path.join(&item.name), item.into())),
        );
    }

    /// Drops every path that `wants` refuses.
    pub fn retain(&mut self, wants: &dyn Fn(&RelPath) -> bool) {
        self.files.retain(|path, _| wants(path));
        self.dirs.retain(|path, _| wants(path));
        self.uncaptured.retain(|path, _| wants(path));
    }

    /// Returns an uncaptured path at or below this one, if any.
    pub fn uncaptured_at_or_below(&self, path: &RelPath) -> Option<&RelPath> {
        below(&self.uncaptured, path).next().map(|(found, _)| found)
    }
}

/// Returns the part of a map at or below a path.
pub fn below<'m, V>(
    map: &'m BTreeMap<RelPath, V>,
    path: &RelPath,
) -> impl Iterator<Item = (&'m RelPath, &'m V)> {
    // `a.b` sorts between `a` and `a/`: such neighbours are skipped, not taken for the end.
    let path = path.clone();
    let prefix = path.as_bytes().to_vec();
    map.range(path.clone()..)
        .take_while(move |(found, _)| found.as_bytes().starts_with(&prefix))
        .filter(move |(found, _)| found.is_at_or_below(&path))
}

/// Converts a listing; files whose blob is unknown are left out.
impl From<&Listing> for Snapshot {
    fn from(listing: &Listing) -> Self {
        let mut snapshot = Self::default();
        let paths = listing.paths();
        for (dir, path) in listing.dirs.iter().zip(&paths) {
            snapshot.dirs.insert(path.clone(), dir.stat.perm());
            snapshot.add_content(path, dir);
        }
        snapshot
    }
}
