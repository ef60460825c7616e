//! Packs: what is written is read and found by a walk; a damaged pack gives no content that differs
//! from its id.

use std::cell::RefCell;
use std::io::{Seek, Write};

use checkpoint::model::state::object_id::ObjectId;
use checkpoint::store::objects::deflate::Deflater;
use checkpoint::store::objects::object_hash::{ObjectKind, hash_object, trailer_of};
use checkpoint::store::objects::pack::pack_delta::{self};
use checkpoint::store::objects::pack::pack_delta::{BaseCache, Places};
use checkpoint::store::objects::pack::pack_index::{IndexEntry, PackIndex, encode};
use checkpoint::store::objects::pack::pack_reader::PackReader;
use checkpoint::store::objects::pack::pack_reader::{self};
use checkpoint::store::objects::pack::pack_walk::{PackWalk, walk};
use tempfile::NamedTempFile;

use super::draw::Draw;

const MAGIC: &[u8] = b"PACK\0\0\0\x02";

thread_local! {
    static FILE: RefCell<NamedTempFile> = RefCell::new(NamedTempFile::new().expect("a temporary file"));
}

pub fn check(data: &[u8]) {
    with_reader(&framed(1, data), |reader| {
        holds_what_it_says(reader, &walk(reader));
    });
    let mut draw = Draw::new(data);
    let (damage_at, damage) = (
        usize::from(draw.byte()) << 8 | usize::from(draw.byte()),
        draw.byte(),
    );
    let (plain, mut entries, mut body) = built(&mut draw);
    let mut pack = framed(entries.len(), &std::mem::take(&mut body));
    with_reader(&pack, |reader| {
        let found = walk(reader);
        holds_what_it_says(reader, &found);
        assert!(
            plain.iter().all(|entry| found.entries.contains(entry)),
            "a walk passes over a whole entry"
        );
        let is_plain = plain.len() == entries.len();
        assert!(
            found.is_whole || !is_plain,
            "a whole pack is not seen as one"
        );
        by_index(reader, &mut entries);
    });
    let at = damage_at % pack.len();
    pack[at] ^= damage.max(1);
    with_reader(&pack, |reader| {
        let found = walk(reader);
        assert!(!found.is_whole, "another byte at {at} is not noticed");
        holds_what_it_says(reader, &found);
        by_index(reader, &mut entries);
    });
}

/// Opens a pack as a salvage does: entries may be anywhere up to the very end.
fn with_reader(bytes: &[u8], look: impl FnOnce(&PackReader)) {
    FILE.with_borrow_mut(|file| {
        file.as_file().set_len(0).expect("it can be cut");
        file.rewind().expect("it can be rewound");
        file.write_all(bytes).expect("it can be written");
        look(&PackReader::open_damaged(file.path()).expect("it can be opened"));
    });
}

fn framed(count: usize, body: &[u8]) -> Vec<u8> {
    let count = u32::try_from(count).expect("few entries").to_be_bytes();
    let mut pack = [MAGIC, &count, body].concat();
    pack.extend(trailer_of(&pack));
    pack
}

/// Asserts that every entry found by a walk resolves to the content of its id.
fn holds_what_it_says(reader: &PackReader, found: &PackWalk) {
    let cache = BaseCache::default();
    let offset_of = |id: &ObjectId| {
        found
            .entries
            .iter()
            .find(|entry| entry.id == *id)
            .map(|entry| entry.offset)
    };
    let places = Places {
        offset_of: &offset_of,
        end_of: &|_| reader.entries_end(),
        elsewhere: &|_| None,
    };
    for entry in &found.entries {
        let content = pack_delta::resolve(reader, entry.offset, &places, &cache)
            .expect("the walk has read it");
        assert_eq!(hash_object(content.0, &content.1), Ok(entry.id));
        let (kind, size) =
            pack_delta::kind_and_size(reader, entry.offset, &places).expect("the walk has read it");
        assert_eq!((kind, size), (content.0, content.1.len() as u64));
    }
}

/// Reads a pack as a store does, by an index with any delta bases the fuzzer wants, circles too.
fn by_index(reader: &PackReader, entries: &mut [IndexEntry]) {
    let index = PackIndex::parse(encode(entries, [0; 20])).expect("our own index");
    let cache = BaseCache::default();
    let places = Places {
        offset_of: &|id| index.find(id).map(|entry| entry.offset),
        end_of: &|offset| index.end_of(offset, reader.entries_end()),
        elsewhere: &|_| None,
    };
    for entry in index.entries() {
        let resolved = pack_delta::resolve(reader, entry.offset, &places, &cache);
        let size = pack_delta::kind_and_size(reader, entry.offset, &places);
        if let Ok(content) = resolved {
            assert_eq!(
                size.expect("its content was read").1,
                content.1.len() as u64
            );
        }
    }
}

/// The undeltified entries, all entries, and their bytes. Deltas have made-up ids by which others
/// may name them.
fn built(draw: &mut Draw<'_>) -> (Vec<IndexEntry>, Vec<IndexEntry>, Vec<u8>) {
    let (mut plain, mut all, mut body) = (Vec::new(), Vec::<IndexEntry>::new(), Vec::new());
    let mut deflater = Deflater::default();
    while !draw.is_empty() && all.len() < 12 {
        let offset = pack_reader::HEADER_BYTES + body.len() as u64;
        let (choice, repeats) = (draw.below(6), 1 << draw.below(7));
        let content = draw.bytes().repeat(repeats);
        let id = match choice {
            0..=3 => {
                let kind = [
                    ObjectKind::Blob,
                    ObjectKind::Tree,
                    ObjectKind::Commit,
                    ObjectKind::Tag,
                ][choice];
                body.extend(pack_reader::encode_header(kind, content.len() as u64));
                hash_object(kind, &content).expect("no attack")
            }
            4 => {
                let back = all
                    .get(draw.below(12))
                    .map_or(u64::from(draw.byte()), |base| offset - base.offset);
                body.extend(pack_reader::encode_start(6, content.len() as u64));
                body.extend(distance(back));
                draw.id()
            }
            _ => {
                let base = all
                    .get(draw.below(12))
                    .map_or_else(|| draw.id(), |base| base.id);
                body.extend(pack_reader::encode_start(7, content.len() as u64));
                body.extend(base.as_bytes());
                draw.id()
            }
        };
        body.extend(deflater.compress(&content));
        let start = usize::try_from(offset - pack_reader::HEADER_BYTES).expect("small");
        let crc = checkpoint::store::objects::deflate::EntryCrc::of(&body[start..]);
        all.push(IndexEntry { id, offset, crc });
        if choice < 4 {
            plain.push(IndexEntry { id, offset, crc });
        }
    }
    (plain, all, body)
}

/// The distance of a delta's base, as git writes it.
fn distance(number: u64) -> Vec<u8> {
    let mut digits = vec![number.to_le_bytes()[0] & 0x7f];
    let mut rest = number >> 7;
    while rest > 0 {
        rest -= 1;
        digits.insert(0, 0x80 | rest.to_le_bytes()[0]);
        rest >>= 7;
    }
    digits
}
