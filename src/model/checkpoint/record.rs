//! A checkpoint as data, apart from how it is stored.

use crate::base::text::escape;
use crate::model::{CheckpointTerms, Expiry, ObjectId, PathFilter, Provenance, RelPath, Scope};

/// Minimum number of id digits that name a checkpoint.
pub const MIN_PREFIX: usize = 4;

/// One checkpoint, as read from its commit and refs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Id of the commit.
    pub id: ObjectId,
    pub tree: ObjectId,
    /// Blob with what a tree cannot hold; `None` if there is nothing to record.
    pub meta: Option<ObjectId>,
    pub record: Record,
    pub pinned: bool,
    /// Made by plain git: it has only a tree, and a record derived from its message.
    pub adopted: bool,
}

impl Checkpoint {
    /// Formats `1a2b3c4d (reason)`.
    pub fn named(&self) -> String {
        format!("{} ({})", self.id.short(), escape(&self.record.reason))
    }
}

/// Content of the commit message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Position in the order of all checkpoints of a store, independent of the clock.
    pub sequence: u64,
    /// Milliseconds since 1970, UTC.
    pub time_ms: i64,
    pub kind: CheckpointKind,
    pub coverage: Coverage,
    pub files: u64,
    pub content_bytes: u64,
    pub reason: String,
    pub source: String,
    /// The restore, undo or redo that a safety checkpoint belongs to.
    pub operation: Option<Operation>,
    /// Made while an interrupted restore was pending.
    pub during_pending: bool,
    pub terms: CheckpointTerms,
    pub provenance: Provenance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum CheckpointKind {
    /// Requested by a user or a program.
    #[strum(serialize = "checkpoint")]
    Regular,
    /// Taken before a restore.
    Safety,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Coverage {
    Complete,
    /// Something could not be captured; the meta names it.
    Partial,
    /// Limited to the scope; the meta names what could not be captured within it.
    Scoped,
}

/// Classes that retention counts separately: none pushes out checkpoints of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepClass {
    /// Of the whole directory, requested by a user or a program.
    Named,
    /// Of a part of the directory, requested likewise.
    Scoped,
    /// Made by the phases of a workflow.
    Automatic,
    /// Taken before a restore.
    Safety,
}

/// The operation before which a safety checkpoint was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub verb: Verb,
    /// The checkpoint that was restored; for undo and redo a safety checkpoint.
    pub target: ObjectId,
    /// Paths that it was limited to; empty means everything.
    pub paths: Vec<RelPath>,
    /// Scope of the restored checkpoint, a further limit.
    pub within: Option<Scope>,
    /// Patterns, a further limit.
    pub filter: PathFilter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Verb {
    Restore,
    Undo,
    Redo,
    /// Completion of an interrupted restore that met edits.
    Resume,
}

/// A checkpoint whose commit is unreadable, invalid or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedCheckpoint {
    pub id: CheckpointId,
    pub why: String,
}

/// Id of a checkpoint, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointId {
    Commit(ObjectId),
    /// Eight or more hex digits from its manifest row, all that is left of it.
    Row(String),
}

impl CheckpointId {
    pub fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Commit(id) => Some(*id),
            Self::Row(_) => None,
        }
    }

    /// Returns all known digits.
    pub fn digits(&self) -> String {
        match self {
            Self::Commit(id) => id.to_hex(),
            Self::Row(digits) => digits.clone(),
        }
    }

    pub fn short(&self) -> String {
        self.digits()[..ObjectId::SHORT_DIGITS].to_owned()
    }

    /// Whether digits typed by a user may mean this checkpoint.
    pub fn answers_to(&self, typed: &str) -> bool {
        let (typed, digits) = (typed.to_ascii_lowercase(), self.digits());
        typed.len() >= MIN_PREFIX && (digits.starts_with(&typed) || typed.starts_with(&digits))
    }
}

impl From<ObjectId> for CheckpointId {
    fn from(id: ObjectId) -> Self {
        Self::Commit(id)
    }
}

impl Checkpoint {
    pub fn is_safety(&self) -> bool {
        self.record.kind == CheckpointKind::Safety
    }

    pub fn is_complete(&self) -> bool {
        self.record.coverage == Coverage::Complete
    }

    pub fn is_partial(&self) -> bool {
        self.record.coverage == Coverage::Partial
    }

    /// The class in which retention counts it.
    pub fn class(&self) -> KeepClass {
        if self.is_safety() {
            KeepClass::Safety
        } else if self.record.terms.is_automatic {
            KeepClass::Automatic
        } else if self.is_scoped() {
            KeepClass::Scoped
        } else {
            KeepClass::Named
        }
    }

    /// Whether it covers only a part of the directory.
    pub fn is_scoped(&self) -> bool {
        self.record.coverage == Coverage::Scoped
    }

    /// Whether it was requested and covers the whole directory.
    pub fn is_whole(&self) -> bool {
        !self.is_safety() && !self.is_scoped()
    }

    /// Returns the target, if a restore, undo or redo of the whole directory follows this one.
    pub fn target_of_all(&self) -> Option<ObjectId> {
        let step = self.record.operation.as_ref()?;
        let is_of_all = step.paths.is_empty() && step.within.is_none() && step.filter.is_empty();
        is_of_all.then_some(step.target)
    }

    /// Whether both hold the same state of the directory.
    pub fn holds_the_same(&self, other: &Self) -> bool {
        (self.tree, self.meta) == (other.tree, other.meta)
    }

    /// Whether a path is within its scope.
    pub fn covers(&self, path: &RelPath) -> bool {
        self.record
            .terms
            .scope
            .as_ref()
            .is_none_or(|scope| scope.covers(path))
    }

    /// Returns the time up to which no policy evicts it, as promised when it was made.
    pub fn protected_until_ms(&self) -> i64 {
        match self.record.terms.expiry {
            None => i64::MIN,
            Some(Expiry::At(end_ms)) => end_ms,
            Some(Expiry::Never) => i64::MAX,
        }
    }
}
