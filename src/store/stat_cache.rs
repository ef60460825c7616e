//! The stat cache: what the last scan saw and which blobs that gave. Only a hint, checksummed, rebuilt at need.
//!
//! Little-endian numbers and length-prefixed bytes, then the XXH3 sum of all before it. Anything that does not add up
//! makes the whole cache worthless and nothing else.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::model::entry::Kind;
use crate::model::listing::{ListedDir, ListedFile, Listing, Name, Stat};
use crate::model::object_id::ObjectId;
use crate::store::durable;
use crate::store::layout::Layout;
use crate::store::pack_list::PackStamp;
use crate::store::plain_file;

const MAGIC: &[u8; 8] = b"CKPTSC01";

/// A listing that can be trusted as far as its checkpoint and its packs are still there unchanged.
#[derive(Clone, Debug)]
pub struct StatCache {
    /// The checkpoint whose packs hold every blob named here.
    pub checkpoint: ObjectId,
    pub packs: Vec<PackStamp>,
    pub listing: Listing,
}

/// Reads the cache; `None` if there is none that adds up.
pub fn read(layout: &Layout) -> Option<StatCache> {
    decode(&plain_file::read(&layout.stat_cache()).ok()?)
}

/// Writes the cache in one step. It is not flushed to disk: a lost cache costs time and nothing else.
pub fn write(layout: &Layout, cache: &StatCache) -> Result<()> {
    let bytes = encode(cache);
    let temporary = durable::TemporaryFile::create(&layout.own(), ".tmp-", "-")?;
    std::io::Write::write_all(&mut temporary.file(), &bytes).map_err(Error::io("write", temporary.path()))?;
    temporary.publish(&layout.stat_cache())
}

fn encode(cache: &StatCache) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    out.extend(MAGIC);
    out.extend(cache.checkpoint.as_bytes());
    put(&mut out, cache.packs.len() as u64);
    for pack in &cache.packs {
        put_bytes(&mut out, pack.name.as_bytes());
        put(&mut out, pack.size_bytes);
        put(&mut out, pack.mtime_ns.cast_unsigned());
    }
    put(&mut out, cache.listing.started_ns.cast_unsigned());
    put(&mut out, cache.listing.dirs.len() as u64);
    for dir in &cache.listing.dirs {
        encode_dir(&mut out, dir);
    }
    let sum = xxh3_64(&out);
    put(&mut out, sum);
    out
}

fn encode_dir(out: &mut Vec<u8>, dir: &ListedDir) {
    put(out, dir.parent as u64);
    put_bytes(out, &dir.name);
    put_stat(out, &dir.stat);
    put_id(out, dir.tree);
    put(out, dir.files.len() as u64);
    for file in &dir.files {
        put_bytes(out, &file.name);
        out.push(u8::from(file.kind == Kind::Symlink));
        put_stat(out, &file.stat);
        // What changed while it was read may change again without a trace.
        put_id(out, file.id.filter(|_| !file.unsteady));
    }
}

fn put(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend(bytes);
}

fn put_id(out: &mut Vec<u8>, id: Option<ObjectId>) {
    out.push(u8::from(id.is_some()));
    out.extend(id.map_or([0; 20], |id| *id.as_bytes()));
}

fn put_stat(out: &mut Vec<u8>, stat: &Stat) {
    for number in [stat.dev, stat.ino, stat.mode.into(), stat.size_bytes, stat.links] {
        put(out, number);
    }
    put(out, stat.mtime_ns.cast_unsigned());
    put(out, stat.ctime_ns.cast_unsigned());
}

fn decode(bytes: &[u8]) -> Option<StatCache> {
    let (body, sum) = bytes.split_last_chunk::<8>()?;
    if u64::from_le_bytes(*sum) != xxh3_64(body) {
        return None;
    }
    let mut input = Input(body);
    if input.take(MAGIC.len())? != MAGIC {
        return None;
    }
    let checkpoint = ObjectId::from_slice(input.take(20)?)?;
    let packs = (0..input.number()?).map(|_| input.pack()).collect::<Option<_>>()?;
    let started_ns = input.signed()?;
    let mut dirs: Vec<ListedDir> = Vec::new();
    for index in 0..input.size()? {
        let dir = input.dir()?;
        if index > 0 {
            dirs.get_mut(dir.parent)?.dirs.push(index);
        }
        dirs.push(dir);
    }
    (!dirs.is_empty()).then_some(StatCache { checkpoint, packs, listing: Listing { dirs, started_ns } })
}

struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn signed(&mut self) -> Option<i64> {
        Some(self.number()?.cast_signed())
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn name(&mut self) -> Option<Name> {
        let length = self.size()?;
        Some(self.take(length)?.into())
    }

    /// Reads an id that may be unknown.
    fn id_into(&mut self, place: &mut Option<ObjectId>) -> Option<()> {
        let known = self.take(1)?[0] == 1;
        let id = ObjectId::from_slice(self.take(20)?)?;
        *place = known.then_some(id);
        Some(())
    }

    fn stat(&mut self) -> Option<Stat> {
        Some(Stat {
            dev: self.number()?,
            ino: self.number()?,
            mode: u32::try_from(self.number()?).ok()?,
            size_bytes: self.number()?,
            links: self.number()?,
            mtime_ns: self.signed()?,
            ctime_ns: self.signed()?,
        })
    }

    fn pack(&mut self) -> Option<PackStamp> {
        let name = String::from_utf8(self.name()?.into()).ok()?;
        Some(PackStamp { name, size_bytes: self.number()?, mtime_ns: self.signed()? })
    }

    fn dir(&mut self) -> Option<ListedDir> {
        let parent = self.size()?;
        let name = self.name()?;
        let mut dir = ListedDir::empty(parent, name, self.stat()?);
        self.id_into(&mut dir.tree)?;
        for _ in 0..self.number()? {
            dir.files.push(self.file()?);
        }
        Some(dir)
    }

    fn file(&mut self) -> Option<ListedFile> {
        let name = self.name()?;
        let kind = if self.take(1)?[0] == 1 { Kind::Symlink } else { Kind::File };
        let mut file = ListedFile { name, kind, stat: self.stat()?, id: None, unsteady: false };
        self.id_into(&mut file.id)?;
        Some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> StatCache {
        let stat = Stat { dev: 1, ino: 2, mode: 0o100_644, size_bytes: 3, mtime_ns: -4, ctime_ns: 5, links: 1 };
        let mut listing = Listing::of_empty_root(stat, 77);
        let id = Some(ObjectId::from_bytes([3; 20]));
        listing.dirs[0].files.push(ListedFile {
            name: (*b"a\xff").into(),
            kind: Kind::File,
            stat,
            id,
            unsteady: false,
        });
        listing.dirs[0].files.push(ListedFile { name: (*b"b").into(), kind: Kind::Symlink, stat, id, unsteady: true });
        listing.dirs[0].dirs.push(1);
        let mut child = ListedDir::empty(0, (*b"d").into(), stat);
        child.tree = id;
        listing.dirs.push(child);
        let packs = vec![PackStamp { name: "pack-1".into(), size_bytes: 9, mtime_ns: 8 }];
        StatCache { checkpoint: ObjectId::from_bytes([1; 20]), packs, listing }
    }

    #[test]
    fn a_cache_comes_back_but_forgets_what_changed_while_it_was_read() {
        let back = decode(&encode(&cache())).unwrap();
        assert_eq!(back.checkpoint, cache().checkpoint);
        assert_eq!(back.packs, cache().packs);
        assert_eq!(back.listing.dirs[0].dirs, [1]);
        assert_eq!(back.listing.dirs[1].tree, cache().listing.dirs[1].tree);
        assert_eq!(back.listing.dirs[0].files[0].stat, cache().listing.dirs[0].files[0].stat);
        assert_eq!(back.listing.dirs[0].files[0].id, cache().listing.dirs[0].files[0].id);
        assert_eq!(back.listing.dirs[0].files[1].id, None);
    }

    #[test]
    fn a_torn_cache_is_no_cache() {
        let whole = encode(&cache());
        for end in 0..whole.len() {
            assert!(decode(&whole[..end]).is_none(), "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            assert!(decode(&flipped).is_none(), "flipped at {at}");
        }
        assert!(decode(&vec![0; 4096]).is_none());
    }
}
