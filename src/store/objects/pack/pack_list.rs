//! The packs of a store: their list, newest first, with index and reader opened on demand.

use std::fmt::Display;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use crate::base::Malformed;
use crate::base::threads::work_queue;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::files::read_regular;
use crate::store::objects::loose_files::names_in;
use crate::store::objects::pack::pack_reader::{HEADER_BYTES, damaged};
use crate::store::objects::pack::{pack_delta, pack_index};
use crate::store::{
    BaseCache, EntryCrc, EntryHeader, EntryKind, IndexEntry, ObjectKind, PackIndex, PackReader,
    Places, ReadError, ReadResult, Shared, TrailerHasher,
};

/// Size in bytes up to which content is inflated at once to be hashed, which is faster.
const AT_ONCE_UPTO_BYTES: u64 = 1 << 20;
/// Size in bytes of an index from which a few looks into its file are cheaper than reading it.
const LARGE_INDEX_BYTES: u64 = 1 << 20;
const MOST_LOOKS: usize = 128;

/// Identity of a pack in one state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackStamp {
    /// Name without directory and extension: `pack-<40 hex digits>`.
    pub name: String,
    /// Size of the `.pack` file.
    pub size_bytes: u64,
    /// Time of the `.pack` file, in nanoseconds since 1970.
    pub mtime_ns: i64,
}

/// One pack with its index.
#[derive(Debug)]
pub struct Pack {
    pub stamp: PackStamp,
    pub pack_path: PathBuf,
    pub index_path: PathBuf,
    index: OnceLock<Result<PackIndex, Malformed>>,
    reader: OnceLock<PackReader>,
    bases: BaseCache,
    damage: Option<PackDamage>,
    /// Looks into the file of an index that was not read.
    looks: AtomicUsize,
}

/// The damage of a pack that is readable in spite of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackDamage {
    pub why: String,
    /// Whether only the index was bad: then a right one can be written.
    pub is_whole: bool,
}

