//! Reads objects by id: packs first, then loose files, and damaged packs once more after a repair.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::base::Malformed;
use crate::base::mutex::lock;
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::model::state::entry::STREAM_FROM_BYTES;
use crate::store::damage::unindexed_packs::{self, ReadablePacks};
use crate::store::objects::pack::pack_reader::check_structure_size;
use crate::store::objects::pack::{pack_delta, pack_list};
use crate::store::objects::{deflate, loose_files};
use crate::store::{
    EntryKind, IndexEntry, ObjectKind, Pack, PackStamp, ReadError, ReadResult, Shared,
};

pub(super) type ObjectResult<T> = std::result::Result<T, ObjectError>;

pub(in crate::store) struct ObjectListing {
    pub(in crate::store) packs: Vec<Arc<Pack>>,
    pub(in crate::store) loose_fan_out: [bool; 256],
}

/// The objects of one store, shared by threads. It never writes.
pub struct Objects {
    pub(in crate::store) dir: PathBuf,
    /// Packs of another store that are read too; never written, and kept by its lock.
    borrowed: Vec<Arc<Pack>>,
    pub(in crate::store) listing: RwLock<Arc<ObjectListing>>,
    /// Copies that failed once; the next attempt uses another.
    pub(in crate::store) bad_copies: Mutex<HashSet<(PackStamp, ObjectId)>>,
    /// The read error of the last look at damaged packs.
    pub(in crate::store) unread: Mutex<Option<Error>>,
    /// Whether damaged packs were examined again, which is done once.
    pub(in crate::store) made_readable: Mutex<bool>,
    /// The place of the pack that had the last object: it probably has the next one.
    last_hit: AtomicUsize,
}

impl Objects {
    /// # Errors
    /// The store borrows objects from elsewhere (an attack), or its directory cannot be listed.
    pub fn open(objects_dir: &Path) -> Result<Self> {
        Self::open_borrowing(objects_dir, Vec::new())
    }

