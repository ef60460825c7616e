//! Reads one pack file: its entries by offset, whole, in pieces or raw. Resolves no deltas.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::base::{Malformed, read_regular};
use crate::store::ObjectKind;
use crate::store::objects::deflate::{self, StreamError, StreamInflater};

/// Magic, version and count at the start of a pack, in bytes.
pub const HEADER_BYTES: u64 = 12;
/// The checksum at its end, in bytes.
pub const TRAILER_BYTES: u64 = 20;
/// Size in bytes above which content is read in pieces.
const WHOLE_UPTO_BYTES: u64 = 64 << 20;
/// Upper bound on a tree or commit, in bytes.
const STRUCTURE_UPTO_BYTES: u64 = 256 << 20;
/// Bytes of a pack read or written at a time.
pub const PIECE_BYTES: usize = 1 << 20;
/// Upper bound on a declared object size, in bytes; a larger one is corruption.
const SANE_SIZE: u64 = 1 << 40;
/// Bytes read for a header, which takes at most ten for a size below 2^64.
const ENTRY_HEADER_BYTES: usize = 16;
/// Compressed bytes read for the start of a stream: enough for the tables before its first byte.
const STREAM_START_BYTES: usize = 1024;

/// The kind of an entry in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    Object(ObjectKind),
    /// Made from another object; see `pack_delta`.
    Delta,
}

/// The header of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHeader {
    pub kind: EntryKind,
    /// Size of the content, or of a delta's instructions, in bytes.
    pub size: u64,
    /// Length of this header in bytes.
    pub len: usize,
}

pub type ReadResult<T> = Result<T, ReadError>;

/// The reason why an entry could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub enum ReadError {
    Damaged(String),
    Io(io::Error),
    /// The receiver of the bytes failed, not the pack.
    Sink(io::Error),
}

/// The failure to read an entry that is not as it was written.
pub fn damaged(why: impl Into<String>) -> ReadError {
    ReadError::Damaged(why.into())
}

impl From<io::Error> for ReadError {
    fn from(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("the pack is cut short".into()),
            _ => Self::Io(cause),
        }
    }
}

impl From<Malformed> for ReadError {
    fn from(cause: Malformed) -> Self {
        Self::Damaged(cause.to_string())
    }
}

/// An open pack; reads have no position, so threads can share it.
#[derive(Debug)]
pub struct PackReader {
    file: File,
    len: u64,
    /// End of the last entry.
    entries_end: u64,
}

impl PackReader {
    /// # Errors
    /// The file cannot be opened, or is no pack of a known version.
    pub fn open(path: &Path) -> ReadResult<Self> {
        let file = read_regular::open(path)?;
        let len = file.metadata()?.len();
        let reader = Self {
            file,
            len,
            entries_end: len.saturating_sub(TRAILER_BYTES),
        };
        if len < HEADER_BYTES + TRAILER_BYTES {
            return Err(damaged(format!("the pack has only {len} bytes")));
        }
        if !reader.has_magic() {
            return Err(damaged("this is not a pack of version 2 or 3"));
        }
        Ok(reader)
    }

