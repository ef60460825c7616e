//! The index of checkpoints: their commits, so that no command opens a pack for each or decodes
//! those that it does not show.
//!
//! The refs tell which checkpoints there are; what the index has beside them does not count, and what
//! it lacks is read from packs. A commit in it counts while the pack that it was read from, and that
//! pack's index, keep their size and time, or once another pack has it in place of one that is gone.
//! A check reads the commits themselves.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::base::mutex::lock;
use crate::error::Result;
use crate::model::checkpoint::line::CheckpointIndex;
use crate::model::checkpoint::{manifest, message};
use crate::model::{Checkpoint, KeepClass, LineEntry, ObjectId};
use crate::store::files::{atomic_file, read_regular};
use crate::store::objects::object_hash::hash_object;
use crate::store::objects::pack::pack_list::mtime_ns;
use crate::store::refs::commit_reader;
use crate::store::small_files::stat_cache::{SUM_BYTES, put, sum_at_end};
use crate::store::{IdMap, Input, Inventory, Layout, ObjectKind, Objects, Pack, PackStamp};

const MAGIC: &[u8; 8] = b"CKPTIX02";
/// Bytes of the magic, the format, and the length of all before the commits.
const HEAD_BYTES: usize = 3 * 8;
/// Bytes of a record: the id, seven numbers and the traits.
const RECORD_BYTES: usize = 20 + 7 * 8 + 1;
/// Bytes of other commits that are read before and after one.
const AROUND_BYTES: u64 = 32 << 10;
/// Classes by their number in the traits, and the other bits of these.
const CLASSES: [KeepClass; 5] = [
    KeepClass::Named,
    KeepClass::Scoped,
    KeepClass::Automatic,
    KeepClass::Safety,
    KeepClass::Watched,
];
const CLASS_MASK: u8 = 0b111;
const IS_PARTIAL: u8 = 0b1000;
const HAS_META: u8 = 0b1_0000;
/// Plain git made it: its place does not follow from its commit.
const IS_FOREIGN: u8 = 0b10_0000;
/// Fewest commits that lack a record for which the file is rewritten.
const WORTH_WRITING: usize = 8;

/// Stamps that tell whether a pack and its index are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    pack: PackStamp,
    index: (u64, i64),
}

impl Holder {
    fn of(pack: &Pack) -> Option<Self> {
        Some(Self {
            pack: pack.stamp.clone(),
            index: stamp_of(&pack.index_path)?,
        })
    }

    fn render(&self, out: &mut Vec<u8>) {
        self.pack.render(out);
        put(out, self.index.0);
        put(out, self.index.1.cast_unsigned());
    }

    fn parse(input: &mut Input<'_>) -> Option<Self> {
        Some(Self {
            pack: input.pack()?,
            index: (input.number()?, input.number()?.cast_signed()),
        })
    }
}

/// Size and time of a regular file.
fn stamp_of(path: &Path) -> Option<(u64, i64)> {
    let meta = std::fs::symlink_metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    Some((meta.len(), mtime_ns(&meta)))
}

/// What the index has of one commit.
#[derive(Debug, PartialEq, Eq)]
struct IndexRecord {
    entry: LineEntry,
    is_foreign: bool,
    /// Sum of the row in the manifest, without a later reason.
    row_sum: u64,
    content: Vec<u8>,
}

impl IndexRecord {
    /// `None` if the commit is no checkpoint.
    fn of(id: ObjectId, content: Vec<u8>) -> Option<Self> {
        let own = commit_reader::decode(id, &content).ok()?;
        let row = own.as_ref().map(manifest::row).unwrap_or_default();
        Some(Self {
            is_foreign: own.is_none(),
            row_sum: xxh3_64(row.as_bytes()),
            entry: own.as_ref().map_or(LineEntry::unknown(id), LineEntry::of),
            content,
        })
    }
}

/// The open file, and the piece of it that was read last.
#[derive(Debug)]
struct Commits {
    file: File,
    piece_at: u64,
    piece: Vec<u8>,
}

impl Commits {
    fn read(&mut self, range: Range<u64>) -> Option<Vec<u8>> {
        let is_read = |at: u64| at.checked_sub(self.piece_at) <= Some(self.piece.len() as u64);
        if range.start < self.piece_at || !is_read(range.end) {
            self.piece_at = range.start.saturating_sub(AROUND_BYTES);
            self.piece.clear();
            let upto = range.end.saturating_add(AROUND_BYTES);
            self.file.seek(SeekFrom::Start(self.piece_at)).ok()?;
            let piece = (&self.file).take(upto.saturating_sub(self.piece_at));
            piece
                .take(AROUND_BYTES * 4)
                .read_to_end(&mut self.piece)
                .ok()?;
        }
        let [from, to] = [range.start, range.end].map(|at| at.checked_sub(self.piece_at));
        let [from, to] = [usize::try_from(from?).ok()?, usize::try_from(to?).ok()?];
        self.piece.get(from..to).map(<[u8]>::to_vec)
    }
}

