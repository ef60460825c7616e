//! Pack indexes, version 2: encoding, parsing and lookups. Opens no file.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::Malformed;
use crate::model::ObjectId;
use crate::store::objects::object_hash::trailer_of;

const MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const NAMES_AT: usize = 8 + 256 * 4;
const TRAILERS_BYTES: usize = 40;
/// Smallest offset that is kept in the table of 64-bit offsets.
const LARGE_OFFSET: u64 = 1 << 31;

/// The index entry of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    pub id: ObjectId,
    /// Start of the entry in the pack, in bytes.
    pub offset: u64,
    /// CRC-32 of the entry's bytes in the pack.
    pub crc: u32,
}

/// Encodes an index; sorts the entries by id.
pub fn encode(entries: &mut [IndexEntry], pack_trailer: [u8; 20]) -> Vec<u8> {
    entries.sort_unstable_by_key(|entry| entry.id);
    let mut index = Vec::with_capacity(NAMES_AT + entries.len() * 28 + TRAILERS_BYTES);
    index.extend_from_slice(&MAGIC);
    let mut upto = 0;
    for first in 0..=u8::MAX {
        upto += entries[upto..]
            .iter()
            .take_while(|entry| entry.id.as_bytes()[0] == first)
            .count();
        push_u32(&mut index, upto as u64);
    }
    index.extend(entries.iter().flat_map(|entry| *entry.id.as_bytes()));
    index.extend(entries.iter().flat_map(|entry| entry.crc.to_be_bytes()));
    let mut large = Vec::new();
    for entry in entries.iter() {
        if entry.offset < LARGE_OFFSET {
            push_u32(&mut index, entry.offset);
        } else {
            push_u32(&mut index, LARGE_OFFSET | (large.len() / 8) as u64);
            large.extend_from_slice(&entry.offset.to_be_bytes());
        }
    }
    index.extend_from_slice(&large);
    index.extend_from_slice(&pack_trailer);
    let checksum = trailer_of(&index);
    index.extend_from_slice(&checksum);
    index
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the format has 32 bits; callers keep to them"
)]
fn push_u32(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&(number as u32).to_be_bytes());
}

/// Bytes of an index file before its names.
pub const HEAD_BYTES: usize = NAMES_AT;

/// Place, in the file of an index that begins with `head`, of the names that begin as `id` does; `None`
/// if it is no such beginning.
pub fn names_like(head: &[u8; HEAD_BYTES], id: &ObjectId) -> Option<Range<u64>> {
    let (low, high) = fan_out(head, id);
    let at = |position: usize| (NAMES_AT + position * 20) as u64;
    (head[..8] == MAGIC && low <= high).then(|| at(low)..at(high))
}

/// Positions of the names that begin as `id` does.
fn fan_out(data: &[u8], id: &ObjectId) -> (usize, usize) {
    let first = usize::from(id.as_bytes()[0]);
    let fan = |slot: usize| u32_at(data, 8 + slot * 4) as usize;
    (if first == 0 { 0 } else { fan(first - 1) }, fan(first))
}

/// An index in memory.
#[derive(Debug)]
pub struct PackIndex {
    data: Vec<u8>,
    count: usize,
    large_count: usize,
    /// Start of each entry, in order.
    by_offset: OnceLock<Vec<u64>>,
    scans: AtomicUsize,
}

/// Ends of entries that are found by a scan of all offsets, before these are sorted: that takes as long
/// as many scans.
const SCANS: usize = 16;