    /// As [`Self::open`]; also reads packs of another store, after its own.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_borrowing(objects_dir: &Path, borrowed: Vec<Arc<Pack>>) -> Result<Self> {
        for name in ["info/alternates", "info/http-alternates"] {
            if objects_dir.join(name).symlink_metadata().is_ok() {
                let why = format!("objects/{name} makes it borrow objects from elsewhere");
                return Err(Error::hostile_store(objects_dir, why));
            }
        }
        Ok(Self {
            dir: objects_dir.to_path_buf(),
            listing: RwLock::new(Arc::new(list(objects_dir, &[], &borrowed)?)),
            borrowed,
            bad_copies: Mutex::default(),
            unread: Mutex::default(),
            made_readable: Mutex::default(),
            last_hit: AtomicUsize::default(),
        })
    }

    pub fn objects_dir(&self) -> &Path {
        &self.dir
    }

    /// Lists the directories again; unchanged packs stay open.
    ///
    /// # Errors
    /// The directories cannot be listed.
    pub fn refresh(&self) -> Result<()> {
        self.list_again(&self.snapshot().packs)
    }

    /// Adds packs that were just written, as the newest, without listing the others.
    pub fn add_packs(&self, stamps: &[PackStamp]) {
        let ObjectListing {
            packs,
            loose_fan_out,
        } = &*self.snapshot();
        let pack_dir = self.dir.join("pack");
        let added = stamps
            .iter()
            .filter_map(|stamp| Pack::stat(&pack_dir, &stamp.name))
            .map(Arc::new);
        let known = packs
            .iter()
            .filter(|pack| !stamps.iter().any(|stamp| stamp.name == pack.stamp.name));
        let packs = added.chain(known.cloned()).collect();
        self.replace_listing(ObjectListing {
            packs,
            loose_fan_out: *loose_fan_out,
        });
    }

    pub(in crate::store) fn list_again(&self, known: &[Arc<Pack>]) -> Result<()> {
        self.replace_listing(list(&self.dir, known, &self.borrowed)?);
        Ok(())
    }

    pub(in crate::store) fn replace_listing(&self, listing: ObjectListing) {
        *self.listing.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(listing);
    }

    /// Repeats a failed attempt if damaged packs were made readable.
    fn with_retry<T>(&self, attempt: impl Fn() -> ObjectResult<T>) -> ObjectResult<T> {
        match attempt() {
            Err(ObjectError::Missing(_) | ObjectError::Corrupt { .. })
                if self.make_packs_readable() =>
            {
                attempt()
            }
            other => other,
        }
    }

    pub(in crate::store) fn snapshot(&self) -> Arc<ObjectListing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The packs as last listed, newest first.
    pub fn pack_list(&self) -> Vec<Arc<Pack>> {
        self.snapshot().packs.clone()
    }

    pub fn packs(&self) -> Vec<PackStamp> {
        self.snapshot()
            .packs
            .iter()
            .map(|pack| pack.stamp.clone())
            .collect()
    }

    /// Number of packs whose index has not been read.
    pub fn unread_indexes(&self) -> usize {
        self.snapshot()
            .packs
            .iter()
            .filter(|pack| !pack.has_read_index())
            .count()
    }

    /// Lists the directories again if an index was read: objects of a pack removed since would
    /// still count as stored.
    ///
    /// # Errors
    /// As [`Self::refresh`].
    pub fn refresh_if_used(&self) -> Result<()> {
        let is_used = self
            .snapshot()
            .packs
            .iter()
            .any(|pack| pack.has_read_index());
        if is_used { self.refresh() } else { Ok(()) }
    }

    /// Whether an object exists, intact or not; lists the directories again if it is not found.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.holds(id)
            || (self.refresh().is_ok() && self.holds(id))
            || (self.make_packs_readable() && self.holds(id))
    }

    /// As [`Self::contains`], by the last listing: cheap for ids that are probably new.
    pub fn holds(&self, id: &ObjectId) -> bool {
        self.locate(id).is_some()
            || (self.snapshot().loose_fan_out[usize::from(id.as_bytes()[0])]
                && self.loose_exists(id))
    }

    /// A pack that has an object, by the last listing, and its place there.
    pub fn locate(&self, id: &ObjectId) -> Option<(Arc<Pack>, IndexEntry)> {
        let listing = self.snapshot();
        let mut packs = listing.packs.iter().filter(|pack| !pack.lacks(id));
        packs.find_map(|pack| {
            let entry = pack.index().ok()?.find(id)?;
            Some((Arc::clone(pack), entry))
        })
    }

    /// Reads kind and content, and verifies the hash.
    ///
    /// # Errors
    /// The object is missing, has no intact copy, or the store cannot be read.
    pub fn read(&self, id: &ObjectId) -> ObjectResult<(ObjectKind, Vec<u8>)> {
        let (kind, content) = self.read_any(id)?;
        if kind == ObjectKind::Tag {
            return Err(corrupt(id, "it is neither blob nor tree nor commit"));
        }
        Ok((kind, content))
    }

    /// As [`Self::read`], including tags.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_any(&self, id: &ObjectId) -> ObjectResult<AnyObject> {
        self.with_retry(|| self.read_once(id))
    }

    fn read_once(&self, id: &ObjectId) -> ObjectResult<AnyObject> {
        let found = match self.first_copy(id, |pack| pack.read_with(id, &|base| self.whole(base))) {
            Ok(found) => pack_delta::owned(found),
            Err(failure) => self.read_loose(id, failure)?,
        };
        match check_structure_size(found.0, found.1.len() as u64) {
            Ok(()) => Ok(found),
            Err(why) => Err(corrupt(id, why.to_string())),
        }
    }

    /// An intact copy in a pack.
    fn whole(&self, id: &ObjectId) -> Option<Shared> {
        let listing = self.snapshot();
        let mut packs = listing.packs.iter();
        packs.find_map(|pack| pack.read_resolved(id).ok().flatten())
    }

    /// Size of the content in bytes, from the header alone.
    ///
    /// # Errors
    /// As [`Self::read`], but the content is not verified.
    pub fn size(&self, id: &ObjectId) -> ObjectResult<u64> {
        self.kind_and_size_of(id).map(|(_, size)| size)
    }

    /// The kind and the size in bytes, from the header alone.
    ///
    /// # Errors
    /// As [`Self::size`].
    pub fn kind_and_size_of(&self, id: &ObjectId) -> ObjectResult<(ObjectKind, u64)> {
        self.with_retry(|| self.kind_and_size(id))
    }

    fn kind_and_size(&self, id: &ObjectId) -> ObjectResult<(ObjectKind, u64)> {
        self.first_copy(id, |pack| pack.kind_and_size(id))
            .or_else(|failure| {
                let (kind, content) = self.read_loose(id, failure)?;
                Ok((kind, content.len() as u64))
            })
    }

    /// All ids that start with these hex digits, sorted. Objects that could not be read are left
    /// out, see [`Self::take_unread`].
    pub fn by_prefix(&self, digits: &str) -> Vec<ObjectId> {
        let bound = |fill: &str| {
            let missing = 40_usize.checked_sub(digits.len())?;
            ObjectId::from_hex(&format!("{digits}{}", fill.repeat(missing)))
        };
        let (Some(low), Some(high)) = (bound("0"), bound("f")) else {
            return Vec::new();
        };
        let found = self.between(&low, &high);
        if !found.is_empty() {
            return found;
        }
        self.make_packs_readable();
        self.between(&low, &high)
    }

    fn between(&self, low: &ObjectId, high: &ObjectId) -> Vec<ObjectId> {
        let mut ids = BTreeSet::new();
        for pack in self.pack_list() {
            match pack.index() {
                Ok(index) => ids.extend(index.between(low, high)),
                Err(cause) => self.note_unread(&pack.index_path, cause),
            }
        }
        match loose_files::list(&self.dir) {
            Ok(loose) => ids.extend(loose.into_iter().filter(|id| (low..=high).contains(&id))),
            Err(cause) => self.remember_unread(cause),
        }
        ids.into_iter().collect()
    }

    /// The ids of all commits, sorted; as [`Self::by_prefix`]. Reads every header, so it is only
    /// for repairs.
    pub fn commits(&self) -> Vec<ObjectId> {
        self.make_packs_readable();
        let mut ids = self.by_prefix("");
        ids.retain(|id| match self.kind_and_size(id) {
            Ok((kind, _)) => kind == ObjectKind::Commit,
            Err(ObjectError::Io(cause)) => {
                self.remember_unread(cause);
                false
            }
            Err(_) => false,
        });
        ids
    }

    /// Searches the packs for a good copy; on a miss the directory is listed again, once. Fails with
    /// the reason why none is good, if there is any.
    fn first_copy<T>(
        &self,
        id: &ObjectId,
        ask: impl Fn(&Pack) -> ReadResult<Option<T>>,
    ) -> std::result::Result<T, Option<ObjectError>> {
        let mut failure = None;
        for again in [false, true] {
            if again && self.refresh().is_err() {
                break;
            }
            let listing = self.snapshot();
            let count = listing.packs.len();
            let last = self.last_hit.load(Ordering::Relaxed);
            let in_order = (0..count).filter(|at| *at != last);
            for at in (last < count).then_some(last).into_iter().chain(in_order) {
                let pack = &listing.packs[at];
                if self.is_bad(pack, id) {
                    failure.get_or_insert_with(|| corrupt(id, "its copy is damaged"));
                    continue;
                }
                match ask(pack) {
                    Ok(Some(found)) => {
                        self.last_hit.store(at, Ordering::Relaxed);
                        return Ok(found);
                    }
                    // A pack that was removed meanwhile has been replaced; the second round finds
                    // the new one.
                    Err(ReadError::Io(cause)) if cause.kind() == io::ErrorKind::NotFound => {}
                    Err(cause) if pack.index().is_ok_and(|index| index.find(id).is_some()) => {
                        failure = Some(self.fail(pack, id, cause));
                    }
                    Ok(None) | Err(_) => {}
                }
            }
            if self.loose_exists(id) {
                break;
            }
        }
        Err(failure)
    }

    fn loose_exists(&self, id: &ObjectId) -> bool {
        loose_files::path_of(&self.dir, id)
            .symlink_metadata()
            .is_ok()
    }

    /// Reads a loose file; `failure` says why no copy in a pack could be read.
    fn read_loose(&self, id: &ObjectId, failure: Option<ObjectError>) -> ObjectResult<AnyObject> {
        let mut failure = failure;
        if self.loose_exists(id) {
            match loose_files::read(&self.dir, id) {
                Ok(found) => return Ok(found),
                Err(why) => drop(failure.get_or_insert(corrupt(id, why.to_string()))),
            }
        }
        Err(failure.unwrap_or(ObjectError::Missing(*id)))
    }
}

