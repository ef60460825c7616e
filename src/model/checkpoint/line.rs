//! All checkpoints of a store in order, of which the older ones are read only when asked for.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use crate::model::{Checkpoint, KeepClass, ObjectId};

/// Older checkpoints read at once on the way back.
const READ_AHEAD: usize = 32;

/// What is known of an older checkpoint before it is read; ordered as checkpoints are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineEntry {
    pub sequence: u64,
    pub time_ms: i64,
    pub id: ObjectId,
    pub class: KeepClass,
    pub is_partial: bool,
    /// The time up to which no policy evicts it.
    pub protected_until_ms: i64,
}

impl LineEntry {
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            sequence: checkpoint.record.sequence,
            time_ms: checkpoint.record.time_ms,
            id: checkpoint.id,
            class: checkpoint.class(),
            is_partial: !checkpoint.is_complete(),
            protected_until_ms: checkpoint.protected_until_ms(),
        }
    }
}

/// Checkpoints that are not read yet. None of them is a safety checkpoint.
pub trait OlderCheckpoints: Debug + Send + Sync {
    fn count(&self) -> usize;

    /// What is known of one of them; they are in order.
    fn entry(&self, at: usize) -> LineEntry;

    /// Reads some of them, without those that cannot be read.
    fn read(&self, range: Range<usize>) -> Vec<Checkpoint>;

    /// Those that could not be read so far.
    fn unreadable(&self) -> Vec<ObjectId>;

    fn is_pinned(&self, id: ObjectId) -> bool;

    fn pinned_count(&self) -> usize;
}

/// Checkpoints ordered by sequence, oldest first. Used as a slice, it reads all of them.
#[derive(Clone, Debug, Default)]
pub struct Line {
    newer: Vec<Checkpoint>,
    older: Option<Arc<dyn OlderCheckpoints>>,
    all: OnceLock<Vec<Checkpoint>>,
    /// Checkpoints of remotes, of no place in this line, to which the directory was restored.
    elsewhere: Vec<Checkpoint>,
}

impl Line {
    /// Puts `newer` in order. Despite the name some of them may be older than some of `older`.
    pub fn new(mut newer: Vec<Checkpoint>, older: Option<Arc<dyn OlderCheckpoints>>) -> Self {
        newer.sort_by_key(LineEntry::of);
        let all = OnceLock::new();
        let elsewhere = Vec::new();
        Self {
            newer,
            older,
            all,
            elsewhere,
        }
    }

    /// Finds, by `find`, what the directory was restored to and this line does not hold.
    pub fn find_elsewhere(&mut self, find: impl FnOnce(&[ObjectId]) -> Vec<Checkpoint>) {
        let targets = self.newer.iter().filter_map(Checkpoint::target_of_all);
        let missing: Vec<ObjectId> = targets.filter(|id| !self.holds(*id)).collect();
        if !missing.is_empty() {
            self.elsewhere = find(&missing);
        }
    }

    pub fn elsewhere(&self, id: ObjectId) -> Option<&Checkpoint> {
        self.elsewhere.iter().find(|c| c.id == id)
    }

    /// Those in memory: all safety checkpoints, and the newest others.
    pub fn newer(&self) -> &[Checkpoint] {
        &self.newer
    }

