//! Rebuilds deltas whose base is damaged in their own pack from another copy of that base.

use crate::model::state::object_id::ObjectId;
use crate::store::gc::pack_usage::base_id;
use crate::store::objects::loose_files;
use crate::store::objects::object_error::AnyObject;
use crate::store::objects::object_hash::hash_object;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::EntryKind;
use crate::store::objects::pack::{delta, pack_delta};

/// Longest chain rebuilt here; a malicious one would be endless.
const LONGEST_RESCUED_CHAIN: usize = 64;

impl Objects {
    /// Reads an object that is a delta, taking its base from any copy.
    pub(in crate::store) fn rebuild(&self, id: &ObjectId) -> Option<AnyObject> {
        self.rebuild_at(id, 0)
    }

    fn rebuild_at(&self, id: &ObjectId, depth: usize) -> Option<AnyObject> {
        if depth > LONGEST_RESCUED_CHAIN {
            return None;
        }
        let packs = self.pack_list();
        packs.iter().find_map(|pack| {
            let (base, delta) = delta_of(pack, id)?;
            let (kind, base) = self
                .undeltified(&base)
                .or_else(|| self.rebuild_at(&base, depth + 1))?;
            let content = delta::apply(&base, &delta).ok()?;
            (hash_object(kind, &content) == Ok(*id)).then_some((kind, content))
        })
    }

    fn undeltified(&self, id: &ObjectId) -> Option<AnyObject> {
        self.undeltified_copy(id)
            .ok()
            .flatten()
            .or_else(|| loose_files::read(&self.dir, id).ok())
    }
}

fn delta_of(pack: &Pack, id: &ObjectId) -> Option<(ObjectId, Vec<u8>)> {
    let (entry, end) = pack.place_of(id).ok()??;
    let reader = pack.reader().ok()?;
    if reader.header(entry.offset, end).ok()?.kind != EntryKind::Delta {
        return None;
    }
    Some((
        base_id(pack, entry.offset)?,
        pack_delta::instructions(reader, entry.offset, end).ok()?,
    ))
}
