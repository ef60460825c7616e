//! The place of each object, over all packs at once, for work that reads very many objects.

use std::sync::Arc;

use crate::model::state::object_id::ObjectId;
use crate::store::objects::id_set::IdMap;
use crate::store::objects::object_error::AnyObject;
use crate::store::objects::object_error::ReadFailure;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_index::{IndexEntry, PackIndex};
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::{EntryKind, ReadError};

/// The packs with intact frames, as last listed, and one place for each object in them.
pub struct Catalogue<'o> {
    objects: &'o Objects,
    packs: Vec<Arc<Pack>>,
    places: IdMap<EntryPlace>,
}

/// A pack's number and a position in its index.
#[derive(Clone, Copy)]
struct EntryPlace {
    pack: u32,
    position: u32,
}

impl<'o> Catalogue<'o> {
    /// Checks the frame of every pack. Objects of a damaged one are read the slow way.
    pub fn new(objects: &'o Objects) -> Self {
        let mut packs = objects.pack_list();
        packs.retain(|pack| pack.check_frame().is_ok());
        let count = |pack: &Arc<Pack>| pack.index().map_or(0, PackIndex::count);
        let mut places = IdMap::default();
        places.reserve(packs.iter().map(count).sum());
        for (number, pack) in (0..).zip(&packs) {
            let Ok(index) = pack.index() else { continue };
            for position in 0..u32::try_from(index.count()).unwrap_or(u32::MAX) {
                places
                    .entry(index.id_at(position as usize))
                    .or_insert(EntryPlace {
                        pack: number,
                        position,
                    });
            }
        }
        Self {
            objects,
            packs,
            places,
        }
    }

    /// Kind and content of an object. For an undeltified entry the
    /// checksum in the index is enough: its hash was verified when it was written. Otherwise other
    /// copies are searched too.
    ///
    /// # Errors
    /// No copy of the object can be read.
    pub fn read(&self, id: &ObjectId) -> Result<AnyObject, ReadFailure> {
        match self.read_by_checksum(id) {
            Ok(Some(found)) => Ok(found),
            Ok(None) | Err(_) => Ok(self.objects.read_any(id)?),
        }
    }

    fn read_by_checksum(&self, id: &ObjectId) -> Result<Option<AnyObject>, ReadError> {
        let Some((pack, entry)) = self.find(id) else {
            return Ok(None);
        };
        let reader = pack.reader()?;
        let end = pack.index()?.end_of(entry.offset, reader.entries_end());
        let (header, content) = reader.content_by_crc(entry.offset, end, entry.crc)?;
        Ok(match header.kind {
            EntryKind::Object(kind) => Some((kind, content)),
            EntryKind::Delta => None,
        })
    }

    /// A pack that has an object, and its index entry.
    pub fn find(&self, id: &ObjectId) -> Option<(&Arc<Pack>, IndexEntry)> {
        let place = self.places.get(id)?;
        let pack = self.packs.get(place.pack as usize)?;
        Some((pack, pack.index().ok()?.entry_at(place.position as usize)))
    }

    /// Bytes of an object in its pack; zero if it is in none.
    pub fn room_of(&self, id: &ObjectId) -> u64 {
        let span = || {
            let (pack, entry) = self.find(id)?;
            let end = pack
                .index()
                .ok()?
                .end_of(entry.offset, pack.reader().ok()?.entries_end());
            Some(end.saturating_sub(entry.offset))
        };
        span().unwrap_or_default()
    }

    /// Kind and size, from headers alone; `None` if no pack has the object.
    pub fn kind_and_size(&self, id: &ObjectId) -> Option<(ObjectKind, u64)> {
        self.find(id)?.0.kind_and_size(id).ok()?
    }
}