/// The file, whose records are read in place, and commits when they are asked for.
#[derive(Debug, Default)]
pub struct CommitIndex {
    /// All before the commits.
    table: Vec<u8>,
    /// Each with whether it is as it was.
    holders: Vec<(Holder, bool)>,
    records_at: usize,
    count: usize,
    /// The records that count.
    places: Vec<usize>,
    by_id: OnceLock<IdMap<usize>>,
    commits: Option<Mutex<Commits>>,
    file_bytes: u64,
    objects_dir: PathBuf,
}

impl CommitIndex {
    /// Reads the index; an empty one if there is none that is whole.
    pub fn read(layout: &Layout, objects: &Objects) -> Self {
        let Some(mut index) = Self::open(layout) else {
            return Self::default();
        };
        let packs = objects.pack_list();
        let now: BTreeSet<Holder> = packs.iter().filter_map(|pack| Holder::of(pack)).collect();
        for (holder, stands) in &mut index.holders {
            *stands = now.contains(holder);
        }
        let is_gone = |(holder, _): &(Holder, bool)| {
            packs.iter().all(|pack| pack.stamp.name != holder.pack.name)
        };
        let gone: Vec<bool> = index.holders.iter().map(is_gone).collect();
        let counts = |at: &usize| match index.holders.get(index.holder(*at)) {
            Some((_, stands)) => {
                *stands || gone[index.holder(*at)] && objects.holds(&index.id(*at))
            }
            None => false,
        };
        index.places = (0..index.count).filter(counts).collect();
        index
    }

    fn open(layout: &Layout) -> Option<Self> {
        let mut file = read_regular::open(&layout.checkpoint_index()).ok()?;
        let found = file.metadata().ok().filter(Metadata::is_file)?;
        let mut table = vec![0; HEAD_BYTES];
        file.read_exact(&mut table).ok()?;
        let length = Input(table.get(HEAD_BYTES - 8..)?).number()?;
        if length > found.len().min(read_regular::UPTO_BYTES) {
            return None;
        }
        table.resize(usize::try_from(length).ok()?, 0);
        file.read_exact(table.get_mut(HEAD_BYTES..)?).ok()?;
        let commits = Commits {
            file,
            piece_at: 0,
            piece: Vec::new(),
        };
        Some(Self {
            commits: Some(Mutex::new(commits)),
            file_bytes: found.len(),
            objects_dir: layout.objects(),
            ..Self::parse(table)?
        })
    }

    fn parse(table: Vec<u8>) -> Option<Self> {
        sum_at_end(&table)?;
        let end = table.len() - SUM_BYTES;
        let mut input = Input(table.get(..end)?);
        if input.take(MAGIC.len())? != MAGIC
            || input.number()? != u64::from(message::CHECKPOINT_FORMAT)
        {
            return None;
        }
        let _length = input.number()?;
        let holders = input.number()?;
        let holders = (0..holders).map(|_| Some((Holder::parse(&mut input)?, false)));
        let holders = holders.collect::<Option<_>>()?;
        let count = usize::try_from(input.number()?).ok()?;
        let records_at = end - input.0.len();
        input.take(count.checked_mul(RECORD_BYTES)?)?;
        Some(Self {
            table,
            holders,
            records_at,
            count,
            ..Self::default()
        })
    }

    /// The commit of a checkpoint.
    pub fn get(&self, id: ObjectId) -> Option<Vec<u8>> {
        let by_id = || self.places.iter().map(|at| (self.id(*at), *at)).collect();
        let at = self.by_id.get_or_init(by_id).get(&id)?;
        self.content(*at)
    }

    /// The checkpoints that this program made, in order, with their places here.
    pub fn own(&self) -> impl Iterator<Item = (usize, LineEntry)> {
        let is_own = |at: &usize| self.traits(*at) & IS_FOREIGN == 0;
        let places = self.places.iter().copied().filter(is_own);
        places.map(|at| (at, self.entry(at)))
    }

