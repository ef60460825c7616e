//! The stat cache: a listing is read back, the head in the same bytes, and no block makes a reader
//! run away.

use std::sync::Arc;

use checkpoint::model::stat_cache::cache_writer;
use checkpoint::model::stat_cache::cached_block::CachedBlock;
use checkpoint::model::stat_cache::cached_listing::CachedListing;
use checkpoint::model::state::entry::{
    Kind, ListedFile, ListedUncaptured, Name, SYMLINK_BITS, Stat, WhyNot,
};
use checkpoint::model::state::listing::{ListedDir, Listing};
use checkpoint::store::small_files::stat_cache::{parse, render};
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
    let Some(found) = parse(bytes.clone()) else {
        return;
    };
    let block = found
        .patch
        .as_ref()
        .map_or(&[][..], |block| block.as_bytes());
    assert_eq!(render(found.base_sum, &found.basis, block), bytes);
    let at = usize::from(data[0]) % bytes.len();
    bytes[at] ^= 1;
    assert!(
        parse(bytes).is_none(),
        "another byte at {at} is not noticed"
    );
}

/// Reads a base and a patch of it, as in damaged files whose sums are right.
fn blocks(data: &[u8]) {
    let mut draw = Draw::new(data);
    let length = usize::from(draw.byte()) * 16;
    let (base, patch) = data.split_at(length.min(data.len()));
    let block = |bytes: &[u8]| CachedBlock::parse(bytes.to_vec(), 0, bytes.len());
    for (base, patch) in [(data, None), (base, block(patch))] {
        if let Some(cached) = block(base).and_then(|base| CachedListing::new(base, patch)) {
            read_all(&cached, data.len());
        }
    }
}

fn read_all(cached: &CachedListing, most: usize) {
    assert!(cached.size() <= most);
    for number in 0..=cached.dir_count() {
        let children = cached.children(number);
        assert!(
            children.is_empty() || children.start > number && children.end <= cached.dir_count()
        );
        assert!(
            cached
                .child(number, cached.name(number))
                .is_none_or(|child| children.contains(&child))
        );
        let Some(dir) = cached.dir(number) else {
            continue;
        };
        let mut files = dir.files();
        assert!(files.len() <= most, "{} files in {most} bytes", files.len());
        assert!(files.iter().all(|file| file.name.len() <= most));
        assert_eq!(files.make_listed().len(), dir.files().len());
        let _ = (
            dir.uncaptured(),
            dir.tree(),
            dir.is_decided_by_names(),
            dir.stat(),
        );
    }
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
    let bytes = cache_writer::base(&listing).expect("small numbers");
    let length = bytes.len();
    let block = CachedBlock::parse(bytes, 0, length).expect("our own block");
    let cached = Arc::new(CachedListing::new(block, None).expect("it has a root"));
    let mut pairs = vec![(0, 0)];
    while let Some((index, number)) = pairs.pop() {
        same(&listing.dirs[index], &cached, number);
        pairs.extend(
            listing.dirs[index]
                .dirs
                .iter()
                .copied()
                .zip(cached.children(number)),
        );
    }
}

fn same(dir: &ListedDir, cached: &CachedListing, number: usize) {
    let found = cached.dir(number).expect("it was written");
    assert_eq!(
        (cached.name(number), found.stat(), found.tree()),
        (&*dir.name, &dir.stat, dir.tree)
    );
    assert_eq!(
        (found.is_decided_by_names(), found.has_hidden_rules()),
        (dir.decided_by_names, dir.has_hidden_rules)
    );
    assert_eq!(found.uncaptured().as_ref(), Some(&dir.uncaptured));
    assert_eq!(cached.children(number).len(), dir.dirs.len());
    let files = found.files();
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
