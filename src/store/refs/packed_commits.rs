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
use crate::model::checkpoint::line::{LineEntry, OlderCheckpoints};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::object_id::ObjectId;
use crate::store::files::atomic_file::{self, TemporaryFile};
use crate::store::files::read_regular;
use crate::store::layout::Layout;
use crate::store::objects::id_set::ObjectIds;
use crate::store::objects::object_hash::{ObjectKind, hash_object};
use crate::store::objects::odb::Objects;
use crate::store::refs::commit_reader;
use crate::store::refs::packed_seal::Seal;
use crate::store::small_files::stat_cache_head::{Input, SUM_BYTES, put, sum_at_end};

const PACKED_MAGIC: &[u8; 8] = b"CKPTPC01";
/// Bytes before the entries: the magic, the format, the sum and the stamp of `packed-refs`, and the
/// number of entries.
const HEAD_BYTES: usize = 8 * 8;
/// Bytes of an entry: id, sequence number, time, length of the commit, and whether it is scoped.
const ENTRY_BYTES: usize = 20 + 8 + 8 + 4 + 1;
/// How often and how long to wait until the clock of the file system has moved on.
const CLOCK_TRIES: usize = 10;
const CLOCK_PAUSE: Duration = Duration::from_millis(2);

/// Identity of `packed-refs` in one state: size, time of change of content and of inode in
/// nanoseconds since 1970, inode.
type RefsStamp = [u64; 4];

/// The open file, whose entries have been checked.
#[derive(Debug)]
pub struct PackedCommits {
    entries: Vec<LineEntry>,
    /// The start of each commit in the file, and the end of the last.
    bounds: Vec<u64>,
    file: Mutex<File>,
    objects_dir: PathBuf,
    /// The largest format number among them.
    pub newest_format: u32,
    /// The sum of `packed-refs`.
    pub refs_sum: u64,
    pub pins: BTreeSet<ObjectId>,
    /// Those that could be read neither here nor from their packs.
    unreadable: Mutex<BTreeSet<ObjectId>>,
}

/// Opens the file if it can be trusted. The seal is returned if it proved that all commits are
/// still stored; without it each was looked up.
pub fn open(layout: &Layout, objects: &Objects) -> Option<(PackedCommits, Option<Seal>)> {
    let packed = open_unproven(layout)?;
    let seal = Seal::read(layout).filter(|seal| seal.refs_sum == packed.refs_sum);
    let seal = seal.filter(|seal| {
        // Another process may have merged packs since they were listed.
        seal.stands(objects) || (objects.refresh().is_ok() && seal.stands(objects))
    });
    let are_stored = || packed.entries.iter().all(|entry| objects.holds(&entry.id));
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
    let is_sound = parse_file(layout).is_some_and(|(packed, ..)| {
        let read = packed.contents(0..packed.entries.len()).unwrap_or_default();
        read.len() == packed.entries.len() && read.iter().all(|(id, bytes)| is_of(*id, bytes))
    });
    Some(is_sound)
}

fn parse_file(layout: &Layout) -> Option<(PackedCommits, RefsStamp, u64)> {
    let mut file = read_regular::open(&layout.packed_commits()).ok()?;
    let found = file.metadata().ok().filter(Metadata::is_file)?;
    let mut table = vec![0; HEAD_BYTES];
    file.read_exact(&mut table).ok()?;
    let mut input = Input(&table);
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
    if end as u64 > found.len() {
        return None;
    }
    table.resize(end, 0);
    file.read_exact(&mut table[HEAD_BYTES..]).ok()?;
    sum_at_end(&table)?;
    let mut input = Input(&table[HEAD_BYTES..]);
    let mut entries = Vec::with_capacity(count);
    let mut bounds = Vec::with_capacity(count + 1);
    bounds.push(end as u64);
    for _ in 0..count {
        entries.push(LineEntry {
            id: ObjectId::from_slice(input.take(20)?)?,
            sequence: input.number()?,
            time_ms: input.number()?.cast_signed(),
            is_scoped: {
                let length = u32::from_le_bytes(input.take(4)?.try_into().ok()?);
                bounds.push(bounds.last()? + u64::from(length));
                input.take(1)? == [1]
            },
        });
    }
    if bounds.last() != Some(&found.len()) || !entries.is_sorted() {
        return None;
    }
    let packed = PackedCommits {
        entries,
        bounds,
        file: Mutex::new(file),
        objects_dir: layout.objects(),
        newest_format,
        refs_sum,
        pins: BTreeSet::new(),
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
    for (entry, content) in commits {
        out.extend(entry.id.as_bytes());
        put(&mut out, entry.sequence);
        put(&mut out, entry.time_ms.cast_unsigned());
        out.extend(
            u32::try_from(content.len())
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        );
        out.push(u8::from(entry.is_scoped));
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

impl PackedCommits {
    /// Those of `ids` that it has.
    pub fn among(&self, ids: impl Iterator<Item = ObjectId>) -> Vec<ObjectId> {
        let ids: ObjectIds = ids.collect();
        let entries = self.entries.iter().map(|entry| entry.id);
        entries.filter(|id| ids.contains(id)).collect()
    }

    /// The bytes of some of the commits, not yet proven.
    pub fn contents(&self, range: Range<usize>) -> std::io::Result<Vec<(ObjectId, Vec<u8>)>> {
        let [from, to] = [range.start, range.end].map(|at| self.bounds[at]);
        let length = usize::try_from(to - from).map_err(std::io::Error::other)?;
        let mut bytes = vec![0; length];
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut bytes)?;
        let mut rest = &bytes[..];
        let mut next = |at: usize| {
            let length = usize::try_from(self.bounds[at + 1] - self.bounds[at]).unwrap_or_default();
            let (content, after) = rest.split_at(length.min(rest.len()));
            rest = after;
            (self.entries[at].id, content.to_vec())
        };
        Ok(range.map(&mut next).collect())
    }

    /// Reads a checkpoint from its pack, because its copy here is damaged.
    fn as_stored(&self, id: ObjectId) -> Option<Checkpoint> {
        let objects = Objects::open(&self.objects_dir).ok()?;
        commit_reader::read_checkpoint(&objects, id).ok()
    }
}

impl OlderCheckpoints for PackedCommits {
    fn entries(&self) -> &[LineEntry] {
        &self.entries
    }

    fn unreadable(&self) -> Vec<ObjectId> {
        lock(&self.unreadable).iter().copied().collect()
    }

    fn pinned_count(&self) -> usize {
        let is_pinned = |entry: &&LineEntry| self.pins.contains(&entry.id);
        self.entries.iter().filter(is_pinned).count()
    }

    fn read(&self, range: Range<usize>) -> Vec<Checkpoint> {
        let ids = self.entries[range.clone()].iter().map(|entry| entry.id);
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
        read.map(|checkpoint| Checkpoint {
            pinned: self.pins.contains(&checkpoint.id),
            ..checkpoint
        })
        .collect()
    }
}
