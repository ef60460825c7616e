//! All checkpoints of a store in order. One that is noted in an index is decoded when it is first
//! asked for.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::model::checkpoint::manifest;
use crate::model::{Checkpoint, KeepClass, ObjectId};

/// What is known of a checkpoint before it is decoded; ordered as checkpoints are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineEntry {
    pub sequence: u64,
    pub time_ms: i64,
    pub id: ObjectId,
    pub class: KeepClass,
    pub is_partial: bool,
    pub has_meta: bool,
    pub is_pinned: bool,
    /// The time up to which no policy evicts it.
    pub protected_until_ms: i64,
}

impl LineEntry {
    /// Of one of which only the id is known.
    pub fn unknown(id: ObjectId) -> Self {
        Self {
            sequence: 0,
            time_ms: 0,
            id,
            class: KeepClass::Named,
            is_partial: false,
            has_meta: false,
            is_pinned: false,
            protected_until_ms: i64::MIN,
        }
    }

    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            sequence: checkpoint.record.sequence,
            time_ms: checkpoint.record.time_ms,
            id: checkpoint.id,
            class: checkpoint.class(),
            is_partial: !checkpoint.is_complete(),
            has_meta: checkpoint.meta.is_some(),
            is_pinned: checkpoint.pinned,
            protected_until_ms: checkpoint.protected_until_ms(),
        }
    }
}

/// An index of checkpoints that were decoded when they were noted in it.
pub trait CheckpointIndex: Debug + Send + Sync {
    /// Decodes one of them by its place.
    fn decode(&self, at: usize) -> Option<Checkpoint>;

    /// Whether this is its row in the manifest.
    fn has_row(&self, at: usize, row: &str) -> bool;
}

/// A checkpoint, with its place in an index or decoded.
#[derive(Clone, Debug)]
struct Member {
    entry: LineEntry,
    indexed: Option<(Arc<dyn CheckpointIndex>, usize)>,
    decoded: OnceLock<Option<Box<Checkpoint>>>,
}

impl Member {
    fn get(&self) -> Option<&Checkpoint> {
        let decode = || {
            let (index, at) = self.indexed.as_ref()?;
            index.decode(*at).map(Box::new)
        };
        self.decoded.get_or_init(decode).as_deref()
    }

    fn has_row(&self, row: &str) -> bool {
        match &self.indexed {
            Some((index, at)) => index.has_row(*at, row),
            None => self.get().is_some_and(|made| manifest::row(made) == row),
        }
    }
}

impl From<Checkpoint> for Member {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            entry: LineEntry::of(&checkpoint),
            indexed: None,
            decoded: OnceLock::from(Some(Box::new(checkpoint))),
        }
    }
}

/// Checkpoints ordered by sequence, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Line {
    members: Vec<Member>,
    /// Checkpoints of remotes, of no place in this line, to which the directory was restored.
    elsewhere: Vec<Checkpoint>,
}

impl Line {
    /// Adds checkpoints that an index has in these places.
    pub fn add_indexed(
        &mut self,
        index: &Arc<impl CheckpointIndex + 'static>,
        entries: impl Iterator<Item = (usize, LineEntry)>,
    ) {
        self.members.extend(entries.map(|(at, entry)| Member {
            entry,
            indexed: Some((Arc::clone(index) as Arc<dyn CheckpointIndex>, at)),
            decoded: OnceLock::new(),
        }));
        self.members.sort_by_key(|member| member.entry);
    }

    /// Finds, by `find`, what the directory was restored to and this line does not hold.
    pub fn find_elsewhere(&mut self, find: impl FnOnce(&[ObjectId]) -> Vec<Checkpoint>) {
        let targets = self.safeties().filter_map(Checkpoint::target_of_all);
        let missing: Vec<ObjectId> = targets.filter(|id| !self.holds(*id)).collect();
        if !missing.is_empty() {
            self.elsewhere = find(&missing);
        }
    }

    pub fn elsewhere(&self, id: ObjectId) -> Option<&Checkpoint> {
        self.elsewhere.iter().find(|c| c.id == id)
    }

    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &LineEntry> + Clone {
        self.members.iter().map(|member| &member.entry)
    }

