//! A block of the stat cache: one directory, in records of fixed length that are read in place.
//!
//! All numbers are little-endian. A block is four `u32` (number of directories, number of files,
//! bytes of file names, bytes of directory names), then the entries of the directories, the records
//! of the files, the names of both, and the uncaptured items. Names are in the order of their
//! records, so that each ends where the next begins. An entry says where the block of its directory
//! is, which always lies before this one.

use std::ops::Range;
use std::sync::Arc;

use crate::base::time::SECOND_NS;
use crate::model::state::entry::{SYMLINK_BITS, TYPE_BITS};
use crate::model::{FileView, Kind, ListedUncaptured, ObjectId, Stat, Summary, WhyNot};

/// Length of the four sizes at the start of a block.
const SIZES_BYTES: usize = 16;
pub(in crate::model) const FILE_BYTES: usize = 64;
pub(in crate::model) const NO_ID: [u8; 20] = [0; 20];
/// Bit of a file's mode, beyond all real ones: the id is of a read that alone settles nothing.
pub(in crate::model) const UNSETTLED: u32 = 1 << 31;

/// Flag: an unchanged stat of the directory means unchanged names and verdicts.
const DECIDED_BY_NAMES: u32 = 1;
const HAS_TREE: u32 = 2;
const HIDDEN_RULES: u32 = 4;

/// Where the block of a directory is, and what it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockPlace {
    pub at: u64,
    pub len: u32,
    /// Number of directories in it.
    pub dirs: u32,
    pub sum: u64,
}

/// What the block above says of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedDir {
    pub stat: Stat,
    pub tree: Option<ObjectId>,
    /// Whether an equal stat means equal names and, under equal rules, equal verdicts.
    pub decided_by_names: bool,
    /// See [`crate::model::state::listing::ListedDir::has_hidden_rules`].
    pub has_hidden_rules: bool,
    pub place: BlockPlace,
    pub summary: Summary,
}

/// A parsed block.
#[derive(Debug)]
pub struct CachedBlock {
    bytes: Arc<Vec<u8>>,
    /// Where it lies in the cache.
    at: u64,
    dirs: Range<usize>,
    files: Range<usize>,
    file_names: Range<usize>,
    dir_names: Range<usize>,
    rest: Range<usize>,
}

impl CachedBlock {
    /// Parses the block that fills a range of the bytes; `None` if the sizes do not match.
    pub fn parse(bytes: Arc<Vec<u8>>, range: Range<usize>, at: u64) -> Option<Self> {
        let header = bytes.get(range.clone())?.get(..SIZES_BYTES)?;
        let size = |number: usize| u32_at(header, number * 4) as usize;
        let mut from = range.start + SIZES_BYTES;
        let mut section = |length: Option<usize>| {
            let section = from..from.checked_add(length?)?;
            from = section.end;
            Some(section)
        };
        let dirs = section(size(0).checked_mul(CachedDir::BYTES))?;
        let files = section(size(1).checked_mul(FILE_BYTES))?;
        let file_names = section(Some(size(2)))?;
        let dir_names = section(Some(size(3)))?;
        let rest = from..range.end;
        (from <= range.end).then_some(Self {
            bytes,
            at,
            dirs,
            files,
            file_names,
            dir_names,
            rest,
        })
    }

    pub fn dir_count(&self) -> usize {
        self.dirs.len() / CachedDir::BYTES
    }

    pub fn file_count(&self) -> usize {
        self.files.len() / FILE_BYTES
    }

