//! Writes deltas into a pack in progress, new ones and copies. Their base precedes them there.

use std::io;

use crate::model::state::object_id::ObjectId;
use crate::store::objects::deflate::zlib::EntryCrc;
use crate::store::objects::pack::pack_delta;
use crate::store::objects::pack::pack_error::{PackError, PackResult};
use crate::store::objects::pack::pack_index::IndexEntry;
use crate::store::objects::pack::pack_reader::{EntryHeader, PackReader, ReadError};
use crate::store::objects::pack::pack_writer::PackWriter;

impl PackWriter<'_> {
    pub fn has(&self, id: &ObjectId) -> bool {
        self.entries.contains_key(id)
    }

    /// Adds an object as a delta if that takes at most `at_most` bytes; returns whether it did.
    ///
    /// # Errors
    /// See [`PackError`]; `Source` if the base is not in this pack.
    pub fn add_delta(
        &mut self,
        id: ObjectId,
        base: &ObjectId,
        delta: &[u8],
        at_most: u64,
    ) -> PackResult<bool> {
        let stream = self.deflater.compress(delta).to_vec();
        if stream.len() as u64 > at_most {
            return Ok(false);
        }
        self.append_delta(id, base, delta.len() as u64, &stream)
            .map(|()| true)
    }

    /// Copies a delta from another pack unchanged, after checking its CRC. `header` includes
    /// everything before the stream in its length.
    ///
    /// # Errors
    /// See [`PackError`]; `Source` if the base is not in this pack, or the old pack is unreadable.
    pub fn copy_delta(
        &mut self,
        from: &PackReader,
        entry: &IndexEntry,
        end: u64,
        header: &EntryHeader,
        base: &ObjectId,
    ) -> PackResult<()> {
        let mut bytes = Vec::new();
        let read = from.raw(entry.offset, end, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        read.map_err(|cause| match cause {
            ReadError::Io(cause) | ReadError::Sink(cause) => PackError::Source(cause),
            ReadError::Damaged(why) => PackError::Source(io::Error::other(why)),
        })?;
        let stream = bytes
            .get(header.len..)
            .filter(|_| EntryCrc::of(&bytes) == entry.crc);
        let mismatch =
            || PackError::Source(io::Error::other("an entry does not match its checksum"));
        let stream = stream.ok_or_else(mismatch)?;
        self.append_delta(entry.id, base, header.size, stream)
    }

    fn append_delta(
        &mut self,
        id: ObjectId,
        base: &ObjectId,
        size: u64,
        stream: &[u8],
    ) -> PackResult<()> {
        if self.entries.contains_key(&id) {
            return Ok(());
        }
        let offset = self.bytes_written();
        let missing =
            || PackError::Source(io::Error::other("the base of a delta is not in its pack"));
        let distance = offset - self.entries.get(base).ok_or_else(missing)?.offset;
        let mut crc = EntryCrc::default();
        let header = pack_delta::encode_header(size, distance);
        let written = self
            .write(&header, &mut crc)
            .and_then(|()| self.write(stream, &mut crc));
        self.undo_unless(written, offset, None)?;
        self.entries.insert(
            id,
            IndexEntry {
                id,
                offset,
                crc: crc.sum(),
            },
        );
        Ok(())
    }
}
