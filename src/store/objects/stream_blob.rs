//! Writes the content of a blob, a large one piece by piece.

use std::io::{self, Write};

use crate::model::ObjectId;
use crate::model::state::entry::STREAM_FROM_BYTES;
use crate::store::objects::deflate::zlib;
use crate::store::objects::odb::{ObjectError, ObjectResult};
use crate::store::{EntryKind, ObjectKind, Objects};

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
            (kind, _) => Err(ObjectError::Corrupt {
                id: *id,
                why: format!("it is a {}, not a blob", kind.into_str()),
            }),
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
            if zlib::check_expansion(end.saturating_sub(entry.offset), STREAM_FROM_BYTES).is_err() {
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
