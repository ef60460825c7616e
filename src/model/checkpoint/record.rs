//! A checkpoint as data, apart from how it is stored, with its terms and its alias.

use strum::{EnumString, IntoStaticStr};

use crate::base::text::escape;
use crate::base::time::utc_compact;
use crate::model::{ObjectId, PathFilter, Provenance, RelPath, Scope};

/// Minimum number of id digits that name a checkpoint.
pub const MIN_PREFIX: usize = 4;

/// Source of the checkpoints that `watch` makes.
pub const WATCH: &str = "watch";

/// One checkpoint, as read from its commit and refs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Returns `chk_YYYYMMDD_HHMMSS_` and six digits of the id.
    pub fn alias(&self) -> String {
        alias_of(self.record.time_ms, self.id)
    }

    /// Formats `1a2b3c4d (reason)`.
    pub fn named(&self) -> String {
        format!("{} ({})", self.id.short(), escape(&self.record.reason))
    }
}

/// Content of the commit message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum CheckpointKind {
    /// Requested by a user or a program.
    #[default]
    #[strum(serialize = "checkpoint")]
    Regular,
    /// Taken before a restore.
    Safety,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Coverage {
    #[default]
    Complete,
    /// Something could not be captured; the meta names it.
    Partial,
    /// Limited to the scope; the meta names what could not be captured within it.
    Scoped,
}

/// Classes that retention counts separately: none pushes out checkpoints of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeepClass {
    /// Of the whole directory, requested by a user or a program.
    #[default]
    Named,
    /// Of a part of the directory, requested likewise.
    Scoped,
    /// Made by the phases of a workflow and the hooks of agents.
    Automatic,
    /// Made by `watch`.
    Watched,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Verb {
    #[default]
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
        } else if self.record.terms.is_automatic && self.record.source == WATCH {
            KeepClass::Watched
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
        let scope = self.record.terms.scope.as_ref();
        scope.is_none_or(|scope| scope.covers(path))
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointTerms {
    /// Limits of the checkpoint; `None` for the whole directory.
    pub scope: Option<Scope>,
    pub checkpoint_type: Option<CheckpointType>,
    pub expiry: Option<Expiry>,
    /// Made by a workflow on its own account.
    pub is_automatic: bool,
}

/// Requested type, in the words of contracts. The files are in the store in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum CheckpointType {
    /// Files in the project's git index.
    GitStash,
    /// Any files.
    FileBackup,
    /// Values other than files.
    StateSnapshot,
    DatabaseSavepoint,
}

/// When a checkpoint expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// No policy evicts it.
    Never,
    /// Milliseconds since 1970; from then on a prune evicts it.
    At(i64),
}

impl Expiry {
    pub fn is_over(self, now_ms: i64) -> bool {
        matches!(self, Self::At(end_ms) if end_ms <= now_ms)
    }

    pub fn to_field(self) -> String {
        match self {
            Self::Never => "never".to_owned(),
            Self::At(end_ms) => end_ms.to_string(),
        }
    }

    pub fn from_field(field: &str) -> Option<Self> {
        if field == "never" {
            Some(Self::Never)
        } else {
            field.parse().ok().map(Self::At)
        }
    }
}

const ALIAS_PREFIX: &str = "chk_";
const ALIAS_DIGITS: usize = 6;

/// Makes the alias of a checkpoint, as agents' contracts write it, of a time in milliseconds since 1970 and an id.
pub fn alias_of(time_ms: i64, id: ObjectId) -> String {
    format!(
        "{ALIAS_PREFIX}{}_{}",
        utc_compact(time_ms),
        &id.to_hex()[..ALIAS_DIGITS]
    )
}

/// Whether a word has the form of an alias.
pub fn is_alias(word: &str) -> bool {
    let Some(rest) = word.strip_prefix(ALIAS_PREFIX) else {
        return false;
    };
    let parts: Vec<&str> = rest.split('_').collect();
    let digits =
        |part: &str, len| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts.as_slice(), [date, time, id]
        if digits(date, 8) && digits(time, 6) && id.len() == ALIAS_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_over_from_its_moment_on_and_never_never() {
        assert!(
            Expiry::At(5).is_over(5)
                && !Expiry::At(5).is_over(4)
                && !Expiry::Never.is_over(i64::MAX)
        );
        for expiry in [Expiry::Never, Expiry::At(-1), Expiry::At(i64::MAX)] {
            assert_eq!(Expiry::from_field(&expiry.to_field()), Some(expiry));
        }
        assert_eq!(Expiry::from_field("soon"), None);
    }

    #[test]
    fn only_words_of_the_whole_form_are_aliases() {
        assert!(is_alias("chk_20240115_143022_a7b3c9"));
        for other in [
            "chk_20240115_143022_a7b3c",
            "chk_20240115_150000_config",
            "chk_",
            "20240115_143022_a7b3c9",
            "chk_1_2_3",
        ] {
            assert!(!is_alias(other), "{other}");
        }
    }
}
