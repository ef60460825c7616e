//! Writes one pack of new objects under a temporary name and publishes it whole or not at all.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::base::WorkQueue;
use crate::base::mutex::lock;
use crate::base::threads::work_queue;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::model::state::entry::STREAM_FROM_BYTES;
use crate::store::files::directories;
use crate::store::objects::deflate::{self, StreamDeflater};
use crate::store::objects::object_hash::{hash_object, trailer_of};
use crate::store::objects::pack::pack_publish::{self, Completed, FILE_PIECE_BYTES};
use crate::store::objects::pack::pack_reader::{self, PIECE_BYTES};
use crate::store::{
    Collision, Deflater, EntryCrc, IndexEntry, ObjectHasher, ObjectKind, Objects, PackReader,
    PackStamp, ReadError, TemporaryFile,
};

/// Largest pack, in bytes, that stays in memory until it is complete.
const IN_MEMORY_UPTO_BYTES: usize = 2 << 20;
/// Number of unread indexes above which small objects are written without looking for duplicates.
const FEW_INDEXES: usize = 8;
/// Upper bound on the size of such an object, in bytes.
const UNCHECKED_UPTO_BYTES: usize = 16 << 10;
/// Upper bound on their number in one pack.
const MOST_UNCHECKED: usize = 64;
/// Start of a pack; the count is filled in at the end.
const PACK_START: &[u8] = b"PACK\0\0\0\x02\0\0\0\0";

/// A pack in progress. Several may be written at once, each by its own thread.
pub struct PackWriter<'k> {
    known: &'k Objects,
    pack_dir: PathBuf,
    /// Created when the pack outgrows memory.
    spilled: Option<TemporaryFile>,
    /// Bytes not yet in the file.
    tail: Vec<u8>,
    /// Number of bytes in the file.
    flushed: u64,
    pub(in crate::store) entries: HashMap<ObjectId, IndexEntry>,
    pub(in crate::store) deflater: Deflater,
    claims: Option<ClaimedObjects>,
    /// Objects written without checking whether the store has them.
    unchecked: usize,
}

impl<'k> PackWriter<'k> {
    /// Begins a pack; no file is written before the first object.
    ///
    /// # Errors
    /// The pack directory cannot be created.
    pub fn begin(objects_dir: &Path, known: &'k Objects) -> Result<Self> {
        let pack_dir = objects_dir.join("pack");
        directories::create_private(&pack_dir)?;
        let mut tail = Vec::with_capacity(FILE_PIECE_BYTES);
        tail.extend_from_slice(PACK_START);
        let (entries, deflater) = (HashMap::new(), Deflater::default());
        Ok(Self {
            known,
            pack_dir,
            spilled: None,
            tail,
            flushed: 0,
            entries,
            deflater,
            claims: None,
            unchecked: 0,
        })
    }

    /// From now on, skips objects that another writer with the same claims has claimed.
    #[must_use]
    pub fn sharing(self, claims: ClaimedObjects) -> Self {
        Self {
            claims: Some(claims),
            ..self
        }
    }

    fn is_claimed(&self, id: ObjectId) -> bool {
        self.claims.as_ref().is_some_and(|claims| !claims.claim(id))
    }

    /// Number of objects in this pack.
    pub fn new_object_count(&self) -> usize {
        self.entries.len()
    }

    /// Size of the pack so far, in bytes.
    pub fn bytes_written(&self) -> u64 {
        self.flushed + self.tail.len() as u64
    }

