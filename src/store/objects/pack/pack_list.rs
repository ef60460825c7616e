//! The packs of a store: their list, newest first, with index and reader opened on demand.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use crate::base::malformed::Malformed;
use crate::error::{Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::store::files::read_regular;
use crate::store::objects::base_cache::{BaseCache, Shared};
use crate::store::objects::loose_files::names_in;
use crate::store::objects::object_hash::{ObjectHasher, ObjectKind, hash_object};
use crate::store::objects::pack::pack_delta::{self, Places};
use crate::store::objects::pack::pack_index::{IndexEntry, PackIndex};
use crate::store::objects::pack::pack_reader::{
    EntryHeader, EntryKind, HEADER_BYTES, PackReader, ReadError,
};

/// Size in bytes up to which content is inflated at once to be hashed, which is faster.
const AT_ONCE_UPTO_BYTES: u64 = 1 << 20;

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
}

/// The damage of a pack that is readable in spite of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackDamage {
    pub why: String,
    /// Whether only the index was bad: then a right one can be written.
    pub is_whole: bool,
}

/// The entry of an id in a pack.
pub enum PackHit {
    Object(ObjectKind, Vec<u8>),
    /// A delta, which needs its base.
    Delta,
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
    pub fn index(&self) -> std::result::Result<&PackIndex, ReadError> {
        let loaded = if let Some(loaded) = self.index.get() {
            loaded
        } else {
            let data = read_regular::read(&self.index_path)?;
            self.index.get_or_init(|| PackIndex::parse(data))
        };
        loaded.as_ref().map_err(|why| why.clone().into())
    }

    /// # Errors
    /// The pack is damaged at its start or cannot be opened.
    pub fn reader(&self) -> std::result::Result<&PackReader, ReadError> {
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
    pub fn place_of(
        &self,
        id: &ObjectId,
    ) -> std::result::Result<Option<(IndexEntry, u64)>, ReadError> {
        let index = self.index()?;
        let Some(entry) = index.find(id) else {
            return Ok(None);
        };
        let end = index.end_of(entry.offset, self.reader()?.entries_end());
        Ok(Some((entry, end)))
    }

    /// # Errors
    /// As [`Self::read`]; only the header is read.
    pub fn header(&self, id: &ObjectId) -> std::result::Result<Option<EntryHeader>, ReadError> {
        let Some((entry, end)) = self.place_of(id)? else {
            return Ok(None);
        };
        self.reader()?.header(entry.offset, end).map(Some)
    }

    /// Reads an object if this pack has it, and verifies its hash.
    ///
    /// # Errors
    /// The pack has the object but cannot read it.
    pub fn read(&self, id: &ObjectId) -> std::result::Result<Option<PackHit>, ReadError> {
        let Some((entry, end)) = self.place_of(id)? else {
            return Ok(None);
        };
        let (header, content) = self.reader()?.content(entry.offset, end)?;
        let EntryKind::Object(kind) = header.kind else {
            return Ok(Some(PackHit::Delta));
        };
        check_hash(id, hash_object(kind, &content).ok())?;
        Ok(Some(PackHit::Object(kind, content)))
    }

    /// Reads an object, resolving deltas within this pack, and verifies its hash.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_resolved(&self, id: &ObjectId) -> std::result::Result<Option<Shared>, ReadError> {
        let Some(entry) = self.index()?.find(id) else {
            return Ok(None);
        };
        let found = self.resolve(entry.offset)?;
        check_hash(id, hash_object(found.0, &found.1).ok())?;
        Ok(Some(found))
    }

    /// Reads the entry at `offset`, without verifying its hash.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn resolve(&self, offset: u64) -> std::result::Result<Shared, ReadError> {
        let (index, reader) = (self.index()?, self.reader()?);
        with_places(index, reader, |places| {
            pack_delta::resolve(reader, offset, places, &self.bases)
        })
    }

    /// Kind and size in bytes of an object, also of a delta, without building it.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn kind_and_size(
        &self,
        id: &ObjectId,
    ) -> std::result::Result<Option<(ObjectKind, u64)>, ReadError> {
        let (index, reader) = (self.index()?, self.reader()?);
        let Some(entry) = index.find(id) else {
            return Ok(None);
        };
        with_places(index, reader, |places| {
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
    /// As [`Self::read`]; the output is then invalid.
    pub fn stream(
        &self,
        id: &ObjectId,
        header: &EntryHeader,
        sink: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
    ) -> std::result::Result<(), ReadError> {
        let (Some((entry, end)), EntryKind::Object(kind)) = (self.place_of(id)?, header.kind)
        else {
            return Err(ReadError::Damaged("the entry is not what it was".into()));
        };
        let mut hasher = ObjectHasher::new(kind, header.size);
        self.reader()?
            .stream(entry.offset, end, header, &mut |piece| {
                hasher.update(piece);
                sink(piece)
            })?;
        check_hash(id, hasher.finish().ok())
    }

    /// Whether the copy in this pack is intact, deltified or not.
    pub fn has_intact(&self, id: &ObjectId) -> bool {
        match self.header(id) {
            Ok(Some(header)) if header.kind == EntryKind::Delta => {
                matches!(self.read_resolved(id), Ok(Some(_)))
            }
            _ => self.has_undeltified(id),
        }
    }

    /// Whether the copy in this pack is undeltified and intact.
    pub fn has_undeltified(&self, id: &ObjectId) -> bool {
        match self.header(id) {
            Ok(Some(header)) if matches!(header.kind, EntryKind::Object(_)) => {
                let at_once = header.size <= AT_ONCE_UPTO_BYTES;
                if at_once {
                    self.read(id).is_ok()
                } else {
                    self.stream(id, &header, &mut |_| Ok(())).is_ok()
                }
            }
            _ => false,
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
    pub fn check_frame(&self) -> std::result::Result<(), ReadError> {
        if let Some(damage) = &self.damage {
            return Err(ReadError::Damaged(damage.why.clone()));
        }
        let index = self.index()?;
        if !index.checksum_is_right() {
            return Err(ReadError::Damaged(
                "the index does not match its checksum".into(),
            ));
        }
        if self.reader()?.trailer()? != index.pack_trailer() {
            return Err(ReadError::Damaged(
                "the pack does not end as its index says".into(),
            ));
        }
        Ok(())
    }

    /// As [`Self::check_frame`], and checks that every entry lies in the pack, so that reads by
    /// this index stay in it.
    ///
    /// # Errors
    /// As [`Self::check_frame`].
    pub fn check_places(&self) -> std::result::Result<(), ReadError> {
        self.check_frame()?;
        let entries = HEADER_BYTES..self.reader()?.entries_end();
        if self
            .index()?
            .entries()
            .all(|entry| entries.contains(&entry.offset))
        {
            return Ok(());
        }
        Err(ReadError::Damaged(
            "the index points outside the pack".into(),
        ))
    }
}

fn mtime_ns(meta: &std::fs::Metadata) -> i64 {
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
    work: impl FnOnce(&Places<'_>) -> T,
) -> T {
    work(&Places {
        offset_of: &|base| index.find(base).map(|found| found.offset),
        end_of: &|offset| index.end_of(offset, reader.entries_end()),
    })
}

fn check_hash(wanted: &ObjectId, found: Option<ObjectId>) -> std::result::Result<(), ReadError> {
    match found {
        Some(id) if id == *wanted => Ok(()),
        Some(id) => Err(ReadError::Damaged(format!("its content hashes to {id}"))),
        None => Err(ReadError::Damaged(
            "its content is part of a SHA-1 collision attack".into(),
        )),
    }
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
