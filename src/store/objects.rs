//! Reading objects by id: own packs first, libgit2 for loose and deltified ones. The door to git2.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::model::object_id::ObjectId;
use crate::store::hash::{ObjectKind, hash_object};
use crate::store::loose_files;
pub use crate::store::object_error::ObjectError;
use crate::store::pack_list::{self, Found, Pack, PackStamp};
use crate::store::pack_reader::{EntryHeader, EntryKind, ReadError, check_structure_size};

/// Blobs above this are inflated in pieces.
const STREAM_FROM_BYTES: u64 = 16 << 20;

type ObjectResult<T> = std::result::Result<T, ObjectError>;

struct Listing {
    packs: Vec<Arc<Pack>>,
    loose_fan_out: [bool; 256],
}

/// The objects of one store, to be shared by threads. It never writes.
pub struct Objects {
    dir: PathBuf,
    listing: RwLock<Arc<Listing>>,
    odb: OnceLock<Option<git2::Odb<'static>>>,
    damaged: Mutex<BTreeMap<PathBuf, String>>,
    /// Copies that failed once; the next attempt takes another.
    bad_copies: Mutex<HashSet<(PackStamp, ObjectId)>>,
}

impl Objects {
    /// # Errors
    /// The store borrows objects from elsewhere (someone planted that), or its directory cannot be listed.
    pub fn open(objects_dir: &Path) -> Result<Self> {
        for name in ["info/alternates", "info/http-alternates"] {
            if objects_dir.join(name).symlink_metadata().is_ok() {
                let why = format!("objects/{name} makes it borrow objects from elsewhere");
                return Err(Error::HostileStore { store: objects_dir.to_path_buf(), why });
            }
        }
        let listing = RwLock::new(Arc::new(list(objects_dir, &[])?));
        let dir = objects_dir.to_path_buf();
        Ok(Self { dir, listing, odb: OnceLock::new(), damaged: Mutex::default(), bad_copies: Mutex::default() })
    }

    pub fn objects_dir(&self) -> &Path {
        &self.dir
    }

