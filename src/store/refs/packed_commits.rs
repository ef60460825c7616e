//! The commits of the checkpoints whose refs are packed, in their order, so that a command reads
//! only those that it shows.
//!
//! The file is derived: it counts only if `packed-refs` is as it was when the file was made, and all
//! commits are still stored. Each commit is proven by its id when it is read.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use crate::base::mutex::lock;
use crate::error::{Error, Result};
use crate::model::checkpoint::line::OlderCheckpoints;
use crate::model::{Checkpoint, KeepClass, LineEntry, ObjectId};
use crate::store::files::atomic_file;
use crate::store::files::read_regular;
use crate::store::objects::object_hash::hash_object;
use crate::store::refs::commit_reader;
use crate::store::refs::ref_files;
use crate::store::small_files::stat_cache_head::{SUM_BYTES, put, sum_at_end};
use crate::store::{
    Family, Holder, Input, Layout, ObjectIds, ObjectKind, Objects, Rewords, Seal, TemporaryFile,
};

const PACKED_MAGIC: &[u8; 8] = b"CKPTPC03";
/// Bytes before the entries: the magic, the format, the sum and the stamp of `packed-refs`, and the
/// number of entries.
const HEAD_BYTES: usize = 8 * 8;
/// Bytes of an entry: id (20), sequence number, time, start of the commit in the file and the time
/// until which it is kept (8 each), and a byte for its class and whether it is partial.
const ENTRY_BYTES: usize = 20 + 8 + 8 + 8 + 8 + 1;
/// Classes by their number in the last byte of an entry, and the other bits of that byte.
const CLASSES: [KeepClass; 4] = [
    KeepClass::Named,
    KeepClass::Scoped,
    KeepClass::Automatic,
    KeepClass::Safety,
];
const CLASS_MASK: u8 = 0b11;
const IS_PARTIAL: u8 = 0b100;
/// How often and how long to wait until the clock of the file system has moved on.
const CLOCK_TRIES: usize = 10;
const CLOCK_PAUSE: Duration = Duration::from_millis(2);

/// Identity of `packed-refs` in one state: size, time of change of content and of inode in
/// nanoseconds since 1970, inode.
type RefsStamp = [u64; 4];

/// The open file, whose entries have been checked.
#[derive(Debug)]
pub struct PackedCommits {
    count: usize,
    /// The head and the entries as they are in the file; an entry is decoded each time.
    table: Vec<u8>,
    file: Mutex<File>,
    file_bytes: u64,
    objects_dir: PathBuf,
    /// The largest format number among them.
    pub newest_format: u32,
    /// The sum of `packed-refs`.
    pub refs_sum: u64,
    pub pins: BTreeSet<ObjectId>,
    pub rewords: Rewords,
    /// Those that could be read neither here nor from their packs.
    unreadable: Mutex<BTreeSet<ObjectId>>,
}

/// Opens the file if it can be trusted. The seal is returned if it proved that all commits are
/// still stored; without it each was looked up.
pub fn open(
    layout: &Layout,
    objects: &Objects,
    holders: &BTreeSet<Holder>,
) -> Option<(PackedCommits, Option<Seal>)> {
    let packed = open_unproven(layout)?;
    let seal = Seal::read(layout).filter(|seal| seal.refs_sum == packed.refs_sum);
    let seal = seal.filter(|seal| {
        // Another process may have merged packs since they were listed.
        seal.stands(holders) || (objects.refresh().is_ok() && seal.stands(&Holder::all(objects)))
    });
    let are_stored = || packed.entries().all(|entry| objects.holds(&entry.id));
    (seal.is_some() || are_stored()).then_some((packed, seal))
}

/// Opens the file if it describes `packed-refs` as that is now.
pub fn open_unproven(layout: &Layout) -> Option<PackedCommits> {
    let (packed, stamp, written_ns) = parse_file(layout)?;
    let now = std::fs::symlink_metadata(layout.packed_refs()).ok()?;
    // A stamp taken in the same tick of the clock may be of an earlier state.
    let is_unchanged = refs_stamp(&now) == Some(stamp) && stamp[2] < written_ns;
    let has_same_sum = || {
        let bytes = read_regular::read(&layout.packed_refs()).ok()?;
        Some(xxh3_64(&bytes) == packed.refs_sum)
    };
    (is_unchanged || has_same_sum() == Some(true)).then_some(packed)
}

/// Whether the file is whole; `None` if there is none.
pub fn is_sound(layout: &Layout) -> Option<bool> {
    layout.packed_commits().symlink_metadata().ok()?;
    let Some((packed, ..)) = parse_file(layout) else {
        return Some(false);
    };
    let read = packed.contents(0..packed.count()).unwrap_or_default();
    let is_right = |(entry, (id, bytes)): (LineEntry, &(ObjectId, Vec<u8>))| {
        let proven = is_of(*id, bytes).then_some(bytes.as_slice());
        let commit = proven.and_then(|bytes| commit_reader::decode(*id, bytes).ok()?);
        commit.is_some_and(|commit| LineEntry::of(&commit) == entry)
    };
    let is_sound = read.len() == packed.count()
        && packed.entries().is_sorted_by(|one, other| one < other)
        && packed.entries().zip(&read).all(is_right);
    Some(is_sound && packed.names_what_is_packed(layout))
}

