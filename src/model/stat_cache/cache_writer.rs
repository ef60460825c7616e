//! Writes a listing as bytes for the stat cache: what differs from the cache that the scan used, or all.

use crate::model::stat_cache::cached_block::{
    self, BlockPlace, CachedDir, NO_ID, UNSETTLED, is_racy, put_small, put_times,
};
use crate::model::{CachedListing, Files, ListedDir, Listing, Summary};

/// New blocks, which belong behind those that are there.
pub struct NewBlocks {
    pub root: CachedDir,
    pub bytes: Vec<u8>,
}

/// Encodes the blocks that `known`, the cache that the scan used, does not have; all if there is
/// none. They begin at `at`. `None` if something is too large for the format.
pub fn write(
    listing: &Listing,
    known: Option<&CachedListing>,
    at: u64,
    sum: &dyn Fn(&[u8]) -> u64,
) -> Option<NewBlocks> {
    let mut out = NewBlocks {
        root: CachedDir::default(),
        bytes: Vec::new(),
    };
    let mut dirs: Vec<CachedDir> = vec![CachedDir::default(); listing.dirs.len()];
    let mut same = vec![false; listing.dirs.len()];
    let mut block = Vec::new();
    // Children have larger indexes than their parents, and lie before them.
    for (index, dir) in listing.dirs.iter().enumerate().rev() {
        let before = dir.cached.as_deref().filter(|_| known.is_some());
        if let Some(before) = before.filter(|before| is_same(dir, before, &same)) {
            (dirs[index], same[index]) = (*before, true);
            continue;
        }
        block.clear();
        render(listing, dir, &dirs, &mut block)?;
        let held = before.zip(known).and_then(|(before, known)| {
            let held = known.block(&before.place)?;
            (held.as_bytes() == block).then_some(before.place)
        });
        let place = if let Some(place) = held {
            place
        } else {
            let place = BlockPlace {
                at: at + out.bytes.len() as u64,
                len: small(block.len())?,
                dirs: small(dir.dirs.len())?,
                sum: sum(&block),
            };
            out.bytes.extend_from_slice(&block);
            place
        };
        dirs[index] = entry(listing, dir, &dirs, place);
        same[index] = before == Some(&dirs[index]);
    }
    out.root = *dirs.first()?;
    Some(out)
}

/// Whether nothing in a directory or below it differs from the cache.
fn is_same(dir: &ListedDir, before: &CachedDir, same: &[bool]) -> bool {
    dir.is_folded || (dir.has_cached_dirs(same) && dir.tree == before.tree)
}

fn render(listing: &Listing, dir: &ListedDir, dirs: &[CachedDir], out: &mut Vec<u8>) -> Option<()> {
    let children = || {
        dir.dirs
            .iter()
            .map(|child| (&listing.dirs[*child].name, &dirs[*child]))
    };
    let file_names = dir.files.iter().map(|file| file.name.len()).sum();
    let dir_names = children().map(|(name, _)| name.len()).sum();
    for size in [dir.dirs.len(), dir.files.len(), file_names, dir_names] {
        put_small(out, &[small(size)?]);
    }
    let mut name_at = 0;
    for (name, child) in children() {
        child.render(name_at, out);
        name_at += small(name.len())?;
    }
    render_files(&dir.files, listing.started_ns, out)?;
    dir.files.iter().for_each(|file| out.extend(file.name));
    children().for_each(|(name, _)| out.extend(&**name));
    cached_block::render_uncaptured(&dir.uncaptured, out);
    Some(())
}

fn render_files(files: &Files, started_ns: i64, out: &mut Vec<u8>) -> Option<()> {
    let mut name_at = 0;
    for file in files.iter() {
        let stat = &file.stat;
        put_times(out, stat);
        // A racy file is read again; its id helps to settle whether that found the same.
        let is_sure = !file.racy && !is_racy(stat, started_ns);
        let flag = if is_sure { 0 } else { UNSETTLED };
        let links = u32::try_from(stat.links).unwrap_or(u32::MAX);
        put_small(out, &[stat.mode | flag, links]);
        out.extend(file.id.map_or(NO_ID, |id| *id.as_bytes()));
        put_small(out, &[name_at]);
        name_at += small(file.name.len())?;
    }
    Some(())
}

/// What the block above says of a directory whose block lies at `place`.
fn entry(listing: &Listing, dir: &ListedDir, dirs: &[CachedDir], place: BlockPlace) -> CachedDir {
    let started_ns = listing.started_ns;
    let decided_by_names = dir.decided_by_names && !is_racy(&dir.stat, started_ns);
    let mut files = dir.files.iter();
    let is_settled = decided_by_names
        && files.all(|file| !file.racy && file.id.is_some() && !is_racy(&file.stat, started_ns));
    let mut summary = Summary::of(dir, is_settled);
    for child in &dir.dirs {
        summary.add(&dirs[*child].summary);
    }
    CachedDir {
        stat: dir.stat,
        tree: dir.tree,
        decided_by_names,
        has_hidden_rules: dir.has_hidden_rules,
        place,
        summary,
    }
}

fn small(number: usize) -> Option<u32> {
    u32::try_from(number).ok()
}
