//! What the system says of one file, and what a scan notes of it.

use crate::model::state::entry::{Kind, WhyNot};
use crate::model::state::object_id::ObjectId;

pub const SYMLINK_BITS: u32 = 0o120_000;
/// Type bits of a mode; the same numbers on every system, made up where the system has none.
pub const TYPE_BITS: u32 = 0o170_000;

/// What the system says of a file without opening it. Times are nanoseconds since 1970, saturated.
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

    /// Whether a file with this stat has the content that it had with `earlier`. The device is left out:
    /// its number may change with every mount. Links are left out: a new name changes ctime anyway.
    pub fn same_content_as(&self, earlier: &Stat) -> bool {
        self.ino == earlier.ino
            && self.mode == earlier.mode
            && self.size_bytes == earlier.size_bytes
            && self.mtime_ns == earlier.mtime_ns
            && self.ctime_ns == earlier.ctime_ns
    }
}

/// Something present that is not captured, with its kind on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncaptured {
    pub name: Name,
    pub why: WhyNot,
    pub is_dir: bool,
}

/// A regular file or symlink that is to be captured.
#[derive(Clone, Debug)]
pub struct ListedFile {
    pub name: Name,
    pub kind: Kind,
    pub stat: Stat,
    /// The blob, if it is known without reading, or once it was read.
    pub id: Option<ObjectId>,
    /// Changed while it was read, three times in a row, or may have done so unseen: captured as last read, never taken as
    /// clean.
    pub racy: bool,
}

/// One file, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub struct FileView<'f> {
    pub name: &'f [u8],
    pub kind: Kind,
    pub stat: Stat,
    /// The blob, if it is known.
    pub id: Option<ObjectId>,
    /// See [`ListedFile::racy`].
    pub racy: bool,
}

impl FileView<'_> {
    pub fn to_listed(self) -> ListedFile {
        let Self { name, kind, stat, id, racy } = self;
        ListedFile { name: name.into(), kind, stat, id, racy }
    }
}

/// One component of a path, as raw bytes.
pub type Name = Box<[u8]>;
