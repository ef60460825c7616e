//! The failures that a caller branches on, each with code, exit class and next step; all others carry a cause.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::shell_word::shell_word;
use crate::base::text::{escape_line, escape_path};
use crate::error::problem::WorkflowProblem;
use crate::model::checkpoint::hold::Hold;
use crate::model::checkpoint::selector::{Candidate, SelectorProblem};
use crate::model::restore_plan::Obstacle;
use crate::model::state::object_id::ObjectId;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug)]
pub enum Error {
    /// The command line makes no sense.
    Usage {
        what: String,
    },
    NoSuchCheckpoint {
        query: String,
        nearest: Option<ObjectId>,
    },
    /// It existed, but was evicted or deleted by another process meanwhile.
    EvictedMeanwhile {
        id: ObjectId,
    },
    AmbiguousCheckpoint {
        query: String,
        candidates: Vec<Candidate>,
    },
    NoSuchPath {
        checkpoint: ObjectId,
        path: String,
    },
    /// A directory where a file is needed.
    IsDirectory {
        checkpoint: ObjectId,
        path: String,
        entries: Vec<String>,
    },
    /// This root has no store; `ancestor` is a directory above it that has one.
    NoStore {
        root: PathBuf,
        ancestor: Option<PathBuf>,
    },
    NothingToTakeBack {
        verb: &'static str,
    },
    RootMissing {
        root: PathBuf,
    },
    /// Several stores match this root.
    AmbiguousStore {
        candidates: Vec<PathBuf>,
    },
    UnsafeRoot {
        root: PathBuf,
        why: String,
    },
    /// The directory of `--to` must not be written.
    BadDestination {
        dir: PathBuf,
        why: String,
    },
    /// A search found nothing.
    NothingFound {
        what: String,
        hint: String,
    },
    /// Files exist, but a checkpoint could hold none of them.
    NothingHeld {
        why: String,
    },
    /// A signal ended the check after a restore; the restore itself is done.
    CheckInterrupted {
        signal: i32,
        done: String,
        hint: Option<String>,
    },
    /// Consent is needed, but there is no terminal to ask on.
    ConsentNeeded {
        what: String,
        /// Whether the command has `--dry-run`.
        can_look: bool,
    },
    /// The user answered no.
    Declined,
    /// Something uncaptured is in the way of the target; nothing was changed.
    Conflict {
        obstacles: Vec<Obstacle>,
    },
    /// A path is at or below a `.git`.
    DotGitPath {
        path: String,
    },
    /// A restore must not change a file that is written for a workflow.
    WorkflowFile {
        path: String,
    },
    /// An earlier restore was interrupted.
    RestorePending {
        target: ObjectId,
        safety: ObjectId,
    },
    /// A restore was killed before it changed anything, so there is nothing to undo.
    RestoreNeverBegan {
        target: ObjectId,
    },
    /// This directory may not take over the checkpoints of another root.
    RelinkRefused {
        why: String,
    },
    /// A pinned checkpoint is not deleted.
    Pinned {
        id: ObjectId,
    },
    /// Files changed during a restore; it was rolled back.
    ChangedMeanwhile {
        obstacles: Vec<Obstacle>,
    },
    /// A hold stands, so no checkpoint is made; of several holds the one that ends last.
    Held {
        hold: Hold,
        others: usize,
    },
    /// Several holds stand, so one must be named.
    SeveralHolds {
        names: Vec<String>,
    },
    /// No checkpoint exists from which the change could be undone.
    Unguarded {
        what: String,
        /// The command that makes or asks for such a checkpoint, if there is one.
        command: Option<String>,
    },
    /// A database could not be captured for a new checkpoint; nothing was recorded.
    DatabaseNotTaken {
        database: String,
        why: String,
    },
    /// The present state of a database could not be captured before a restore; nothing was changed.
    DatabaseNotHeld {
        database: String,
        why: String,
    },
    /// A failure of a workflow, with its details.
    Workflow(Box<WorkflowProblem>),
    /// The requested object cannot be read in full.
    Damaged {
        what: String,
        why: String,
    },
    StoreTooNew {
        store: PathBuf,
        found: u32,
        supported: u32,
    },
    Busy {
        holder: String,
        waited: Duration,
    },
    BadConfig {
        file: PathBuf,
        what: String,
    },
    NoBase,
    /// The store is not ours to use, or contains planted files.
    HostileStore {
        store: PathBuf,
        why: String,
    },
    /// A part of the store is of a file type that cannot be used.
    StoreUnusable {
        store: PathBuf,
        why: String,
    },
    /// The store was removed or moved away while we waited for its lock.
    StoreGone {
        store: PathBuf,
    },
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// As [`Self::Io`], for one of the user's files.
    TreeIo {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A signal asked us to stop; nothing is half-made.
    Interrupted {
        signal: i32,
    },
    Unexpected(anyhow::Error),
}

impl Error {
    /// Returns a closure for `map_err` that names the action and the path.
    pub fn io<'p>(action: &'static str, path: &'p Path) -> impl FnOnce(std::io::Error) -> Error + 'p {
        move |source| Error::Io { action, path: path.to_path_buf(), source }
    }