fn list(objects_dir: &Path, before: &[Arc<Pack>], borrowed: &[Arc<Pack>]) -> Result<ObjectListing> {
    let mut packs = pack_list::list(&objects_dir.join("pack"), before)?;
    packs.extend(borrowed.iter().map(|pack| {
        let known = before.iter().find(|known| known.stamp == pack.stamp);
        Arc::clone(known.unwrap_or(pack))
    }));
    Ok(ObjectListing {
        packs,
        loose_fan_out: loose_files::fan_out(objects_dir)?,
    })
}

pub(in crate::store) fn corrupt(id: &ObjectId, why: impl Into<String>) -> ObjectError {
    ObjectError::Corrupt {
        id: *id,
        why: why.into(),
    }
}

/// The reason why an object could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// No pack and no loose file has the object.
    #[error("object {0} is missing")]
    Missing(ObjectId),
    /// No copy of the object is intact.
    #[error("object {id} is corrupt: {why}")]
    Corrupt { id: ObjectId, why: String },
    /// The store could not be read at the moment.
    #[error("{0}")]
    Io(Error),
    /// The receiver of the content failed, not the store.
    #[error("cannot hand on an object: {0}")]
    Sink(io::Error),
}

impl From<ObjectError> for Error {
    fn from(cause: ObjectError) -> Self {
        match cause {
            ObjectError::Io(cause) => cause,
            ObjectError::Missing(id) => Error::damaged(format!("object {id}"), "it is missing"),
            ObjectError::Corrupt { id, why } => Error::damaged(format!("object {id}"), why),
            ObjectError::Sink(cause) => {
                Self::unexpected(format!("cannot hand on an object: {cause}"))
            }
        }
    }
}

