//! State of one path: kind, permission bits and content, or why it was not captured; its stat, and how
//! a scan lists it.

use crate::model::ObjectId;

/// Kind of a captured entry; directories are kept separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Kind {
    File,
    Symlink,
}

/// One captured file or symlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    /// The twelve permission bits; always 0o777 for a symlink.
    pub perm: u32,
    /// Blob with the content, or the target of the symlink.
    pub id: ObjectId,
    /// Length of the blob in bytes.
    pub size_bytes: u64,
}

/// Size in bytes from which content is streamed instead of held in memory, by all that read or
/// write it.
pub const STREAM_FROM_BYTES: u64 = 16 << 20;
/// Read, write and execute bits.
pub const RWX_BITS: u32 = 0o777;
/// Bits that the owner needs to list, fill, move and enter a directory.
pub const OWNER_RWX: u32 = 0o700;
/// Set-uid, set-gid and sticky.
pub const SPECIAL_BITS: u32 = 0o7000;

impl Entry {
    pub fn git_mode(&self) -> u32 {
        git_mode(self.kind, self.perm)
    }
}

/// Returns the mode for a git tree, which keeps only the owner's execute bit.
pub fn git_mode(kind: Kind, perm: u32) -> u32 {
    match kind {
        Kind::Symlink => 0o120_000,
        Kind::File if perm & 0o100 != 0 => 0o100_755,
        Kind::File => 0o100_644,
    }
}

/// Why a present path is not captured; in meta blobs and JSON by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "kebab-case")]
pub enum WhyNot {
    Fifo,
    Socket,
    Device,
    /// Over the user's own `max_file_size`.
    TooLarge,
    /// A name that git refuses in a tree because some file systems treat it as `.git`.
    ReservedName,
    /// Another file system is mounted here.
    Mount,
    /// A linked worktree of the root's own repository: another root, with an owner of its own.
    Worktree,
    /// The data of a repository under another name than `.git`.
    GitDir,
    /// A directory with a valid `CACHEDIR.TAG`.
    Cache,
    /// Could not be read; the text is the OS error.
    Unreadable(String),
    /// The content is a SHA-1 collision attack.
    Collision,
    /// A nested repository of which plain git recorded only a commit id.
    Gitlink,
    /// A database, held beside the files.
    Database,
    /// Left out by the rule given; not recorded with a checkpoint, only counted.
    LeftOut(String),
    /// Left out by the compiled-in secret rule given.
    Secret(String),
    /// The `.git` of a repository, which is never touched.
    DotGit,
}

impl WhyNot {
    /// Whether a checkpoint without this path is partial, not complete by rule or nature.
    pub fn makes_partial(&self) -> bool {
        match self {
            Self::Mount | Self::Unreadable(_) | Self::Collision | Self::Gitlink => true,
            Self::Fifo
            | Self::Socket
            | Self::Device
            | Self::TooLarge
            | Self::ReservedName
            | Self::Worktree
            | Self::GitDir
            | Self::Cache
            | Self::Database
            | Self::LeftOut(_)
            | Self::Secret(_)
            | Self::DotGit => false,
        }
    }

    /// Whether the user has something there that this checkpoint does not restore.
    pub fn is_lost(&self) -> bool {
        !matches!(self, Self::Database | Self::DotGit)
    }

    /// Whether a restore leaves such a path alone by rule, as opposed to being unable to read it.
    pub fn stays_by_rule(&self) -> bool {
        !matches!(self, Self::Unreadable(_) | Self::Collision)
    }

    /// Whether the checkpoint records this path as present but not captured.
    pub fn is_recorded(&self) -> bool {
        !matches!(self, Self::LeftOut(_) | Self::Secret(_) | Self::DotGit)
    }

    /// Whether files last seen at or below this path may still exist.
    pub fn may_hide_files(&self) -> bool {
        self.makes_partial()
            || matches!(
                self,
                Self::TooLarge
                    | Self::Database
                    | Self::Secret(_)
                    | Self::Worktree
                    | Self::GitDir
                    | Self::Cache
            )
    }

    /// Whether a restore may write into such a directory: a rule left it out, nothing else.
    pub fn lets_files_in(&self) -> bool {
        !self.is_recorded() || *self == Self::Cache
    }
}

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
