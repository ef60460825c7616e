//! Conditions that did not stop the work, each with a code for programs and a sentence for people.

pub mod run_warning;
pub mod warning_words;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::config::file::ConfigProblem;
use crate::error::Error;
use crate::model::checkpoint::limits;
use crate::model::checkpoint::record::DamagedCheckpoint;
use crate::model::state::entry::WhyNot;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::ops::warning::run_warning::RunWarning;
use crate::store::damage::salvage::Salvaged;
use crate::store::lock;
use crate::store::refs::inventory::Inventory;
use crate::store::repository::Store;
use crate::worktree::root;

#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Warning {
    /// No new checkpoint: the newest is identical and was made a moment ago with this reason.
    Dedup {
        existing: ObjectId,
        reason: String,
    },
    TooManyFiles {
        limit: u64,
        largest: Vec<(RelPath, u64)>,
    },
    Disabled,
    /// Another session in the same directory worked on this number of prompts since the state that
    /// is gone back to.
    AlsoBefore {
        /// Agent and session, escaped.
        of: String,
        prompts: usize,
    },
    #[strum(transparent)]
    OfRun(RunWarning),
    NotCaptured {
        path: RelPath,
        why: WhyNot,
    },
    ChangedWhileRead {
        path: RelPath,
    },
    /// A program has this database open; as a file it may not be whole.
    DatabaseInUse {
        path: RelPath,
    },
    /// A database is restored that was in use, without its log.
    LogNotHeld {
        path: RelPath,
    },
    #[strum(serialize = "ref_restored")]
    RefsRestored {
        ids: Vec<ObjectId>,
    },
    /// Seen by a read-only command.
    #[strum(serialize = "ref_lost")]
    RefsLost {
        ids: Vec<ObjectId>,
    },
    ManifestRebuilt,
    /// Commits of plain git were adopted as checkpoints.
    Adopted {
        count: usize,
    },
    /// A restore deletes a file in the place of a directory that its checkpoint leaves out.
    DirNotHeld {
        path: RelPath,
    },
    /// A restore deletes a file that its checkpoint may have left out for what it held then.
    SecretNotHeld {
        path: RelPath,
    },
    /// What a dry run shows could not be done, such as in a store that cannot be written to.
    RefusedNow {
        why: String,
    },
    /// The time of a commit of plain git is none of a calendar; the nearest one is taken.
    AbsurdTime {
        id: ObjectId,
        is_old: bool,
    },
    /// Commits of plain git not adopted yet, seen by a read-only command.
    #[strum(serialize = "not_adopted_yet")]
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
    #[strum(serialize = "damaged_checkpoint")]
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
    /// An ignore file above the root; nothing is recorded without its rules.
    IgnoreFileUnreadable {
        path: PathBuf,
    },
    GitIndexUnreadable {
        why: String,
    },
    /// A `.gitignore` is a link, which git does not follow.
    IgnoreFileIsLink {
        path: RelPath,
    },
    #[strum(serialize = "root_recreated")]
    RootWasRecreated,
    /// The checkpoints were made of another directory at this path.
    AnotherRoot {
        checkpoints: usize,
    },
    /// The checkpoints of a root that is gone may belong to this directory.
    ProjectMoved {
        old_root: PathBuf,
        /// What was moved, if not this directory but the repository around it.
        top: Option<PathBuf>,
        checkpoints: usize,
    },
    /// The first checkpoint of a directory that is only a part of a repository.
    BelowTop {
        root: PathBuf,
        top: PathBuf,
    },
    /// The first checkpoint of a directory below a root with checkpoints.
    BelowRoot {
        root: PathBuf,
        above: PathBuf,
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
    /// A program went on writing to files that a restore had replaced; its data is kept in the
    /// staging directory.
    LateWrites {
        paths: Vec<RelPath>,
        staging: String,
    },
    /// The named checkpoint, or the latest, which a restore would use, is incomplete.
    #[strum(serialize = "partial")]
    IsPartial {
        id: ObjectId,
    },
    /// An incomplete checkpoint whose printed details name what it lacks.
    #[strum(serialize = "partial")]
    ShownIsPartial {
        id: ObjectId,
    },
    StoreTooNew {
        found: u32,
    },
    /// A copy was written into the working directory.
    CopyInsideRoot,
    /// The holds cannot be read, so none stands.
    RewordsUnreadable {
        why: String,
    },
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
    /// One of several checkpoints was neither sent nor taken.
    LeftBehind {
        id: ObjectId,
        why: String,
    },
    /// One of several lines of a remote is bad.
    LineNotTaken {
        remote: String,
        /// Its ref there.
        line: String,
        why: String,
    },
}

