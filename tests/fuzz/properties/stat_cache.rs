//! The stat cache: a listing is read back, the head in the same bytes, and no block makes a reader
//! run away.

use std::sync::Arc;

use checkpoint::model::stat_cache::cache_writer;
use checkpoint::model::stat_cache::cached_block::{CachedBlock, CachedDir};
use checkpoint::model::stat_cache::cached_listing::CachedListing;
use checkpoint::model::state::entry::{
    Kind, ListedFile, ListedUncaptured, Name, SYMLINK_BITS, Stat, WhyNot,
};
use checkpoint::model::state::listing::{Files, ListedDir, Listing};
use checkpoint::store::small_files::stat_cache::{ReadBlocks, parse, render};
use xxhash_rust::xxh3::xxh3_64;

use super::draw::Draw;

/// Start of the scan, so late that nothing is racy and all ids are kept.
const STARTED_NS: i64 = i64::MAX;

pub fn check(data: &[u8]) {
    head(data);
    blocks(data);
    listing(data);
}

fn head(data: &[u8]) {
    let mut bytes = [data, &xxh3_64(data).to_le_bytes()].concat();
    let Some(found) = parse(&bytes) else {
        return;
    };
    assert_eq!(render(&found), bytes);
    let at = usize::from(data[0]) % bytes.len();
    bytes[at] ^= 1;
    assert!(
        parse(&bytes).is_none(),
        "another byte at {at} is not noticed"
    );
}

/// Reads a block, as of a damaged file whose sums are right.
fn blocks(data: &[u8]) {
    let Some(block) = CachedBlock::parse(Arc::new(data.to_vec()), 0..data.len(), 9) else {
        return;
    };
    let most = data.len();
    for index in 0..=block.dir_count() {
        let Some((name, dir)) = block.dir(index) else {
            continue;
        };
        assert!(
            dir.place.at + u64::from(dir.place.len) <= 9,
            "it leads ahead"
        );
        assert!(name.len() <= most);
        let _ = block.child(name);
    }
    let block = Arc::new(block);
    let mut files = Files::cached(Arc::clone(&block));
    assert!(files.len() <= most, "{} files in {most} bytes", files.len());
    assert!(files.iter().all(|file| file.name.len() <= most));
    assert_eq!(files.make_listed().len(), block.file_count());
    let _ = block.uncaptured();
}

fn listing(data: &[u8]) {
    let mut draw = Draw::new(data);
    let mut listing = Listing::of_empty_root(stat(&mut draw, 0o40_000), STARTED_NS);
    fill(&mut draw, &mut listing.dirs[0]);
    for index in 1..=draw.below(8) {
        let parent = draw.below(8) % index;
        let mut dir = ListedDir::empty(
            parent,
            vec![b'a' + u8::try_from(index).expect("small")].into(),
            stat(&mut draw, 0o40_000),
        );
        fill(&mut draw, &mut dir);
        listing.dirs.push(dir);
        listing.dirs[parent].dirs.push(index);
    }
    let new = cache_writer::write(&listing, None, 0, &xxh3_64).expect("small numbers");
    let blocks = Box::new(ReadBlocks(Arc::new(new.bytes)));
    let cached = CachedListing::new(new.root, blocks);
    assert!(cached.is_whole());
    let mut pairs = vec![(0, cached.root)];
    while let Some((index, found)) = pairs.pop() {
        let block = cached.block(&found.place).expect("it was written");
        same(&listing.dirs[index], &found, &block);
        for (at, child) in listing.dirs[index].dirs.iter().enumerate() {
            let (name, found) = block.dir(at).expect("it was written");
            assert_eq!(name, &*listing.dirs[*child].name);
            pairs.push((*child, found));
        }
    }
}

fn same(dir: &ListedDir, found: &CachedDir, block: &Arc<CachedBlock>) {
    assert_eq!((&found.stat, found.tree), (&dir.stat, dir.tree));
    assert_eq!(
        (found.decided_by_names, found.has_hidden_rules),
        (dir.decided_by_names, dir.has_hidden_rules)
    );
    assert_eq!(block.uncaptured().as_ref(), Some(&dir.uncaptured));
    assert_eq!(block.dir_count(), dir.dirs.len());
    let files = Files::cached(Arc::clone(block));
    assert_eq!(files.len(), dir.files.len());
    for (written, read) in dir.files.iter().zip(files.iter()) {
        assert_eq!(
            (written.name, written.kind, written.stat),
            (read.name, read.kind, read.stat)
        );
        assert_eq!(
            written
                .id
                .filter(|id| *id.as_bytes() != [0; 20] && !written.racy),
            read.id
        );
        assert_eq!(
            written.id.filter(|id| *id.as_bytes() != [0; 20]),
            read.earlier
        );
    }
}

fn fill(draw: &mut Draw<'_>, dir: &mut ListedDir) {
    let files = draw.several(|draw| {
        let is_link = draw.flag();
        let (kind, bits) = if is_link {
            (Kind::Symlink, SYMLINK_BITS)
        } else {
            (Kind::File, 0o100_000)
        };
        let stat = Stat {
            dev: 0,
            ..stat(draw, bits)
        };
        ListedFile {
            name: name(draw),
            kind,
            stat,
            id: draw.flag().then(|| draw.id()),
            racy: draw.flag(),
        }
    });
    dir.files = files.into();
    dir.uncaptured = draw.several(|draw| {
        let why = match draw.below(4) {
            0 => WhyNot::Fifo,
            1 => WhyNot::DotGit,
            2 => WhyNot::LeftOut(draw.text()),
            _ => WhyNot::Unreadable(draw.text()),
        };
        ListedUncaptured {
            name: name(draw),
            why,
            is_dir: draw.flag(),
        }
    });
    dir.tree = Some(draw.id()).filter(|id| *id.as_bytes() != [0; 20]);
    (dir.decided_by_names, dir.has_hidden_rules) = (draw.flag(), draw.flag());
}

fn name(draw: &mut Draw<'_>) -> Name {
    draw.bytes().into()
}

fn stat(draw: &mut Draw<'_>, type_bits: u32) -> Stat {
    Stat {
        dev: u64::from(draw.byte()),
        ino: draw.number(),
        mode: type_bits | draw.perm(),
        size_bytes: draw.number(),
        mtime_ns: (draw.number() >> 2).cast_signed(),
        ctime_ns: (draw.number() >> 2).cast_signed(),
        links: u64::from(draw.byte()),
    }
}
