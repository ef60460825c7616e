//! The versions of one file that a diff compares, as far as they can be read.

use crate::model::state::entry::WhyNot;
use crate::model::state::object_id::ObjectId;

/// Contents above this are taken as binary and never held in memory: git's `core.bigFileThreshold`.
pub const LARGEST_TEXT_BYTES: u64 = 512 << 20;

/// One file as a side has it, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    pub seen: SeenFile,
    /// `None` above [`LARGEST_TEXT_BYTES`].
    pub bytes: Option<Vec<u8>>,
}

/// What came of reading one file.
pub enum LoadedVersion {
    Version(Box<FileVersion>),
    /// It went away since it was captured.
    Gone,
    Unknown(WhyNot),
    Damaged(String),
}

/// What a patch says of one version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// As git writes it.
    pub mode: u32,
    pub id: ObjectId,
    pub size_bytes: u64,
}
