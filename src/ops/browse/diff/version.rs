//! The versions of a file that a diff compares, as far as they can be read.

use crate::model::json::{JsonSchema, Octal, Serialize};
use crate::model::state::entry::{Entry, WhyNot};
use crate::model::state::object_id::ObjectId;

/// Usual upper bound on text held in memory, in bytes; more is binary. As git's `core.bigFileThreshold`.
pub const LARGEST_TEXT_BYTES: u64 = 512 << 20;

/// A file as read on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    pub seen: SeenFile,
    /// `None` above the bound on text.
    pub bytes: Option<Vec<u8>>,
}

/// Result of reading a file.
pub enum LoadedVersion {
    Version(Box<FileVersion>),
    /// It vanished since the capture.
    Gone,
    Unknown(WhyNot),
    Damaged(String),
}

/// What a patch says about one version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SeenFile {
    /// Type and mode as git writes them: `100644`.
    pub mode: Octal,
    pub id: ObjectId,
    /// Null if only names are compared.
    pub size_bytes: Option<u64>,
}

impl SeenFile {
    pub fn of(entry: &Entry, size_bytes: Option<u64>) -> Self {
        Self {
            mode: Octal(entry.git_mode()),
            id: entry.id,
            size_bytes,
        }
    }
}
