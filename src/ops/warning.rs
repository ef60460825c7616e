//! Conditions that did not stop the work, each with a code for programs and a sentence for people.

use std::fmt::Display;
use std::path::PathBuf;

use crate::config::file::Remark;
use crate::model::checkpoint::record::DamagedCheckpoint;
use crate::model::state::entry::WhyNot;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::run_warning::RunWarning;
use crate::store::damage::salvage::Salvaged;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// No new checkpoint: the newest is identical and was made a moment ago with this reason.
    Dedup {
        standing: ObjectId,
        reason: String,
    },
    TooManyFiles {
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    },
    Disabled,
    OfRun(RunWarning),
    NotCaptured {
        path: RelPath,
        why: WhyNot,
    },
    ChangedWhileRead {
        path: RelPath,
    },
    RefsRestored {
        ids: Vec<ObjectId>,
    },
    /// Seen by a read-only command.
    RefsLost {
        ids: Vec<ObjectId>,
    },
    ManifestRebuilt,
    /// Commits of plain git were adopted as checkpoints.
    Adopted {
        count: usize,
    },
    /// Commits of plain git not adopted yet, seen by a read-only command.
    Unadopted {
        count: usize,
    },
    IndexesRebuilt {
        count: usize,
    },
    /// The torn ref of a workflow was restored from its commits.
    WorkflowRestored {
        id: String,
    },
    /// The store was unusable and was replaced by what could be read of it.
    StoreReinitialized {
        whole: usize,
        known: usize,
        kept_as: PathBuf,
    },
    /// One warning for all damaged checkpoints.
    Damaged {
        checkpoints: Vec<DamagedCheckpoint>,
    },
    /// The content of one file of a checkpoint cannot be read.
    DamagedFile {
        path: RelPath,
        why: String,
    },
    RestorePending {
        target: ObjectId,
        safety: ObjectId,
    },
    JournalUnreadable,
    /// A restore was killed before it changed anything; its preparations were removed.
    RestoreNeverBegan {
        target: ObjectId,
    },
    /// A bookkeeping step after the commit point failed; nothing is lost.
    Bookkeeping {
        step: &'static str,
        why: String,
    },
    Config {
        file: PathBuf,
        text: String,
    },
    GitIndexUnreadable {
        why: String,
    },
    RootWasRecreated,
    /// The checkpoints were made of another directory at this path.
    AnotherRoot {
        checkpoints: usize,
    },
    /// The checkpoints of a root that is gone may belong to this directory.
    ProjectMoved {
        old_root: PathBuf,
        checkpoints: usize,
    },
    EmptyAfterFiles,
    OverKeep {
        keep: usize,
        kept: usize,
    },
    /// The store is larger than its limit.
    OverMaxStoreSize {
        limit_bytes: u64,
        needed_bytes: u64,
        /// Whether a prune would help.
        prunable: bool,
    },
    /// Evicted to fit the limit, after the result was printed.
    EvictedForSize {
        ids: Vec<ObjectId>,
    },
    /// A program went on writing to files that a restore had replaced; its data is kept in the staging directory.
    LateWrites {
        paths: Vec<RelPath>,
        staging: String,
    },
    /// The named checkpoint, or the latest, which a restore would use, is incomplete.
    IsPartial {
        id: ObjectId,
    },
    /// An incomplete checkpoint whose printed details name what it lacks.
    ShownIsPartial {
        id: ObjectId,
    },
    StoreTooNew {
        found: u32,
    },
    /// A copy was written into the working directory.
    CopyInsideRoot,
    /// The holds cannot be read, so none stands.
    HoldsUnreadable {
        why: String,
    },
    /// A line is missing from the audit trail.
    AuditFailed {
        why: String,
    },
    /// The checkpoint was made, its plain copies were not.
    CopiesNotMade {
        id: ObjectId,
        why: String,
    },
    /// A database that is not a file cannot be written into a directory.
    DatabaseSkipped {
        name: String,
    },
    /// One of several checkpoints could not be read.
    PassedOver {
        id: ObjectId,
        why: String,
    },
}

impl Warning {
    pub fn reinitialized(salvaged: Salvaged) -> Self {
        let Salvaged { whole, lost, kept_as, .. } = salvaged;
        Self::StoreReinitialized { whole, known: whole + lost.len(), kept_as }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Self::Dedup { .. } => "dedup",
            Self::TooManyFiles { .. } => "too_many_files",
            Self::Disabled => "disabled",
            Self::OfRun(warning) => warning.code(),
            Self::NotCaptured { .. } => "not_captured",
            Self::ChangedWhileRead { .. } => "changed_while_read",
            Self::RefsRestored { .. } => "ref_restored",
            Self::RefsLost { .. } => "ref_lost",
            Self::ManifestRebuilt => "manifest_rebuilt",
            Self::Adopted { .. } => "adopted",
            Self::Unadopted { .. } => "not_adopted_yet",
            Self::IndexesRebuilt { .. } => "indexes_rebuilt",
            Self::WorkflowRestored { .. } => "workflow_restored",
            Self::StoreReinitialized { .. } => "store_reinitialized",
            Self::Damaged { .. } => "damaged_checkpoint",
            Self::DamagedFile { .. } => "damaged_file",
            Self::RestorePending { .. } => "restore_pending",
            Self::JournalUnreadable => "journal_unreadable",
            Self::RestoreNeverBegan { .. } => "restore_never_began",
            Self::Bookkeeping { .. } => "bookkeeping",
            Self::Config { .. } => "config",
            Self::GitIndexUnreadable { .. } => "git_index_unreadable",
            Self::RootWasRecreated => "root_recreated",
            Self::AnotherRoot { .. } => "another_root",
            Self::ProjectMoved { .. } => "project_moved",
            Self::EmptyAfterFiles => "empty_after_files",
            Self::OverKeep { .. } => "over_keep",
            Self::OverMaxStoreSize { .. } => "over_max_store_size",
            Self::EvictedForSize { .. } => "evicted_for_size",
            Self::LateWrites { .. } => "late_writes",
            Self::IsPartial { .. } | Self::ShownIsPartial { .. } => "partial",
            Self::StoreTooNew { .. } => "store_too_new",
            Self::CopyInsideRoot => "copy_inside_root",
            Self::HoldsUnreadable { .. } => "holds_unreadable",
            Self::AuditFailed { .. } => "audit_failed",
            Self::CopiesNotMade { .. } => "copies_not_made",
            Self::DatabaseSkipped { .. } => "database_skipped",
            Self::PassedOver { .. } => "passed_over",
        }
    }

    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::NotCaptured { path, .. } | Self::ChangedWhileRead { path } | Self::DamagedFile { path, .. } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// Whether it arose after the result was written, so that a program reading one document needs it separately.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::EvictedForSize { .. } | Self::AuditFailed { .. })
    }

    pub fn damaged(checkpoints: &[DamagedCheckpoint]) -> Option<Self> {
        (!checkpoints.is_empty()).then(|| Self::Damaged { checkpoints: checkpoints.to_vec() })
    }

    pub fn bookkeeping<E: Display>(step: &'static str) -> impl FnOnce(E) -> Warning {
        move |why| Warning::Bookkeeping { step, why: why.to_string() }
    }
}

impl From<RunWarning> for Warning {
    fn from(warning: RunWarning) -> Self {
        Self::OfRun(warning)
    }
}

impl From<&Remark> for Warning {
    fn from(remark: &Remark) -> Self {
        Self::Config { file: remark.file.clone(), text: remark.text.clone() }
    }
}