    /// Looks at the directories again; what has not changed stays open.
    ///
    /// # Errors
    /// They cannot be listed.
    pub fn refresh(&self) -> Result<()> {
        let fresh = Arc::new(list(&self.dir, &self.snapshot().packs)?);
        *self.listing.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    fn snapshot(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The packs as last listed, newest first.
    pub fn pack_list(&self) -> Vec<Arc<Pack>> {
        self.snapshot().packs.clone()
    }

    pub fn packs(&self) -> Vec<PackStamp> {
        self.snapshot().packs.iter().map(|pack| pack.stamp.clone()).collect()
    }

    /// What was found wrong with packs and indexes until now.
    pub fn damaged_packs(&self) -> Vec<(PathBuf, String)> {
        locked(&self.damaged).iter().map(|(path, why)| (path.clone(), why.clone())).collect()
    }

    /// Looks at frame and checksums of every index, which lookups do not, and remembers what is wrong.
    pub fn check_packs(&self) -> Vec<(PathBuf, String)> {
        for pack in self.pack_list() {
            if let Err(cause) = pack.check_frame() {
                self.note(&pack, &cause);
            }
        }
        self.damaged_packs()
    }

    /// Whether there is an object of that id, whole or not; looks again if it is not found at once.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.holds(id) || (self.refresh().is_ok() && self.holds(id))
    }

    /// As [`Self::contains`], by what was last listed: cheap for ids that are probably new.
    pub fn holds(&self, id: &ObjectId) -> bool {
        let listing = self.snapshot();
        let packed = |pack: &Arc<Pack>| match pack.index() {
            Ok(index) => index.find(id).is_some(),
            Err(cause) => {
                self.note(pack, &cause);
                false
            }
        };
        listing.packs.iter().any(packed)
            || (listing.loose_fan_out[usize::from(id.as_bytes()[0])]
                && loose_files::path_of(&self.dir, id).symlink_metadata().is_ok())
    }

    /// Kind and content; the hash is right.
    ///
    /// # Errors
    /// Missing, no whole copy, or the store cannot be read.
    pub fn read(&self, id: &ObjectId) -> ObjectResult<(ObjectKind, Vec<u8>)> {
        let found = self.first_copy(id, |pack| {
            Ok(match pack.read(id)? {
                Some(Found::Object(kind, content)) => Copy::Whole((kind, content)),
                Some(Found::Delta) => Copy::Foreign,
                None => Copy::None,
            })
        });
        match found {
            Ok(Some(object)) => Ok(object),
            Ok(None) => self.read_foreign(id, None),
            Err(failure) => self.read_foreign(id, Some(failure)),
        }
    }

    /// Bytes of the content, from the header alone.
    ///
    /// # Errors
    /// As [`Self::read`], but the content is not looked at.
    pub fn size(&self, id: &ObjectId) -> ObjectResult<u64> {
        self.kind_and_size(id).map(|(_, size)| size)
    }

    fn kind_and_size(&self, id: &ObjectId) -> ObjectResult<(Option<ObjectKind>, u64)> {
        let found = self.first_copy(id, |pack| {
            Ok(match pack.header(id)? {
                Some(EntryHeader { kind: EntryKind::Object(kind), size, .. }) => Copy::Whole((Some(kind), size)),
                Some(EntryHeader { kind: EntryKind::Tag, size, .. }) => Copy::Whole((None, size)),
                Some(_) => Copy::Foreign,
                None => Copy::None,
            })
        });
        match found {
            Ok(Some(found)) => Ok(found),
            Ok(None) => self.foreign_header(id, None),
            Err(failure) => self.foreign_header(id, Some(failure)),
        }
    }

    /// Writes the content of a blob and says how long it is; a large undeltified one takes constant memory.
    ///
    /// # Errors
    /// As [`Self::read`]. What `sink` got is then worthless, but a second call tries the next copy, if there is one.
    pub fn stream_blob(&self, id: &ObjectId, sink: &mut dyn Write) -> ObjectResult<u64> {
        if let Some(size) = self.stream_large(id, sink)? {
            return Ok(size);
        }
        match self.read(id)? {
            (ObjectKind::Blob, content) => {
                sink.write_all(&content).map_err(ObjectError::Sink)?;
                Ok(content.len() as u64)
            }
            (kind, _) => Err(ObjectError::Corrupt { id: *id, why: format!("it is a {}, not a blob", kind.name()) }),
        }
    }

    fn stream_large(&self, id: &ObjectId, sink: &mut dyn Write) -> ObjectResult<Option<u64>> {
        for pack in &self.snapshot().packs {
            if self.is_bad(pack, id) {
                continue;
            }
            let Ok(Some(header)) = pack.header(id) else { continue };
            if header.kind != EntryKind::Object(ObjectKind::Blob) || header.size <= STREAM_FROM_BYTES {
                continue;
            }
            return match pack.stream(id, &header, &mut |piece| sink.write_all(piece)) {
                Ok(()) => Ok(Some(header.size)),
                Err(cause) => Err(self.fail(pack, id, cause)),
            };
        }
        Ok(None)
    }

    /// All ids that start with these hex digits, sorted.
    pub fn by_prefix(&self, digits: &str) -> Vec<ObjectId> {
        let bound = |fill: &str| {
            let missing = 40_usize.checked_sub(digits.len())?;
            ObjectId::from_hex(&format!("{digits}{}", fill.repeat(missing)))
        };
        let (Some(low), Some(high)) = (bound("0"), bound("f")) else { return Vec::new() };
        let mut ids = BTreeSet::new();
        for pack in self.pack_list() {
            match pack.index() {
                Ok(index) => ids.extend(index.between(&low, &high)),
                Err(cause) => self.note(&pack, &cause),
            }
        }
        let loose = loose_files::list(&self.dir).unwrap_or_default();
        ids.extend(loose.into_iter().filter(|id| (low..=high).contains(id)));
        ids.into_iter().collect()
    }

    /// The ids of all commits, sorted. Every header is read: this is for mending, not for every day.
    pub fn commits(&self) -> Vec<ObjectId> {
        let mut ids = self.by_prefix("");
        ids.retain(|id| matches!(self.kind_and_size(id), Ok((Some(ObjectKind::Commit), _))));
        ids
    }

    /// Asks the packs in order until one has a good copy; on a miss the directory is listed again, once.
    fn first_copy<T>(
        &self,
        id: &ObjectId,
        ask: impl Fn(&Pack) -> std::result::Result<Copy<T>, ReadError>,
    ) -> std::result::Result<Option<T>, ObjectError> {
        let (mut failure, mut foreign) = (None, false);
        for again in [false, true] {
            if again && self.refresh().is_err() {
                break;
            }
            for pack in &self.snapshot().packs {
                if self.is_bad(pack, id) {
                    failure.get_or_insert_with(|| corrupt(id, "its copy is damaged"));
                    continue;
                }
                match ask(pack) {
                    Ok(Copy::Whole(found)) => return Ok(Some(found)),
                    // Another pack may have it whole; libgit2 would stop at this one.
                    Ok(Copy::Foreign) => foreign = true,
                    Ok(Copy::None) => {}
                    // A pack that went away meanwhile was replaced by another, which the second round finds.
                    Err(ReadError::Io(cause)) if cause.kind() == io::ErrorKind::NotFound => {}
                    Err(cause) if pack.index().is_ok_and(|index| index.find(id).is_some()) => {
                        failure = Some(self.fail(pack, id, cause));
                    }
                    Err(cause) => self.note(pack, &cause),
                }
            }
            if foreign || self.loose_exists(id) {
                break;
            }
        }
        failure.map_or(Ok(None), Err)
    }

    fn loose_exists(&self, id: &ObjectId) -> bool {
        loose_files::path_of(&self.dir, id).symlink_metadata().is_ok()
    }

    fn is_bad(&self, pack: &Pack, id: &ObjectId) -> bool {
        let bad = locked(&self.bad_copies);
        !bad.is_empty() && bad.contains(&(pack.stamp.clone(), *id))
    }

    fn note(&self, pack: &Pack, cause: &ReadError) {
        let (path, why) = match cause {
            ReadError::Damaged(why) if pack.index().is_err() => (&pack.index_path, why.clone()),
            ReadError::Damaged(why) => (&pack.pack_path, why.clone()),
            ReadError::Io(cause) if cause.kind() == io::ErrorKind::NotFound => return,
            ReadError::Io(cause) => (&pack.pack_path, cause.to_string()),
            ReadError::Sink(_) => return,
        };
        locked(&self.damaged).entry(path.clone()).or_insert(why);
    }

    fn fail(&self, pack: &Pack, id: &ObjectId, cause: ReadError) -> ObjectError {
        self.note(pack, &cause);
        match cause {
            ReadError::Damaged(why) => {
                locked(&self.bad_copies).insert((pack.stamp.clone(), *id));
                corrupt(id, why)
            }
            ReadError::Io(cause) => ObjectError::Io(Error::io("read", &pack.pack_path)(cause)),
            ReadError::Sink(cause) => ObjectError::Sink(cause),
        }
    }

    /// libgit2's view of the same directory: no repository, so that no config, ref or HEAD is read.
    fn odb(&self) -> Option<&git2::Odb<'static>> {
        self.odb
            .get_or_init(|| {
                let odb = git2::Odb::new().ok()?;
                odb.add_disk_alternate(self.dir.to_str()?).ok()?;
                Some(odb)
            })
            .as_ref()
    }

