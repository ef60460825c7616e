//! Deltified entries of one pack: their bases and their content, resolved within the pack.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::base::mutex::lock;
use crate::model::ObjectId;
use crate::store::objects::pack::delta;
use crate::store::objects::pack::pack_reader::damaged;
use crate::store::{
    AnyObject, EntryHeader, EntryKind, ObjectKind, PackReader, ReadError, ReadResult,
};

/// Upper bound on the length of a chain; git makes no longer ones.
const LONGEST_READABLE_CHAIN: usize = 4096;
/// Upper bound, in bytes, on instructions and tags read into memory.
const LARGEST_INFLATED_BYTES: u64 = 1 << 30;
/// Upper bound on bytes of a header and the id or distance of the base.
const PREFIX_BYTES: usize = 40;

/// The base of a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The entry that starts at this offset.
    At(u64),
    Object(ObjectId),
}

/// The places of entries in a pack, from its index or a walk.
pub struct Places<'p> {
    pub offset_of: &'p dyn Fn(&ObjectId) -> Option<u64>,
    /// The latest end of the entry that starts at an offset.
    pub end_of: &'p dyn Fn(u64) -> u64,
    /// Another copy of a base that is named by its id and damaged here.
    pub elsewhere: &'p dyn Fn(&ObjectId) -> Option<Shared>,
}

/// The base of the delta at `offset`, and its header with the length of all before the stream.
///
/// # Errors
/// The pack cannot be read there, or the entry is no delta.
pub fn base_of(reader: &PackReader, offset: u64) -> ReadResult<(Base, EntryHeader)> {
    let mut bytes = [0; PREFIX_BYTES];
    let read = reader.piece(offset, &mut bytes)?;
    let header = reader.header(offset, reader.entries_end())?;
    let rest = bytes[..read].get(header.len..).ok_or_else(cut_short)?;
    let (base, len) = match bytes[0] >> 4 & 7 {
        6 => {
            let (distance, len) = distance(rest)?;
            let at = offset.checked_sub(distance).filter(|_| distance > 0);
            (
                Base::At(at.ok_or_else(|| damaged("a delta points outside the pack"))?),
                len,
            )
        }
        7 => (
            Base::Object(
                rest.get(..20)
                    .and_then(ObjectId::from_slice)
                    .ok_or_else(cut_short)?,
            ),
            20,
        ),
        _ => return Err(damaged("an entry is not a delta")),
    };
    Ok((
        base,
        EntryHeader {
            len: header.len + len,
            ..header
        },
    ))
}

/// Kind and content of the entry at `offset`, deltified or not. The hash is not verified.
///
/// # Errors
/// A part of the chain is damaged, or its base is not in this pack.
pub fn resolve(
    reader: &PackReader,
    offset: u64,
    places: &Places<'_>,
    cache: &BaseCache,
) -> ReadResult<Shared> {
    let mut deltas = Vec::new();
    let (mut at, mut named) = (offset, None);
    let mut content = loop {
        if let Some(known) = cache.get(at) {
            break known;
        }
        let end = (places.end_of)(at);
        let (header, content) = match reader.content(at, end) {
            Ok(read) => read,
            Err(why) => break named.and_then(|id| (places.elsewhere)(&id)).ok_or(why)?,
        };
        match header.kind {
            EntryKind::Object(kind) => break Arc::new((kind, content)),
            EntryKind::Delta if deltas.len() == LONGEST_READABLE_CHAIN => {
                return Err(damaged("a chain of deltas has no end"));
            }
            EntryKind::Delta => {
                let (base, header) = base_of(reader, at)?;
                deltas.push((at, inflated(reader, at, end, &header)?));
                at = place_of(base, places)?;
                named = match base {
                    Base::Object(id) => Some(id),
                    Base::At(_) => None,
                };
                // A cycle in a small pack would fill the memory.
                if deltas.iter().any(|(above, _)| *above == at) {
                    return Err(damaged("a delta is made from itself"));
                }
            }
        }
    };
    for (at, delta) in deltas.iter().rev() {
        let made = delta::apply(&content.1, delta)?;
        content = Arc::new((content.0, made));
        cache.put(*at, Arc::clone(&content));
    }
    Ok(content)
}

/// The instructions of the delta at `offset`.
///
/// # Errors
/// The entry is damaged or no delta.
pub fn instructions(reader: &PackReader, offset: u64, end: u64) -> ReadResult<Vec<u8>> {
    let (_, header) = base_of(reader, offset)?;
    inflated(reader, offset, end, &header)
}

/// Kind and size of the result of the delta at `offset`, from the start of its instructions and the
/// headers below it.
///
/// # Errors
/// As [`resolve`].
pub fn kind_and_size(
    reader: &PackReader,
    offset: u64,
    places: &Places<'_>,
) -> ReadResult<(ObjectKind, u64)> {
    let (mut at, mut size) = (offset, None);
    for _ in 0..LONGEST_READABLE_CHAIN {
        let end = (places.end_of)(at);
        let header = reader.header(at, end)?;
        let kind = match header.kind {
            EntryKind::Object(kind) => kind,
            EntryKind::Delta => {
                let (base, header) = base_of(reader, at)?;
                if size.is_none() {
                    let start = reader.start_of_stream(at + header.len as u64, end)?;
                    size = Some(delta::sizes(&start)?.1);
                }
                at = place_of(base, places)?;
                continue;
            }
        };
        return Ok((kind, size.unwrap_or(header.size)));
    }
    Err(damaged("a chain of deltas has no end"))
}