impl Pack {
    /// `None` if there is no such regular file. One without readable metadata is assumed to exist:
    /// reading it will tell.
    pub fn stat(pack_dir: &Path, name: &str) -> Option<Self> {
        let pack_path = pack_dir.join(format!("{name}.pack"));
        let index_path = pack_dir.join(format!("{name}.idx"));
        let (size_bytes, mtime_ns) = match std::fs::symlink_metadata(&pack_path) {
            Ok(meta) if meta.is_file() => (meta.len(), mtime_ns(&meta)),
            Err(cause)
                if !matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                (0, 0)
            }
            _ => return None,
        };
        let stamp = PackStamp {
            name: name.into(),
            size_bytes,
            mtime_ns,
        };
        let (index, reader) = (OnceLock::new(), OnceLock::new());
        Some(Self {
            stamp,
            pack_path,
            index_path,
            index,
            reader,
            bases: BaseCache::default(),
            damage: None,
            looks: AtomicUsize::default(),
        })
    }

    /// The same pack with an index and a reader made in spite of damage.
    #[must_use]
    pub fn with_rebuilt_index(
        &self,
        index: PackIndex,
        reader: PackReader,
        damage: PackDamage,
    ) -> Self {
        Self {
            stamp: self.stamp.clone(),
            pack_path: self.pack_path.clone(),
            index_path: self.index_path.clone(),
            index: OnceLock::from(Ok(index)),
            reader: OnceLock::from(reader),
            bases: BaseCache::default(),
            damage: Some(damage),
            looks: AtomicUsize::default(),
        }
    }

    /// The damage, if the pack is read in spite of it.
    pub fn damage(&self) -> Option<&PackDamage> {
        self.damage.as_ref()
    }

    /// Returns the error for an operation that needs this unreadable pack.
    pub fn unreadable(&self, cause: impl Display) -> Error {
        Error::damaged(self.pack_path.display(), cause)
    }

    pub fn has_read_index(&self) -> bool {
        self.index.get().is_some()
    }

    /// # Errors
    /// The index is damaged or cannot be read.
    pub fn index(&self) -> ReadResult<&PackIndex> {
        let loaded = if let Some(loaded) = self.index.get() {
            loaded
        } else {
            let data = read_regular::read(&self.index_path)?;
            self.index.get_or_init(|| PackIndex::parse(data))
        };
        loaded.as_ref().map_err(|why| why.clone().into())
    }

    /// Whether a large index that was not read has no such name, where one look shows that: a few ids that
    /// are probably new are not worth reading it.
    pub fn lacks(&self, id: &ObjectId) -> bool {
        !self.has_read_index()
            && self.looks.fetch_add(1, Ordering::Relaxed) < MOST_LOOKS
            && self.is_in_file(id).is_some_and(|is_named| !is_named)
    }

    /// `None` if the index is small, or cannot be read so.
    fn is_in_file(&self, id: &ObjectId) -> Option<bool> {
        let mut file = read_regular::open(&self.index_path).ok()?;
        let size_bytes = file.metadata().ok()?.len();
        if size_bytes < LARGE_INDEX_BYTES {
            return None;
        }
        let mut head = [0; pack_index::HEAD_BYTES];
        file.read_exact(&mut head).ok()?;
        let place = pack_index::names_like(&head, id).filter(|place| place.end < size_bytes)?;
        let mut names = vec![0; usize::try_from(place.end - place.start).ok()?];
        file.seek(SeekFrom::Start(place.start)).ok()?;
        file.read_exact(&mut names).ok()?;
        let (names, _) = names.as_chunks::<20>();
        Some(names.binary_search(id.as_bytes()).is_ok())
    }

    /// # Errors
    /// The pack is damaged at its start or cannot be opened.
    pub fn reader(&self) -> ReadResult<&PackReader> {
        if let Some(reader) = self.reader.get() {
            return Ok(reader);
        }
        let opened = PackReader::open(&self.pack_path)?;
        Ok(self.reader.get_or_init(|| opened))
    }

    /// Start and end of the entry of an id.
    ///
    /// # Errors
    /// As [`Self::index`] and [`Self::reader`].
    pub fn place_of(&self, id: &ObjectId) -> ReadResult<Option<(IndexEntry, u64)>> {
        let index = self.index()?;
        let Some(entry) = index.find(id) else {
            return Ok(None);
        };
        let end = index.end_of(entry.offset, self.reader()?.entries_end());
        Ok(Some((entry, end)))
    }

    /// Bytes of an entry of this pack; zero if it is unreadable.
    pub fn room_of(&self, entry: &IndexEntry) -> u64 {
        match (self.index(), self.reader()) {
            (Ok(index), Ok(reader)) => {
                let end = index.end_of(entry.offset, reader.entries_end());
                end.saturating_sub(entry.offset)
            }
            _ => 0,
        }
    }

    /// # Errors
    /// As [`Self::read_resolved`]; only the header is read.
    pub fn header(&self, id: &ObjectId) -> ReadResult<Option<EntryHeader>> {
        let Some((entry, end)) = self.place_of(id)? else {
            return Ok(None);
        };
        self.reader()?.header(entry.offset, end).map(Some)
    }

    /// Reads an object if this pack has it, resolving deltas within the pack, and verifies its hash.
    ///
    /// # Errors
    /// The pack has the object but cannot read it.
    pub fn read_resolved(&self, id: &ObjectId) -> ReadResult<Option<Shared>> {
        self.read_with(id, &|_| None)
    }

    /// As [`Self::read_resolved`]; the base of a delta that is damaged here comes from `elsewhere`.
    ///
    /// # Errors
    /// As [`Self::read_resolved`].
    pub fn read_with(
        &self,
        id: &ObjectId,
        elsewhere: &dyn Fn(&ObjectId) -> Option<Shared>,
    ) -> ReadResult<Option<Shared>> {
        let (index, reader) = (self.index()?, self.reader()?);
        let Some(entry) = index.find(id) else {
            return Ok(None);
        };
        let found = with_places(index, reader, elsewhere, |places| {
            pack_delta::resolve(reader, entry.offset, places, &self.bases)
        })?;
        let mut hasher = TrailerHasher::of_object(found.0, found.1.len() as u64);
        hasher.update(&found.1);
        check_hash(id, hasher)?;
        Ok(Some(found))
    }

    /// Kind and size in bytes of an object, also of a delta, without building it.
    ///
    /// # Errors
    /// As [`Self::read_resolved`].
    pub fn kind_and_size(&self, id: &ObjectId) -> ReadResult<Option<(ObjectKind, u64)>> {
        let (index, reader) = (self.index()?, self.reader()?);
        let Some(entry) = index.find(id) else {
            return Ok(None);
        };
        with_places(index, reader, &|_| None, |places| {
            pack_delta::kind_and_size(reader, entry.offset, places)
        })
        .map(Some)
    }

    /// Frees the cache of contents made from deltas.
    pub fn forget_bases(&self) {
        self.bases.clear();
    }

    /// Inflates an undeltified object into `sink`, in constant memory; then verifies its hash.
    ///
    /// # Errors
    /// As [`Self::read_resolved`]; the output is then invalid.
    pub fn stream(
        &self,
        id: &ObjectId,
        header: &EntryHeader,
        sink: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> ReadResult<()> {
        let (Some((entry, end)), EntryKind::Object(kind)) = (self.place_of(id)?, header.kind)
        else {
            return Err(damaged("the entry is not what it was"));
        };
        let mut hasher = TrailerHasher::of_object(kind, header.size);
        self.reader()?
            .stream(entry.offset, end, header, &mut |piece| {
                hasher.update(piece);
                sink(piece)
            })?;
        check_hash(id, hasher)
    }

    /// Whether the copy in this pack is intact, deltified or not.
    pub fn has_intact(&self, id: &ObjectId) -> bool {
        match self.header(id) {
            Ok(Some(header))
                if header.kind != EntryKind::Delta && header.size > AT_ONCE_UPTO_BYTES =>
            {
                self.stream(id, &header, &mut |_| Ok(())).is_ok()
            }
            _ => matches!(self.read_resolved(id), Ok(Some(_))),
        }
    }

    /// Whether any object of the index is intact in this pack.
    pub fn has_any_intact(&self) -> bool {
        self.index()
            .is_ok_and(|index| index.entries().any(|entry| self.has_intact(&entry.id)))
    }

    /// Checks that checksums of index and pack, and the size, match. Reads no entries.
    ///
    /// # Errors
    /// The mismatch.
    pub fn check_frame(&self) -> ReadResult<()> {
        if let Some(damage) = &self.damage {
            return Err(ReadError::Damaged(damage.why.clone()));
        }
        let index = self.index()?;
        if !index.checksum_is_right() {
            return Err(damaged("the index does not match its checksum"));
        }
        if self.reader()?.trailer()? != index.pack_trailer() {
            return Err(damaged("the pack does not end as its index says"));
        }
        Ok(())
    }

    /// As [`Self::check_frame`], and checks that every entry lies in the pack, so that reads by
    /// this index stay in it.
    ///
    /// # Errors
    /// As [`Self::check_frame`].
    pub fn check_places(&self) -> ReadResult<()> {
        self.check_frame()?;
        let entries = HEADER_BYTES..self.reader()?.entries_end();
        if self
            .index()?
            .entries()
            .all(|entry| entries.contains(&entry.offset))
        {
            return Ok(());
        }
        Err(damaged("the index points outside the pack"))
    }
}

