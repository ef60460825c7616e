//! Outcome of a `create`.

use std::path::PathBuf;

use crate::model::json::{JsonSchema, Serialize, Serializer, optional_path, uncaptured};
use crate::model::{
    Checkpoint, CheckpointRef, CheckpointTerms, Database, Evicted, Meta, PathReason, RelPath,
};
use crate::ops::{Captured, CreateOptions, LeftOut, Warning};
use crate::store::Sum;

/// Why no checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    Dedup,
    TooManyFiles,
    Disabled,
}

/// What `create` made.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct CreateOutcome {
    /// The new checkpoint, or the one that is equal; all null if there is none.
    #[serde(flatten, serialize_with = "made")]
    #[schemars(with = "MadeCheckpoint")]
    pub checkpoint: Option<Checkpoint>,
    /// Why none was made; null if one was.
    pub skipped: Option<Skipped>,
    /// The reason that was given.
    pub requested_reason: String,
    pub counts: CreateCounts,
    pub left_out: LeftOut,
    /// Whether the answer names what is left out: it has changed, or the call wants some of it in.
    #[serde(skip)]
    pub left_out_told: bool,
    /// What could not be captured.
    #[serde(rename = "uncaptured", serialize_with = "uncaptured")]
    #[schemars(with = "Vec<PathReason>")]
    pub meta: Meta,
    /// Checkpoints that the policy dropped for this one.
    #[serde(rename = "dropped")]
    pub evicted: Vec<Evicted>,
    pub databases: Vec<Database>,
    /// The folder of plain copies; null if none were made.
    #[serde(serialize_with = "optional_path")]
    #[schemars(with = "Option<String>")]
    pub copies: Option<PathBuf>,
    /// Digest of a scoped checkpoint, read back right after it was made.
    #[serde(skip)]
    pub content: Option<Sum>,
    /// See [`Session::needed_bytes`](crate::ops::session::Session).
    #[serde(skip)]
    pub needed_bytes: Option<u64>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// The checkpoint of a `create`, if there is one.
#[derive(Serialize, JsonSchema)]
struct MadeCheckpoint {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    alias: Option<String>,
    sequence: Option<u64>,
    source: Option<String>,
    coverage: Option<&'static str>,
    #[serde(flatten)]
    terms: CheckpointTerms,
}

/// Serializes the checkpoint of a `create`.
pub fn made<S: Serializer>(found: &Option<Checkpoint>, serializer: S) -> Result<S::Ok, S::Error> {
    let record = found.as_ref().map(|checkpoint| &checkpoint.record);
    let made = MadeCheckpoint {
        checkpoint: found
            .as_ref()
            .map_or_else(CheckpointRef::default, CheckpointRef::new),
        alias: found.as_ref().map(Checkpoint::alias),
        sequence: record.map(|record| record.sequence),
        source: record.map(|record| record.source.clone()),
        coverage: record.map(|record| record.coverage.into_str()),
        terms: record.map_or_else(CheckpointTerms::default, |record| record.terms.clone()),
    };
    made.serialize(serializer)
}

impl CreateOutcome {
    /// Returns the outcome of a `create` that made no checkpoint.
    pub fn skipped(options: &CreateOptions, skipped: Skipped, warnings: Vec<Warning>) -> Self {
        Self {
            skipped: Some(skipped),
            requested_reason: options.reason.clone(),
            warnings,
            ..Self::default()
        }
    }

    /// Returns the outcome of a `create` where checkpoints are disabled.
    pub fn disabled(options: &CreateOptions) -> Self {
        Self::skipped(options, Skipped::Disabled, vec![Warning::Disabled])
    }

    /// Returns the outcome of a `create` that the size gate stopped.
    pub fn too_many_files(
        options: &CreateOptions,
        mut warnings: Vec<Warning>,
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    ) -> Self {
        warnings.push(Warning::TooManyFiles { limit, largest });
        Self::skipped(options, Skipped::TooManyFiles, warnings)
    }

    /// Whether the checkpoint, made or found, is without some files or copies.
    pub fn lacks_something(&self) -> bool {
        let no_copies = |warning: &Warning| matches!(warning, Warning::CopiesNotMade { .. });
        self.warnings.iter().any(no_copies) || (self.checkpoint.is_some() && self.is_partial())
    }

    /// Whether something requested could not be captured.
    pub fn is_partial(&self) -> bool {
        self.meta
            .uncaptured
            .values()
            .any(|entry| entry.why.makes_partial())
    }
}

/// Numbers of what was captured, and of what changed since the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CreateCounts {
    #[serde(rename = "file_count")]
    pub files: u64,
    #[serde(rename = "directory_count")]
    pub directories: u64,
    pub content_bytes: u64,
    pub added: u64,
    pub modified: u64,
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
