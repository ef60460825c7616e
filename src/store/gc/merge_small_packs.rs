//! Merges small packs into the pack being written, so that long series of small writes leave few
//! packs behind.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::error::Result;
use crate::store::files::atomic_file;
use crate::store::gc::sweep;
use crate::store::objects::pack::pack_list::{bytes_arrived, check_new};
use crate::store::small_files::stat_cache;
use crate::store::{
    EntryKind, IndexEntry, LockedStore, Pack, PackError, PackStamp, PackWriter, ReadError,
};

/// Lower bound, in bytes, on the counted size of a new pack, so that small packs are always merged.
const COUNTED_BYTES: u64 = 16 << 10;
/// Factor over the bytes merged so far; a larger pack is left alone: no byte is copied often.
const MUCH_LARGER: u64 = 2;
/// Fewest packs worth merging.
const WORTH_IT: usize = 8;
/// Bounds, in bytes, on a new pack with all it takes in: so much is always merged, and no more, so
/// that the delay is not noticed.
const MOST_BYTES: RangeInclusive<u64> = 512 << 10..=4 << 20;
/// Between them, the part of the store that a merge may take in, so that packs stay few.
const PART_OF_STORE: u64 = 16;
/// Upper bound on packs per merge; each stays open meanwhile.
const MOST_PACKS: usize = 64;
/// Free disk space, in bytes, below which nothing is merged.
const ROOM_BYTES: u64 = 4 << 20;

impl LockedStore<'_> {
    /// Copies the smallest packs into `into`, with live and dead objects alike. Returns the packs
    /// that were copied whole; unreadable ones stay as they are.
    ///
    /// # Errors
    /// The new pack cannot be written.
    pub(in crate::store) fn merge_small_packs(
        &self,
        into: &mut PackWriter<'_>,
    ) -> Result<Vec<Arc<Pack>>> {
        let mut packs = self.store().objects().pack_list();
        packs.sort_by(|a, b| {
            a.stamp
                .size_bytes
                .cmp(&b.stamp.size_bytes)
                .then_with(|| a.stamp.name.cmp(&b.stamp.name))
        });
        let stored = packs.iter().map(|pack| pack.stamp.size_bytes).sum();
        let mut budget = Budget::of(into.bytes_written(), stored);
        let hoped = packs
            .iter()
            .take_while(|pack| budget.takes(pack.stamp.size_bytes))
            .count();
        // On a full disk the new objects come first.
        if hoped < WORTH_IT || !atomic_file::has_room(self.store().dir(), ROOM_BYTES) {
            return Ok(Vec::new());
        }
        let mut budget = Budget::of(into.bytes_written(), stored);
        let mut chosen = Vec::new();
        for pack in packs {
            // Checked before the pack is opened, since a large one takes long to read.
            if !budget.has_room_for(pack.stamp.size_bytes) {
                break;
            }
            if let Some(entries) = plain_entries(&pack) {
                budget.takes(pack.stamp.size_bytes);
                chosen.push((pack, entries));
            }
        }
        let mut merged = Vec::new();
        for (pack, entries) in chosen.into_iter().filter(|_| budget.packs >= WORTH_IT) {
            match copy_all(&pack, &entries, into) {
                Ok(()) => merged.push(pack),
                Err(PackError::Store(cause)) => return Err(cause),
                Err(_) => {}
            }
        }
        Ok(merged)
    }

    /// Removes packs whose content is in `published`, and updates the stat cache. The new packs are
    /// read back first, so call it last.
    ///
    /// # Errors
    /// A new pack cannot be read back, so nothing was removed; or an old one cannot be removed.
    pub(in crate::store) fn remove_merged(
        &self,
        merged: &[Arc<Pack>],
        published: &[PackStamp],
    ) -> Result<()> {
        if merged.is_empty() {
            return Ok(());
        }
        let store = self.store();
        let pack_dir = store.layout().packs();
        for stamp in published {
            check_new(&pack_dir, stamp, bytes_arrived)?;
        }
        let is_named = |packs: &[PackStamp]| merged.iter().any(|pack| packs.contains(&pack.stamp));
        let cache = stat_cache::head(store.layout())
            .filter(|head| is_named(&head.basis.packs) && store.trusts(&head.basis));
        sweep::remove_caches(&store.layout().objects())?;
        // A merged pack of the same name is the new pack.
        for pack in merged
            .iter()
            .filter(|pack| published.iter().all(|stamp| stamp.name != pack.stamp.name))
        {
            sweep::remove_pack(&pack_dir, &pack.stamp.name)?;
        }
        store.objects().refresh()?;
        if let Some(cache) = cache {
            // Otherwise the next scan would check each blob that it relies on.
            stat_cache::save_packs(store.layout(), cache, store.objects().packs())?;
        }
        Ok(())
    }
}