/// The reason why a tree, a checkpoint or a run could not be read from its objects, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadFailure(String);

impl<T: Into<String>> From<T> for ReadFailure {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}

impl From<ObjectError> for ReadFailure {
    fn from(cause: ObjectError) -> Self {
        Self(cause.to_string())
    }
}

impl From<Malformed> for ReadFailure {
    fn from(cause: Malformed) -> Self {
        Self(cause.to_string())
    }
}

/// Kind and content.
pub type AnyObject = (ObjectKind, Vec<u8>);

impl Objects {
    /// Makes damaged packs and those without an index as readable as possible, in memory and only
    /// once, after an object was missing or unreadable. Returns whether there are such packs.
    pub fn make_packs_readable(&self) -> bool {
        let mut looked = lock(&self.made_readable);
        if *looked {
            return self.has_damaged_packs();
        }
        let before = self.refresh().map(|()| self.snapshot());
        let repaired = before.and_then(|before| {
            Ok((
                unindexed_packs::make_readable(&self.dir.join("pack"), &before.packs)?,
                before,
            ))
        });
        match repaired {
            Err(cause) => *lock(&self.unread) = Some(cause),
            Ok((ReadablePacks { packs, unread }, before)) => {
                *looked = true;
                *lock(&self.unread) = unread;
                // An object read through a damaged index may be elsewhere in the same pack.
                lock(&self.bad_copies).clear();
                self.replace_listing(ObjectListing {
                    packs,
                    loose_fan_out: before.loose_fan_out,
                });
            }
        }
        drop(looked);
        self.has_damaged_packs()
    }

    /// Takes the read error, if any, of the last look at all packs or of a later search: missing
    /// objects may exist.
    pub fn take_unread(&self) -> Option<Error> {
        lock(&self.unread).take()
    }

