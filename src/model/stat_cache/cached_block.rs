//! A block of the stat cache: fixed-length records of directories and files, read in place.
//!
//! All numbers are little-endian. A block is five `u32` (number of directories, number of files,
//! bytes of file names, bytes of all names, bytes of the rest), then the directory records, the
//! file records, the names, and the uncaptured items. File names are in the order of their records,
//! so that each ends where the next begins; directory names follow.

use std::ops::Range;

use crate::base::time::SECOND_NS;
use crate::model::state::entry::{SYMLINK_BITS, TYPE_BITS};
use crate::model::{FileView, Kind, ListedUncaptured, ObjectId, Stat, WhyNot};

/// Length of the five sizes at the start of a block.
const SIZES_BYTES: usize = 20;
pub(in crate::model) const DIR_BYTES: usize = 108;
pub(in crate::model) const FILE_BYTES: usize = 64;
pub(in crate::model) const NO_ID: [u8; 20] = [0; 20];
/// Bit of a file's mode, beyond all real ones: the id is of a read that alone settles nothing.
pub(in crate::model) const UNSETTLED: u32 = 1 << 31;

/// Flag: an unchanged stat of the directory means unchanged names and verdicts.
pub(in crate::model) const DECIDED_BY_NAMES: u32 = 1;
pub(in crate::model) const HAS_TREE: u32 = 2;
/// Flag in a patch: the directory's files are those of the base.
pub(in crate::model) const FILES_IN_BASE: u32 = 4;
/// Flag: see [`crate::model::state::listing::ListedDir::has_hidden_rules`].
pub(in crate::model) const HIDDEN_RULES: u32 = 8;

/// A parsed block; invalid ranges read as empty.
#[derive(Debug)]
pub struct CachedBlock {
    bytes: Vec<u8>,
    dirs: Range<usize>,
    files: Range<usize>,
    /// Offset of the first directory name among the names.
    file_names: usize,
    names: Range<usize>,
    rest: Range<usize>,
}

/// Record of one directory.
#[derive(Clone, Debug)]
pub(in crate::model) struct DirRecord {
    pub stat: Stat,
    pub tree: Option<ObjectId>,
    pub name: Range<usize>,
    pub children: Range<usize>,
    pub files: Range<usize>,
    pub rest: Range<usize>,
    pub flags: u32,
    /// In a patch: number of the base directory that this record replaces.
    pub number: usize,
}

impl CachedBlock {
    /// Parses the block that fills `bytes` from `at` to `end`; `None` if the sizes do not match.
    pub fn parse(bytes: Vec<u8>, at: usize, end: usize) -> Option<Self> {
        let header = bytes.get(at..end)?.get(..SIZES_BYTES)?;
        let mut sizes = header
            .chunks_exact(4)
            .map(|field| u32_at(field, 0) as usize);
        let mut size = || sizes.next();
        let (dirs, files, file_names, names, rest) = (size()?, size()?, size()?, size()?, size()?);
        let mut from = at + SIZES_BYTES;
        let mut section = |length: Option<usize>| {
            let section = from..from.checked_add(length?)?;
            from = section.end;
            Some(section)
        };
        let dirs = section(dirs.checked_mul(DIR_BYTES))?;
        let files = section(files.checked_mul(FILE_BYTES))?;
        let names = section(Some(names))?;
        let rest = section(Some(rest))?;
        (from == end && file_names <= names.len()).then_some(Self {
            bytes,
            dirs,
            files,
            file_names,
            names,
            rest,
        })
    }

    pub fn dir_count(&self) -> usize {
        self.dirs.len() / DIR_BYTES
    }

    pub fn file_count(&self) -> usize {
        self.files.len() / FILE_BYTES
    }

    /// Returns the bytes of the block.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.dirs.start - SIZES_BYTES..self.rest.end]
    }

    fn file_name(&self, range: Range<usize>) -> &[u8] {
        self.bytes[self.names.clone()][..self.file_names]
            .get(range)
            .unwrap_or_default()
    }

    /// Returns the name of a directory.
    pub(in crate::model) fn name(&self, range: Range<usize>) -> &[u8] {
        self.bytes[self.names.clone()][self.file_names..]
            .get(range)
            .unwrap_or_default()
    }

    pub(in crate::model) fn rest(&self, range: Range<usize>) -> &[u8] {
        self.bytes[self.rest.clone()].get(range).unwrap_or_default()
    }

    fn record(&self, section: &Range<usize>, index: usize, length: usize) -> Option<&[u8]> {
        self.bytes[section.clone()]
            .get(index.checked_mul(length)?..)?
            .get(..length)
    }

    pub(in crate::model) fn dir(&self, index: usize) -> Option<DirRecord> {
        let record = self.record(&self.dirs, index, DIR_BYTES)?;
        let run = |at: usize| {
            let start = u32_at(record, at) as usize;
            start..start + u32_at(record, at + 4) as usize
        };
        let flags = u32_at(record, 100);
        let stat = Stat {
            dev: u64_at(record, 0),
            ino: u64_at(record, 8),
            size_bytes: u64_at(record, 16),
            mtime_ns: u64_at(record, 24).cast_signed(),
            ctime_ns: u64_at(record, 32).cast_signed(),
            mode: u32_at(record, 40),
            links: u32_at(record, 44).into(),
        };
        Some(DirRecord {
            stat,
            tree: id_at(record, 48).filter(|_| flags & HAS_TREE != 0),
            name: run(68),
            children: run(76),
            files: run(84),
            rest: run(92),
            flags,
            number: u32_at(record, 104) as usize,
        })
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
        let name_end = next.map_or(self.file_names, |next| u32_in(next, 60) as usize);
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
        let name = self.file_name(u32_in(record, 60) as usize..name_end);
        FileView {
            name,
            kind,
            stat,
            id: id_at(record, 40).filter(|_| is_settled),
            racy: false,
            earlier: id_at(record, 40),
        }
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

fn u32_at(record: &[u8], at: usize) -> u32 {
    record
        .get(at..)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
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
