//! The stat cache: the files of the last scan and their blobs. Only a hint, checksummed, rebuilt
//! when needed.
//!
//! Two files. The base is a magic word, a block (see `model::stat_cache::cached_block`) and the
//! XXH3 sum of both. The patch holds the validity of the cache, a block of directories changed
//! since the base was written, if any, and a sum. A wrong sum invalidates only the cache.

use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Result;
use crate::model::stat_cache::cache_writer;
use crate::model::{CachedBlock, CachedListing, Listing, ObjectId, RulesStamp};
use crate::store::files::{atomic_file, read_regular};
use crate::store::{Layout, PackStamp};

const BASE_MAGIC: &[u8; 8] = b"CKPTSC02";
/// Attempts to read: a writer replaces the two files one after the other.
const CACHE_TRIES: usize = 2;

/// A listing that is valid while its checkpoint and its packs exist unchanged.
#[derive(Clone, Debug)]
pub struct StatCache {
    /// Checksum of the base to which the patch belongs.
    base_sum: u64,
    pub basis: Basis,
    pub listing: Arc<CachedListing>,
}

/// The checkpoints, packs and rules that a cache is valid for, while these exist unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// The checkpoint whose packs hold every blob named in the cache.
    pub checkpoint: ObjectId,
    /// Another checkpoint, whose packs hold the restored files, if any.
    pub restored: Option<ObjectId>,
    pub packs: Vec<PackStamp>,
    pub rules: RulesStamp,
}

/// Reads the cache; `None` if there is no valid one.
pub fn read(layout: &Layout) -> Option<StatCache> {
    (0..CACHE_TRIES).find_map(|_| read_once(layout))
}

/// The packs that the cache relies on, read from the smaller file alone.
pub fn packs(layout: &Layout) -> Option<Vec<PackStamp>> {
    let head = parse(read_regular::read(&layout.stat_cache_patch()).ok()?)?;
    Some(head.basis.packs)
}

fn read_once(layout: &Layout) -> Option<StatCache> {
    let head = parse(read_regular::read(&layout.stat_cache_patch()).ok()?)?;
    let base = read_regular::read(&layout.stat_cache()).ok()?;
    let end = base.len().checked_sub(SUM_BYTES)?;
    let sum = sum_at_end(&base)?;
    if !base.starts_with(BASE_MAGIC) || sum != head.base_sum {
        return None;
    }
    let base = CachedBlock::parse(base, BASE_MAGIC.len(), end)?;
    Some(StatCache {
        base_sum: sum,
        basis: head.basis,
        listing: Arc::new(CachedListing::new(base, head.patch)?),
    })
}

/// Saves the listing of a scan: as a patch if possible, and not at all if the cache is the same
/// already. `known` is the cache that the scan used and that is in place. Nothing is flushed: a
/// lost cache only costs time.
///
/// # Errors
/// A file cannot be written; then the cache is invalid.
pub fn save(
    layout: &Layout,
    basis: &Basis,
    listing: &Listing,
    known: Option<&StatCache>,
) -> Result<()> {
    if let Some(known) = known
        && let Some(patch) = cache_writer::patch(listing, &known.listing)
    {
        return write_patch(layout, known.base_sum, basis, &patch);
    }
    let Some(block) = cache_writer::base(listing) else {
        return remove(layout);
    };
    let mut base = Vec::with_capacity(BASE_MAGIC.len() + block.len() + SUM_BYTES);
    base.extend(BASE_MAGIC);
    base.extend(block);
    let base_sum = xxh3_64(&base);
    base.extend(base_sum.to_le_bytes());
    put_file(layout, &base, &layout.stat_cache())?;
    write_patch(layout, base_sum, basis, &[])
}

/// Updates the packs of a cache that is in place, after its blobs moved to them.
///
/// # Errors
/// The file cannot be written.
pub fn save_packs(layout: &Layout, cache: &StatCache, packs: Vec<PackStamp>) -> Result<()> {
    let basis = Basis {
        packs,
        ..cache.basis.clone()
    };
    let patch = cache.listing.patch_bytes();
    write_patch(layout, cache.base_sum, &basis, patch)
}

/// Whether `listing` equals the content of the cache, under the same rules.
pub fn matches_listing(cache: &StatCache, listing: &Listing, rules: RulesStamp) -> bool {
    cache.basis.rules == rules
        && cache_writer::patch(listing, &cache.listing)
            .is_some_and(|patch| patch == cache.listing.patch_bytes())
}

