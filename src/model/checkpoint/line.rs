//! All checkpoints of a store in order, and the one that `@` names. One that is noted in
//! an index is decoded when it is first asked for.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::model::checkpoint::manifest;
use crate::model::{Checkpoint, KeepClass, ObjectId};

/// How many of the newest checkpoints are compared with a safety checkpoint.
const COMPARED: usize = 160;

/// What is known of a checkpoint before it is decoded; ordered as checkpoints are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
            id,
            protected_until_ms: i64::MIN,
            ..Self::default()
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

    /// Returns the baseline: the checkpoint that the directory was last restored to or recorded as.
    /// Restores of single paths and scoped checkpoints do not count.
    pub fn baseline(&self) -> Option<&Checkpoint> {
        self.baseline_before(u64::MAX)
    }

    /// Returns what `@` names: the baseline, or if that is a safety checkpoint, the newest
    /// whole one that holds the same.
    pub fn position(&self) -> Option<&Checkpoint> {
        let set = self.baseline()?;
        if !set.is_safety() {
            return Some(set);
        }
        let is_equal = |c: &&Checkpoint| c.is_whole() && c.holds_the_same(set);
        Some(self.rev().take(COMPARED).find(is_equal).unwrap_or(set))
    }

    /// Returns the baseline after those before a sequence number.
    pub fn baseline_before(&self, sequence: u64) -> Option<&Checkpoint> {
        let mut earlier = self.rev().filter(|c| c.record.sequence < sequence);
        earlier.find_map(|checkpoint| self.set_by(checkpoint))
    }

    /// Returns what the directory was set to when this checkpoint was made: the checkpoint itself, or
    /// the target of the restore that followed it. `None` if it set nothing, or the target is gone.
    pub fn set_by<'l>(&'l self, checkpoint: &'l Checkpoint) -> Option<&'l Checkpoint> {
        if checkpoint.is_whole() {
            return Some(checkpoint);
        }
        let target = checkpoint.target_of_all()?;
        let sequence = checkpoint.record.sequence;
        let own = self.find(target);
        own.filter(|target| target.record.sequence < sequence)
            .or_else(|| self.elsewhere(target))
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
    use crate::model::tests::{checkpoint, id, path, safety};
    use crate::model::{Coverage, Verb};

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

    fn line(indexed: &[u8], others: &[u8]) -> Line {
        let made = |numbers: &[u8]| -> Vec<_> { numbers.iter().map(|n| checkpoint(*n)).collect() };
        let indexed = made(indexed);
        let entries: Vec<_> = indexed.iter().map(LineEntry::of).enumerate().collect();
        let mut line = Line::from(made(others));
        line.add_indexed(&Arc::new(Stored(indexed)), entries.into_iter());
        line
    }

    fn numbers<'c>(line: impl Iterator<Item = &'c Checkpoint>) -> Vec<u8> {
        line.map(|c| c.id.as_bytes()[0]).collect()
    }

    #[test]
    fn it_reads_the_same_from_either_end_however_much_of_it_is_indexed() {
        let all: Vec<u8> = (1..=100).collect();
        for every in [1, 2, 7, 33, 100, 101] {
            let (others, indexed): (Vec<u8>, Vec<u8>) = all.iter().partition(|n| **n % every == 0);
            let line = line(&indexed, &others);
            let mut back = numbers(line.rev());
            back.reverse();
            assert_eq!([&back, &numbers(line.iter())], [&all; 2], "{every}");
            assert_eq!((line.len(), line.newest()), (100, Some(&checkpoint(100))));
            assert!(line.holds(id(7)) && !line.holds(id(101)));
            assert_eq!(line.find(id(8)), Some(&checkpoint(8)));
        }
        assert_eq!(line(&[], &[]).rev().count(), 0);
    }

    #[test]
    fn it_stays_in_order_when_it_changes() {
        let mut line = line(&[1, 3, 5], &[2, 6]);
        line.push(checkpoint(4));
        line.remove(&[id(6)]);
        line.set_pinned(id(5), true);
        line.remove(&[id(3)]);
        assert_eq!(numbers(line.iter()), [1, 2, 4, 5]);
        let found = (line.pinned_count(), line.newest().unwrap().pinned);
        assert_eq!(found, (1, true));
    }

    #[test]
    fn only_a_manifest_that_is_the_same_to_the_byte_is_continued() {
        let line = line(&[1, 2], &[3, 4]);
        let whole = manifest::render(line.iter());
        let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        for end in &ends[1..] {
            let (before, rest) = whole.split_at(*end);
            assert_eq!(line.rows_after(before).as_deref(), Some(rest));
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone().into_bytes();
            flipped[at] ^= 1;
            let flipped = std::str::from_utf8(&flipped).unwrap();
            assert_eq!(line.rows_after(flipped), None, "byte {at}");
        }
        for other in [
            &*format!("{whole}| more |\n"),
            &whole[..whole.len() - 1],
            "",
        ] {
            assert_eq!(line.rows_after(other), None);
        }
    }

    fn found(checkpoints: &[Checkpoint]) -> Option<u64> {
        let line = Line::from(checkpoints.to_vec());
        line.baseline().map(|found| found.record.sequence)
    }

    #[test]
    fn the_baseline_is_what_the_directory_was_last_set_to() {
        let undo_sets_it_to_what_the_safety_checkpoint_holds = safety(4, Verb::Undo, 3);
        let all = [
            checkpoint(1),
            checkpoint(2),
            safety(3, Verb::Restore, 1),
            undo_sets_it_to_what_the_safety_checkpoint_holds,
            checkpoint(5),
        ];
        for (count, expected) in [
            (0, None),
            (2, Some(2)),
            (3, Some(1)),
            (4, Some(3)),
            (5, Some(5)),
        ] {
            assert_eq!(found(&all[..count]), expected, "{count}");
        }
    }

    #[test]
    fn parts_set_no_directory_and_a_target_that_is_gone_tells_nothing() {
        let (mut scoped, mut of_path) = (checkpoint(3), safety(4, Verb::Restore, 1));
        scoped.record.coverage = Coverage::Scoped;
        let operation = of_path.record.operation.as_mut().unwrap();
        operation.paths = vec![path("a")];
        let gone = safety(5, Verb::Restore, 9);
        let all = [checkpoint(1), checkpoint(2), scoped, of_path, gone];
        assert_eq!(found(&all), Some(2));
    }
}