    /// Opens a pack that may be truncated or have a damaged start: entries may extend to the end.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open_damaged(path: &Path) -> ReadResult<Self> {
        let file = read_regular::open(path)?;
        let len = file.metadata()?.len();
        Ok(Self {
            file,
            len,
            entries_end: len,
        })
    }

    /// Size of the file in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.len
    }

    /// Whether the file starts with the magic of a pack.
    pub fn has_magic(&self) -> bool {
        let mut magic = [0; 8];
        self.read_exact_at(&mut magic, 0).is_ok()
            && matches!(&magic, b"PACK\0\0\0\x02" | b"PACK\0\0\0\x03")
    }

    /// The number of entries in the header of the pack.
    pub fn declared_count(&self) -> u32 {
        let mut count = [0; 4];
        self.read_exact_at(&mut count, 8)
            .map_or(0, |()| u32::from_be_bytes(count))
    }

    /// End of the last entry.
    pub fn entries_end(&self) -> u64 {
        self.entries_end
    }

    /// Reads bytes from an offset on, as many as fit in the buffer before the end of the entries.
    ///
    /// # Errors
    /// They cannot be read, or there are none.
    pub fn piece(&self, at: u64, buffer: &mut [u8]) -> ReadResult<usize> {
        let left = self.entries_end.saturating_sub(at).min(buffer.len() as u64);
        if left == 0 {
            return Err(damaged("the pack is cut short"));
        }
        let read = as_usize(left)?;
        self.read_exact_at(&mut buffer[..read], at)?;
        Ok(read)
    }

    /// Reads the checksum at the end of the file.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn trailer(&self) -> ReadResult<[u8; 20]> {
        let mut trailer = [0; 20];
        self.read_exact_at(&mut trailer, self.len.saturating_sub(TRAILER_BYTES))?;
        Ok(trailer)
    }

    /// Reads the header of the entry at `offset`.
    ///
    /// # Errors
    /// The offset is outside the entries, or the header is malformed or implausible.
    pub fn header(&self, offset: u64, end: u64) -> ReadResult<EntryHeader> {
        let len = self.span(offset, end)?.min(ENTRY_HEADER_BYTES as u64);
        let mut bytes = [0; ENTRY_HEADER_BYTES];
        let bytes = &mut bytes[..as_usize(len)?];
        self.read_exact_at(bytes, offset)?;
        parse_header(bytes)
    }

    /// Kind and content of the entry between `offset` and `end`; no content for a delta or tag.
    ///
    /// # Errors
    /// The pack is damaged there, cannot be read, or declares a tree or commit of absurd size.
    pub fn content(&self, offset: u64, end: u64) -> ReadResult<(EntryHeader, Vec<u8>)> {
        let span = self.span(offset, end)?;
        if span > WHOLE_UPTO_BYTES {
            return self.content_in_pieces(offset, end);
        }
        let mut bytes = vec![0; as_usize(span)?];
        self.read_exact_at(&mut bytes, offset)?;
        let header = parse_header(&bytes)?;
        if !matches!(header.kind, EntryKind::Object(_)) {
            return Ok((header, Vec::new()));
        }
        check_size(&header)?;
        if header.size > WHOLE_UPTO_BYTES {
            return self.content_in_pieces(offset, end);
        }
        let content = deflate::inflate(&bytes[header.len..], as_usize(header.size)?)?;
        Ok((header, content))
    }

    /// Memory grows with the inflated bytes, not with the declared size.
    fn content_in_pieces(&self, offset: u64, end: u64) -> ReadResult<(EntryHeader, Vec<u8>)> {
        let header = self.header(offset, end)?;
        check_size(&header)?;
        let mut content = Vec::new();
        if matches!(header.kind, EntryKind::Object(_)) {
            self.stream(offset, end, &header, &mut |piece| {
                content.extend_from_slice(piece);
                Ok(())
            })?;
        }
        Ok((header, content))
    }

    /// Inflates an undeltified entry in pieces.
    ///
    /// # Errors
    /// As [`Self::content`]; then the output so far is invalid. An error of `sink` is returned as
    /// it is.
    pub fn stream(
        &self,
        offset: u64,
        end: u64,
        header: &EntryHeader,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> ReadResult<()> {
        deflate::check_expansion(self.span(offset, end)?, header.size)?;
        let mut inflater = StreamInflater::new(header.size);
        self.raw(offset + header.len as u64, end, &mut |piece| {
            inflater.push(piece, sink).map_err(|cause| match cause {
                StreamError::Zlib(why) => ReadError::Damaged(why),
                StreamError::Sink(cause) => ReadError::Sink(cause),
            })
        })?;
        Ok(inflater.finish()?)
    }

    /// The first bytes of the content of the stream at `start`, enough for one or two sizes.
    ///
    /// # Errors
    /// As [`Self::content`].
    pub fn start_of_stream(&self, start: u64, end: u64) -> ReadResult<Vec<u8>> {
        let mut bytes = [0; STREAM_START_BYTES];
        let read = as_usize(self.span(start, end)?)?.min(bytes.len());
        self.read_exact_at(&mut bytes[..read], start)?;
        Ok(deflate::inflate_start(&bytes[..read], STREAM_START_BYTES)?)
    }

    /// Reads the raw bytes between two offsets, in pieces.
    ///
    /// # Errors
    /// They cannot be read, or `sink` fails.
    pub fn raw(
        &self,
        start: u64,
        end: u64,
        sink: &mut dyn FnMut(&[u8]) -> ReadResult<()>,
    ) -> ReadResult<()> {
        let mut buffer = vec![0; PIECE_BYTES.min(as_usize(end.saturating_sub(start))?)];
        let mut at = start;
        while at < end {
            let want = buffer.len().min(as_usize(end - at)?);
            self.read_exact_at(&mut buffer[..want], at)?;
            sink(&buffer[..want])?;
            at += want as u64;
        }
        Ok(())
    }

    fn span(&self, offset: u64, end: u64) -> ReadResult<u64> {
        if offset < HEADER_BYTES || end > self.entries_end() || offset >= end {
            return Err(damaged("the index points outside the pack"));
        }
        Ok(end - offset)
    }

    /// # Errors
    /// The bytes are missing or cannot be read.
    #[cfg(unix)]
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    /// # Errors
    /// The bytes are missing or cannot be read.
    #[cfg(windows)]
    pub fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(())
    }
}

