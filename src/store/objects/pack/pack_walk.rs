//! Walks a pack without its index: finds every intact entry, and whether those are all.

use std::collections::HashMap;
use std::io;

use crate::model::ObjectId;
use crate::store::objects::deflate::StreamInflater;
use crate::store::objects::object_hash::hash_object;
use crate::store::objects::pack::delta;
use crate::store::objects::pack::pack_delta::{self, Base};
use crate::store::objects::pack::pack_reader::{
    HEADER_BYTES, TRAILER_BYTES, check_structure_size, damaged,
};
use crate::store::{
    BaseCache, EntryCrc, EntryKind, IndexEntry, ObjectHasher, ObjectKind, PackReader, Places,
    ReadError, ReadResult, TrailerHasher,
};

/// Bytes of a pack looked at in one step of the search for its entries.
const WALKED_PIECE_BYTES: usize = 64 << 10;

/// The result of a walk.
#[derive(Debug, Default)]
pub struct PackWalk {
    pub entries: Vec<IndexEntry>,
    /// Those of them that are trees.
    pub trees: Vec<ObjectId>,
    /// Whether nothing was skipped, and count and checksum of the pack are right.
    pub is_whole: bool,
    /// The checksum at the end of the pack.
    pub trailer: [u8; 20],
    /// The read error, if the disk failed.
    pub unread: Option<io::Error>,
}

/// Reads and hashes every entry. After a damaged one, the bytes are searched for the next.
pub fn walk(reader: &PackReader) -> PackWalk {
    let end = reader.entries_end();
    let mut found = WalkedEntry::default();
    let (mut at, mut passed_over) = (HEADER_BYTES, 0);
    let mut unread = None;
    while at < end {
        at = read_entry(reader, at, &mut found).unwrap_or_else(|cause| {
            if let ReadError::Io(cause) = cause {
                unread.get_or_insert(cause);
            }
            let next = next_start(reader, at + 1).unwrap_or(end);
            passed_over += next - at;
            next
        });
    }
    let expected = u64::from(reader.declared_count());
    let is_complete =
        passed_over == TRAILER_BYTES && (found.plain.len() + found.deltas.len()) as u64 == expected;
    let resolved = resolve_deltas(reader, &mut found, u32::MAX, &mut || Ok(()));
    let resolved = resolved.unwrap_or_default();
    let (trailer, matches) = check_trailer(reader).unwrap_or_default();
    let is_whole = is_complete && resolved && reader.has_magic() && matches;
    PackWalk {
        entries: found.plain,
        trees: found.trees,
        is_whole,
        trailer,
        unread,
    }
}

/// Upper bound on what has to be in memory of a pack that others made: trees, commits, and what
/// deltas are made from and into, in bytes.
const FOREIGN_UPTO_BYTES: u64 = 32 << 20;
/// The same of the instructions of one delta.
const INSTRUCTIONS_UPTO_BYTES: u64 = 4 << 20;
/// Longest chain of deltas in such a pack; git makes no longer ones by default.
const FOREIGN_CHAIN: u32 = 50;

/// Reads and hashes every entry of a pack that may be hostile.
///
/// # Errors
/// It is not whole, has an object twice or a delta without its base, or one that takes too much
/// memory.
pub fn walk_foreign(
    reader: &PackReader,
    check_interrupt: &mut dyn FnMut() -> io::Result<()>,
) -> ReadResult<PackWalk> {
    let mut found = WalkedEntry::default();
    let end = reader.size_bytes().saturating_sub(TRAILER_BYTES);
    let (mut at, mut chains) = (HEADER_BYTES, HashMap::new());
    for _ in 0..reader.declared_count() {
        check_interrupt().map_err(ReadError::Sink)?;
        check_foreign(reader, at, &mut chains)?;
        at = read_entry(reader, at, &mut found)?;
    }
    check_named_bases(reader, &found)?;
    let (trailer, matches) = check_trailer(reader)?;
    if at != end || !matches {
        return Err(damaged("the pack is not whole"));
    }
    if !resolve_deltas(reader, &mut found, FOREIGN_CHAIN, check_interrupt)
        .map_err(ReadError::Sink)?
    {
        return Err(damaged(
            "the pack has a delta whose base is not in it or that is damaged",
        ));
    }
    let mut ids: Vec<ObjectId> = found.plain.iter().map(|entry| entry.id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(damaged("the pack has an object twice"));
    }
    Ok(PackWalk {
        entries: found.plain,
        trees: found.trees,
        is_whole: true,
        trailer,
        unread: None,
    })
}

