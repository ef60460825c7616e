//! Deltified entries of one pack: what they are made from, and their content, resolved within the pack.

use crate::model::object_id::ObjectId;
use crate::store::delta;
use crate::store::hash::ObjectKind;
use crate::store::pack_reader::{EntryHeader, EntryKind, PackReader, ReadError};

/// Git makes no longer chains.
const LONGEST_CHAIN: usize = 4096;
/// Instructions and tags above this are not read into memory.
const LARGEST_BYTES: u64 = 1 << 30;
/// Header, and the id or the distance of the base.
const PREFIX_BYTES: usize = 40;

/// What a delta is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The entry that starts there.
    At(u64),
    Object(ObjectId),
}

/// Where the entries of a pack lie, as its index or a walk tells.
pub struct Places<'p> {
    pub offset_of: &'p dyn Fn(&ObjectId) -> Option<u64>,
    /// Where the entry that starts there ends at the latest.
    pub end_of: &'p dyn Fn(u64) -> u64,
}

/// The base of the delta that starts at `offset`, and its header with the length of all that precedes the stream.
///
/// # Errors
/// The pack cannot be read there, or this is no delta.
pub fn base_of(reader: &PackReader, offset: u64) -> Result<(Base, EntryHeader), ReadError> {
    let mut bytes = [0; PREFIX_BYTES];
    let read = reader.piece(offset, &mut bytes)?;
    let header = reader.header(offset, reader.entries_end())?;
    let rest = bytes[..read].get(header.len..).ok_or_else(cut_short)?;
    let (base, len) = match bytes[0] >> 4 & 7 {
        6 => {
            let (distance, len) = distance(rest)?;
            let at = offset.checked_sub(distance).filter(|_| distance > 0);
            (Base::At(at.ok_or_else(|| damaged("a delta points outside the pack"))?), len)
        }
        7 => (Base::Object(rest.get(..20).and_then(ObjectId::from_slice).ok_or_else(cut_short)?), 20),
        _ => return Err(damaged("an entry is no delta")),
    };
    Ok((base, EntryHeader { len: header.len + len, ..header }))
}

/// Kind and content of the entry at `offset`, whatever it is made from; the kind of a tag is `None`. The hash is not
/// looked at.
///
/// # Errors
/// A part of the chain is damaged, or its base is not in this pack.
pub fn resolve(
    reader: &PackReader,
    offset: u64,
    places: &Places<'_>,
) -> Result<(Option<ObjectKind>, Vec<u8>), ReadError> {
    let mut deltas = Vec::new();
    let mut at = offset;
    let (kind, mut content) = loop {
        let end = (places.end_of)(at);
        let (header, content) = reader.content(at, end)?;
        match header.kind {
            EntryKind::Object(kind) => break (Some(kind), content),
            EntryKind::Tag => break (None, inflated(reader, at, end, &header)?),
            EntryKind::Delta if deltas.len() == LONGEST_CHAIN => return Err(damaged("a chain of deltas has no end")),
            EntryKind::Delta => {
                let (base, header) = base_of(reader, at)?;
                deltas.push(inflated(reader, at, end, &header)?);
                at = match base {
                    Base::At(at) => at,
                    Base::Object(id) => {
                        (places.offset_of)(&id).ok_or_else(|| damaged(&format!("the base {id} is missing")))?
                    }
                };
            }
        }
    };
    for delta in deltas.iter().rev() {
        content = delta::apply(&content, delta).map_err(ReadError::Damaged)?;
    }
    Ok((kind, content))
}

/// The stream of a tag, or the instructions of a delta.
fn inflated(reader: &PackReader, offset: u64, end: u64, header: &EntryHeader) -> Result<Vec<u8>, ReadError> {
    if header.size > LARGEST_BYTES {
        return Err(damaged("a tag or a delta has an absurd size"));
    }
    let mut bytes = Vec::new();
    reader.stream(offset, end, header, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// How far back the base starts, and how many bytes say so.
fn distance(bytes: &[u8]) -> Result<(u64, usize), ReadError> {
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

fn damaged(why: &str) -> ReadError {
    ReadError::Damaged(why.into())
}