    /// Returns the bytes of the block.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.dirs.start - SIZES_BYTES..self.rest.end]
    }

    /// Returns a directory by its number, in the order of the names.
    pub fn dir(&self, index: usize) -> Option<(&[u8], CachedDir)> {
        let records = self.bytes[self.dirs.clone()].get(index.checked_mul(CachedDir::BYTES)?..)?;
        let (dir, name_at) = CachedDir::parse(records)?;
        let next = records
            .get(CachedDir::BYTES..)
            .filter(|next| !next.is_empty());
        let names = &self.bytes[self.dir_names.clone()];
        let end = next.map_or(names.len(), |next| {
            u32_at(next, CachedDir::NAME_AT) as usize
        });
        // What lies behind could lead around in a circle.
        let is_before = dir.place.at.checked_add(dir.place.len.into())? <= self.at;
        is_before.then_some((names.get(name_at..end).unwrap_or_default(), dir))
    }

    /// Returns the directory of that name.
    pub fn child(&self, name: &[u8]) -> Option<CachedDir> {
        let (mut low, mut high) = (0, self.dir_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let (found, dir) = self.dir(middle)?;
            match found.cmp(name) {
                std::cmp::Ordering::Equal => return Some(dir),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the uncaptured items, sorted by name; `None` if they are unreadable.
    pub fn uncaptured(&self) -> Option<Vec<ListedUncaptured>> {
        parse_uncaptured(&self.bytes[self.rest.clone()])
    }

    /// Returns the file of that number, or an empty one if there is none. The device is not stored.
    pub(in crate::model) fn file(&self, index: usize) -> FileView<'_> {
        let records = &self.bytes[self.files.clone()];
        let at = index.saturating_mul(FILE_BYTES);
        // A fixed length avoids bounds checks of the fields in this hot path.
        let record = records
            .get(at..)
            .and_then(<[u8]>::first_chunk::<FILE_BYTES>)
            .unwrap_or(&[0; FILE_BYTES]);
        let next = records
            .get(at.saturating_add(FILE_BYTES)..)
            .and_then(<[u8]>::first_chunk::<FILE_BYTES>);
        let names = &self.bytes[self.file_names.clone()];
        let name_end = next.map_or(names.len(), |next| u32_in(next, 60) as usize);
        let flagged_mode = u32_in(record, 32);
        let (mode, is_settled) = (flagged_mode & !UNSETTLED, flagged_mode & UNSETTLED == 0);
        let stat = Stat {
            dev: 0,
            ino: u64_in(record, 0),
            size_bytes: u64_in(record, 8),
            mtime_ns: u64_in(record, 16).cast_signed(),
            ctime_ns: u64_in(record, 24).cast_signed(),
            mode,
            links: u32_in(record, 36).into(),
        };
        let kind = if mode & TYPE_BITS == SYMLINK_BITS {
            Kind::Symlink
        } else {
            Kind::File
        };
        let name = names.get(u32_in(record, 60) as usize..name_end);
        FileView {
            name: name.unwrap_or_default(),
            kind,
            stat,
            id: id_at(record, 40).filter(|_| is_settled),
            racy: false,
            earlier: id_at(record, 40),
        }
    }
}

impl CachedDir {
    pub const BYTES: usize = 132;
    /// Where an entry has the start of its name.
    const NAME_AT: usize = 72;

    /// Appends the entry; the name begins at `name_at`.
    pub fn render(&self, name_at: u32, out: &mut Vec<u8>) {
        let (stat, place, summary) = (&self.stat, &self.place, &self.summary);
        put_number(out, stat.dev);
        put_times(out, stat);
        put_small(
            out,
            &[stat.mode, u32::try_from(stat.links).unwrap_or(u32::MAX)],
        );
        out.extend(self.tree.map_or(NO_ID, |id| *id.as_bytes()));
        let flags = [
            (self.decided_by_names, DECIDED_BY_NAMES),
            (self.tree.is_some(), HAS_TREE),
            (self.has_hidden_rules, HIDDEN_RULES),
        ];
        let flags = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum();
        put_small(out, &[flags, name_at, place.len]);
        put_number(out, place.at);
        put_number(out, place.sum);
        put_small(out, &[place.dirs]);
        summary.render(out);
    }

    /// Parses an entry; returns it with the start of its name.
    pub fn parse(record: &[u8]) -> Option<(Self, usize)> {
        let record = record.get(..Self::BYTES)?;
        let flags = u32_at(record, 68);
        let stat = Stat {
            dev: u64_at(record, 0),
            ino: u64_at(record, 8),
            size_bytes: u64_at(record, 16),
            mtime_ns: u64_at(record, 24).cast_signed(),
            ctime_ns: u64_at(record, 32).cast_signed(),
            mode: u32_at(record, 40),
            links: u32_at(record, 44).into(),
        };
        let place = BlockPlace {
            len: u32_at(record, 76),
            at: u64_at(record, 80),
            sum: u64_at(record, 88),
            dirs: u32_at(record, 96),
        };
        let dir = Self {
            stat,
            tree: id_at(record, 48).filter(|_| flags & HAS_TREE != 0),
            decided_by_names: flags & DECIDED_BY_NAMES != 0,
            has_hidden_rules: flags & HIDDEN_RULES != 0,
            place,
            summary: Summary::parse(&record[100..]),
        };
        Some((dir, u32_at(record, Self::NAME_AT) as usize))
    }
}

/// Appends inode, size and times.
pub(in crate::model) fn put_times(out: &mut Vec<u8>, stat: &Stat) {
    put_number(out, stat.ino);
    put_number(out, stat.size_bytes);
    put_number(out, stat.mtime_ns.cast_unsigned());
    put_number(out, stat.ctime_ns.cast_unsigned());
}

pub(in crate::model) fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

pub(in crate::model) fn put_small(out: &mut Vec<u8>, numbers: &[u32]) {
    for number in numbers {
        out.extend(number.to_le_bytes());
    }
}

#[inline]
fn u32_in(record: &[u8; FILE_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}

#[inline]
fn u64_in(record: &[u8; FILE_BYTES], at: usize) -> u64 {
    u64::from(u32_in(record, at)) | u64::from(u32_in(record, at + 4)) << 32
}

pub(in crate::model) fn u32_at(record: &[u8], at: usize) -> u32 {
    record
        .get(at..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

pub(in crate::model) fn u64_at(record: &[u8], at: usize) -> u64 {
    record
        .get(at..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn id_at(record: &[u8], at: usize) -> Option<ObjectId> {
    let id = record.get(at..).and_then(<[u8]>::first_chunk::<20>)?;
    (*id != NO_ID).then(|| ObjectId::from_bytes(*id))
}

/// Timestamp granularity of coarse file systems: whole seconds, or two on FAT; changes within it
/// are invisible.
const COARSE_TICK_NS: i64 = 2_000_000_000;
/// Slowest write speed assumed, ten megabytes per second.
const SLOWEST_WRITE_NS_PER_BYTE: i64 = 100;
/// Upper bound on the time that one write is given by its size alone.
const LONGEST_WRITE_NS: i64 = 2 * SECOND_NS;

/// When a file changed last. A time in the future was set by a program; the inode's own time then
/// tells of each later change.
fn changed_ns(stat: &Stat, started_ns: i64) -> i64 {
    let is_set = stat.mtime_ns > started_ns.saturating_add(COARSE_TICK_NS) && stat.ctime_ns > 0;
    if is_set { stat.ctime_ns } else { stat.mtime_ns }
}

/// Whether a file may change after its stat without a change of its timestamps, because they are
/// not older than `started_ns`, when the scan began.
pub fn is_racy(stat: &Stat, started_ns: i64) -> bool {
    let is_coarse = stat.mtime_ns % SECOND_NS == 0 && stat.ctime_ns % SECOND_NS == 0;
    let safe_before_ns = if is_coarse {
        started_ns.saturating_sub(COARSE_TICK_NS)
    } else {
        started_ns
    };
    changed_ns(stat, started_ns) >= safe_before_ns || stat.ctime_ns >= safe_before_ns
}

/// Whether a write begun before `started_ns` may still have been going on then: a file is stamped
/// before its bytes are copied, so a read in the middle lacks the rest without a later timestamp.
/// A later read that finds the same content under the same stamps settles that.
pub fn may_be_half_written(stat: &Stat, started_ns: i64) -> bool {
    let longest_ns = i64::try_from(stat.size_bytes)
        .unwrap_or(i64::MAX)
        .saturating_mul(SLOWEST_WRITE_NS_PER_BYTE)
        .min(LONGEST_WRITE_NS);
    changed_ns(stat, started_ns).saturating_add(longest_ns) >= started_ns
}

/// Reasons without a text, in the order of their numbers on disk.
const PLAIN: [WhyNot; 13] = [
    WhyNot::Fifo,
    WhyNot::Socket,
    WhyNot::Device,
    WhyNot::TooLarge,
    WhyNot::ReservedName,
    WhyNot::Mount,
    WhyNot::Collision,
    WhyNot::Gitlink,
    WhyNot::DotGit,
    WhyNot::Database,
    WhyNot::Worktree,
    WhyNot::Cache,
    WhyNot::GitDir,
];
const UNREADABLE: u8 = 100;
const LEFT_OUT: u8 = 101;
const SECRET: u8 = 102;

pub fn render_uncaptured(items: &[ListedUncaptured], out: &mut Vec<u8>) {
    for item in items {
        put(out, &item.name);
        out.push(u8::from(item.is_dir));
        let (number, text) = match &item.why {
            WhyNot::Unreadable(text) => (UNREADABLE, text.as_str()),
            WhyNot::LeftOut(text) => (LEFT_OUT, text.as_str()),
            WhyNot::Secret(text) => (SECRET, text.as_str()),
            plain => (number_of(plain), ""),
        };
        out.push(number);
        put(out, text.as_bytes());
    }
}

fn number_of(why: &WhyNot) -> u8 {
    let found = PLAIN.iter().position(|plain| plain == why);
    found
        .and_then(|at| u8::try_from(at).ok())
        .unwrap_or(u8::MAX)
}

/// Parses the output of [`render`]; `None` if it is invalid.
pub fn parse_uncaptured(mut bytes: &[u8]) -> Option<Vec<ListedUncaptured>> {
    let mut items = Vec::new();
    while !bytes.is_empty() {
        let name = take(&mut bytes)?.into();
        let ([is_dir, number], rest) = bytes.split_first_chunk::<2>()?;
        bytes = rest;
        let text = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
        let why = match *number {
            UNREADABLE => WhyNot::Unreadable(text),
            LEFT_OUT => WhyNot::LeftOut(text),
            SECRET => WhyNot::Secret(text),
            plain => PLAIN.get(usize::from(plain))?.clone(),
        };
        items.push(ListedUncaptured {
            name,
            why,
            is_dir: *is_dir == 1,
        });
    }
    Some(items)
}

/// Writes bytes after a four-byte length; no name or rule is longer.
fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend(length.to_le_bytes());
    out.extend(bytes);
}

fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_long_write_may_still_be_at_is_not_sure() {
        for (mtime_ns, size_bytes, now_ns, expected) in [
            (0, 1 << 20, 100_000_000, true),
            (0, 1 << 20, 110_000_000, false),
            (0, 100, 20_000, false),
            (i64::MAX, u64::MAX, i64::MAX, true),
            (0, u64::MAX, 2 * SECOND_NS, true),
            (0, u64::MAX, 2 * SECOND_NS + 1, false),
        ] {
            let stat = Stat {
                size_bytes,
                mtime_ns,
                ..Stat::default()
            };
            assert_eq!(may_be_half_written(&stat, now_ns), expected, "{stat:?}");
        }
    }

    #[test]
    fn what_is_not_older_than_the_scan_is_racy() {
        let second = 1_000_000_000;
        for (mtime_ns, ctime_ns, started_ns, expected) in [
            (99, 99, 100, false),
            (100, 99, 100, true),
            (99, 100, 100, true),
            (i64::MAX, 1, 100, false),
            (i64::MAX, 0, 100, true),
            (i64::MAX, 100, 100, true),
            (10 * second, 10 * second, 12 * second, true),
            (10 * second, 10 * second, 12 * second + 1, false),
            (10 * second + 1, 10 * second, 11 * second, false),
        ] {
            let stat = Stat {
                mtime_ns,
                ctime_ns,
                ..Stat::default()
            };
            assert_eq!(is_racy(&stat, started_ns), expected, "{stat:?}");
        }
    }

    #[test]
    fn every_reason_comes_back() {
        let texts = [
            WhyNot::Unreadable("a".into()),
            WhyNot::LeftOut("*.o".into()),
            WhyNot::Secret(".env".into()),
        ];
        let items: Vec<ListedUncaptured> = PLAIN
            .into_iter()
            .chain(texts)
            .zip(0_u8..)
            .map(|(why, at)| ListedUncaptured {
                name: vec![0xff, at].into(),
                why,
                is_dir: at % 2 == 0,
            })
            .collect();
        let mut bytes = Vec::new();
        render_uncaptured(&items, &mut bytes);
        assert_eq!(parse_uncaptured(&bytes).as_ref(), Some(&items));
        for cut in 1..bytes.len() {
            assert_ne!(
                parse_uncaptured(&bytes[..cut]).as_ref(),
                Some(&items),
                "cut at {cut}"
            );
        }
    }
}