/// Refuses an entry that would take too much memory, by its header. `chains` has the length of the
/// chain that ends at each delta so far.
fn check_foreign(
    reader: &PackReader,
    offset: u64,
    chains: &mut HashMap<u64, u32>,
) -> ReadResult<()> {
    let header = reader.header(offset, reader.entries_end())?;
    match header.kind {
        EntryKind::Object(ObjectKind::Blob) => Ok(()),
        EntryKind::Object(_) => check_memory(header.size, FOREIGN_UPTO_BYTES),
        EntryKind::Delta => {
            let (base, header) = pack_delta::base_of(reader, offset)?;
            let start = offset + header.len as u64;
            let (from, into) = delta::sizes(&reader.start_of_stream(start, reader.entries_end())?)?;
            check_memory(header.size, INSTRUCTIONS_UPTO_BYTES)?;
            check_memory(from.max(into), FOREIGN_UPTO_BYTES)?;
            if let Base::At(base) = base {
                let size = reader.header(base, reader.entries_end())?.size;
                check_memory(size, FOREIGN_UPTO_BYTES)?;
                let length = chains.get(&base).map_or(1, |length| length + 1);
                if length > FOREIGN_CHAIN {
                    return Err(damaged("a chain of deltas is too long"));
                }
                chains.insert(offset, length);
            }
            Ok(())
        }
    }
}

/// As [`check_foreign`], for bases that are named by their ids.
fn check_named_bases(reader: &PackReader, found: &WalkedEntry) -> ReadResult<()> {
    if found.deltas.is_empty() {
        return Ok(());
    }
    let plain = found.plain.iter().map(|entry| (entry.id, entry.offset));
    let offsets: HashMap<ObjectId, u64> = plain.collect();
    for (offset, _) in &found.deltas {
        if let (Base::Object(id), _) = pack_delta::base_of(reader, *offset)?
            && let Some(base) = offsets.get(&id)
        {
            let size = reader.header(*base, reader.entries_end())?.size;
            check_memory(size, FOREIGN_UPTO_BYTES)?;
        }
    }
    Ok(())
}

fn check_memory(bytes: u64, most: u64) -> ReadResult<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(damaged(format!(
        "the pack has an object that needs {bytes} bytes of memory"
    )))
}

#[derive(Default)]
struct WalkedEntry {
    plain: Vec<IndexEntry>,
    trees: Vec<ObjectId>,
    /// Start and CRC-32.
    deltas: Vec<(u64, u32)>,
    ends: HashMap<u64, u64>,
}

/// Reads an entry; returns the start of the next.
fn read_entry(reader: &PackReader, offset: u64, found: &mut WalkedEntry) -> ReadResult<u64> {
    let header = reader.header(offset, reader.entries_end())?;
    let (skipped, kind) = match header.kind {
        EntryKind::Object(kind) => {
            check_structure_size(kind, header.size)?;
            (header.len, Some(kind))
        }
        EntryKind::Delta => (pack_delta::base_of(reader, offset)?.1.len, None),
    };
    let mut hasher = kind.map(|kind| ObjectHasher::new(kind, header.size));
    let mut inflater = StreamInflater::new(header.size);
    let mut crc = EntryCrc::default();
    // Most entries are small, and deflated they are hardly larger.
    let room = header
        .size
        .saturating_add(header.size / 16)
        .saturating_add(64);
    let room = usize::try_from(room).map_or(WALKED_PIECE_BYTES, |room| room.max(skipped));
    let mut buffer = vec![0; room.min(WALKED_PIECE_BYTES)];
    let read = reader.piece(offset, &mut buffer[..skipped])?;
    crc.update(&buffer[..read]);
    let mut at = offset + skipped as u64;
    while !inflater.has_ended() {
        let read = reader.piece(at, &mut buffer)?;
        let before = inflater.consumed();
        let pushed = inflater.push(&buffer[..read], &mut |bytes| {
            if let Some(hasher) = &mut hasher {
                hasher.update(bytes);
            }
            Ok::<(), ()>(())
        });
        let used = inflater.consumed() - before;
        if pushed.is_err() || used == 0 {
            return Err(damaged("an entry is damaged"));
        }
        crc.update(&buffer[..usize::try_from(used).unwrap_or(read).min(read)]);
        at += used;
    }
    inflater.finish()?;
    found.ends.insert(offset, at);
    match hasher.map(ObjectHasher::finish) {
        None => found.deltas.push((offset, crc.sum())),
        Some(Ok(id)) => {
            let is_tree = header.kind == EntryKind::Object(ObjectKind::Tree);
            found.trees.extend(is_tree.then_some(id));
            found.plain.push(IndexEntry {
                id,
                offset,
                crc: crc.sum(),
            });
        }
        Some(Err(collision)) => return Err(ReadError::Damaged(collision.to_string())),
    }
    Ok(at)
}