    /// Returns a failure that no caller branches on, in words.
    pub fn unexpected(what: impl fmt::Display) -> Self {
        Self::Unexpected(anyhow::Error::msg(what.to_string()))
    }

    /// Returns [`Self::Damaged`] for what cannot be read, and why.
    pub fn damaged(what: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::Damaged { what: what.to_string(), why: why.to_string() }
    }

    /// Returns the stable code for this failure in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "usage",
            Self::NoSuchCheckpoint { .. } => "no_such_checkpoint",
            Self::EvictedMeanwhile { .. } => "evicted_meanwhile",
            Self::AmbiguousCheckpoint { .. } => "ambiguous_checkpoint",
            Self::NoSuchPath { .. } => "no_such_path",
            Self::IsDirectory { .. } => "is_a_directory",
            Self::NoStore { .. } => "no_store",
            Self::NothingToTakeBack { .. } => "nothing_to_take_back",
            Self::RootMissing { .. } => "root_missing",
            Self::AmbiguousStore { .. } => "ambiguous_store",
            Self::UnsafeRoot { .. } => "unsafe_root",
            Self::BadDestination { .. } => "bad_destination",
            Self::NothingFound { .. } => "nothing_found",
            Self::NothingHeld { .. } => "nothing_held",
            Self::ConsentNeeded { .. } => "consent_needed",
            Self::Declined => "declined",
            Self::Conflict { .. } => "conflict",
            Self::DotGitPath { .. } => "dot_git_path",
            Self::WorkflowFile { .. } => "workflow_file",
            Self::RestorePending { .. } => "restore_pending",
            Self::RestoreNeverBegan { .. } => "restore_never_began",
            Self::RelinkRefused { .. } => "relink_refused",
            Self::Pinned { .. } => "pinned",
            Self::ChangedMeanwhile { .. } => "changed_meanwhile",
            Self::Held { .. } => "held",
            Self::SeveralHolds { .. } => "several_holds",
            Self::Unguarded { .. } => "unguarded",
            Self::DatabaseNotTaken { .. } => "database_not_taken",
            Self::DatabaseNotHeld { .. } => "database_not_held",
            Self::Workflow(problem) => problem.code,
            Self::Damaged { .. } => "damaged",
            Self::StoreTooNew { .. } => "store_too_new",
            Self::Busy { .. } => "busy",
            Self::BadConfig { .. } => "bad_config",
            Self::NoBase => "no_base",
            Self::HostileStore { .. } => "hostile_store",
            Self::StoreUnusable { .. } => "store_unusable",
            Self::StoreGone { .. } => "store_gone",
            Self::Io { .. } | Self::TreeIo { .. } => "io",
            Self::Interrupted { .. } | Self::CheckInterrupted { .. } => "interrupted",
            Self::Unexpected(_) => "failed",
        }
    }

    /// Returns the user's next step, if there is a single one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Usage { .. } => "try 'checkpoint --help'".into(),
            Self::NoSuchCheckpoint { nearest: Some(id), .. } => {
                format!("'checkpoint list' shows them all; the newest is {}", id.short())
            }
            Self::NoSuchCheckpoint { nearest: None, .. } => "'checkpoint create' makes the first one".into(),
            Self::EvictedMeanwhile { .. } => "'checkpoint list' shows what is kept".into(),
            Self::AmbiguousCheckpoint { .. } => "give more digits of the id".into(),
            Self::NoSuchPath { checkpoint, .. } => {
                format!("'checkpoint cat {}:' lists what it holds", checkpoint.short())
            }
            Self::IsDirectory { .. } => "name one of its files".into(),
            Self::NoStore { ancestor: Some(above), .. } => {
                let word = shell_word(above.as_os_str().as_encoded_bytes());
                format!("{} has one: 'checkpoint -C {word} …'", escape_path(above))
            }
            Self::NoStore { ancestor: None, .. } => "'checkpoint create' makes one".into(),
            Self::NothingToTakeBack { .. } => "'checkpoint list --kind safety' shows what earlier restores left".into(),
            Self::RootMissing { .. } => "give the directory with -C".into(),
            Self::AmbiguousStore { .. } => "move all but one of them away".into(),
            Self::UnsafeRoot { .. } => {
                "name a project directory with -C, or if you mean it begin with 'checkpoint create --force'".into()
            }
            Self::BadDestination { .. } => "name a new or empty directory elsewhere".into(),
            Self::NothingFound { hint, .. } => hint.clone(),
            Self::NothingHeld { .. } => "nothing was recorded; mend that, or name other paths".into(),
            Self::CheckInterrupted { hint, .. } => return hint.clone(),
            Self::ConsentNeeded { can_look: true, .. } => "look at it with --dry-run, then give --yes".into(),
            Self::ConsentNeeded { can_look: false, .. } => "give --yes if that is meant".into(),
            Self::Conflict { .. } => "move these away; a restore can be given PATHs without them".into(),
            Self::DotGitPath { .. } => "a repository's own data is never captured and never changed".into(),
            Self::WorkflowFile { .. } => "'checkpoint workflow rewind PHASE --both' takes a workflow back, and its files with it".into(),
            Self::RestorePending { .. } => {
                "'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back".into()
            }
            Self::RestoreNeverBegan { .. } => "'checkpoint undo', once more, takes back the restore before it".into(),
            Self::RelinkRefused { .. } => "nothing was changed; 'checkpoint list --all' shows every store".into(),
            Self::Pinned { id } => format!("'checkpoint unpin {}' lets it go", id.short()),
            Self::Held { hold, .. } => format!("checkpoint release {}", shell_word(hold.name.as_bytes())),
            Self::SeveralHolds { .. } => "name the one that is to end".into(),
            Self::Unguarded { command, .. } => return command.clone(),
            Self::ChangedMeanwhile { .. } => "nothing was changed; try again when nobody writes there".into(),
            Self::DatabaseNotTaken { .. } => "nothing was recorded; mend that, or leave this --db out".into(),
            Self::DatabaseNotHeld { .. } => {
                "nothing was changed; mend that, or restore PATHs without it; a file of SQLite that is moved away is made anew"
                    .into()
            }
            Self::Damaged { .. } => {
                "'checkpoint verify' names all that is damaged, 'checkpoint verify --repair' mends what can be mended"
                    .into()
            }
            Self::Workflow(problem) => return problem.hint.clone(),
            Self::StoreTooNew { .. } => "use the newer program that wrote it".into(),
            Self::Busy { .. } => "try again, or wait longer with --lock-timeout".into(),
            Self::BadConfig { .. } => "mend or remove that line".into(),
            Self::NoBase => "set CHECKPOINT_HOME to a directory for the stores".into(),
            Self::HostileStore { .. } => "look at that directory; CHECKPOINT_HOME can name another place".into(),
            Self::StoreUnusable { .. } => {
                "'checkpoint verify --repair' keeps all that can be read; so does the next 'checkpoint create'".into()
            }
            Self::StoreGone { .. } => "'checkpoint create' makes a new one".into(),
            Self::Io { action, source, .. } => return io_hint(action, source.kind()),
            Self::TreeIo { action, source, .. } => return tree_hint(action, source.kind()),
            Self::Declined | Self::Interrupted { .. } | Self::Unexpected(_) => return None,
        })
    }
}