    /// Those that were not read; none if all were.
    pub fn older(&self) -> impl DoubleEndedIterator<Item = LineEntry> {
        let entries = |older: &'_ Arc<dyn OlderCheckpoints>| {
            let older = Arc::clone(older);
            (0..older.count()).map(move |at| older.entry(at))
        };
        self.older.iter().flat_map(entries)
    }

    pub fn older_count(&self) -> usize {
        self.older.as_ref().map_or(0, |older| older.count())
    }

    pub fn has_older(&self) -> bool {
        self.older_count() > 0
    }

    pub fn len(&self) -> usize {
        self.newer.len() + self.older_count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn newest(&self) -> Option<&Checkpoint> {
        match self.newer.last() {
            Some(newest) if self.older().next_back() < Some(LineEntry::of(newest)) => Some(newest),
            _ => self.all().last(),
        }
    }

    /// Goes back from the newest.
    pub fn rev(&self) -> Backwards<'_> {
        Backwards {
            newer: &self.newer,
            older: self.older.as_deref(),
            unread: self.older_count(),
            read: Vec::new(),
        }
    }

    pub fn holds(&self, id: ObjectId) -> bool {
        self.newer.iter().any(|c| c.id == id) || self.older().any(|entry| entry.id == id)
    }

    pub fn find(&self, id: ObjectId) -> Option<Cow<'_, Checkpoint>> {
        self.matching(|entry| entry.id == id).pop()
    }

    /// The checkpoints accepted by id and time, in no particular order.
    pub fn matching(&self, accepts: impl Fn(&LineEntry) -> bool) -> Vec<Cow<'_, Checkpoint>> {
        let newer = self.newer.iter().filter(|c| accepts(&LineEntry::of(c)));
        let mut found: Vec<_> = newer.map(Cow::Borrowed).collect();
        for (at, _) in self.older().enumerate().filter(|(_, entry)| accepts(entry)) {
            let read = self.older.iter().flat_map(|older| older.read(at..at + 1));
            found.extend(read.map(Cow::Owned));
        }
        found
    }

    /// Number of those of a class.
    pub fn count_of(&self, class: KeepClass) -> usize {
        let newer = self.newer.iter().filter(|c| c.class() == class);
        newer.count() + self.older().filter(|entry| entry.class == class).count()
    }

    /// Whether one of those that were not read is pinned.
    pub fn is_older_pinned(&self, id: ObjectId) -> bool {
        self.older.as_ref().is_some_and(|older| older.is_pinned(id))
    }

    /// Those that were to be read and could not be.
    pub fn unreadable(&self) -> Vec<ObjectId> {
        self.older
            .as_ref()
            .map_or_else(Vec::new, |older| older.unreadable())
    }

    pub fn pinned_count(&self) -> usize {
        let older = self.older.as_ref().map_or(0, |older| older.pinned_count());
        self.newer.iter().filter(|c| c.pinned).count() + older
    }

    /// The number of checkpoints that is shown; safety checkpoints are named beside it.
    pub fn regular_count(&self) -> usize {
        self.len() - self.safety_count()
    }

    pub fn safety_count(&self) -> usize {
        self.newer.iter().filter(|c| c.is_safety()).count()
    }

    pub fn push(&mut self, checkpoint: Checkpoint) {
        self.all.take();
        let entry = LineEntry::of(&checkpoint);
        let at = self.newer.partition_point(|c| LineEntry::of(c) < entry);
        self.newer.insert(at, checkpoint);
    }

    pub fn remove(&mut self, ids: &[ObjectId]) {
        if self.older().any(|entry| ids.contains(&entry.id)) {
            self.newer = self.all().to_vec();
            self.older = None;
        }
        self.all.take();
        self.newer.retain(|c| !ids.contains(&c.id));
    }

    pub fn set_pinned(&mut self, id: ObjectId, pinned: bool) {
        self.change(id, |checkpoint| checkpoint.pinned = pinned);
    }

    pub fn set_reason(&mut self, id: ObjectId, reason: &str) {
        self.change(id, |checkpoint| {
            reason.clone_into(&mut checkpoint.record.reason);
        });
    }

    fn change(&mut self, id: ObjectId, change: impl FnOnce(&mut Checkpoint)) {
        let mut found = self.find(id).map(Cow::into_owned);
        if let Some(mut checkpoint) = found.take() {
            change(&mut checkpoint);
            self.remove(&[id]);
            self.push(checkpoint);
        }
    }

    fn all(&self) -> &[Checkpoint] {
        let Some(older) = &self.older else {
            return &self.newer;
        };
        self.all.get_or_init(|| {
            let mut all = older.read(0..older.count());
            all.extend_from_slice(&self.newer);
            all.sort_by_key(LineEntry::of);
            all
        })
    }
}

impl Deref for Line {
    type Target = [Checkpoint];

    fn deref(&self) -> &[Checkpoint] {
        self.all()
    }
}

impl From<Vec<Checkpoint>> for Line {
    fn from(checkpoints: Vec<Checkpoint>) -> Self {
        Self::new(checkpoints, None)
    }
}

impl<'l> IntoIterator for &'l Line {
    type Item = &'l Checkpoint;
    type IntoIter = std::slice::Iter<'l, Checkpoint>;

    fn into_iter(self) -> Self::IntoIter {
        self.all().iter()
    }
}