fn parse_file(layout: &Layout) -> Option<(PackedCommits, RefsStamp, u64)> {
    let mut file = read_regular::open(&layout.packed_commits()).ok()?;
    let found = file.metadata().ok().filter(Metadata::is_file)?;
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head).ok()?;
    let mut input = Input(&head);
    if input.take(PACKED_MAGIC.len())? != PACKED_MAGIC {
        return None;
    }
    let newest_format = u32::try_from(input.number()?).ok()?;
    let refs_sum = input.number()?;
    let stamp = [
        input.number()?,
        input.number()?,
        input.number()?,
        input.number()?,
    ];
    let count = usize::try_from(input.number()?).ok()?;
    let end = count
        .checked_mul(ENTRY_BYTES)?
        .checked_add(HEAD_BYTES + SUM_BYTES)?;
    if end as u64 > found.len().min(read_regular::UPTO_BYTES) {
        return None;
    }
    let mut table = vec![0; end];
    table[..HEAD_BYTES].copy_from_slice(&head);
    file.read_exact(&mut table[HEAD_BYTES..]).ok()?;
    sum_at_end(&table)?;
    let packed = PackedCommits {
        count,
        table,
        file: Mutex::new(file),
        file_bytes: found.len(),
        objects_dir: layout.objects(),
        newest_format,
        refs_sum,
        pins: BTreeSet::new(),
        rewords: Rewords::new(),
        unreadable: Mutex::default(),
    };
    Some((packed, stamp, written_ns(&found)))
}

/// Writes the file for the checkpoints that `packed-refs` names now; they are sorted.
///
/// # Errors
/// The file cannot be written; then there is none that counts.
pub fn write(layout: &Layout, newest_format: u32, commits: &[(LineEntry, Vec<u8>)]) -> Result<()> {
    let path = layout.packed_refs();
    let unreadable = || Error::io("read", &path);
    let stamp = std::fs::symlink_metadata(&path).map_err(unreadable())?;
    let refs = read_regular::read(&path).map_err(unreadable())?;
    let stamp = refs_stamp(&stamp).unwrap_or_default();
    let mut out = PACKED_MAGIC.to_vec();
    put(&mut out, u64::from(newest_format));
    put(&mut out, xxh3_64(&refs));
    for number in stamp {
        put(&mut out, number);
    }
    put(&mut out, commits.len() as u64);
    let mut start = (HEAD_BYTES + commits.len() * ENTRY_BYTES + SUM_BYTES) as u64;
    for (entry, content) in commits {
        out.extend(entry.id.as_bytes());
        put(&mut out, entry.sequence);
        put(&mut out, entry.time_ms.cast_unsigned());
        put(&mut out, start);
        put(&mut out, entry.protected_until_ms.cast_unsigned());
        out.push(traits_of(entry));
        start += content.len() as u64;
    }
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    for (_, content) in commits {
        out.extend(content);
    }
    let temporary = atomic_file::write_temporary(&layout.own(), &out)?;
    await_clock(&temporary, stamp[2]).map_err(Error::io("write", temporary.path()))?;
    atomic_file::put_in_place(temporary, &layout.own(), &layout.packed_commits())
}

fn traits_of(entry: &LineEntry) -> u8 {
    let class = CLASSES.iter().position(|class| *class == entry.class);
    let class = class.and_then(|at| u8::try_from(at).ok());
    class.unwrap_or_default() | if entry.is_partial { IS_PARTIAL } else { 0 }
}

/// Waits until a file is younger than a moment of the same clock, so that no later change of what
/// it was made from can bear an earlier time.
fn await_clock(file: &TemporaryFile, moment_ns: u64) -> std::io::Result<()> {
    let mut file = file.file();
    for _ in 0..CLOCK_TRIES {
        if written_ns(&file.metadata()?) > moment_ns {
            break;
        }
        std::thread::sleep(CLOCK_PAUSE);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(PACKED_MAGIC)?;
    }
    Ok(())
}

#[cfg(unix)]
fn refs_stamp(found: &Metadata) -> Option<RefsStamp> {
    use std::os::unix::fs::MetadataExt as _;
    let changed = u64::try_from(found.ctime()).ok()? * 1_000_000_000;
    let changed_ns = changed + u64::try_from(found.ctime_nsec()).ok()?;
    Some([found.len(), written_ns(found), changed_ns, found.ino()])
}

/// Without inodes the sum of the content decides each time.
#[cfg(not(unix))]
fn refs_stamp(_found: &Metadata) -> Option<RefsStamp> {
    None
}

fn written_ns(found: &Metadata) -> u64 {
    let age = found.modified().ok();
    let age = age.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    u64::try_from(age.unwrap_or_default().as_nanos()).unwrap_or_default()
}

fn is_of(id: ObjectId, content: &[u8]) -> bool {
    hash_object(ObjectKind::Commit, content) == Ok(id)
}