impl Warning {
    pub fn reinitialized(salvaged: Salvaged) -> Self {
        let Salvaged {
            whole,
            lost,
            kept_as,
            ..
        } = salvaged;
        Self::StoreReinitialized {
            whole,
            known: whole + lost.len(),
            kept_as,
        }
    }

    /// Returns the stable code in JSON: the name of the variant, unless another is given there.
    pub fn code(&self) -> &'static str {
        self.into()
    }

    /// Whether what was asked for was done in part only.
    pub fn leaves_something(&self) -> bool {
        matches!(self, Self::LeftBehind { .. } | Self::LineNotTaken { .. })
    }

    pub fn path(&self) -> Option<&RelPath> {
        match self {
            Self::NotCaptured { path, .. }
            | Self::ChangedWhileRead { path }
            | Self::DatabaseInUse { path }
            | Self::LogNotHeld { path }
            | Self::DirNotHeld { path }
            | Self::SecretNotHeld { path }
            | Self::DamagedFile { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Whether it arose after the result was written, so that a program reading one document needs
    /// it separately.
    pub fn is_late(&self) -> bool {
        matches!(self, Self::AuditFailed { .. })
    }

    pub fn damaged(checkpoints: &[DamagedCheckpoint]) -> Option<Self> {
        (!checkpoints.is_empty()).then(|| Self::Damaged {
            checkpoints: checkpoints.to_vec(),
        })
    }

    /// What no checkpoint needs stays where it is, such as on a full disk.
    pub fn not_freed(why: String) -> Self {
        Self::bookkeeping("freeing the rest of what nothing needs any more")(why)
    }

    /// Names commits of plain git whose time no calendar has.
    pub fn bounded_times<'c>(
        inventory: &'c Inventory,
        ids: &'c [ObjectId],
    ) -> impl Iterator<Item = Self> + 'c {
        let is_bounded = |id: &&ObjectId| {
            let found = inventory.get(**id);
            found.is_some_and(|found| limits::is_absurd(found.record.time_ms))
        };
        ids.iter().filter(is_bounded).map(|id| Self::AbsurdTime {
            id: *id,
            is_old: inventory.get(*id).is_some_and(|it| it.record.time_ms < 0),
        })
    }

    /// Says of a dry run that the command itself would be refused.
    pub fn refused_now(store: &Store) -> Option<Self> {
        let layout = store.layout();
        let places = layout.written_directories();
        let of_place = || places.iter().find_map(|dir| root::refusal_to_write(dir));
        lock::refusal(&layout.lock())
            .or_else(of_place)
            .as_ref()
            .map(Self::refused)
    }

    /// Says of a dry run that names in a directory cannot be changed.
    pub fn refused_above(path: &Path) -> Option<Self> {
        path.parent()
            .and_then(root::refusal_to_write)
            .as_ref()
            .map(Self::refused)
    }

    fn refused(why: &Error) -> Self {
        Self::RefusedNow {
            why: why.to_string(),
        }
    }

    pub fn bookkeeping<E: Display>(step: &'static str) -> impl FnOnce(E) -> Warning {
        move |why| Warning::Bookkeeping {
            step,
            why: why.to_string(),
        }
    }
}

impl From<RunWarning> for Warning {
    fn from(warning: RunWarning) -> Self {
        Self::OfRun(warning)
    }
}

impl From<&ConfigProblem> for Warning {
    fn from(remark: &ConfigProblem) -> Self {
        Self::Config {
            file: remark.file.clone(),
            text: remark.what.clone(),
        }
    }
}