    /// Adds an object, unless this pack or the store has an intact copy.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn add(&mut self, kind: ObjectKind, content: &[u8]) -> PackResult<ObjectId> {
        let id = hash_object(kind, content).map_err(|Collision| PackError::Collision)?;
        if self.entries.contains_key(&id)
            || self.store_has(&id, kind, content)
            || self.is_claimed(id)
        {
            return Ok(id);
        }
        self.append(id, kind, content)?;
        Ok(id)
    }

    /// Whether the store has an equal readable copy; a damaged one is written again. For a commit
    /// this is skipped: each has its own sequence number, so all indexes would be read in vain.
    fn store_has(&mut self, id: &ObjectId, kind: ObjectKind, content: &[u8]) -> bool {
        kind != ObjectKind::Commit
            && !self.skips_duplicate_check(content.len())
            && self.known.holds(id)
            && self
                .known
                .read(id)
                .is_ok_and(|(k, stored)| k == kind && stored == content)
    }

    /// Whether to skip the search for a duplicate, which would cost more. A repack removes any.
    fn skips_duplicate_check(&mut self, len: usize) -> bool {
        let is_cheap = self.unchecked < MOST_UNCHECKED
            && len <= UNCHECKED_UPTO_BYTES
            && self.known.unread_indexes() > FEW_INDEXES;
        self.unchecked += usize::from(is_cheap);
        is_cheap
    }

    fn append(&mut self, id: ObjectId, kind: ObjectKind, content: &[u8]) -> PackResult<()> {
        let offset = self.bytes_written();
        let header = pack_reader::encode_header(kind, content.len() as u64);
        let is_commit = kind == ObjectKind::Commit;
        let stream = if is_commit {
            self.deflater.store(content)
        } else {
            self.deflater.compress(content)
        };
        let mut crc = EntryCrc::default();
        for part in [&*header, stream] {
            crc.update(part);
            self.tail.extend_from_slice(part);
        }
        self.entries.insert(
            id,
            IndexEntry {
                id,
                offset,
                crc: crc.sum(),
            },
        );
        let full = self.spill_if_large();
        self.undo_unless(full, offset, Some(&id))
    }

    /// Adds a blob from a reader: exactly `len` bytes are read, in constant memory.
    ///
    /// # Errors
    /// See [`PackError`]; a reader that ends early is `Source` with `UnexpectedEof`.
    pub fn add_stream(&mut self, len: u64, reader: &mut dyn Read) -> PackResult<ObjectId> {
        if len <= STREAM_FROM_BYTES {
            let mut content = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
            reader.read_exact(&mut content).map_err(PackError::Source)?;
            return self.add(ObjectKind::Blob, &content);
        }
        self.append_stream(ObjectHasher::new(ObjectKind::Blob, len), len, reader)
    }

    fn append_stream(
        &mut self,
        hasher: ObjectHasher,
        len: u64,
        reader: &mut dyn Read,
    ) -> PackResult<ObjectId> {
        let offset = self.bytes_written();
        let written = self.write_stream(hasher, len, reader);
        let entry = match written {
            Ok((id, crc)) => IndexEntry { id, offset, crc },
            Err(cause) => {
                self.truncate(offset)?;
                return Err(cause);
            }
        };
        // Only now is the id known. Equal checked hashes mean equal content: reading back is enough.
        let known = self.entries.contains_key(&entry.id)
            || (self.known.holds(&entry.id)
                && self.known.stream_blob(&entry.id, &mut io::sink()).is_ok())
            || self.is_claimed(entry.id);
        if known {
            self.truncate(offset)?;
        } else {
            self.entries.insert(entry.id, entry);
        }
        Ok(entry.id)
    }

    fn write_stream(
        &mut self,
        mut hasher: ObjectHasher,
        len: u64,
        reader: &mut dyn Read,
    ) -> PackResult<(ObjectId, u32)> {
        let mut piece = vec![0; PIECE_BYTES];
        let mut crc = EntryCrc::default();
        self.write(&pack_reader::encode_header(ObjectKind::Blob, len), &mut crc)?;
        let mut left = len;
        let mut stream = None;
        while left > 0 {
            let want = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            reader
                .read_exact(&mut piece[..want])
                .map_err(PackError::Source)?;
            hasher.update(&piece[..want]);
            // Samples only the first piece: the rest has not been read yet.
            let stream = stream.get_or_insert_with(|| {
                StreamDeflater::new(
                    self.deflater
                        .is_incompressible(&deflate::samples(&piece[..want])),
                )
            });
            stream.push(&piece[..want], &mut |bytes| self.write(bytes, &mut crc))?;
            left -= want as u64;
        }
        let stream = stream.unwrap_or_else(|| StreamDeflater::new(true));
        stream.finish(&mut |bytes| self.write(bytes, &mut crc))?;
        let id = hasher.finish().map_err(|Collision| PackError::Collision)?;
        Ok((id, crc.sum()))
    }

    /// Writes an object again that the store has, just read from it.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn rewrite(&mut self, id: ObjectId, kind: ObjectKind, content: &[u8]) -> PackResult<()> {
        if self.entries.contains_key(&id) {
            return Ok(());
        }
        self.append(id, kind, content)
    }

    /// Copies an undeltified entry from another pack unchanged, after checking its CRC.
    ///
    /// # Errors
    /// `Source` if the old pack cannot be read there or the CRC does not match.
    pub fn copy_entry(
        &mut self,
        from: &PackReader,
        entry: &IndexEntry,
        end: u64,
    ) -> PackResult<()> {
        if self.entries.contains_key(&entry.id) {
            return Ok(());
        }
        let offset = self.bytes_written();
        let copied = self.copy_raw(from, entry, end);
        self.undo_unless(copied, offset, None)?;
        self.entries
            .insert(entry.id, IndexEntry { offset, ..*entry });
        Ok(())
    }

    fn copy_raw(&mut self, from: &PackReader, entry: &IndexEntry, end: u64) -> PackResult<()> {
        let mut crc = EntryCrc::default();
        let mut failed = None;
        let copied = from.raw(entry.offset, end, &mut |bytes| {
            self.write(bytes, &mut crc).map_err(|cause| {
                failed = Some(cause);
                ReadError::Damaged("the new pack failed".into())
            })
        });
        match (copied, failed) {
            (_, Some(cause)) => Err(cause),
            (Err(ReadError::Io(cause) | ReadError::Sink(cause)), None) => {
                Err(PackError::Source(cause))
            }
            (Err(ReadError::Damaged(why)), None) => Err(PackError::Source(io::Error::other(why))),
            (Ok(()), None) if crc.sum() != entry.crc => Err(PackError::Source(io::Error::other(
                "an entry does not match its checksum",
            ))),
            (Ok(()), None) => Ok(()),
        }
    }

    pub(in crate::store) fn write(&mut self, bytes: &[u8], crc: &mut EntryCrc) -> PackResult<()> {
        crc.update(bytes);
        self.tail.extend_from_slice(bytes);
        self.spill_if_large()
    }

    fn spill_if_large(&mut self) -> PackResult<()> {
        let upto = if self.spilled.is_some() {
            FILE_PIECE_BYTES
        } else {
            IN_MEMORY_UPTO_BYTES
        };
        if self.tail.len() >= upto {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        if self.spilled.is_none() {
            self.spilled = Some(TemporaryFile::create(&self.pack_dir, "tmp_pack_", "_")?);
        }
        let Some(temporary) = &self.spilled else {
            return Ok(());
        };
        temporary
            .file()
            .write_all(&self.tail)
            .map_err(Error::io("write", temporary.path()))?;
        self.flushed += self.tail.len() as u64;
        self.tail.clear();
        self.tail.shrink_to(2 * FILE_PIECE_BYTES);
        Ok(())
    }

    pub(in crate::store) fn undo_unless(
        &mut self,
        done: PackResult<()>,
        offset: u64,
        id: Option<&ObjectId>,
    ) -> PackResult<()> {
        if done.is_err() {
            id.map(|id| self.entries.remove(id));
            self.truncate(offset)?;
        }
        done
    }

    /// Removes everything from `offset` on, including leftovers of a failed write in the file.
    fn truncate(&mut self, offset: u64) -> Result<()> {
        let in_file = offset.min(self.flushed);
        self.tail
            .truncate(usize::try_from(offset - in_file).unwrap_or(usize::MAX));
        self.flushed = in_file;
        let Some(temporary) = &self.spilled else {
            return Ok(());
        };
        let mut file = temporary.file();
        file.set_len(in_file)
            .and_then(|()| file.seek(SeekFrom::Start(in_file)).map(drop))
            .map_err(Error::io("cut back", temporary.path()))
    }

    /// Completes the pack, makes it durable and publishes it. `None`, and no file, if it is empty.
    ///
    /// # Errors
    /// It could not be completed; no temporary file is left, but perhaps a published pack that
    /// nothing needs.
    pub fn finish(self) -> Result<Option<PackStamp>> {
        let pack_dir = self.pack_dir.clone();
        let completed = self.complete()?;
        Ok(pack_publish::publish(&pack_dir, completed.into_iter().collect(), None)?.pop())
    }

    /// Takes over the objects of another writer that is still in memory; otherwise returns it.
    ///
    /// # Errors
    /// The objects could not be written.
    pub fn absorb(&mut self, other: Self) -> Result<Option<Self>> {
        if other.spilled.is_some() {
            return Ok(Some(other));
        }
        let shift = self.bytes_written() - PACK_START.len() as u64;
        let moved = other.entries.into_values().map(|entry| IndexEntry {
            offset: entry.offset + shift,
            ..entry
        });
        self.entries.extend(moved.map(|entry| (entry.id, entry)));
        self.tail
            .extend_from_slice(other.tail.get(PACK_START.len()..).unwrap_or_default());
        self.spill_if_large()?;
        Ok(None)
    }

    /// Completes the pack, to be published later. `None`, and no file, if it is empty.
    ///
    /// # Errors
    /// It could not be completed; no file is left.
    pub fn complete(mut self) -> Result<Option<Completed>> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        let count = u32::try_from(self.entries.len()).map_err(|_| {
            Error::unexpected(format!("a pack cannot hold {} objects", self.entries.len()))
        })?;
        let trailer = if self.spilled.is_none() {
            self.complete_in_memory(count)?
        } else {
            self.complete_in_file(count)?
        };
        let mut entries: Vec<IndexEntry> =
            std::mem::take(&mut self.entries).into_values().collect();
        let Some(pack) = self.spilled.take() else {
            return Err(Error::unexpected("the pack was never written".to_string()));
        };
        pack_publish::complete(&self.pack_dir, pack, trailer, &mut entries).map(Some)
    }

    fn complete_in_memory(&mut self, count: u32) -> Result<[u8; 20]> {
        self.tail[8..12].copy_from_slice(&count.to_be_bytes());
        let trailer = trailer_of(&self.tail);
        self.tail.extend_from_slice(&trailer);
        self.spill()?;
        Ok(trailer)
    }

    fn complete_in_file(&mut self, count: u32) -> Result<[u8; 20]> {
        self.spill()?;
        let Some(temporary) = &self.spilled else {
            return Ok([0; 20]);
        };
        let trailer = pack_publish::seal(&mut temporary.file(), count, self.flushed)
            .map_err(Error::io("complete", temporary.path()))?;
        self.flushed += trailer.len() as u64;
        Ok(trailer)
    }
}