/// Finds the next offset at which an entry can be read: a header, then two bytes of a zlib stream.
fn next_start(reader: &PackReader, from: u64) -> Option<u64> {
    let mut buffer = vec![0; WALKED_PIECE_BYTES];
    let mut at = from;
    while at < reader.entries_end() {
        let read = reader.piece(at, &mut buffer).ok()?;
        for skip in 0..read {
            let start = at + skip as u64;
            if may_start(&buffer[skip..read])
                && read_entry(reader, start, &mut WalkedEntry::default()).is_ok()
            {
                return Some(start);
            }
        }
        at += read as u64;
    }
    None
}

/// A cheap test that excludes nearly all false starts. One cut off by the end of a piece passes.
fn may_start(bytes: &[u8]) -> bool {
    /// Method byte for a window of 32 KiB, which every writer of packs uses.
    const METHOD: u8 = 0x78;
    let kind = bytes[0] >> 4 & 7;
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .take(10)
            .take_while(|byte| **byte & 0x80 != 0)
            .count()
            + 1
    };
    let header = number(bytes);
    let start = match kind {
        1..=4 => header,
        6 => header + number(bytes.get(header..).unwrap_or_default()),
        7 => header + 20,
        _ => return false,
    };
    match (bytes.get(start), bytes.get(start + 1)) {
        (Some(method), Some(flags)) => {
            *method == METHOD && (u32::from(*method) << 8 | u32::from(*flags)).is_multiple_of(31)
        }
        _ => true,
    }
}

/// Resolves the deltas whose base is in this pack into entries; returns whether all could be, in so
/// many rounds: in each, those whose base was found in the one before.
///
/// # Errors
/// That of `check_interrupt`.
fn resolve_deltas(
    reader: &PackReader,
    found: &mut WalkedEntry,
    rounds: u32,
    check_interrupt: &mut dyn FnMut() -> io::Result<()>,
) -> io::Result<bool> {
    let mut waiting = std::mem::take(&mut found.deltas);
    let cache = BaseCache::default();
    for _ in 0..rounds {
        check_interrupt()?;
        let before = waiting.len();
        let offsets: HashMap<ObjectId, u64> = found
            .plain
            .iter()
            .map(|entry| (entry.id, entry.offset))
            .collect();
        let places = Places {
            offset_of: &|id| offsets.get(id).copied(),
            end_of: &|offset| {
                found
                    .ends
                    .get(&offset)
                    .copied()
                    .unwrap_or(reader.entries_end())
            },
            elsewhere: &|_| None,
        };
        let (mut made, mut trees) = (Vec::new(), Vec::new());
        waiting.retain(|(offset, crc)| {
            let resolved = pack_delta::resolve(reader, *offset, &places, &cache).ok();
            let kind = resolved.as_ref().map(|found| found.0);
            let id = resolved.and_then(|found| hash_object(found.0, &found.1).ok());
            trees.extend(id.filter(|_| kind == Some(ObjectKind::Tree)));
            made.extend(id.map(|id| IndexEntry {
                id,
                offset: *offset,
                crc: *crc,
            }));
            id.is_none()
        });
        found.plain.extend(made);
        found.trees.extend(trees);
        if waiting.is_empty() || waiting.len() == before {
            break;
        }
    }
    Ok(waiting.is_empty())
}

/// Returns the last twenty bytes, and whether they are the checksum of all before.
///
/// # Errors
/// The pack cannot be read.
pub fn check_trailer(reader: &PackReader) -> ReadResult<([u8; 20], bool)> {
    let body = reader.size_bytes().saturating_sub(TRAILER_BYTES);
    let mut hasher = TrailerHasher::default();
    reader.raw(0, body, &mut |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    let mut trailer = [0; 20];
    reader.read_exact_at(&mut trailer, body)?;
    Ok((trailer, hasher.finish() == trailer))
}
