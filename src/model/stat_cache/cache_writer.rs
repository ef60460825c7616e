//! Writes a listing as bytes for the stat cache: whole, or as a patch of the existing one.

use crate::model::stat_cache::cached_block::{
    self, DECIDED_BY_NAMES, DIR_BYTES, FILE_BYTES, FILES_IN_BASE, HAS_TREE, HIDDEN_RULES, NO_ID,
    UNSETTLED, is_racy,
};
use crate::model::{CachedListing, Files, ListedDir, Listing, Stat};

/// Upper bound on a patch in bytes, unless an eighth of its base is more.
const SMALL_PATCH_BYTES: usize = 64 << 10;

/// Encodes the whole listing; `None` if it is too large for the format.
pub fn base(listing: &Listing) -> Option<Vec<u8>> {
    let mut block = Block::new(listing.started_ns);
    let mut order = vec![0];
    let mut at = 0;
    while let Some(dir) = order.get(at).map(|index| &listing.dirs[*index]) {
        let children = (order.len(), dir.dirs.len());
        order.extend(&dir.dirs);
        let files = block.add_files(&dir.files)?;
        block.add_dir(
            dir,
            &RecordPlace {
                number: at,
                children,
                files,
                flags: 0,
            },
        )?;
        at += 1;
    }
    block.finish()
}

/// Encodes the differences from the base used by the scan; `None` if directories were added or
/// removed, or so much changed that writing the whole is better.
pub fn patch(listing: &Listing, cached: &CachedListing) -> Option<Vec<u8>> {
    if listing.dirs.len() != cached.dir_count() {
        return None;
    }
    let limit = SMALL_PATCH_BYTES.max(cached.base.as_bytes().len() / 8);
    let mut block = Block::new(listing.started_ns);
    for dir in &listing.dirs {
        let number = dir.cached?;
        let before = cached.dir(number)?;
        if dir.unchanged && before.is_of_base() && dir.tree == before.tree() {
            continue;
        }
        let in_base = cached.base.dir(number)?.files;
        let (files, flags) = if dir.files.are_cached_as(&cached.base, &in_base) {
            ((in_base.start, in_base.len()), FILES_IN_BASE)
        } else {
            (block.add_files(&dir.files)?, 0)
        };
        block.add_dir(
            dir,
            &RecordPlace {
                number,
                children: (0, 0),
                files,
                flags,
            },
        )?;
        if block.len() > limit {
            return None;
        }
    }
    block.finish()
}

/// Position of a directory, its children and its files.
struct RecordPlace {
    number: usize,
    /// First index and count.
    children: (usize, usize),
    files: (usize, usize),
    flags: u32,
}

struct Block {
    /// Stats that are not older than this are racy.
    started_ns: i64,
    dirs: Vec<u8>,
    files: Vec<u8>,
    file_names: Vec<u8>,
    dir_names: Vec<u8>,
    rest: Vec<u8>,
}

impl Block {
    fn new(started_ns: i64) -> Self {
        let [dirs, files, file_names, dir_names, rest] = Default::default();
        Self {
            started_ns,
            dirs,
            files,
            file_names,
            dir_names,
            rest,
        }
    }

    fn len(&self) -> usize {
        self.dirs.len()
            + self.files.len()
            + self.file_names.len()
            + self.dir_names.len()
            + self.rest.len()
    }

    fn add_files(&mut self, files: &Files) -> Option<(usize, usize)> {
        let first = self.files.len() / FILE_BYTES;
        for file in files.iter() {
            let name_at = small(self.file_names.len())?;
            self.file_names.extend(file.name);
            let stat = &file.stat;
            let out = &mut self.files;
            put_times(out, [stat.ino, stat.size_bytes], stat);
            // A racy file is read again; its id helps to settle whether that found the same.
            let is_sure = !file.racy && !is_racy(stat, self.started_ns);
            let flag = if is_sure { 0 } else { UNSETTLED };
            let links = u32::try_from(stat.links).unwrap_or(u32::MAX);
            put_numbers(out, &[stat.mode | flag, links]);
            out.extend(file.id.map_or(NO_ID, |id| *id.as_bytes()));
            put_numbers(out, &[name_at]);
        }
        Some((first, files.len()))
    }

    fn add_dir(&mut self, dir: &ListedDir, place: &RecordPlace) -> Option<()> {
        let (name_at, rest_at) = (small(self.dir_names.len())?, small(self.rest.len())?);
        self.dir_names.extend(&*dir.name);
        cached_block::render_uncaptured(&dir.uncaptured, &mut self.rest);
        let rest_bytes = small(self.rest.len())? - rest_at;
        let stat = &dir.stat;
        let mut flags = place.flags;
        if dir.decided_by_names && !is_racy(stat, self.started_ns) {
            flags |= DECIDED_BY_NAMES;
        }
        if dir.tree.is_some() {
            flags |= HAS_TREE;
        }
        if dir.has_hidden_rules {
            flags |= HIDDEN_RULES;
        }
        let out = &mut self.dirs;
        out.extend(stat.dev.to_le_bytes());
        put_times(out, [stat.ino, stat.size_bytes], stat);
        put_numbers(
            out,
            &[stat.mode, u32::try_from(stat.links).unwrap_or(u32::MAX)],
        );
        out.extend(dir.tree.map_or(NO_ID, |id| *id.as_bytes()));
        put_numbers(out, &[name_at, small(dir.name.len())?]);
        put_numbers(out, &[small(place.children.0)?, small(place.children.1)?]);
        put_numbers(out, &[small(place.files.0)?, small(place.files.1)?]);
        put_numbers(out, &[rest_at, rest_bytes, flags, small(place.number)?]);
        Some(())
    }

    fn finish(self) -> Option<Vec<u8>> {
        let names = self.file_names.len() + self.dir_names.len();
        let sizes = [
            self.dirs.len() / DIR_BYTES,
            self.files.len() / FILE_BYTES,
            self.file_names.len(),
            names,
            self.rest.len(),
        ];
        let mut out = Vec::with_capacity(self.len() + 64);
        for size in sizes {
            put_numbers(&mut out, &[small(size)?]);
        }
        for section in [
            &self.dirs,
            &self.files,
            &self.file_names,
            &self.dir_names,
            &self.rest,
        ] {
            out.extend_from_slice(section);
        }
        Some(out)
    }
}

fn small(number: usize) -> Option<u32> {
    u32::try_from(number).ok()
}

fn put_times(out: &mut Vec<u8>, first: [u64; 2], stat: &Stat) {
    for number in first
        .into_iter()
        .chain([stat.mtime_ns.cast_unsigned(), stat.ctime_ns.cast_unsigned()])
    {
        out.extend(number.to_le_bytes());
    }
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[u32]) {
    for number in numbers {
        out.extend(number.to_le_bytes());
    }
}