/// Objects claimed by some writer of a set, so that no two write the same.
#[derive(Clone, Debug, Default)]
pub struct ClaimedObjects {
    taken: Arc<Mutex<HashSet<ObjectId>>>,
    /// If there are any, no others can be claimed.
    wanted: Option<Arc<HashSet<ObjectId>>>,
}

impl ClaimedObjects {
    /// Lets none but these be claimed.
    pub fn only(wanted: HashSet<ObjectId>) -> Self {
        Self {
            wanted: Some(Arc::new(wanted)),
            ..Self::default()
        }
    }

    /// Claims an object; returns whether it was unclaimed.
    fn claim(&self, id: ObjectId) -> bool {
        let is_wanted = |wanted: &Arc<HashSet<ObjectId>>| wanted.contains(&id);
        self.wanted.as_ref().is_none_or(is_wanted) && lock(&self.taken).insert(id)
    }
}

pub type PackResult<T> = std::result::Result<T, PackError>;

/// The reason why an object was not added; the pack is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The content bears the mark of a collision attack.
    #[error("{}", Collision)]
    Collision,
    /// The content could not be read to its end, or a copied entry does not match its checksum.
    #[error("cannot read the content: {0}")]
    Source(io::Error),
    /// The pack could not be written.
    #[error("{0}")]
    Store(Error),
}