fn io_hint(action: &str, kind: std::io::ErrorKind) -> Option<String> {
    use std::io::ErrorKind as Kind;
    match kind {
        Kind::StorageFull | Kind::QuotaExceeded => {
            Some("free some space; 'checkpoint prune' works with the disk full".into())
        }
        Kind::PermissionDenied if only_looks(action) => Some("it may not be read by this user".into()),
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            Some("this place is not writable from here (a sandbox?); CHECKPOINT_HOME can name another".into())
        }
        _ => None,
    }
}

fn only_looks(action: &str) -> bool {
    matches!(action, "read" | "look at" | "find")
}

/// Returns the hint for a file of the project, where the location of the stores is irrelevant.
fn tree_hint(action: &str, kind: std::io::ErrorKind) -> Option<String> {
    use std::io::ErrorKind as Kind;
    match kind {
        Kind::PermissionDenied if !only_looks(action) => Some(
            "this user may not change it: its owner and mode, those of its directory, or 'lsattr' (immutable?) tell why"
                .into(),
        ),
        Kind::ReadOnlyFilesystem => Some("its file system is mounted read-only".into()),
        kind => io_hint(action, kind),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage { what } | Self::NothingFound { what, .. } | Self::Unguarded { what, .. } => f.write_str(what),
            Self::Workflow(problem) => f.write_str(&escape_line(&problem.what)),
            Self::NoSuchCheckpoint { query, .. } => write!(f, "no checkpoint '{}'", shown(query)),
            Self::EvictedMeanwhile { id } => write!(f, "checkpoint {} was evicted meanwhile", id.short()),
            Self::AmbiguousCheckpoint { query, candidates } => {
                let listed: Vec<String> =
                    candidates.iter().map(|c| format!("{} ({})", c.id.short(), shown(&c.reason))).collect();
                write!(f, "'{}' could be {}", shown(query), listed.join(" or "))
            }
            Self::NoSuchPath { checkpoint, path } => {
                write!(f, "checkpoint {} does not hold '{}'", checkpoint.short(), shown(path))
            }
            Self::IsDirectory { checkpoint, path, entries } => {
                let held = if entries.is_empty() { "nothing".to_owned() } else { entries.join(", ") };
                write!(f, "'{path}' is a directory in checkpoint {}; it holds {held}", checkpoint.short())
            }
            Self::NoStore { root, .. } => write!(f, "{} has no checkpoints", root.display()),
            Self::NothingToTakeBack { verb } => write!(f, "nothing to {verb}"),
            Self::RootMissing { root } => write!(f, "{} is no directory", root.display()),
            Self::AmbiguousStore { candidates } => {
                let listed: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
                write!(f, "several stores answer for this directory: {}", listed.join(", "))
            }
            Self::UnsafeRoot { root, why } => write!(f, "refusing {}: {why}", root.display()),
            Self::BadDestination { dir, why } => write!(f, "cannot write to {}: {why}", dir.display()),
            Self::CheckInterrupted { signal, done, .. } => {
                write!(f, "the check was interrupted by signal {signal}; {done}")
            }
            Self::ConsentNeeded { what, .. } => write!(f, "{what}, and nobody is there to ask"),
            Self::Declined => f.write_str("not confirmed; nothing was changed"),
            Self::Conflict { obstacles } => {
                write!(f, "nothing was changed, because no checkpoint would hold what stands at {}", list(obstacles))
            }
            Self::DotGitPath { path } => write!(f, "'{}' is at or below a .git", shown(path)),
            Self::WorkflowFile { path } => write!(f, "'{}' is a workflow's: a restore leaves it alone", shown(path)),
            Self::RestorePending { target, safety } => {
                write!(f, "a restore to {} (safety checkpoint {}) was interrupted", target.short(), safety.short())
            }
            Self::RestoreNeverBegan { target } => f.write_str(&never_began(*target)),
            Self::RelinkRefused { why } | Self::NothingHeld { why } => f.write_str(why),
            Self::Pinned { id } => write!(f, "checkpoint {} is pinned; nothing was deleted", id.short()),
            Self::ChangedMeanwhile { obstacles } => write!(f, "changed during the restore: {}", list(obstacles)),
            Self::Held { hold, others } => f.write_str(&held(hold, *others)),
            Self::SeveralHolds { names } => write!(f, "several holds stand: {}", joined(names)),
            Self::DatabaseNotTaken { database, why } => write!(f, "database {database} was not taken: {why}"),
            Self::DatabaseNotHeld { database, why } => {
                write!(f, "the present state of database {database} cannot be kept: {why}")
            }
            Self::Damaged { what, why } => write!(f, "{what} is damaged: {why}"),
            Self::StoreTooNew { store, found, supported } => {
                write!(f, "{} has format {found}; this program writes {supported}", store.display())
            }
            Self::Busy { holder, waited } => {
                write!(f, "the store is in use by {holder}; waited {} s", waited.as_secs())
            }
            Self::BadConfig { file, what } => write!(f, "{}: {what}", file.display()),
            Self::NoBase => f.write_str("no place for checkpoints: HOME is not set to an absolute path"),
            Self::HostileStore { store, why } => write!(f, "refusing the store {}: {why}", store.display()),
            Self::StoreUnusable { store, why } => write!(f, "the store {} is damaged: {why}", store.display()),
            Self::StoreGone { store } => write!(f, "the store {} was removed meanwhile", store.display()),
            Self::Io { action, path, source } | Self::TreeIo { action, path, source } => {
                write!(f, "cannot {action} {}: {source}", path.display())
            }
            Self::Interrupted { signal } => write!(f, "interrupted by signal {signal}"),
            Self::Unexpected(cause) => write!(f, "{cause:#}"),
        }
    }
}

