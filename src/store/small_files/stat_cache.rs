//! The stat cache: the files of the last scan and their blobs. Only a hint, checksummed, rebuilt
//! when needed.
//!
//! Two files. One has the blocks of the directories (see `model::stat_cache::cached_block`) after a
//! magic word; what changed is appended. The head says where the block of the root is, and holds the
//! validity of the cache and a sum. A wrong sum of a block invalidates only that directory.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use xxhash_rust::xxh3::xxh3_64;

use crate::base::mutex::lock;
use crate::error::{Error, Result};
use crate::model::stat_cache::cache_writer::{self, NewBlocks};
use crate::model::{
    BlockPlace, CacheBytes, CachedDir, CachedListing, Listing, ObjectId, RulesStamp,
};
use crate::store::files::{atomic_file, read_regular};
use crate::store::{Layout, PackStamp};

const MAGIC: &[u8; 8] = b"CKPTSC03";
/// Attempts to read: a writer replaces the two files one after the other.
const CACHE_TRIES: usize = 2;
/// What may be appended to the blocks in bytes, unless a quarter of them is more.
const MOST_APPENDED: u64 = 64 << 10;

/// A listing that is valid while its checkpoint and its packs exist unchanged.
#[derive(Clone, Debug)]
pub struct StatCache {
    pub head: CacheHead,
    pub listing: Arc<CachedListing>,
}

/// What the cache is valid for, and where its blocks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheHead {
    pub basis: Basis,
    pub root: CachedDir,
    /// Length of the file of blocks.
    pub len: u64,
    /// Its length when it was written as a whole.
    pub whole_len: u64,
    /// What a monitor of the directory said before the scan.
    pub watch: Option<WatchNote>,
}

/// What tells of changes since a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchNote {
    /// Where the monitor was reached.
    pub socket: Vec<u8>,
    /// Its clock before the scan.
    pub clock: Vec<u8>,
    /// Hash of what it does not tell of.
    pub conditions: u64,
    /// Number of checkpoints since it was checked, and when that was, in milliseconds since 1970.
    pub creates: u64,
    pub checked_ms: i64,
    /// When the scan began, in nanoseconds of the file system's clock.
    pub scan_ns: i64,
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

/// Blocks in memory.
#[derive(Debug)]
pub struct ReadBlocks(pub Arc<Vec<u8>>);

impl CacheBytes for ReadBlocks {
    fn block(&self, place: &BlockPlace) -> Option<(Arc<Vec<u8>>, Range<usize>)> {
        let from = usize::try_from(place.at).ok()?;
        let range = from..from.checked_add(place.len as usize)?;
        let is_sound = xxh3_64(self.0.get(range.clone())?) == place.sum;
        is_sound.then(|| (Arc::clone(&self.0), range))
    }
}

/// Blocks in a file.
#[derive(Debug)]
struct OpenBlocks(Mutex<File>);

