//! Outcome of a `create`.

use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::retention::Evicted;
use crate::model::state::database::Database;
use crate::model::state::meta::Meta;
use crate::model::state::rel_path::RelPath;
use crate::ops::capture::left_out::LeftOut;
use crate::ops::capture::pipeline::Captured;
use crate::ops::create::copies::Copies;
use crate::ops::warning::Warning;
use crate::store::trees::digest::Sum;

/// Why no checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Skipped {
    Dedup,
    TooManyFiles,
    Disabled,
}

#[derive(Debug, Default)]
pub struct CreateOutcome {
    /// The new checkpoint, or the one that was reused.
    pub checkpoint: Option<Checkpoint>,
    pub skipped: Option<Skipped>,
    pub requested_reason: String,
    pub counts: CreateCounts,
    pub left_out: LeftOut,
    /// Whether the answer names what is left out: it has changed, or the call wants some of it in.
    pub left_out_told: bool,
    pub meta: Meta,
    pub evicted: Vec<Evicted>,
    pub copies: Option<Copies>,
    pub databases: Vec<Database>,
    /// Digest of a scoped checkpoint, read back right after it was made.
    pub content: Option<Sum>,
    pub warnings: Vec<Warning>,
}

impl CreateOutcome {
    /// Returns the outcome of a `create` that made no checkpoint.
    pub fn skipped(requested_reason: String, skipped: Skipped, warnings: Vec<Warning>) -> Self {
        Self {
            skipped: Some(skipped),
            requested_reason,
            warnings,
            ..Self::default()
        }
    }

    /// Returns the outcome of a `create` that the size gate stopped.
    pub fn too_many_files(
        requested_reason: String,
        mut warnings: Vec<Warning>,
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    ) -> Self {
        warnings.push(Warning::TooManyFiles { limit, largest });
        Self::skipped(requested_reason, Skipped::TooManyFiles, warnings)
    }

    /// Whether something requested could not be captured.
    pub fn is_partial(&self) -> bool {
        self.meta
            .uncaptured
            .values()
            .any(|entry| entry.why.makes_partial())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreateCounts {
    pub files: u64,
    pub directories: u64,
    pub content_bytes: u64,
    pub added: u64,
    pub changed: u64,
    pub deleted: u64,
}

impl CreateCounts {
    /// Counts what was captured; nothing is compared yet.
    pub fn of(captured: &Captured) -> Self {
        Self {
            files: captured.listing.file_count() as u64,
            directories: captured.listing.dirs.len() as u64 - 1,
            content_bytes: captured.listing.content_bytes(),
            ..Self::default()
        }
    }
}