    /// Writes the index anew if many commits had to be `read` from packs or were moved, or if most
    /// of those in it are not in the inventory any more.
    ///
    /// # Errors
    /// The file cannot be written; it is as before.
    pub fn save(
        &self,
        layout: &Layout,
        objects: &Objects,
        read: &[(ObjectId, Vec<u8>)],
        inventory: &Inventory,
    ) -> Result<()> {
        let stands = |at: &usize| self.holders[self.holder(*at)].1;
        let moved = self.places.iter().filter(|at| !stands(at)).count();
        let is_bloated = self.count > 2 * inventory.checkpoints.len();
        if moved + read.len() < WORTH_WRITING && !is_bloated {
            return Ok(());
        }
        let wanted = inventory.ids();
        let holder_now = |id: &ObjectId| {
            let (pack, _) = objects.locate(id)?;
            Holder::of(&pack).filter(|_| pack.damage().is_none())
        };
        let known = self.places.iter().filter_map(|at| {
            let same = || Some(self.holders[self.holder(*at)].0.clone());
            let holder = if stands(at) {
                same()
            } else {
                holder_now(&self.id(*at))
            };
            Some((holder?, self.record(*at)?))
        });
        let new = read.iter().filter_map(|(id, content)| {
            let is_new = wanted.contains(id) && self.get(*id).is_none();
            let record = is_new
                .then(|| IndexRecord::of(*id, content.clone()))
                .flatten()?;
            Some((holder_now(id)?, record))
        });
        let new: Vec<_> = new.collect();
        if moved + new.len() < WORTH_WRITING && !is_bloated {
            return Ok(());
        }
        let mut records: Vec<(Holder, IndexRecord)> = known.chain(new).collect();
        records.retain(|(_, record)| wanted.contains(&record.entry.id));
        records.sort_by_key(|(_, record)| record.entry);
        records.dedup_by_key(|(_, record)| record.entry.id);
        atomic_file::replace_derived(&layout.own(), &layout.checkpoint_index(), &render(&records))
    }

    fn bytes_at(&self, at: usize) -> &[u8] {
        &self.table[self.records_at + at * RECORD_BYTES..][..RECORD_BYTES]
    }

    fn id(&self, at: usize) -> ObjectId {
        let mut id = [0; 20];
        id.copy_from_slice(&self.bytes_at(at)[..20]);
        ObjectId::from_bytes(id)
    }

    fn number(&self, at: usize, which: usize) -> u64 {
        let mut number = [0; 8];
        number.copy_from_slice(&self.bytes_at(at)[20 + which * 8..][..8]);
        u64::from_le_bytes(number)
    }

    fn holder(&self, at: usize) -> usize {
        usize::try_from(self.number(at, 0)).unwrap_or(usize::MAX)
    }

    fn traits(&self, at: usize) -> u8 {
        self.bytes_at(at)[RECORD_BYTES - 1]
    }

    fn entry(&self, at: usize) -> LineEntry {
        let traits = self.traits(at);
        LineEntry {
            sequence: self.number(at, 1),
            time_ms: self.number(at, 2).cast_signed(),
            protected_until_ms: self.number(at, 3).cast_signed(),
            class: CLASSES[usize::from(traits & CLASS_MASK)],
            is_partial: traits & IS_PARTIAL != 0,
            has_meta: traits & HAS_META != 0,
            ..LineEntry::unknown(self.id(at))
        }
    }

    /// Where a commit begins in the file, or the last one ends.
    fn start_of(&self, at: usize) -> u64 {
        if at < self.count {
            self.number(at, 6)
        } else {
            self.file_bytes
        }
    }

    /// `None` if it is not as it was written.
    fn content(&self, at: usize) -> Option<Vec<u8>> {
        let range = self.start_of(at)..self.start_of(at + 1);
        let content = lock(self.commits.as_ref()?).read(range)?;
        (xxh3_64(&content) == self.number(at, 5)).then_some(content)
    }

    fn record(&self, at: usize) -> Option<IndexRecord> {
        Some(IndexRecord {
            entry: self.entry(at),
            is_foreign: self.traits(at) & IS_FOREIGN != 0,
            row_sum: self.number(at, 4),
            content: self.content(at)?,
        })
    }

    /// Whether a record says of its commit what follows from that.
    fn is_right(&self, at: usize) -> bool {
        let (id, found) = (self.id(at), self.record(at));
        found.is_some_and(|found| {
            hash_object(ObjectKind::Commit, &found.content) == Ok(id)
                && IndexRecord::of(id, found.content.clone()) == Some(found)
        })
    }
}

impl CheckpointIndex for CommitIndex {
    fn decode(&self, at: usize) -> Option<Checkpoint> {
        let id = self.id(at);
        let decoded = |content: Vec<u8>| commit_reader::decode(id, &content).ok()?;
        self.content(at).and_then(decoded).or_else(|| {
            let objects = Objects::open(&self.objects_dir).ok()?;
            commit_reader::read_checkpoint(&objects, id).ok()
        })
    }