fn place_of(base: Base, places: &Places<'_>) -> ReadResult<u64> {
    match base {
        Base::At(at) => Ok(at),
        Base::Object(id) => {
            (places.offset_of)(&id).ok_or_else(|| damaged(format!("the base {id} is missing")))
        }
    }
}

/// The content of a tag, or the instructions of a delta.
fn inflated(
    reader: &PackReader,
    offset: u64,
    end: u64,
    header: &EntryHeader,
) -> ReadResult<Vec<u8>> {
    if header.size > LARGEST_INFLATED_BYTES {
        return Err(damaged("a tag or a delta has an absurd size"));
    }
    let mut bytes = Vec::new();
    reader.stream(offset, end, header, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Parses the distance of the base, and the number of its bytes.
fn distance(bytes: &[u8]) -> ReadResult<(u64, usize)> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate() {
        if at > 0 {
            value = value.checked_add(1).ok_or_else(cut_short)?;
        }
        if value >> 56 != 0 {
            break;
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok((value, at + 1));
        }
    }
    Err(cut_short())
}

fn cut_short() -> ReadError {
    damaged("a delta is cut short")
}

/// Upper bound on cached bytes; the newest content is kept even if it alone is larger.
const CACHED_BYTES: usize = 64 << 20;

/// A content that may be the base of several others.
pub type Shared = Arc<AnyObject>;

/// Returns a content without sharing, cloning it if needed.
pub fn owned(content: Shared) -> AnyObject {
    Arc::try_unwrap(content).unwrap_or_else(|shared| (shared.0, shared.1.clone()))
}

/// The most recent contents of one pack, by the offset of their entry.
#[derive(Debug, Default)]
pub struct BaseCache(Mutex<VecDeque<(u64, Shared)>>);

impl BaseCache {
    pub fn get(&self, offset: u64) -> Option<Shared> {
        let kept = lock(&self.0);
        kept.iter()
            .find(|(at, _)| *at == offset)
            .map(|(_, content)| Arc::clone(content))
    }

    pub fn put(&self, offset: u64, content: Shared) {
        let mut kept = lock(&self.0);
        kept.retain(|(at, _)| *at != offset);
        kept.push_back((offset, content));
        let mut bytes: usize = kept.iter().map(|(_, content)| content.1.len()).sum();
        while bytes > CACHED_BYTES && kept.len() > 1 {
            bytes -= kept.pop_front().map_or(0, |(_, content)| content.1.len());
        }
    }

    /// Frees the memory.
    pub fn clear(&self) {
        lock(&self.0).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::objects::deflate::Deflater;
    use crate::store::objects::object_hash::ObjectKind;
    use crate::store::objects::pack::pack_reader;

    #[test]
    fn a_delta_that_is_made_from_itself_is_read_once() {
        let id = ObjectId::from_bytes([7; 20]);
        let instructions = vec![0; 1 << 16];
        let mut pack = vec![0; 12];
        pack.extend(pack_reader::encode_start(7, instructions.len() as u64));
        pack.extend(id.as_bytes());
        pack.extend(Deflater::default().compress(&instructions));
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &pack).unwrap();
        let reader = PackReader::open_damaged(file.path()).unwrap();
        let asked = std::cell::Cell::new(0);
        let offset_of = |_: &ObjectId| {
            asked.set(asked.get() + 1);
            Some(12)
        };
        let places = Places {
            offset_of: &offset_of,
            end_of: &|_| pack.len() as u64,
            elsewhere: &|_| None,
        };
        assert!(matches!(
            resolve(&reader, 12, &places, &BaseCache::default()),
            Err(ReadError::Damaged(_))
        ));
        assert_eq!(asked.get(), 1);
    }

    #[test]
    fn distances_are_read_as_git_writes_them() {
        for (bytes, at) in [
            (&[1][..], 1),
            (&[127], 127),
            (&[0x80, 0], 128),
            (&[0x80, 1], 129),
            (&[0xff, 0x7f], 16_511),
            (&[0x80, 0x80, 0], 16_512),
        ] {
            assert_eq!(distance(bytes).unwrap(), (at, bytes.len()));
        }
    }

    #[test]
    fn the_last_ones_are_kept_and_memory_is_bounded() {
        let cache = BaseCache::default();
        let content = |len: usize| Arc::new((ObjectKind::Blob, vec![0; len]));
        for offset in 0..5 {
            cache.put(offset, content(CACHED_BYTES / 3));
        }
        let kept: Vec<u64> = (0..5)
            .filter(|offset| cache.get(*offset).is_some())
            .collect();
        assert_eq!(kept, [2, 3, 4]);
        cache.put(9, content(CACHED_BYTES + 1));
        assert!(cache.get(9).is_some() && cache.get(4).is_none());
        cache.clear();
        assert!(cache.get(9).is_none());
    }
}
