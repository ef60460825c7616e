//! The stat of a file, and how a scan lists it.

use crate::model::{Kind, ObjectId, WhyNot};

pub const FILE_BITS: u32 = 0o100_000;
pub const SYMLINK_BITS: u32 = 0o120_000;
/// Type bits of a mode; the same values on every system, emulated where the system has none.
pub const TYPE_BITS: u32 = 0o170_000;

/// Stat of a file. Times are nanoseconds since 1970, saturated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stat {
    pub dev: u64,
    pub ino: u64,
    /// All mode bits: the type and the twelve permission bits.
    pub mode: u32,
    pub size_bytes: u64,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
    pub links: u64,
}

impl Stat {
    pub fn perm(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Whether the content is unchanged since `earlier`. Ignores the device, whose number may
    /// change with every mount, and the link count, since a new link changes ctime anyway.
    pub fn same_content_as(&self, earlier: &Stat) -> bool {
        self.ino == earlier.ino
            && self.mode == earlier.mode
            && self.size_bytes == earlier.size_bytes
            && self.mtime_ns == earlier.mtime_ns
            && self.ctime_ns == earlier.ctime_ns
    }
}

/// An entry in the listing of its directory that is not captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUncaptured {
    pub name: Name,
    pub why: WhyNot,
    pub is_dir: bool,
}

/// A regular file or symlink to be captured.
#[derive(Clone, Debug)]
pub struct ListedFile {
    pub name: Name,
    pub kind: Kind,
    pub stat: Stat,
    /// Blob id, if known from the stat cache or once read.
    pub id: Option<ObjectId>,
    /// Changed during all three reads, or may have changed unnoticed: captured as last read, never
    /// treated as clean.
    pub racy: bool,
}

/// Borrowed view of one file, listed or in the stat cache.
#[derive(Clone, Copy, Debug)]
pub struct FileView<'f> {
    pub name: &'f [u8],
    pub kind: Kind,
    pub stat: Stat,
    /// Blob id, if known.
    pub id: Option<ObjectId>,
    /// See [`ListedFile::racy`].
    pub racy: bool,
    /// In the stat cache: blob id by the last read, even if it alone does not settle the content.
    pub earlier: Option<ObjectId>,
}

impl FileView<'_> {
    pub fn to_listed(self) -> ListedFile {
        let Self {
            name,
            kind,
            stat,
            id,
            racy,
            earlier: _,
        } = self;
        ListedFile {
            name: name.into(),
            kind,
            stat,
            id,
            racy,
        }
    }
}

/// One component of a path, as raw bytes.
pub type Name = Box<[u8]>;