    fn has_row(&self, at: usize, row: &str) -> bool {
        self.number(at, 4) == xxh3_64(row.as_bytes())
    }
}

/// Whether the file is whole and right; `None` if there is none.
pub fn is_sound(layout: &Layout) -> Option<bool> {
    layout.checkpoint_index().symlink_metadata().ok()?;
    let index = CommitIndex::open(layout);
    Some(index.is_some_and(|index| (0..index.count).all(|at| index.is_right(at))))
}

fn render(records: &[(Holder, IndexRecord)]) -> Vec<u8> {
    let holders: BTreeSet<&Holder> = records.iter().map(|(holder, _)| holder).collect();
    let holders: Vec<&Holder> = holders.into_iter().collect();
    let mut out = MAGIC.to_vec();
    put(&mut out, message::CHECKPOINT_FORMAT.into());
    let mut named = Vec::new();
    for holder in &holders {
        holder.render(&mut named);
    }
    let table = HEAD_BYTES + 2 * 8 + named.len() + records.len() * RECORD_BYTES + SUM_BYTES;
    put(&mut out, table as u64);
    put(&mut out, holders.len() as u64);
    out.extend(named);
    put(&mut out, records.len() as u64);
    let mut start = table;
    for (holder, record) in records {
        let entry = &record.entry;
        out.extend(entry.id.as_bytes());
        for number in [
            holders.partition_point(|one| *one < holder) as u64,
            entry.sequence,
            entry.time_ms.cast_unsigned(),
            entry.protected_until_ms.cast_unsigned(),
            record.row_sum,
            xxh3_64(&record.content),
            start as u64,
        ] {
            put(&mut out, number);
        }
        let class = CLASSES.iter().position(|class| *class == entry.class);
        let class = class.and_then(|at| u8::try_from(at).ok());
        let bits = [
            (entry.is_partial, IS_PARTIAL),
            (entry.has_meta, HAS_META),
            (record.is_foreign, IS_FOREIGN),
        ];
        let set = bits.iter().filter(|(is_set, _)| *is_set);
        out.push(set.fold(class.unwrap_or_default(), |traits, (_, bit)| traits | bit));
        start += record.content.len();
    }
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    for (_, record) in records {
        out.extend(&record.content);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
        author checkpoint <checkpoint@localhost> 5 +0000\n\
        committer checkpoint <checkpoint@localhost> 5 +0000\n\n";
    const OURS: &str = "why | 1970-01-01 00:00:05 | cli\n\n\
        Checkpoint-Format: 1\nSequence: 7\nTime-Ms: 5000\nKind: safety\nCoverage: partial\nFiles: 1\nBytes: 2\n\
        Reason: why\nSource: cli\nMeta: 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n";

    #[test]
    fn what_is_written_reads_the_same_and_a_flipped_byte_is_noticed() {
        let pack = PackStamp {
            name: "pack-x".into(),
            size_bytes: 7,
            mtime_ns: -5,
        };
        let holder = Holder {
            pack,
            index: (3, 4),
        };
        let texts = [format!("{COMMIT}by hand\n"), format!("{COMMIT}{OURS}")];
        let records: Vec<_> = texts
            .iter()
            .map(|text| {
                let id = hash_object(ObjectKind::Commit, text.as_bytes()).unwrap();
                (
                    holder.clone(),
                    IndexRecord::of(id, text.clone().into_bytes()).unwrap(),
                )
            })
            .collect();
        let bytes = render(&records);
        let place = tempfile::tempdir().unwrap();
        let layout = Layout::new(place.path().to_path_buf());
        std::fs::create_dir(layout.own()).unwrap();
        let written = |bytes: &[u8]| {
            std::fs::write(layout.checkpoint_index(), bytes).unwrap();
            CommitIndex::open(&layout)
        };
        let index = written(&bytes).unwrap();
        assert_eq!(index.holders, [(holder, false)]);
        for (at, (_, record)) in records.iter().enumerate() {
            assert!(index.is_right(at));
            let found = index.record(at);
            assert_eq!((index.holder(at), found.as_ref()), (0, Some(record)));
        }
        assert_eq!(index.decode(0), None, "its place follows from its parents");
        let ours = index.decode(1).unwrap();
        let found = (ours.record.sequence, LineEntry::of(&ours));
        assert_eq!(found, (7, records[1].1.entry));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            for bytes in [&flipped, &bytes[..at]] {
                let wrong = written(bytes).is_none_or(|index| {
                    at >= index.table.len() && (!index.is_right(0) || !index.is_right(1))
                });
                assert!(wrong && is_sound(&layout) == Some(false), "byte {at}");
            }
        }
    }
}