impl From<Error> for PackError {
    fn from(cause: Error) -> Self {
        Self::Store(cause)
    }
}

impl From<PackError> for Error {
    fn from(cause: PackError) -> Self {
        match cause {
            PackError::Store(cause) => cause,
            other => Self::unexpected(other),
        }
    }
}

pub struct PackSet<'k> {
    objects_dir: PathBuf,
    known: &'k Objects,
    claims: ClaimedObjects,
    /// Never empty.
    writers: Vec<PackWriter<'k>>,
}

impl<'k> PackSet<'k> {
    /// Begins a set; no file is written before the first object.
    ///
    /// # Errors
    /// The pack directory cannot be created.
    pub fn begin(objects_dir: &Path, known: &'k Objects) -> Result<Self> {
        Self::begin_sharing(objects_dir, known, ClaimedObjects::default())
    }

    /// As [`Self::begin`], for objects that can be claimed.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_sharing(
        objects_dir: &Path,
        known: &'k Objects,
        claims: ClaimedObjects,
    ) -> Result<Self> {
        let first = PackWriter::begin(objects_dir, known)?.sharing(claims.clone());
        Ok(Self {
            objects_dir: objects_dir.to_path_buf(),
            known,
            claims,
            writers: vec![first],
        })
    }

    /// The writer for sequential writes.
    pub fn first(&mut self) -> &mut PackWriter<'k> {
        &mut self.writers[0]
    }

    /// The writer of the only pack; `None` if several have objects.
    pub fn single(&mut self) -> Option<&mut PackWriter<'k>> {
        let (first, others) = self.writers.split_first_mut()?;
        others
            .iter()
            .all(|writer| writer.new_object_count() == 0)
            .then_some(first)
    }

    /// Adds an object to the first pack.
    ///
    /// # Errors
    /// See [`PackError`].
    pub fn add(
        &mut self,
        kind: ObjectKind,
        content: &[u8],
    ) -> std::result::Result<ObjectId, PackError> {
        self.first().add(kind, content)
    }

    /// `count` writers, each for one thread.
    ///
    /// # Errors
    /// The pack directory cannot be created.
    pub fn writers(&mut self, count: usize) -> Result<impl Iterator<Item = &mut PackWriter<'k>>> {
        while self.writers.len() < count {
            let another = PackWriter::begin(&self.objects_dir, self.known)?;
            self.writers.push(another.sharing(self.claims.clone()));
        }
        Ok(self.writers.iter_mut().take(count))
    }

    /// Completes all packs, makes them durable together with `also`, and publishes them. Empty ones
    /// leave no file.
    ///
    /// # Errors
    /// A pack could not be completed; others may be published, but nothing needs them.
    pub fn finish(self, also: Option<&TemporaryFile>) -> Result<Vec<PackStamp>> {
        let mut writers: Vec<PackWriter<'k>> = Vec::new();
        for writer in self
            .writers
            .into_iter()
            .filter(|writer| writer.new_object_count() > 0)
        {
            // Objects that are still in memory need no pack of their own.
            let left = match writers.first_mut() {
                Some(first) => first.absorb(writer)?,
                None => Some(writer),
            };
            writers.extend(left);
        }
        if writers.is_empty() {
            return Ok(Vec::new());
        }
        let places = vec![(); writers.len()];
        let jobs = writers.into_iter().enumerate().collect();
        let complete = |(): &mut (), (at, writer): (usize, PackWriter<'_>), _: &WorkQueue<_>| {
            Ok::<_, Error>((at, writer.complete()?))
        };
        let mut completed = work_queue::run(places, jobs, &complete)?;
        completed.sort_unstable_by_key(|(at, _)| *at);
        let completed = completed.into_iter().filter_map(|(_, pack)| pack).collect();
        pack_publish::publish(&self.objects_dir.join("pack"), completed, also)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::objects::object_hash::tests::shattered;

    #[test]
    fn a_collision_found_at_the_end_of_a_stream_leaves_the_pack_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let known = Objects::open(place.path()).unwrap();
        let mut writer = PackWriter::begin(place.path(), &known).unwrap();
        let before = writer.add(ObjectKind::Blob, b"before").unwrap();
        let len = writer.bytes_written();
        let attack = shattered(0);
        let answer = writer.append_stream(ObjectHasher::without_header(), 320, &mut &*attack);
        assert!(matches!(answer, Err(PackError::Collision)));
        let found = (writer.bytes_written(), writer.new_object_count());
        assert_eq!(found, (len, 1));
        let mut large = attack.clone();
        large.resize(40 << 20, 1);
        let answer = writer.append_stream(ObjectHasher::without_header(), 40 << 20, &mut &*large);
        assert!(matches!(answer, Err(PackError::Collision)));
        let after = writer.add(ObjectKind::Blob, b"after").unwrap();
        writer.finish().unwrap().unwrap();
        known.refresh().unwrap();
        assert_eq!(known.read(&before).unwrap().1, b"before");
        assert_eq!(known.read(&after).unwrap().1, b"after");
        assert_eq!(
            std::fs::read_dir(place.path().join("pack"))
                .unwrap()
                .count(),
            2
        );
    }
}
