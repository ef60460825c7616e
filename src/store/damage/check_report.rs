//! The report of a check: damaged checkpoints with their paths, damaged files, and derived files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::base::Progress;
use crate::model::json::{self, JsonSchema, MaybePath, Serialize, published_as};
use crate::model::{CheckpointId, CheckpointRef, DamagedCheckpoint, ObjectId, RelPath};
use crate::store::Layout;

/// Options of a check.
pub struct CheckOptions<'o> {
    /// Whether every object is read and hashed, not only looked up.
    pub full: bool,
    /// Called repeatedly; an error ends the check.
    pub check_interrupt: &'o dyn Fn() -> crate::error::Result<()>,
    /// Counts each checked object.
    pub progress: &'o Progress,
}

/// The findings of a check and the amount checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CheckReport {
    #[serde(rename = "checkpoint_count")]
    pub checkpoints: usize,
    /// Number of distinct objects.
    pub objects: u64,
    #[serde(rename = "checked_bytes")]
    pub bytes: u64,
    pub damaged: Vec<FaultyCheckpoint>,
    /// Damaged files with content that is nowhere else.
    pub files: Vec<FileFinding>,
    /// Damaged files that are derived and will be rewritten.
    pub derived: Vec<FileFinding>,
}

/// A damaged checkpoint and its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyCheckpoint {
    pub id: CheckpointId,
    /// Null if the commit is unreadable.
    pub reason: Option<String>,
    pub faults: Vec<Fault>,
}

/// A damaged checkpoint, as it is published.
#[derive(Serialize, JsonSchema)]
struct PublishedFaults {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    faults: Vec<Fault>,
}

published_as! { FaultyCheckpoint, PublishedFaults, |faulty| PublishedFaults {
    checkpoint: CheckpointRef::of_parts(&faulty.id, faulty.reason.as_deref(), None),
    faults: faulty.faults.clone(),
}; }

/// A checkpoint whose commit is unreadable.
impl From<DamagedCheckpoint> for FaultyCheckpoint {
    fn from(lost: DamagedCheckpoint) -> Self {
        let object = lost.id.commit();
        Self {
            id: lost.id,
            reason: None,
            faults: vec![Fault {
                path: None,
                object,
                why: lost.why,
            }],
        }
    }
}

/// A missing or damaged part of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fault {
    /// Null for parts without a user's path: the commit or its meta.
    #[serde(flatten, serialize_with = "json::maybe_path")]
    #[schemars(with = "MaybePath")]
    pub path: Option<RelPath>,
    /// The missing or damaged object, if there is one.
    #[serde(rename = "object_id")]
    pub object: Option<ObjectId>,
    pub why: String,
}

/// A damaged file of the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct FileFinding {
    /// Relative to the store.
    #[serde(serialize_with = "json::path")]
    pub file: PathBuf,
    pub why: String,
}

impl CheckReport {
    /// Whether nothing is lost: at most derived files are wrong.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.files.is_empty()
    }

    /// Whether both reports find the same checkpoint or the same file damaged.
    pub fn shares_damage(&self, other: &Self) -> bool {
        let is_in_other =
            |state: &FaultyCheckpoint| other.damaged.iter().any(|it| it.id == state.id);
        let is_file_in_other =
            |file: &FileFinding| other.files.iter().any(|it| it.file == file.file);
        self.damaged.iter().any(is_in_other) || self.files.iter().any(is_file_in_other)
    }

    /// Missing or damaged objects of checkpoints, with their paths.
    pub fn missing(&self) -> BTreeMap<ObjectId, BTreeSet<RelPath>> {
        let mut missing: BTreeMap<_, BTreeSet<RelPath>> = BTreeMap::new();
        for fault in self.damaged.iter().flat_map(|state| &state.faults) {
            if let Some(id) = fault.object {
                missing.entry(id).or_default().extend(fault.path.clone());
            }
        }
        missing
    }
}

/// A finding with its path relative to the store.
pub fn finding(layout: &Layout, path: &Path, why: impl Display) -> FileFinding {
    FileFinding {
        file: layout.name_of(path).unwrap_or_else(|| path.to_path_buf()),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_the_same_by_what_is_damaged_not_by_the_words() {
        let of = |file: &str, why: &str| CheckReport {
            files: vec![FileFinding {
                file: file.into(),
                why: why.into(),
            }],
            ..CheckReport::default()
        };
        assert!(of("a.pack", "cut short").shares_damage(&of("a.pack", "missing")));
        assert!(!of("a.pack", "missing").shares_damage(&of("b.pack", "missing")));
    }
}