/// The bytes and packs of one merge so far, which limit what it still takes. Each byte is copied
/// about once per doubling of its pack.
struct Budget {
    bytes: u64,
    most_bytes: u64,
    packs: usize,
}

impl Budget {
    fn of(new_bytes: u64, stored_bytes: u64) -> Self {
        let part = stored_bytes / PART_OF_STORE;
        Self {
            bytes: new_bytes.max(COUNTED_BYTES),
            most_bytes: part.clamp(*MOST_BYTES.start(), *MOST_BYTES.end()),
            packs: 0,
        }
    }

    fn has_room_for(&self, size: u64) -> bool {
        let is_much_larger = size > self.bytes.saturating_mul(MUCH_LARGER);
        !is_much_larger
            && self.bytes.saturating_add(size) <= self.most_bytes
            && self.packs < MOST_PACKS
    }

    /// Adds a pack of this size if it fits; returns whether it did.
    fn takes(&mut self, size: u64) -> bool {
        let fits = self.has_room_for(size);
        if fits {
            self.bytes += size;
            self.packs += 1;
        }
        fits
    }
}

/// The entries of a sound pack; `None` if it holds deltas, which are cheaper left where they are.
fn plain_entries(pack: &Pack) -> Option<Vec<IndexEntry>> {
    pack.check_frame().ok()?;
    let is_plain = |entry: &IndexEntry| matches!(pack.header(&entry.id), Ok(Some(h)) if matches!(h.kind, EntryKind::Object(_)));
    let entries: Vec<IndexEntry> = pack.index().ok()?.entries().collect();
    entries.iter().all(is_plain).then_some(entries)
}

fn copy_all(
    pack: &Pack,
    entries: &[IndexEntry],
    into: &mut PackWriter<'_>,
) -> std::result::Result<(), PackError> {
    let unreadable = |cause: ReadError| PackError::Source(std::io::Error::other(cause.to_string()));
    let (index, reader) = (
        pack.index().map_err(unreadable)?,
        pack.reader().map_err(unreadable)?,
    );
    entries.iter().try_for_each(|entry| {
        into.copy_entry(
            reader,
            entry,
            index.end_of(entry.offset, reader.entries_end()),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packs_go_into_the_new_one_and_large_ones_stay() {
        let worth = |sizes: &[u64], new: u64| {
            let mut budget = Budget::of(new, 0);
            sizes.iter().take_while(|size| budget.takes(**size)).count()
        };
        assert_eq!(worth(&[], 900), 0);
        assert_eq!(worth(&[900, 32 << 10], 900), 2);
        assert_eq!(
            worth(&[900, 48 << 10], 900),
            1,
            "much larger than all before it"
        );
        assert_eq!(worth(&[20 << 10, 48 << 10], 900), 2);
        assert_eq!(
            worth(&[60 << 10, 90 << 10, 120 << 10, 210 << 10], 40 << 10),
            3,
            "at most so much at once"
        );
        assert_eq!(worth(&[900; 2_000], 900), MOST_PACKS);
        assert_eq!(worth(&[u64::MAX], u64::MAX), 0);
    }

    /// The largest number of packs after that many of a kilobyte each, and the kilobytes copied.
    fn merged(number: u64) -> (usize, u64) {
        let (mut packs, mut copied, mut most): (Vec<u64>, u64, usize) = (Vec::new(), 0, 0);
        for _ in 0..number {
            packs.sort_unstable();
            let mut budget = Budget::of(1 << 10, packs.iter().sum());
            let hoped = packs.iter().take_while(|size| budget.takes(**size)).count();
            let rest = packs.split_off(if hoped < WORTH_IT { 0 } else { hoped });
            let taken: u64 = packs.iter().sum();
            copied += taken;
            packs = rest;
            packs.push(taken + (1 << 10));
            most = most.max(packs.len());
        }
        (most, copied >> 10)
    }

    #[test]
    fn packs_of_a_kilobyte_become_few_and_each_byte_is_copied_a_few_times() {
        for (number, most) in [(1_000, 17), (20_000, 40)] {
            let (packs, copied) = merged(number);
            assert!(
                packs <= most && copied <= number * 48,
                "{number}: {packs} packs, {copied} KiB copied"
            );
        }
    }
}