/// Removes the files of the cache.
///
/// # Errors
/// A file cannot be removed.
pub fn remove(layout: &Layout) -> Result<()> {
    atomic_file::remove_if_there(&layout.stat_cache_patch())?;
    atomic_file::remove_if_there(&layout.stat_cache())?;
    Ok(())
}

fn write_patch(layout: &Layout, base_sum: u64, basis: &Basis, block: &[u8]) -> Result<()> {
    let bytes = render(base_sum, basis, block);
    put_file(layout, &bytes, &layout.stat_cache_patch())
}

fn put_file(layout: &Layout, bytes: &[u8], path: &Path) -> Result<()> {
    atomic_file::write_temporary(&layout.own(), bytes)?.publish(path)
}

/// Length of the checksum at the end of a cache file.
pub const SUM_BYTES: usize = 8;

const PATCH_MAGIC: &[u8; 8] = b"CKPTSP03";

/// A patch file: what the cache is valid for, and the changes since the base.
pub struct PatchFile {
    pub base_sum: u64,
    pub basis: Basis,
    pub patch: Option<CachedBlock>,
}

/// Renders a patch file; an empty block means no changes.
pub fn render(base_sum: u64, basis: &Basis, block: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096 + block.len());
    out.extend(PATCH_MAGIC);
    let RulesStamp {
        rules,
        index,
        names,
    } = basis.rules;
    for number in [base_sum, rules, index, names, basis.packs.len() as u64] {
        put(&mut out, number);
    }
    out.extend(basis.checkpoint.as_bytes());
    // Without a second checkpoint the first is written twice.
    out.extend(basis.restored.unwrap_or(basis.checkpoint).as_bytes());
    for pack in &basis.packs {
        pack.render(&mut out);
    }
    out.extend(block);
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    out
}

/// Appends a number, little-endian, 8 bytes.
pub fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Parses a patch file; `None` if the bytes are invalid.
pub fn parse(bytes: Vec<u8>) -> Option<PatchFile> {
    sum_at_end(&bytes)?;
    let end = bytes.len() - SUM_BYTES;
    let mut input = Input(bytes.get(..end)?);
    if input.take(PATCH_MAGIC.len())? != PATCH_MAGIC {
        return None;
    }
    let base_sum = input.number()?;
    let rules = RulesStamp {
        rules: input.number()?,
        index: input.number()?,
        names: input.number()?,
    };
    let pack_count = input.number()?;
    let checkpoint = ObjectId::from_slice(input.take(20)?)?;
    let restored = ObjectId::from_slice(input.take(20)?).filter(|restored| *restored != checkpoint);
    let packs = (0..pack_count).map(|_| input.pack());
    let basis = Basis {
        checkpoint,
        restored,
        packs: packs.collect::<Option<_>>()?,
        rules,
    };
    let at = end - input.0.len();
    let block = (at < end).then(|| CachedBlock::parse(bytes, at, end));
    Some(PatchFile {
        base_sum,
        basis,
        patch: block.map_or(Some(None), |block| block.map(Some))?,
    })
}

/// The unparsed rest of a file; reads return `None` at its end.
pub struct Input<'b>(pub &'b [u8]);

impl PackStamp {
    /// Appends the stamp in the form that [`Input::pack`] reads.
    pub fn render(&self, out: &mut Vec<u8>) {
        put(out, self.name.len() as u64);
        out.extend(self.name.as_bytes());
        put(out, self.size_bytes);
        put(out, self.mtime_ns.cast_unsigned());
    }
}

impl<'b> Input<'b> {
    pub fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub fn pack(&mut self) -> Option<PackStamp> {
        let length = usize::try_from(self.number()?).ok()?;
        let name = String::from_utf8(self.take(length)?.to_vec()).ok()?;
        Some(PackStamp {
            name,
            size_bytes: self.number()?,
            mtime_ns: self.number()?.cast_signed(),
        })
    }
}

/// Returns the checksum in the last eight bytes if it matches the bytes before it.
pub fn sum_at_end(bytes: &[u8]) -> Option<u64> {
    let (body, sum) = bytes.split_last_chunk::<SUM_BYTES>()?;
    let sum = u64::from_le_bytes(*sum);
    (sum == xxh3_64(body)).then_some(sum)
}
