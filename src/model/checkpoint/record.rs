//! A recorded state of the root: what a checkpoint is, apart from how it is stored.

use crate::model::checkpoint::terms::{CheckpointTerms, Expiry};
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::Scope;

/// Fewest digits of an id that name a checkpoint.
pub const MIN_PREFIX: usize = 4;

/// One checkpoint, as its commit and its refs tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Id of the commit.
    pub id: ObjectId,
    pub tree: ObjectId,
    /// What a tree cannot hold; `None` where there is nothing to say.
    pub meta: Option<ObjectId>,
    pub record: Record,
    pub pinned: bool,
    /// Plain git made it: its tree is all there is, and its record is what could be read from its message.
    pub adopted: bool,
}

/// What the commit message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Order of all checkpoints of a store; the clock plays no part in it.
    pub sequence: u64,
    /// Milliseconds since 1970, UTC.
    pub time_ms: i64,
    pub kind: CheckpointKind,
    pub coverage: Coverage,
    pub files: u64,
    pub content_bytes: u64,
    pub reason: String,
    pub source: String,
    /// Which restore, undo or redo a safety checkpoint belongs to.
    pub operation: Option<Operation>,
    /// Made while an earlier restore was waiting to be finished or taken back.
    pub during_pending: bool,
    pub terms: CheckpointTerms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointKind {
    /// Asked for by a person or a program.
    Regular,
    /// Taken before a restore.
    Safety,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    Complete,
    /// Something could not be captured; the meta says what.
    Partial,
    /// Only what the scope covers was looked at; the meta says what of that could not be captured.
    Scoped,
}

/// The change of the working directory before which a safety checkpoint was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub verb: Verb,
    /// The checkpoint that was restored; for undo and redo a safety checkpoint.
    pub target: ObjectId,
    /// What it was limited to; empty means everything.
    pub paths: Vec<RelPath>,
    /// The scope of what was restored, to which it was limited too.
    pub within: Option<Scope>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Restore,
    Undo,
    Redo,
    /// The end of an interrupted restore that met edits.
    Resume,
}

/// A checkpoint whose commit cannot be read, makes no sense or is nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedCheckpoint {
    pub id: CheckpointId,
    pub why: String,
}

/// What is known of the id of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckpointId {
    Commit(ObjectId),
    /// The hex digits in its row of the manifest, eight or more: nothing else is left of it.
    Row(String),
}

impl CheckpointId {
    pub fn commit(&self) -> Option<ObjectId> {
        match self {
            Self::Commit(id) => Some(*id),
            Self::Row(_) => None,
        }
    }

    /// All digits that are known.
    pub fn digits(&self) -> String {
        match self {
            Self::Commit(id) => id.to_hex(),
            Self::Row(digits) => digits.clone(),
        }
    }

    pub fn short(&self) -> String {
        self.digits()[..ObjectId::SHORT_DIGITS].to_owned()
    }

    /// Whether digits typed by a user may mean this one.
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

    /// Of a part of the directory only, so that it stands for no state of the whole.
    pub fn is_scoped(&self) -> bool {
        self.record.coverage == Coverage::Scoped
    }

    /// Asked for, and of the whole directory.
    pub fn is_whole(&self) -> bool {
        !self.is_safety() && !self.is_scoped()
    }

    /// Whether it says anything of a path.
    pub fn covers(&self, path: &RelPath) -> bool {
        self.record.terms.scope.as_ref().is_none_or(|scope| scope.covers(path))
    }

    /// Whether no policy may drop it.
    pub fn is_held(&self) -> bool {
        self.pinned || self.record.terms.expiry == Some(Expiry::Never)
    }
}

impl CheckpointKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Regular => "checkpoint",
            Self::Safety => "safety",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Regular, Self::Safety].into_iter().find(|kind| kind.word() == word)
    }
}

impl Coverage {
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Scoped => "scoped",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Complete, Self::Partial, Self::Scoped].into_iter().find(|coverage| coverage.word() == word)
    }
}

impl Verb {
    pub fn word(self) -> &'static str {
        match self {
            Self::Restore => "restore",
            Self::Undo => "undo",
            Self::Redo => "redo",
            Self::Resume => "resume",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Restore, Self::Undo, Self::Redo, Self::Resume].into_iter().find(|verb| verb.word() == word)
    }
}
