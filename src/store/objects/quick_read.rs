//! Reads contents for a restore: a single look-up, verified with the fast SHA-1.
//!
//! The fast hash excludes accidents. Collisions were excluded when the contents were stored, by us
//! or by git: an attacker who could plant one here since could as well plant another checkpoint.

use std::io::Write;

use crate::model::state::object_id::ObjectId;
use crate::store::objects::deflate::zlib;
use crate::store::objects::object_error::ObjectError;
use crate::store::objects::object_hash::{ObjectKind, TrailerHasher};
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_reader::EntryKind;

/// Largest compressed content read here, in bytes; larger ones are streamed in constant memory.
const QUICK_UPTO_BYTES: u64 = 4 << 20;
/// Largest content read here, in bytes: zeros shrink to a thousandth.
const QUICK_CONTENT_BYTES: u64 = 16 << 20;

impl Objects {
    /// Writes the content of a blob and returns its length. A blob without an intact undeltified
    /// copy at hand is read by [`Self::stream_blob`], which knows all ways and reports the failure.
    ///
    /// # Errors
    /// As [`Self::stream_blob`].
    pub fn write_blob(&self, id: &ObjectId, sink: &mut dyn Write) -> Result<u64, ObjectError> {
        match self
            .snapshot()
            .packs
            .iter()
            .find_map(|pack| content(pack, id))
        {
            Some(content) => {
                sink.write_all(&content).map_err(ObjectError::Sink)?;
                Ok(content.len() as u64)
            }
            None => self.stream_blob(id, sink),
        }
    }
}

fn content(pack: &Pack, id: &ObjectId) -> Option<Vec<u8>> {
    let (entry, end) = pack.place_of(id).ok()??;
    let (span, reader) = (end.saturating_sub(entry.offset), pack.reader().ok()?);
    if span > QUICK_UPTO_BYTES {
        return None;
    }
    // Few entries can be this large; other headers are read along with the content.
    let may_be_large = zlib::check_expansion(span, QUICK_CONTENT_BYTES).is_ok();
    if may_be_large && reader.header(entry.offset, end).ok()?.size > QUICK_CONTENT_BYTES {
        return None;
    }
    let (header, content) = reader.content(entry.offset, end).ok()?;
    let is_whole = header.kind == EntryKind::Object(ObjectKind::Blob) && blob_id(&content) == *id;
    is_whole.then_some(content)
}

fn blob_id(content: &[u8]) -> ObjectId {
    let mut hasher = TrailerHasher::default();
    hasher.update(format!("blob {}\0", content.len()).as_bytes());
    hasher.update(content);
    ObjectId::from_bytes(hasher.finish())
}