    pub(in crate::store) fn note_unread(&self, path: &Path, cause: ReadError) {
        match cause {
            // The pack was merged into another.
            ReadError::Io(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            ReadError::Io(cause) => self.remember_unread(Error::io("read", path)(cause)),
            ReadError::Damaged(_) | ReadError::Sink(_) => {}
        }
    }

    pub(in crate::store) fn remember_unread(&self, cause: Error) {
        lock(&self.unread).get_or_insert(cause);
    }

    /// Whether damaged packs were made readable.
    pub fn has_damaged_packs(&self) -> bool {
        self.snapshot()
            .packs
            .iter()
            .any(|pack| pack.damage().is_some())
    }

    /// Forgets all damage found and lists the packs again: they were repaired or replaced on disk.
    ///
    /// # Errors
    /// The packs cannot be listed.
    pub fn forget_damage(&self) -> Result<()> {
        *lock(&self.made_readable) = false;
        lock(&self.bad_copies).clear();
        self.list_again(&[])
    }

    pub(in crate::store) fn is_bad(&self, pack: &Pack, id: &ObjectId) -> bool {
        let bad = lock(&self.bad_copies);
        !bad.is_empty() && bad.contains(&(pack.stamp.clone(), *id))
    }

    pub(in crate::store) fn fail(
        &self,
        pack: &Pack,
        id: &ObjectId,
        cause: ReadError,
    ) -> ObjectError {
        match cause {
            ReadError::Damaged(why) => {
                lock(&self.bad_copies).insert((pack.stamp.clone(), *id));
                corrupt(id, why)
            }
            ReadError::Io(cause) => ObjectError::Io(Error::io("read", &pack.pack_path)(cause)),
            ReadError::Sink(cause) => ObjectError::Sink(cause),
        }
    }
}

impl Objects {
    /// Writes the content of a blob, large undeltified ones in constant memory; returns its length.
    ///
    /// # Errors
    /// As [`Self::read`]. The output is then invalid, but a second call tries the next copy, if
    /// there is one.
    pub fn stream_blob(&self, id: &ObjectId, sink: &mut dyn Write) -> ObjectResult<u64> {
        let mut counted = Counted { sink, bytes: 0 };
        match self.stream_large(id, &mut counted) {
            Ok(Some(size)) => return Ok(size),
            // Output cannot be taken back; the next call uses packs made readable here.
            Err(failure) if counted.bytes > 0 || matches!(failure, ObjectError::Sink(_)) => {
                self.make_packs_readable();
                return Err(failure);
            }
            Ok(None) | Err(_) => {}
        }
        match self.read(id)? {
            (ObjectKind::Blob, content) => {
                sink.write_all(&content).map_err(ObjectError::Sink)?;
                Ok(content.len() as u64)
            }
            (kind, _) => Err(corrupt(
                id,
                format!("it is a {}, not a blob", kind.into_str()),
            )),
        }
    }

    fn stream_large(&self, id: &ObjectId, sink: &mut dyn Write) -> ObjectResult<Option<u64>> {
        for pack in &self.snapshot().packs {
            if self.is_bad(pack, id) {
                continue;
            }
            let Ok(Some((entry, end))) = pack.place_of(id) else {
                continue;
            };
            // Few entries can be this large; other headers are read along with the content.
            if deflate::check_expansion(end.saturating_sub(entry.offset), STREAM_FROM_BYTES)
                .is_err()
            {
                return Ok(None);
            }
            let Ok(Some(header)) = pack.header(id) else {
                continue;
            };
            if header.kind != EntryKind::Object(ObjectKind::Blob)
                || header.size <= STREAM_FROM_BYTES
            {
                continue;
            }
            return match pack.stream(id, &header, &mut |piece| sink.write_all(piece)) {
                Ok(()) => Ok(Some(header.size)),
                Err(cause) => Err(self.fail(pack, id, cause)),
            };
        }
        Ok(None)
    }
}

/// Counts the bytes written through it.
struct Counted<'w> {
    sink: &'w mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