/// The checkpoints of a line, newest first.
pub struct Backwards<'l> {
    newer: &'l [Checkpoint],
    older: Option<&'l dyn OlderCheckpoints>,
    /// Number of older ones before those in `read`.
    unread: usize,
    read: Vec<Checkpoint>,
}

impl<'l> Iterator for Backwards<'l> {
    type Item = Cow<'l, Checkpoint>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let unread = || Some(self.older?.entry(self.unread.checked_sub(1)?));
            let older = self.read.last().map(LineEntry::of).or_else(unread);
            match self.newer.split_last() {
                Some((newest, rest)) if older < Some(LineEntry::of(newest)) => {
                    self.newer = rest;
                    return Some(Cow::Borrowed(newest));
                }
                _ => {}
            }
            if let Some(read) = self.read.pop() {
                return Some(Cow::Owned(read));
            }
            let from = self.unread.saturating_sub(READ_AHEAD);
            self.read = self.older?.read(from..self.unread);
            if self.unread == 0 {
                return None;
            }
            self.unread = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::checkpoint::record::{CheckpointKind, Coverage, Record};
    use crate::model::checkpoint::terms::CheckpointTerms;
    use crate::model::session::provenance::Provenance;

    fn made(sequence: u64) -> Checkpoint {
        let mut id = [0; 20];
        id[..8].copy_from_slice(&sequence.to_be_bytes());
        let record = Record {
            sequence,
            time_ms: 0,
            kind: CheckpointKind::Regular,
            coverage: Coverage::Complete,
            files: 0,
            content_bytes: 0,
            reason: String::new(),
            source: String::new(),
            operation: None,
            during_pending: false,
            provenance: Provenance::default(),
            terms: CheckpointTerms::default(),
        };
        Checkpoint {
            id: ObjectId::from_bytes(id),
            tree: ObjectId::from_bytes(id),
            meta: None,
            record,
            pinned: false,
            adopted: false,
        }
    }

    #[derive(Debug)]
    struct Stored(Vec<LineEntry>, Vec<Checkpoint>);

    impl OlderCheckpoints for Stored {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn entry(&self, at: usize) -> LineEntry {
            self.0[at]
        }

        fn read(&self, range: Range<usize>) -> Vec<Checkpoint> {
            self.1[range].to_vec()
        }

        fn unreadable(&self) -> Vec<ObjectId> {
            Vec::new()
        }

        fn is_pinned(&self, _id: ObjectId) -> bool {
            false
        }

        fn pinned_count(&self) -> usize {
            0
        }
    }

    fn line(older: &[u64], newer: &[u64]) -> Line {
        let older: Vec<_> = older.iter().map(|n| made(*n)).collect();
        let entries = older.iter().map(LineEntry::of).collect();
        Line::new(
            newer.iter().map(|n| made(*n)).collect(),
            Some(Arc::new(Stored(entries, older))),
        )
    }

    #[test]
    fn it_reads_the_same_from_either_end_however_it_is_divided() {
        let all: Vec<u64> = (1..=100).collect();
        for every in [1, 2, 7, 33, 100, 1000] {
            let (newer, older): (Vec<u64>, Vec<u64>) = all.iter().partition(|n| **n % every == 0);
            let line = line(&older, &newer);
            let mut back: Vec<u64> = line.rev().map(|c| c.record.sequence).collect();
            back.reverse();
            assert_eq!(back, all, "{every}");
            let slice: Vec<u64> = line.iter().map(|c| c.record.sequence).collect();
            assert_eq!(slice, all, "{every}");
            assert_eq!((line.len(), line.newest()), (100, Some(&made(100))));
            assert!(line.holds(made(7).id) && !line.holds(made(101).id));
            assert_eq!(*line.find(made(8).id).unwrap(), made(8));
        }
        assert_eq!(line(&[], &[]).rev().count(), 0);
    }

    #[test]
    fn it_stays_in_order_when_it_changes() {
        let mut line = line(&[1, 3, 5], &[2, 6]);
        line.push(made(4));
        line.remove(&[made(6).id]);
        line.set_pinned(made(2).id, true);
        assert_eq!(line.older_count(), 3, "nothing of that concerns them");
        line.remove(&[made(3).id]);
        let left: Vec<u64> = line.iter().map(|c| c.record.sequence).collect();
        assert_eq!(left, [1, 2, 4, 5]);
        assert_eq!(line.rev().filter(|c| c.pinned).count(), 1);
    }
}