    fn foreign_header(&self, id: &ObjectId, failure: Option<ObjectError>) -> ObjectResult<(Option<ObjectKind>, u64)> {
        self.foreign(id, failure, |kind, content| Ok((kind, content.len() as u64)))
    }

    fn read_foreign(&self, id: &ObjectId, failure: Option<ObjectError>) -> ObjectResult<(ObjectKind, Vec<u8>)> {
        self.foreign(id, failure, |kind, content| {
            let kind = kind.ok_or_else(|| corrupt(id, "it is neither blob nor tree nor commit"))?;
            if let Err(ReadError::Damaged(why)) = check_structure_size(kind, content.len() as u64) {
                return Err(corrupt(id, why));
            }
            match hash_object(kind, content) {
                Ok(found) if found == *id => Ok((kind, content.to_vec())),
                Ok(found) => Err(corrupt(id, format!("its content hashes to {found}"))),
                Err(collision) => Err(corrupt(id, collision.to_string())),
            }
        })
    }

    /// Reads an object through libgit2, whole: its header alone is not asked for, because of a damaged one the
    /// binding makes a panic.
    fn foreign<T>(
        &self,
        id: &ObjectId,
        failure: Option<ObjectError>,
        take: impl FnOnce(Option<ObjectKind>, &[u8]) -> ObjectResult<T>,
    ) -> ObjectResult<T> {
        let missing = || ObjectError::Missing(*id);
        let (Some(odb), Ok(oid)) = (self.odb(), git2::Oid::from_bytes(id.as_bytes())) else {
            let why = "libgit2, which it needs, cannot open a store whose path is not UTF-8";
            let unread = || if self.holds(id) { corrupt(id, why) } else { missing() };
            return Err(failure.unwrap_or_else(unread));
        };
        match odb.read(oid) {
            Ok(object) => take(known_kind(object.kind()), object.data()),
            Err(cause) if cause.code() == git2::ErrorCode::NotFound => Err(failure.unwrap_or_else(missing)),
            Err(cause) => Err(failure.unwrap_or_else(|| corrupt(id, cause.message()))),
        }
    }
}

enum Copy<T> {
    Whole(T),
    Foreign,
    None,
}

fn list(objects_dir: &Path, before: &[Arc<Pack>]) -> Result<Listing> {
    let packs = pack_list::list(&objects_dir.join("pack"), before)?;
    Ok(Listing { packs, loose_fan_out: loose_files::fan_out(objects_dir)? })
}

fn known_kind(kind: git2::ObjectType) -> Option<ObjectKind> {
    match kind {
        git2::ObjectType::Blob => Some(ObjectKind::Blob),
        git2::ObjectType::Tree => Some(ObjectKind::Tree),
        git2::ObjectType::Commit => Some(ObjectKind::Commit),
        _ => None,
    }
}

fn corrupt(id: &ObjectId, why: impl Into<String>) -> ObjectError {
    ObjectError::Corrupt { id: *id, why: why.into() }
}

/// A thread that panicked while it held the lock left at worst a note out.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