impl CacheBytes for OpenBlocks {
    fn block(&self, place: &BlockPlace) -> Option<(Arc<Vec<u8>>, Range<usize>)> {
        let mut bytes = vec![0; place.len as usize];
        let mut file = lock(&self.0);
        file.seek(SeekFrom::Start(place.at)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        let range = 0..bytes.len();
        (xxh3_64(&bytes) == place.sum).then(|| (Arc::new(bytes), range))
    }
}

/// Reads the cache; `None` if there is no valid one.
pub fn read(layout: &Layout) -> Option<StatCache> {
    let blocks = |path: &Path| {
        let bytes = read_regular::read(path).ok()?;
        Some(Box::new(ReadBlocks(Arc::new(bytes))) as Box<dyn CacheBytes>)
    };
    (0..CACHE_TRIES).find_map(|_| read_once(layout, &blocks))
}

/// Opens the cache, of which only what is used is read.
pub fn open(layout: &Layout) -> Option<StatCache> {
    let blocks = |path: &Path| {
        let file = read_regular::open(path).ok()?;
        Some(Box::new(OpenBlocks(Mutex::new(file))) as Box<dyn CacheBytes>)
    };
    (0..CACHE_TRIES).find_map(|_| read_once(layout, &blocks))
}

/// Reads what the cache is valid for.
pub fn head(layout: &Layout) -> Option<CacheHead> {
    parse(&read_regular::read(&layout.stat_cache_head()).ok()?)
}

fn read_once(
    layout: &Layout,
    blocks: &dyn Fn(&Path) -> Option<Box<dyn CacheBytes>>,
) -> Option<StatCache> {
    let head = head(layout)?;
    let listing = CachedListing::new(head.root, blocks(&layout.stat_cache())?);
    // The head of another file would lead nowhere.
    listing.block(&head.root.place)?;
    let listing = Arc::new(listing);
    Some(StatCache { head, listing })
}

/// Saves the listing of a scan: appended to `known`, the cache that the scan used and that is in
/// place, if possible. If `known` is the same already and `stays` valid, nothing is written. Nothing
/// is flushed: a lost cache only costs time.
///
/// # Errors
/// A file cannot be written; then the cache is invalid.
pub fn save(
    layout: &Layout,
    (basis, watch): (Basis, Option<WatchNote>),
    listing: &Listing,
    (known, stays): (Option<&StatCache>, bool),
) -> Result<()> {
    // An earlier clock tells of more, so it stays true.
    let earlier = || known.and_then(|known| known.head.watch.clone());
    let watch = watch.or_else(earlier);
    if let Some(known) = known {
        let CacheHead { len, whole_len, .. } = known.head;
        let new = cache_writer::write(listing, Some(&known.listing), len, &xxh3_64);
        let most = MOST_APPENDED.max(whole_len / 4);
        let fits = |new: &NewBlocks| new.bytes.len() as u64 + len - whole_len <= most;
        if let Some(new) = new.filter(fits) {
            let head = CacheHead {
                basis,
                root: new.root,
                len: len + new.bytes.len() as u64,
                whole_len,
                watch,
            };
            let is_same = head.root == known.head.root
                && head.basis.rules == known.head.basis.rules
                && head.watch == known.head.watch;
            if stays && is_same {
                return Ok(());
            }
            append(layout, len, &new.bytes)?;
            return write_head(layout, &head);
        }
    }
    let Some(new) = whole(listing) else {
        return remove(layout);
    };
    let mut all = new.bytes;
    all.splice(0..0, *MAGIC);
    put_file(layout, &all, &layout.stat_cache())?;
    let len = all.len() as u64;
    let head = CacheHead {
        basis,
        root: new.root,
        len,
        whole_len: len,
        watch,
    };
    write_head(layout, &head)
}

/// Encodes all blocks; what is folded is copied.
fn whole(listing: &Listing) -> Option<NewBlocks> {
    let at = MAGIC.len() as u64;
    if listing.dirs.iter().all(|dir| !dir.is_folded) {
        return cache_writer::write(listing, None, at, &xxh3_64);
    }
    let mut all = listing.clone();
    all.unfold(&|_| true)?;
    cache_writer::write(&all, None, at, &xxh3_64)
}

fn append(layout: &Layout, at: u64, bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let path = layout.stat_cache();
    let write = || {
        let mut file = OpenOptions::new().write(true).open(&path)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    };
    write().map_err(Error::io("write", &path))
}

/// Updates the packs of a cache that is in place, after its blobs moved to them.
///
/// # Errors
/// The file cannot be written.
pub fn save_packs(layout: &Layout, mut head: CacheHead, packs: Vec<PackStamp>) -> Result<()> {
    head.basis.packs = packs;
    write_head(layout, &head)
}

/// Removes the files of the cache.
///
/// # Errors
/// A file cannot be removed.
pub fn remove(layout: &Layout) -> Result<()> {
    atomic_file::remove_if_there(&layout.stat_cache_head())?;
    atomic_file::remove_if_there(&layout.stat_cache())?;
    Ok(())
}

fn write_head(layout: &Layout, head: &CacheHead) -> Result<()> {
    put_file(layout, &render(head), &layout.stat_cache_head())
}

fn put_file(layout: &Layout, bytes: &[u8], path: &Path) -> Result<()> {
    atomic_file::write_temporary(&layout.own(), bytes)?.publish(path)
}

/// Length of the checksum at the end of a file.
pub const SUM_BYTES: usize = 8;

const HEAD_MAGIC: &[u8; 8] = b"CKPTSH02";

pub fn render(head: &CacheHead) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    out.extend(HEAD_MAGIC);
    let basis = &head.basis;
    let RulesStamp {
        rules,
        index,
        names,
    } = basis.rules;
    let packs = basis.packs.len() as u64;
    for number in [head.len, head.whole_len, rules, index, names, packs] {
        put(&mut out, number);
    }
    head.root.render(0, &mut out);
    out.extend(basis.checkpoint.as_bytes());
    // Without a second checkpoint the first is written twice.
    out.extend(basis.restored.unwrap_or(basis.checkpoint).as_bytes());
    for pack in &basis.packs {
        pack.render(&mut out);
    }
    if let Some(watch) = &head.watch {
        for text in [&watch.socket, &watch.clock] {
            put(&mut out, text.len() as u64);
            out.extend(text);
        }
        put(&mut out, watch.conditions);
        put(&mut out, watch.creates);
        put(&mut out, watch.checked_ms.cast_unsigned());
        put(&mut out, watch.scan_ns.cast_unsigned());
    }
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    out
}

/// Appends a number, little-endian, 8 bytes.
pub fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Parses a head; `None` if the bytes are invalid.
pub fn parse(bytes: &[u8]) -> Option<CacheHead> {
    sum_at_end(bytes)?;
    let mut input = Input(bytes.get(..bytes.len() - SUM_BYTES)?);
    if input.take(HEAD_MAGIC.len())? != HEAD_MAGIC {
        return None;
    }
    let (len, whole_len) = (input.number()?, input.number()?);
    let rules = RulesStamp {
        rules: input.number()?,
        index: input.number()?,
        names: input.number()?,
    };
    let pack_count = input.number()?;
    let (root, _) = CachedDir::parse(input.take(CachedDir::BYTES)?)?;
    let checkpoint = ObjectId::from_slice(input.take(20)?)?;
    let restored = ObjectId::from_slice(input.take(20)?).filter(|restored| *restored != checkpoint);
    let packs = (0..pack_count).map(|_| input.pack());
    let basis = Basis {
        checkpoint,
        restored,
        packs: packs.collect::<Option<_>>()?,
        rules,
    };
    let head = CacheHead {
        basis,
        root,
        len,
        whole_len,
        watch: (!input.0.is_empty()).then(|| input.watch()).flatten(),
    };
    (len >= whole_len && render(&head) == bytes).then_some(head)
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

    fn watch(&mut self) -> Option<WatchNote> {
        let mut text = || {
            let length = usize::try_from(self.number()?).ok()?;
            Some(self.take(length)?.to_vec())
        };
        Some(WatchNote {
            socket: text()?,
            clock: text()?,
            conditions: self.number()?,
            creates: self.number()?,
            checked_ms: self.number()?.cast_signed(),
            scan_ns: self.number()?.cast_signed(),
        })
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