    /// Decodes each as it comes.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Checkpoint> + Clone {
        self.members.iter().filter_map(Member::get)
    }

    /// Goes back from the newest.
    pub fn rev(&self) -> impl Iterator<Item = &Checkpoint> + Clone {
        self.iter().rev()
    }

    pub fn safeties(&self) -> impl DoubleEndedIterator<Item = &Checkpoint> + Clone {
        self.of(|entry| entry.class == KeepClass::Safety)
    }

    /// Those that no index has.
    pub fn unindexed(&self) -> impl Iterator<Item = &Checkpoint> {
        let members = self.members.iter();
        let unindexed = members.filter(|member| member.indexed.is_none());
        unindexed.filter_map(Member::get)
    }

    fn of(
        &self,
        accepts: impl Fn(&LineEntry) -> bool + Clone,
    ) -> impl DoubleEndedIterator<Item = &Checkpoint> + Clone {
        let members = self.members.iter();
        let accepted = members.filter(move |member| accepts(&member.entry));
        accepted.filter_map(Member::get)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn newest(&self) -> Option<&Checkpoint> {
        self.iter().next_back()
    }

    pub fn holds(&self, id: ObjectId) -> bool {
        self.entries().any(|entry| entry.id == id)
    }

    pub fn find(&self, id: ObjectId) -> Option<&Checkpoint> {
        self.of(move |entry| entry.id == id).next()
    }

    /// The checkpoints accepted by id and time, in order.
    pub fn matching(&self, accepts: impl Fn(&LineEntry) -> bool + Clone) -> Vec<&Checkpoint> {
        self.of(accepts).collect()
    }

    /// Number of those of a class.
    pub fn count_of(&self, class: KeepClass) -> usize {
        self.entries().filter(|entry| entry.class == class).count()
    }

    pub fn pinned_count(&self) -> usize {
        self.entries().filter(|entry| entry.is_pinned).count()
    }

    /// The number of checkpoints that is shown; safety checkpoints are named beside it.
    pub fn regular_count(&self) -> usize {
        self.len() - self.safety_count()
    }

    pub fn safety_count(&self) -> usize {
        self.count_of(KeepClass::Safety)
    }

    /// The rows that a manifest lacks at its end; `None` if it is not the beginning of that of this
    /// line.
    pub fn rows_after(&self, manifest: &str) -> Option<String> {
        let rows = manifest.strip_prefix(manifest::HEADER)?;
        let mut members = self.members.iter();
        let mut rows = rows.split_inclusive('\n');
        let is_row = |row| members.next().is_some_and(|member| member.has_row(row));
        let is_beginning = rows.all(is_row);
        is_beginning.then(|| members.filter_map(Member::get).map(manifest::row).collect())
    }

    pub fn push(&mut self, checkpoint: Checkpoint) {
        let member = Member::from(checkpoint);
        let before = |other: &Member| other.entry < member.entry;
        let at = self.members.partition_point(before);
        self.members.insert(at, member);
    }

    pub fn remove(&mut self, ids: &[ObjectId]) {
        self.members
            .retain(|member| !ids.contains(&member.entry.id));
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
        if let Some(mut checkpoint) = self.find(id).cloned() {
            change(&mut checkpoint);
            self.remove(&[id]);
            self.push(checkpoint);
        }
    }
}

impl From<Vec<Checkpoint>> for Line {
    fn from(mut checkpoints: Vec<Checkpoint>) -> Self {
        checkpoints.sort_by_key(LineEntry::of);
        Self {
            members: checkpoints.into_iter().map(Member::from).collect(),
            elsewhere: Vec::new(),
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
    struct Stored(Vec<Checkpoint>);

    impl CheckpointIndex for Stored {
        fn decode(&self, at: usize) -> Option<Checkpoint> {
            Some(self.0[at].clone())
        }

        fn has_row(&self, at: usize, row: &str) -> bool {
            manifest::row(&self.0[at]) == row
        }
    }

    fn line(indexed: &[u64], others: &[u64]) -> Line {
        let indexed: Vec<_> = indexed.iter().map(|n| made(*n)).collect();
        let entries: Vec<_> = indexed.iter().map(LineEntry::of).enumerate().collect();
        let mut line = Line::from(others.iter().map(|n| made(*n)).collect::<Vec<_>>());
        line.add_indexed(&Arc::new(Stored(indexed)), entries.into_iter());
        line
    }

    #[test]
    fn it_reads_the_same_from_either_end_however_much_of_it_is_indexed() {
        let all: Vec<u64> = (1..=100).collect();
        for every in [1, 2, 7, 33, 100, 1000] {
            let (others, indexed): (Vec<u64>, Vec<u64>) =
                all.iter().partition(|n| **n % every == 0);
            let line = line(&indexed, &others);
            let mut back: Vec<u64> = line.rev().map(|c| c.record.sequence).collect();
            back.reverse();
            assert_eq!(back, all, "{every}");
            let forth: Vec<u64> = line.iter().map(|c| c.record.sequence).collect();
            assert_eq!(forth, all, "{every}");
            assert_eq!((line.len(), line.newest()), (100, Some(&made(100))));
            assert!(line.holds(made(7).id) && !line.holds(made(101).id));
            assert_eq!(line.find(made(8).id), Some(&made(8)));
        }
        assert_eq!(line(&[], &[]).rev().count(), 0);
    }

    #[test]
    fn it_stays_in_order_when_it_changes() {
        let mut line = line(&[1, 3, 5], &[2, 6]);
        line.push(made(4));
        line.remove(&[made(6).id]);
        line.set_pinned(made(5).id, true);
        line.remove(&[made(3).id]);
        let left: Vec<u64> = line.iter().map(|c| c.record.sequence).collect();
        assert_eq!(left, [1, 2, 4, 5]);
        assert_eq!(
            (line.pinned_count(), line.newest().unwrap().pinned),
            (1, true)
        );
    }

    #[test]
    fn only_a_manifest_that_is_the_same_to_the_byte_is_continued() {
        let line = line(&[1, 2], &[3, 4]);
        let whole = manifest::render(line.iter());
        let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        for end in &ends[1..] {
            assert_eq!(
                line.rows_after(&whole[..*end]).as_deref(),
                Some(&whole[*end..])
            );
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone().into_bytes();
            flipped[at] ^= 1;
            assert_eq!(
                line.rows_after(std::str::from_utf8(&flipped).unwrap()),
                None,
                "byte {at}"
            );
        }
        assert_eq!(line.rows_after(&format!("{whole}| more |\n")), None);
        assert_eq!(line.rows_after(&whole[..whole.len() - 1]), None);
        assert_eq!(line.rows_after(""), None);
    }
}