/// The time of a file, in nanoseconds since 1970.
pub(in crate::store) fn mtime_ns(meta: &std::fs::Metadata) -> i64 {
    let age = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .unwrap_or_default();
    i64::try_from(age.as_nanos()).unwrap_or(i64::MAX)
}

fn with_places<T>(
    index: &PackIndex,
    reader: &PackReader,
    elsewhere: &dyn Fn(&ObjectId) -> Option<Shared>,
    work: impl FnOnce(&Places<'_>) -> T,
) -> T {
    work(&Places {
        offset_of: &|base| index.find(base).map(|found| found.offset),
        end_of: &|offset| index.end_of(offset, reader.entries_end()),
        elsewhere,
    })
}

fn check_hash(wanted: &ObjectId, hasher: TrailerHasher) -> ReadResult<()> {
    let found = ObjectId::from_bytes(hasher.finish());
    if found == *wanted {
        return Ok(());
    }
    Err(damaged(format!("its content hashes to {found}")))
}

/// Lists the packs that have an index, newest first; unchanged ones are taken from `before`, and
/// those made readable in memory stay even without an index.
///
/// # Errors
/// The directory cannot be listed; a missing one is empty.
pub fn list(pack_dir: &Path, before: &[Arc<Pack>]) -> Result<Vec<Arc<Pack>>> {
    let mut packs = Vec::new();
    for file in names_in(pack_dir)? {
        let Some(pack) = file
            .strip_suffix(".idx")
            .and_then(|name| Pack::stat(pack_dir, name))
        else {
            continue;
        };
        let known = before.iter().find(|old| old.stamp == pack.stamp);
        packs.push(known.map_or_else(|| Arc::new(pack), Arc::clone));
    }
    let unlisted = |old: &&Arc<Pack>| {
        old.damage.is_some() && !packs.iter().any(|pack| pack.stamp.name == old.stamp.name)
    };
    let still_there = |old: &&Arc<Pack>| {
        Pack::stat(pack_dir, &old.stamp.name).is_some_and(|now| now.stamp == old.stamp)
    };
    let kept: Vec<Arc<Pack>> = before
        .iter()
        .filter(unlisted)
        .filter(still_there)
        .map(Arc::clone)
        .collect();
    packs.extend(kept);
    packs.sort_by(|a, b| {
        b.stamp
            .mtime_ns
            .cmp(&a.stamp.mtime_ns)
            .then_with(|| a.stamp.name.cmp(&b.stamp.name))
    });
    Ok(packs)
}

/// Entries for which another thread pays off.
const CHECKED_PER_THREAD: usize = 64;

/// Looks at a pack that was just written.
///
/// # Errors
/// It is gone, or what `check` says of it.
pub fn check_new(
    pack_dir: &Path,
    stamp: &PackStamp,
    check: impl FnOnce(&Pack) -> ReadResult<()>,
) -> Result<()> {
    let pack = Pack::stat(pack_dir, &stamp.name).ok_or_else(|| damaged("it is gone"));
    let checked = pack.and_then(|pack| check(&pack));
    checked.map_err(|why| Error::damaged(format!("the new pack {}", stamp.name), why))
}

/// Checks that every entry is where the index says, with the written bytes. Cheaper than
/// [`read_back`], and enough if all entries were copied unchanged and their checksums checked.
///
/// # Errors
/// The entry or file that is damaged.
pub fn bytes_arrived(pack: &Pack) -> ReadResult<()> {
    pack.check_places()?;
    let (index, reader) = (pack.index()?, pack.reader()?);
    for entry in index.entries() {
        let mut crc = EntryCrc::default();
        reader.raw(
            entry.offset,
            index.end_of(entry.offset, reader.entries_end()),
            &mut |bytes| {
                crc.update(bytes);
                Ok(())
            },
        )?;
        if crc.sum() != entry.crc {
            return Err(damaged(format!(
                "object {} in it is not as it was written",
                entry.id
            )));
        }
    }
    Ok(())
}

/// Checks every object of a pack by building and hashing it.
///
/// # Errors
/// The object or file that is damaged.
pub fn read_back(pack: &Pack) -> ReadResult<()> {
    pack.check_frame()?;
    let mut entries: Vec<IndexEntry> = pack.index()?.entries().collect();
    // In order of offset: a delta comes after its base, which is then still cached.
    entries.sort_unstable_by_key(|entry| entry.offset);
    let check = |part: &[IndexEntry]| {
        part.iter()
            .find(|entry| !pack.has_intact(&entry.id))
            .copied()
    };
    let bad = work_queue::split(&entries, CHECKED_PER_THREAD, check);
    pack.forget_bases();
    match bad.into_iter().flatten().next() {
        None => Ok(()),
        Some(entry) => Err(damaged(format!(
            "object {} in it cannot be read back",
            entry.id
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::objects::object_hash::ObjectKind;
    use crate::store::objects::odb::Objects;
    use crate::store::objects::pack::pack_writer::PackWriter;

    #[test]
    fn a_large_index_is_asked_for_a_few_names_without_being_read() {
        let place = tempfile::tempdir().unwrap();
        let id = |number: u32| {
            let mut bytes = [0; 20];
            // Spread over all first bytes, and none of them at an odd number.
            bytes[..4].copy_from_slice(&number.wrapping_mul(0x9e37_79b1).to_be_bytes());
            ObjectId::from_bytes(bytes)
        };
        let write = |count: u32| {
            let of = |number| IndexEntry {
                id: id(2 * number),
                offset: 12,
                crc: 0,
            };
            let mut entries: Vec<IndexEntry> = (0..count).map(of).collect();
            std::fs::write(place.path().join("p.pack"), "PACK").unwrap();
            let bytes = pack_index::encode(&mut entries, [1; 20]);
            std::fs::write(place.path().join("p.idx"), &bytes).unwrap();
            bytes
        };
        let pack = || Pack::stat(place.path(), "p").unwrap();
        let bytes = write(40_000);
        let large = pack();
        for number in 0..50 {
            assert!(!large.lacks(&id(1600 * number)) && large.lacks(&id(1600 * number + 1)));
        }
        assert!(!large.has_read_index());
        let many = |_| large.lacks(&id(1));
        assert!(!(0..MOST_LOOKS).all(many), "many are looked for in memory");
        // One that is torn or damaged is read as a whole.
        let (mut other, mut shifted) = (bytes.clone(), bytes.clone());
        other[0] ^= 0xff;
        shifted[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        let torn = bytes[..900_000].to_vec();
        let absent = |first: u8| {
            let mut bytes = [0; 20];
            (bytes[0], bytes[19]) = (first, 1);
            ObjectId::from_bytes(bytes)
        };
        for (broken, first) in [(other, 7), (shifted.clone(), 0), (shifted, 1), (torn, 7)] {
            std::fs::write(place.path().join("p.idx"), broken).unwrap();
            assert!(!pack().lacks(&absent(first)), "{first}");
        }
        write(40);
        assert!(!pack().lacks(&id(1)), "a small one is read");
    }

    #[test]
    fn a_changed_byte_anywhere_in_a_new_pack_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let known = Objects::open(place.path()).unwrap();
        let mut writer = PackWriter::begin(place.path(), &known).unwrap();
        for content in [&b"short"[..], &b"all work and no play ".repeat(100), b""] {
            writer.add(ObjectKind::Blob, content).unwrap();
        }
        let stamp = writer.finish().unwrap().unwrap();
        let dir = place.path().join("pack");
        let path = dir.join(format!("{}.pack", stamp.name));
        let whole = std::fs::read(&path).unwrap();
        let checked = || {
            [bytes_arrived, read_back]
                .map(|check| check(&Pack::stat(&dir, &stamp.name).unwrap()).is_ok())
        };
        assert_eq!(checked(), [true; 2]);
        // The header in front does not affect any entry.
        for at in 12..whole.len() {
            let mut broken = whole.clone();
            broken[at] ^= 4;
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, &broken).unwrap();
            assert!(!checked()[0], "byte {at}");
        }
    }
}