fn number_at(bytes: &[u8], offset: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(number)
}

impl PackedCommits {
    /// Those of `ids` that it has.
    pub fn among(&self, ids: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
        let ids: ObjectIds = ids.collect();
        if ids.is_empty() {
            return Vec::new();
        }
        // Two bytes tell most others apart, for less than a look into the set.
        let mut known = [[false; 256]; 2];
        for id in ids.iter().map(ObjectId::as_bytes) {
            known[0][usize::from(id[0])] = true;
            known[1][usize::from(id[1])] = true;
        }
        let entries = self.table[HEAD_BYTES..].chunks_exact(ENTRY_BYTES);
        entries
            .take(self.count)
            .filter(|id| known[0][usize::from(id[0])] && known[1][usize::from(id[1])])
            .filter_map(|id| ObjectId::from_slice(&id[..20]))
            .filter(|id| ids.contains(id))
            .collect()
    }

    /// Whether it has an entry for each checkpoint in `packed-refs`, if it describes that at all.
    fn names_what_is_packed(&self, layout: &Layout) -> bool {
        let ids: BTreeSet<ObjectId> = self.entries().map(|entry| entry.id).collect();
        open_unproven(layout).is_none()
            || ref_files::packed_names(layout, Family::Checkpoints).is_ok_and(|names| names == ids)
    }

    fn entries(&self) -> impl Iterator<Item = LineEntry> {
        (0..self.count()).map(|at| self.entry(at))
    }

    fn entry_bytes(&self, at: usize) -> &[u8] {
        &self.table[HEAD_BYTES + at * ENTRY_BYTES..][..ENTRY_BYTES]
    }

    /// The start of a commit in the file, or the end of the last.
    fn start_of(&self, at: usize) -> u64 {
        if at < self.count() {
            number_at(self.entry_bytes(at), 36)
        } else {
            self.file_bytes
        }
    }

    /// The bytes of some of the commits, not yet proven.
    ///
    /// # Errors
    /// The file cannot be read, or is shorter than it was.
    pub fn contents(&self, range: Range<usize>) -> std::io::Result<Vec<(ObjectId, Vec<u8>)>> {
        let [from, to] = [range.start, range.end].map(|at| self.start_of(at));
        let length = to.min(self.file_bytes).saturating_sub(from);
        let mut bytes = vec![0; usize::try_from(length).map_err(std::io::Error::other)?];
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut bytes)?;
        let content = |at: usize| {
            let [start, end] = [at, at + 1].map(|at| self.start_of(at).saturating_sub(from));
            let [start, end] = [start, end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
            let content = bytes.get(start..end).unwrap_or_default();
            (self.entry(at).id, content.to_vec())
        };
        Ok(range.map(content).collect())
    }

    /// Reads a checkpoint from its pack, because its copy here is damaged.
    fn as_stored(&self, id: ObjectId) -> Option<Checkpoint> {
        let objects = Objects::open(&self.objects_dir).ok()?;
        commit_reader::read_checkpoint(&objects, id).ok()
    }
}

impl OlderCheckpoints for PackedCommits {
    fn count(&self) -> usize {
        self.count
    }

    fn entry(&self, at: usize) -> LineEntry {
        let bytes = self.entry_bytes(at);
        let traits = bytes[ENTRY_BYTES - 1];
        let mut id = [0; 20];
        id.copy_from_slice(&bytes[..20]);
        LineEntry {
            sequence: number_at(bytes, 20),
            time_ms: number_at(bytes, 28).cast_signed(),
            id: ObjectId::from_bytes(id),
            class: CLASSES[usize::from(traits & CLASS_MASK)],
            is_partial: traits & IS_PARTIAL != 0,
            protected_until_ms: number_at(bytes, 44).cast_signed(),
        }
    }

    fn unreadable(&self) -> Vec<ObjectId> {
        lock(&self.unreadable).iter().copied().collect()
    }

    fn pinned_count(&self) -> usize {
        self.among(self.pins.iter().copied()).len()
    }

    fn is_pinned(&self, id: ObjectId) -> bool {
        self.pins.contains(&id)
    }

    fn read(&self, range: Range<usize>) -> Vec<Checkpoint> {
        let ids = range.clone().map(|at| self.entry(at).id);
        let contents = self
            .contents(range)
            .unwrap_or_else(|_| ids.map(|id| (id, Vec::new())).collect());
        let read = contents.into_iter().filter_map(|(id, content)| {
            let proven = is_of(id, &content).then_some(content);
            let read = proven.and_then(|content| commit_reader::decode(id, &content).ok()?);
            let read = read.or_else(|| self.as_stored(id));
            if read.is_none() {
                lock(&self.unreadable).insert(id);
            }
            read
        });
        read.map(|mut checkpoint| {
            checkpoint.pinned = self.pins.contains(&checkpoint.id);
            if let Some(reason) = self.rewords.get(&checkpoint.id) {
                checkpoint.record.reason.clone_from(reason);
            }
            checkpoint
        })
        .collect()
    }
}