fn as_usize(number: u64) -> ReadResult<usize> {
    usize::try_from(number).map_err(|_| damaged("larger than the memory of this machine"))
}

/// Limits the size of objects that are parsed in memory; blobs may be larger.
///
/// # Errors
/// A tree or commit is implausibly large.
pub fn check_structure_size(kind: ObjectKind, size: u64) -> ReadResult<()> {
    if kind != ObjectKind::Blob && size > STRUCTURE_UPTO_BYTES {
        return Err(too_large(size));
    }
    Ok(())
}

fn check_size(header: &EntryHeader) -> ReadResult<()> {
    match header.kind {
        EntryKind::Object(kind) => check_structure_size(kind, header.size),
        EntryKind::Delta => Ok(()),
    }
}

fn too_large(size: u64) -> ReadError {
    damaged(format!(
        "declares {size} bytes, more than such an object may have"
    ))
}

/// Encodes the header of an undeltified entry.
pub fn encode_header(kind: ObjectKind, size: u64) -> Vec<u8> {
    let number = match kind {
        ObjectKind::Commit => 1,
        ObjectKind::Tree => 2,
        ObjectKind::Blob => 3,
        ObjectKind::Tag => 4,
    };
    encode_start(number, size)
}

/// Encodes the number of an entry's kind and a size.
pub fn encode_start(number: u8, size: u64) -> Vec<u8> {
    let mut rest = size >> 4;
    let mut header = vec![(number << 4) | (size & 15) as u8];
    while rest > 0 {
        if let Some(last) = header.last_mut() {
            *last |= 0x80;
        }
        header.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    header
}

fn parse_header(bytes: &[u8]) -> ReadResult<EntryHeader> {
    let first = *bytes.first().ok_or_else(|| damaged("an entry is empty"))?;
    let kind = match first >> 4 & 7 {
        1 => EntryKind::Object(ObjectKind::Commit),
        2 => EntryKind::Object(ObjectKind::Tree),
        3 => EntryKind::Object(ObjectKind::Blob),
        4 => EntryKind::Object(ObjectKind::Tag),
        6 | 7 => EntryKind::Delta,
        _ => return Err(damaged("an entry has an unknown kind")),
    };
    let (mut size, mut shift, mut len, mut more) =
        (u64::from(first & 15), 4_u32, 1, first & 0x80 != 0);
    while more {
        let byte = *bytes
            .get(len)
            .ok_or_else(|| damaged("an entry is cut short"))?;
        let part = u64::from(byte & 0x7f);
        if shift > 60 || part << shift >> shift != part {
            return Err(damaged("an entry declares an impossible size"));
        }
        size |= part << shift;
        (shift, len, more) = (shift + 7, len + 1, byte & 0x80 != 0);
    }
    if size > SANE_SIZE {
        return Err(too_large(size));
    }
    Ok(EntryHeader { kind, size, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_are_written() {
        for size in [0, 1, 15, 16, 2047, 2048, u64::from(u32::MAX), SANE_SIZE] {
            for kind in [
                ObjectKind::Blob,
                ObjectKind::Tree,
                ObjectKind::Commit,
                ObjectKind::Tag,
            ] {
                let bytes = encode_header(kind, size);
                let expected = EntryHeader {
                    kind: EntryKind::Object(kind),
                    size,
                    len: bytes.len(),
                };
                assert_eq!(parse_header(&bytes).unwrap(), expected);
            }
        }
    }

    #[test]
    fn lies_in_a_header_are_refused() {
        let [large, largest] =
            [SANE_SIZE + 1, u64::MAX].map(|size| encode_header(ObjectKind::Blob, size));
        for lie in [&*large, &*largest, &[0xff; 16], &[0x80], &[], &[0]] {
            assert!(parse_header(lie).is_err(), "{lie:?}");
        }
    }

    #[test]
    fn what_is_no_pack_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.pack");
        for bytes in [
            Vec::new(),
            vec![0; 1000],
            b"PACK\0\0\0\x02".to_vec(),
            b"PACK\0\0\0\x09".repeat(10),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let opened = PackReader::open(&path);
            assert!(matches!(opened, Err(ReadError::Damaged(_))));
        }
        let opened = PackReader::open(&place.path().join("y"));
        assert!(matches!(opened, Err(ReadError::Io(_))));
    }
}
