//! Writes a bundle: the header, then one pack of exactly the objects that the receiver lacks. The
//! stream is never in memory, and entries are copied as they are stored.

use std::io::Write;
use std::sync::Arc;

use crate::base::{Progress, WorkPhase};
use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::model::json::{JsonSchema, Serialize};
use crate::store::objects::pack::pack_reader::{self, PIECE_BYTES};
use crate::store::{
    BundleHeader, Deflater, EntryCrc, IndexEntry, Objects, Pack, Reach, ReadError, Store,
    TrailerHasher,
};

/// Magic and version of a pack; the count follows.
const PACK_START: &[u8] = b"PACK\0\0\0\x02";

/// Size of what was written.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct BundleSize {
    pub object_count: u64,
    pub size_bytes: u64,
}

impl Store {
    /// Writes a bundle of what `roots` need and the prerequisites do not.
    ///
    /// # Errors
    /// An object cannot be read, or the output fails: then what was written so far is no bundle.
    pub fn write_bundle(
        &self,
        header: &BundleHeader,
        roots: Vec<ObjectId>,
        output: &mut dyn Write,
        check_interrupt: &dyn Fn() -> Result<()>,
        progress: &Progress,
    ) -> Result<BundleSize> {
        let mut reach = Reach::to_copy(self);
        reach.extend(header.prerequisites.clone(), &mut |_| ())?;
        let mut ids = Vec::new();
        reach.extend(roots, &mut |id| ids.push(id))?;
        let mut out = Summed {
            output,
            sum: TrailerHasher::default(),
            bytes: 0,
        };
        let text = header.to_string();
        out.output.write_all(text.as_bytes()).map_err(unwritten)?;
        let count = u32::try_from(ids.len())
            .map_err(|_| Error::unexpected("a bundle holds at most 4,294,967,295 objects"))?;
        out.put(PACK_START)?;
        out.put(&count.to_be_bytes())?;
        let stored = in_stored_order(self.objects(), ids);
        progress.begin(WorkPhase::Packing, stored.len() as u64, 0);
        let mut deflater = Deflater::default();
        for (id, place) in &stored {
            check_interrupt()?;
            match place {
                Some((pack, entry)) => out.copy(pack, entry, &mut deflater, self)?,
                None => out.deflate(*id, &mut deflater, self)?,
            }
            progress.add(1, 0);
        }
        out.finish().map(|bytes| BundleSize {
            object_count: u64::from(count),
            size_bytes: bytes + text.len() as u64,
        })
    }
}

/// The place of an object, unless it is in no pack.
type Place = Option<(Arc<Pack>, IndexEntry)>;

/// Puts objects in the order in which they lie in the packs.
fn in_stored_order(objects: &Objects, ids: Vec<ObjectId>) -> Vec<(ObjectId, Place)> {
    let place = |id| (id, objects.locate(&id));
    let mut stored: Vec<_> = ids.into_iter().map(place).collect();
    stored.sort_by(|(_, one), (_, other)| {
        let key = |place: &Place| {
            place
                .as_ref()
                .map(|(pack, entry)| (pack.stamp.name.clone(), entry.offset))
        };
        key(one).cmp(&key(other))
    });
    stored
}

/// Output of a pack, with its checksum.
struct Summed<'o> {
    output: &'o mut dyn Write,
    sum: TrailerHasher,
    bytes: u64,
}

impl Summed<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sum.update(bytes);
        self.bytes += bytes.len() as u64;
        self.output.write_all(bytes).map_err(unwritten)
    }

    /// Copies an entry as it is; one that is a delta, or does not match its checksum, is read and
    /// compressed anew.
    fn copy(
        &mut self,
        pack: &Pack,
        entry: &IndexEntry,
        deflater: &mut Deflater,
        store: &Store,
    ) -> Result<()> {
        let read = |why: ReadError| Error::damaged(format!("object {}", entry.id), why);
        let reader = pack.reader().map_err(read)?;
        let index = pack.index().map_err(read)?;
        let end = index.end_of(entry.offset, reader.entries_end());
        let span = end.saturating_sub(entry.offset);
        let mut piece = vec![
            0;
            usize::try_from(span)
                .unwrap_or(PIECE_BYTES)
                .min(PIECE_BYTES)
        ];
        reader.piece(entry.offset, &mut piece).map_err(read)?;
        let is_whole = piece.len() as u64 == span;
        let has_checksum = if is_whole {
            EntryCrc::of(&piece) == entry.crc
        } else {
            has_checksum(reader, entry, end)
        };
        if is_delta(&piece) || !has_checksum {
            return self.deflate(entry.id, deflater, store);
        }
        if is_whole {
            return self.put(&piece);
        }
        let mut failed = None;
        let copied = reader.raw(entry.offset, end, &mut |piece| {
            self.put(piece).map_err(|why| {
                failed = Some(why);
                ReadError::Damaged(String::new())
            })
        });
        failed.map_or(Ok(()), Err)?;
        copied.map_err(read)
    }

    fn deflate(&mut self, id: ObjectId, deflater: &mut Deflater, store: &Store) -> Result<()> {
        let read = store.objects().read_any(&id);
        let (kind, content) =
            read.map_err(|why| Error::damaged(format!("object {}", id.short()), why))?;
        self.put(&pack_reader::encode_header(kind, content.len() as u64))?;
        self.put(deflater.compress(&content))
    }

    fn finish(mut self) -> Result<u64> {
        let sum = std::mem::take(&mut self.sum).finish();
        self.output
            .write_all(&sum)
            .and_then(|()| self.output.flush())
            .map_err(unwritten)?;
        Ok(self.bytes + sum.len() as u64)
    }
}

/// Whether the entry that begins so is made from another object.
fn is_delta(entry: &[u8]) -> bool {
    entry.first().is_none_or(|start| start >> 4 & 7 > 4)
}

fn has_checksum(reader: &pack_reader::PackReader, entry: &IndexEntry, end: u64) -> bool {
    let mut crc = EntryCrc::default();
    let read = reader.raw(entry.offset, end, &mut |piece| {
        crc.update(piece);
        Ok(())
    });
    read.is_ok() && crc.sum() == entry.crc
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is given to map_err as it is"
)]
fn unwritten(why: std::io::Error) -> Error {
    Error::unexpected(format!("the bundle could not be written: {why}"))
}