fn never_began(target: ObjectId) -> String {
    format!("the last restore, to {}, was stopped before it changed anything", target.short())
}

fn held(hold: &Hold, others: usize) -> String {
    let more = if others > 0 { format!("; so do {others} more") } else { String::new() };
    format!("no checkpoint now: {}{more}", hold.in_words())
}

fn list(obstacles: &[Obstacle]) -> String {
    const SHOWN: usize = 10;
    let mut listed: Vec<String> = obstacles.iter().take(SHOWN).map(|o| format!("{} ({})", o.path, o.why)).collect();
    if obstacles.len() > SHOWN {
        listed.push(format!("and {} more", obstacles.len() - SHOWN));
    }
    listed.join(", ")
}

fn joined(names: &[String]) -> String {
    names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")
}

fn shown(text: &str) -> String {
    crate::base::text::escape(text)
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::TreeIo { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Self {
        Self::Unexpected(cause)
    }
}

impl From<WorkflowProblem> for Error {
    fn from(problem: WorkflowProblem) -> Self {
        Self::Workflow(Box::new(problem))
    }
}

impl From<SelectorProblem> for Error {
    fn from(problem: SelectorProblem) -> Self {
        match problem {
            SelectorProblem::Empty => Self::Usage { what: "the selector is empty: no checkpoint is named".into() },
            SelectorProblem::NoMatch { query, nearest } => Self::NoSuchCheckpoint { query, nearest },
            SelectorProblem::Ambiguous { query, candidates } => Self::AmbiguousCheckpoint { query, candidates },
        }
    }
}
