//! Reads objects by id: packs first, then loose files, and damaged packs once more after a repair.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::objects::base_cache;
use crate::store::objects::loose_files;
use crate::store::objects::pack::pack_list;
use crate::store::objects::pack::pack_reader::check_structure_size;
use crate::store::{
    AnyObject, IndexEntry, ObjectKind, Pack, PackStamp, ReadError, ReadResult, Shared,
};

pub use crate::store::objects::object_error::ObjectError;

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
        self.snapshot().packs.iter().find_map(|pack| {
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
            Ok(Some(found)) => base_cache::owned(found),
            Ok(None) => self.read_loose(id, None)?,
            Err(failure) => self.read_loose(id, Some(failure))?,
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
        let loose = |failure| {
            let (kind, content) = self.read_loose(id, failure)?;
            Ok((kind, content.len() as u64))
        };
        match self.first_copy(id, |pack| pack.kind_and_size(id)) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => loose(None),
            Err(failure) => loose(Some(failure)),
        }
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

    /// Searches the packs for a good copy; on a miss the directory is listed again, once.
    fn first_copy<T>(
        &self,
        id: &ObjectId,
        ask: impl Fn(&Pack) -> ReadResult<Option<T>>,
    ) -> ObjectResult<Option<T>> {
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
                        return Ok(Some(found));
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
        failure.map_or(Ok(None), Err)
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