impl PackIndex {
    /// Checks the structure, not the checksum: a wrong id fails when the object is hashed.
    ///
    /// # Errors
    /// Says why this is no index of version 2.
    pub fn parse(data: Vec<u8>) -> Result<Self, Malformed> {
        if data.len() < NAMES_AT + TRAILERS_BYTES {
            return Err(format!("the index has only {} bytes", data.len()).into());
        }
        if data[..8] != MAGIC {
            return Err("this is not a pack index of version 2".into());
        }
        // Big-endian numbers are sorted if their bytes are.
        if !data[8..NAMES_AT].chunks_exact(4).is_sorted() {
            return Err("the index has a broken fan-out table".into());
        }
        let count = u32_at(&data, NAMES_AT - 4) as usize;
        let small = NAMES_AT + count * 28 + TRAILERS_BYTES;
        let large = data
            .len()
            .checked_sub(small)
            .ok_or("the index is cut short")?;
        if large % 8 != 0 || large / 8 > count {
            return Err("the index has a wrong length".into());
        }
        Ok(Self {
            data,
            count,
            large_count: large / 8,
            by_offset: OnceLock::new(),
            scans: AtomicUsize::new(0),
        })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The content of the index file.
    pub fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// Whether the checksum matches the content.
    pub fn checksum_is_right(&self) -> bool {
        let (body, checksum) = self.data.split_at(self.data.len() - 20);
        trailer_of(body) == checksum
    }

    /// The checksum of the pack that this index belongs to.
    pub fn pack_trailer(&self) -> &[u8] {
        &self.data[self.data.len() - 40..self.data.len() - 20]
    }

    pub fn id_at(&self, position: usize) -> ObjectId {
        let start = NAMES_AT + position * 20;
        let mut bytes = [0; 20];
        bytes.copy_from_slice(&self.data[start..start + 20]);
        ObjectId::from_bytes(bytes)
    }

    pub fn entry_at(&self, position: usize) -> IndexEntry {
        let crc = u32_at(&self.data, NAMES_AT + self.count * 20 + position * 4);
        IndexEntry {
            id: self.id_at(position),
            offset: self.offset_at(position),
            crc,
        }
    }

    /// The offset of an entry; `u64::MAX`, in no pack, if the table of large offsets lacks it.
    fn offset_at(&self, position: usize) -> u64 {
        let offset = u64::from(u32_at(
            &self.data,
            NAMES_AT + self.count * 24 + position * 4,
        ));
        if offset < LARGE_OFFSET {
            return offset;
        }
        let row = usize::try_from(offset - LARGE_OFFSET).unwrap_or(usize::MAX);
        if row >= self.large_count {
            return u64::MAX;
        }
        let at = NAMES_AT + self.count * 28 + row * 8;
        u64::from(u32_at(&self.data, at)) << 32 | u64::from(u32_at(&self.data, at + 4))
    }

    pub fn entries(&self) -> impl Iterator<Item = IndexEntry> {
        (0..self.count).map(|position| self.entry_at(position))
    }

    pub fn find(&self, id: &ObjectId) -> Option<IndexEntry> {
        let at = self.first_not_below(id);
        (at < self.count && self.id_at(at) == *id).then(|| self.entry_at(at))
    }

    /// All ids from `low` to `high`, both included.
    pub fn between(&self, low: &ObjectId, high: &ObjectId) -> impl Iterator<Item = ObjectId> {
        (self.first_not_below(low)..self.count)
            .map(|at| self.id_at(at))
            .take_while(move |id| id <= high)
    }

    fn first_not_below(&self, id: &ObjectId) -> usize {
        let (mut low, mut high) = fan_out(&self.data, id);
        while low < high {
            let middle = low + (high - low) / 2;
            let start = NAMES_AT + middle * 20;
            if self.data[start..start + 20] < id.as_bytes()[..] {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The latest end of the entry at `offset`, in a pack whose entries end at `entries_end`.
    pub fn end_of(&self, offset: u64, entries_end: u64) -> u64 {
        let is_sorted = self.by_offset.get().is_some();
        let next = if is_sorted || self.scans.fetch_add(1, Ordering::Relaxed) >= SCANS {
            let offsets = self.by_offset();
            let next = offsets.partition_point(|start| *start <= offset);
            offsets.get(next).copied()
        } else {
            self.next_start(offset)
        };
        next.map_or(entries_end, |start| start.min(entries_end))
    }

    /// The first start of an entry behind an offset.
    fn next_start(&self, offset: u64) -> Option<u64> {
        let Some(offset) = u32::try_from(offset).ok().filter(|_| self.large_count == 0) else {
            let starts = (0..self.count).map(|at| self.offset_at(at));
            return starts.filter(|start| *start > offset).min();
        };
        let table = NAMES_AT + self.count * 24;
        let (table, _) = self.data[table..table + self.count * 4].as_chunks();
        // Without a branch, several are compared at once.
        let next = table.iter().fold(u32::MAX, |next, start| {
            let start = u32::from_be_bytes(*start);
            next.min(if start > offset { start } else { u32::MAX })
        });
        (next != u32::MAX).then(|| u64::from(next))
    }

    fn by_offset(&self) -> &[u64] {
        self.by_offset.get_or_init(|| {
            let mut offsets: Vec<u64> = (0..self.count).map(|at| self.offset_at(at)).collect();
            offsets.sort_unstable();
            offsets
        })
    }
}

fn u32_at(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(first: u8, last: u8, offset: u64) -> IndexEntry {
        let mut bytes = [first; 20];
        bytes[19] = last;
        IndexEntry {
            id: ObjectId::from_bytes(bytes),
            offset,
            crc: u32::from(last),
        }
    }

    #[test]
    fn every_entry_is_found_again_even_beyond_two_gibibytes() {
        let mut entries = vec![
            entry(0xff, 1, 12),
            entry(0, 9, LARGE_OFFSET - 1),
            entry(0, 3, LARGE_OFFSET),
            entry(7, 7, 5 << 40),
            entry(0xff, 2, 99),
        ];
        let index = PackIndex::parse(encode(&mut entries, [1; 20])).unwrap();
        assert!(index.checksum_is_right());
        assert_eq!(index.pack_trailer(), [1; 20]);
        assert!(index.entries().eq(entries.iter().copied()));
        for entry in &entries {
            assert_eq!(index.find(&entry.id), Some(*entry));
        }
        assert_eq!(index.find(&entry(0, 4, 0).id), None);
        assert_eq!(index.find(&entry(0x80, 0, 0).id), None);
        assert_eq!(index.end_of(12, 6 << 40), 99);
        assert_eq!(index.end_of(5 << 40, 6 << 40), 6 << 40);
        assert_eq!(index.end_of(13, 6 << 40), 99);
        assert_eq!(index.end_of(99, 6 << 40), LARGE_OFFSET - 1);
        let range: Vec<_> = index
            .between(&entry(0, 4, 0).id, &entry(0xff, 1, 0).id)
            .collect();
        assert_eq!(
            range,
            [entry(0, 9, 0).id, entry(7, 7, 0).id, entry(0xff, 1, 0).id]
        );
    }

    #[test]
    fn ends_found_by_a_scan_and_in_order_are_the_same() {
        for large in [0, 3] {
            let offset = |n: u8| u64::from(n) * 7919 % 251 + if n < large { 5 << 30 } else { 12 };
            let mut entries: Vec<_> = (0..100).map(|n| entry(n, n, offset(n))).collect();
            let index = PackIndex::parse(encode(&mut entries, [1; 20])).unwrap();
            let ends = || -> Vec<u64> {
                let some = entries.iter().take(SCANS);
                some.map(|entry| index.end_of(entry.offset, 6 << 30))
                    .collect()
            };
            let by_scan = ends();
            assert!(index.by_offset.get().is_none());
            index.by_offset();
            assert_eq!(ends(), by_scan);
        }
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        let index = PackIndex::parse(encode(&mut [], [0; 20])).unwrap();
        assert_eq!((index.count(), index.find(&entry(0, 0, 0).id)), (0, None));
    }

    #[test]
    fn no_damage_makes_a_lookup_panic() {
        let mut entries: Vec<_> = (0..40)
            .map(|n| entry(n * 6, n, u64::from(n) << 29))
            .collect();
        let good = encode(&mut entries, [1; 20]);
        for len in 0..good.len() {
            assert!(
                PackIndex::parse(good[..len].to_vec()).is_err() || len % 8 == good.len() % 8,
                "{len}"
            );
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            if let Ok(index) = PackIndex::parse(bad) {
                assert!(!index.checksum_is_right());
                for entry in &entries {
                    let _ = index.find(&entry.id);
                }
                assert_eq!(index.entries().count(), index.count());
            }
        }
        assert!(PackIndex::parse(vec![0; 4096]).is_err());
    }
}
