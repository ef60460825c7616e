//! The failures that a caller branches on, each with its message, its code and the next step; all
//! others carry a cause. Typed words and paths in them are escaped already.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::interrupt::Interrupted;
use crate::base::text::{escape, escape_line};
use crate::base::time::{PAST_FORMS, SPAN_FORMS};
use crate::error::problem::WorkflowProblem;
use crate::error::sentence::{CommandWords, Sentence};
use crate::error::words::{
    Instead, Obstacle, alternatives, behind_link, content, mismatch, no_home,
};
use crate::model::checkpoint::hold::Hold;
use crate::model::checkpoint::mismatch::{Candidate, Mismatch};
use crate::model::checkpoint::selector::SelectorProblem;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(
    Debug, thiserror::Error, strum::EnumMessage, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Error {
    /// The command line makes no sense.
    #[error("{what}")]
    Usage { what: String },
    /// The command line can mean several things; `hint` has a command for each.
    #[error("{what}")]
    #[strum(serialize = "usage")]
    UnclearWords { what: String, hint: Sentence },
    /// A duration or time that cannot be read, with examples of what can.
    #[error("cannot read '{}'{}; write {forms}", escape(.typed), after(" of ", .option))]
    #[strum(
        serialize = "usage",
        message = "'checkpoint help selectors' names every form"
    )]
    BadTime {
        /// Where it was given; empty if that is clear.
        option: &'static str,
        typed: String,
        forms: &'static str,
    },
    #[error("{}", mismatch(.query, .why))]
    #[strum(message = "'checkpoint create' makes the first one")]
    NoSuchCheckpoint { query: String, why: Mismatch },
    /// A path where a checkpoint is needed.
    #[error("'{path}' is a path, not a checkpoint")]
    #[strum(
        serialize = "no_such_checkpoint",
        message = "'checkpoint list' shows the checkpoints"
    )]
    PathNotCheckpoint { path: String },
    /// A checkpoint where one of its paths is needed.
    #[error("'{word}' is a checkpoint, and no path in {}", .checkpoint.short())]
    #[strum(serialize = "no_such_path")]
    CheckpointNotPath {
        word: String,
        checkpoint: ObjectId,
        other: ObjectId,
    },
    /// It existed, but was evicted or deleted by another process meanwhile.
    #[error("checkpoint {} was evicted meanwhile", .id.short())]
    #[strum(message = "'checkpoint list' shows the others")]
    EvictedMeanwhile { id: ObjectId },
    #[error("'{query}' could be {}", alternatives(.candidates))]
    #[strum(message = "give more digits of the id")]
    AmbiguousCheckpoint {
        query: String,
        candidates: Vec<Candidate>,
    },
    #[error("checkpoint {} does not hold '{path}'", .checkpoint.short())]
    NoSuchPath { checkpoint: ObjectId, path: String },
    /// A checkpoint alone where one of its files is needed.
    #[error("{} is a checkpoint: name one of its files, SEL:PATH", .id.short())]
    #[strum(serialize = "usage")]
    NoFileNamed { id: ObjectId },
    /// A directory where a file is needed.
    #[error("'{path}' is a directory in checkpoint {}; it holds {}", .checkpoint.short(), content(.entries))]
    #[strum(serialize = "is_a_directory", message = "name one of its files")]
    IsDirectory {
        checkpoint: ObjectId,
        path: String,
        entries: Vec<String>,
    },
    /// This root has no store.
    #[error("{root} has no checkpoints")]
    NoStore { root: PathBuf, instead: Instead },
    /// There is no step of this kind. `had_restores`: earlier restores left safety checkpoints.
    #[error("nothing to {verb}{}", if *.had_restores { "" } else { ": no restore was made here" })]
    NothingToTakeBack {
        verb: &'static str,
        had_restores: bool,
    },
    #[error("{root} does not exist")]
    #[strum(message = "name an existing directory with -C")]
    RootMissing { root: PathBuf },
    #[error("{root} is a file, not a directory")]
    #[strum(serialize = "root_missing", message = "name a directory with -C")]
    RootIsFile { root: PathBuf },
    /// Several stores match this root.
    #[error("several stores belong to this directory: {}", joined(.candidates, |path| path.display().to_string()))]
    #[strum(message = "move all but one of them away")]
    AmbiguousStore { candidates: Vec<PathBuf> },
    #[error("refusing {root}: {why}")]
    #[strum(
        message = "name a project directory with -C; 'checkpoint create --force' overrides this"
    )]
    UnsafeRoot { root: PathBuf, why: String },
    /// The directory of `--to` must not be written.
    #[error("cannot write to {dir}: {why}")]
    #[strum(message = "name a new or empty directory elsewhere")]
    BadDestination { dir: PathBuf, why: String },
    /// A search found nothing.
    #[error("{what}")]
    NothingFound { what: String, hint: Sentence },
    /// `create --require` made no checkpoint; `disabled` by the environment, else there are too many
    /// files.
    #[error("no checkpoint holds the present state")]
    NotRecorded { disabled: bool },
    /// Files exist, but a checkpoint could hold none of them.
    #[error("{why}")]
    #[strum(message = "nothing was recorded; fix that, or name other paths")]
    NothingHeld { why: String },
    /// A signal ended what follows the change of a restore.
    #[error("interrupted: {done}")]
    #[strum(serialize = "interrupted")]
    InterruptedLate {
        signal: i32,
        done: String,
        hint: Option<Sentence>,
    },
    /// Consent is needed, but there is no terminal to ask on.
    #[error("not confirmed: this would {what}")]
    #[strum(message = "nothing was changed; add --yes to confirm")]
    ConsentNeeded {
        what: String,
        /// Whether the command has `--dry-run`.
        can_look: bool,
    },
    /// The user wants a plan to be shown to an agent before it may go on.
    #[error(
        "not confirmed: by the user's setting agent_restore, an agent needs the plan of a dry run"
    )]
    #[strum(serialize = "consent_needed")]
    PlanNeeded { command: CommandWords },
    /// Something has changed since the plan was shown.
    #[error(
        "not confirmed: the checkpoint or the directory is not as it was when that plan was shown; nothing was changed, and the plan is now {now}"
    )]
    #[strum(
        serialize = "consent_needed",
        message = "look again with --dry-run, then give --plan what it names"
    )]
    PlanMoved { now: String },
    /// A plan that an MCP client names cannot be carried out.
    #[error("the plan '{}' {why}; nothing was changed", escape(.plan))]
    #[strum(message = "the tool checkpoint_plan_restore makes a new one")]
    PlanNotKnown { plan: String, why: &'static str },
    /// An MCP client names a directory that it was not given.
    #[error("{dir} is outside the directories of this server; nothing was done")]
    #[strum(message = "'checkpoint mcp --help' says how to let it in")]
    DirNotAllowed { dir: PathBuf },
    /// The user answered no.
    #[error("cancelled; nothing was changed")]
    Declined,
    /// A step of several failed; those before it are done.
    #[error("{done} {}", more_changed(&.cause.to_string()))]
    #[strum(serialize = "failed")]
    StoppedAfter {
        done: String,
        hint: Option<Sentence>,
        cause: Box<Error>,
    },
    /// Something is in the way of the target, or may not be changed; nothing was changed.
    #[error("not restored because of {}", list(.obstacles))]
    Conflict {
        obstacles: Vec<Obstacle>,
        hint: Sentence,
    },
    /// A path is at or below a `.git`.
    #[error("'{path}' is at or below a .git")]
    #[strum(message = "a repository's own data is never captured and never changed")]
    DotGitPath { path: String },
    /// A scope or PATH leads through a symlink to a directory.
    #[error("'{path}' leads through the symlink {link}, and a checkpoint holds only the link; {}", behind_link(behind.as_ref()))]
    LinkedPath {
        path: String,
        link: String,
        /// What it leads to, if that lies below the root.
        behind: Option<RelPath>,
    },
    /// A restore must not change a file that is written for a workflow.
    #[error("'{path}' belongs to a workflow, and a restore leaves it alone")]
    #[strum(
        message = "'checkpoint workflow rewind PHASE --both' takes a workflow back, and its files with it"
    )]
    WorkflowFile { path: String },
    /// An earlier restore was interrupted.
    #[error("a restore to {} (safety checkpoint {}) was interrupted", .target.short(), .safety.short())]
    #[strum(message = "'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back")]
    RestorePending {
        target: ObjectId,
        safety: ObjectId,
        /// Whether its journal says how far it was to go.
        can_resume: bool,
    },
    /// A restore was killed before it changed anything, so there is nothing to undo.
    #[error("the last restore, to {}, was stopped before it changed anything", .target.short())]
    #[strum(
        message = "nothing was changed; 'checkpoint undo' again takes back the restore before it"
    )]
    RestoreNeverBegan { target: ObjectId },
    /// This directory may not take over the checkpoints of another root.
    #[error("{why}")]
    #[strum(message = "nothing was changed; 'checkpoint list --all' shows every store")]
    RelinkRefused { why: String },
    /// A pinned checkpoint is not deleted.
    #[error("checkpoint {} is pinned; nothing was deleted", .id.short())]
    Pinned { id: ObjectId },
    /// Files changed during a restore; it was rolled back.
    #[error("changed during the restore: {}", list(.obstacles))]
    #[strum(message = "nothing was changed; try again when no program writes there")]
    ChangedMeanwhile { obstacles: Vec<Obstacle> },
    /// A hold stands, so no checkpoint is made; of several holds the one that ends last.
    #[error("no checkpoint was made: {}{}", .hold.in_words(*.now_ms), more(*.others))]
    Held {
        hold: Hold,
        others: usize,
        now_ms: i64,
    },
    #[error("there is no hold '{}'", escape(.name))]
    NoSuchHold { name: String, active: Vec<String> },
    /// Several holds stand, so one must be named.
    #[error("several holds are active: {}", joined(.names, |name| escape(name)))]
    #[strum(message = "name the one to release")]
    SeveralHolds { names: Vec<String> },
    /// No checkpoint exists from which the change could be undone.
    #[error("{what}")]
    Unguarded {
        what: String,
        /// The command that makes or asks for such a checkpoint, if there is one.
        command: Option<CommandWords>,
    },
    /// A database could not be captured for a new checkpoint; nothing was recorded.
    #[error("database {database} was not captured: {why}")]
    #[strum(message = "nothing was recorded; fix that, or leave this --db out")]
    DatabaseNotTaken { database: String, why: String },
    /// The present state of a database could not be captured before a restore; nothing was changed.
    #[error("the present state of database {database} cannot be saved: {why}")]
    #[strum(
        message = "nothing was changed; fix that, or restore PATHs without it; a SQLite file that is moved away is created again"
    )]
    DatabaseNotHeld { database: String, why: String },
    /// A failure of a workflow, with its details.
    #[error("{}", escape_line(&.0.what))]
    Workflow(Box<WorkflowProblem>),
    /// The requested object cannot be read in full.
    #[error("{what} is damaged: {why}")]
    #[strum(
        message = "'checkpoint verify --full' lists all damage, 'checkpoint verify --repair' repairs what it can"
    )]
    Damaged { what: String, why: String },
    /// What a check found, or what a repair could not repair.
    #[error("{what}")]
    #[strum(serialize = "damaged")]
    DamageFound { what: String, hint: Sentence },
    /// A bundle is no bundle, is cut short or damaged, or has what no checkpoint may have.
    #[error("{origin} was not taken: {why}")]
    #[strum(message = "nothing of it was added; get it once more from where it was made")]
    BadBundle {
        /// The bundle, or what a remote sent.
        origin: String,
        why: String,
    },
    /// An incremental bundle whose prerequisite is missing.
    #[error("{file} builds on checkpoint {}, which is not here", .id.short())]
    #[strum(message = "nothing was imported; import the bundle before it first")]
    BundleNeeds { file: String, id: ObjectId },
    /// Git cannot be started.
    #[error("there is no git on PATH, which alone reaches remotes; nothing was changed")]
    #[strum(message = "install git, or carry a file: 'checkpoint export -o FILE' needs none")]
    GitMissing,
    #[error("git did not end within {} s", .limit.as_secs())]
    #[strum(message = "nothing was changed here; '--timeout SECONDS' gives it more time")]
    GitTooSlow { limit: Duration },
    #[error("the remote {name} is known with another URL; nothing was changed")]
    #[strum(
        message = "give this one another name, or forget that one: 'checkpoint remote remove NAME'"
    )]
    RemoteNameTaken { name: String },
    /// A checkpoint of a remote where one of this store is needed.
    #[error("'{selector}' is a checkpoint of a remote, which is only read; nothing was changed")]
    #[strum(
        message = "'checkpoint restore' brings its files here, and a checkpoint made then is yours"
    )]
    NotOwn { selector: String },
    /// A remote cannot be reached, or refuses.
    #[error("the remote {remote} ({url}): {why}")]
    #[strum(message = "nothing was changed here; fix this, then run the command again")]
    RemoteFailed {
        remote: String,
        url: String,
        /// What git said last; several lines begin with a line break.
        why: String,
        of_push: bool,
    },
    #[error("{store} has format {found}; this program writes {supported}")]
    #[strum(message = "use the newer program that wrote it")]
    StoreTooNew {
        store: PathBuf,
        found: u32,
        supported: u32,
    },
    #[error("the store is in use by {holder}; waited {} s", .waited.as_secs())]
    #[strum(message = "try again, or wait longer with --lock-timeout")]
    Busy { holder: String, waited: Duration },
    #[error("{file}: {what}")]
    #[strum(message = "fix or remove that line")]
    BadConfig { file: PathBuf, what: String },
    #[error("no place for checkpoints: {}", no_home(.home.as_deref()))]
    #[strum(message = "set CHECKPOINT_HOME to a directory for the stores")]
    NoBase { home: Option<PathBuf> },
    /// The base would have to be made with the folders above it: it may be mistyped.
    #[error("the base {base} cannot be made: {} does not exist", .base.parent().unwrap_or(.base).display())]
    #[strum(message = "CHECKPOINT_HOME or --base names another place; nothing was made")]
    NoPlaceForBase { base: PathBuf },
    /// The store is not ours to use, or contains planted files.
    #[error("refusing the store {store}: {why}")]
    #[strum(message = "check that directory; CHECKPOINT_HOME can name another place")]
    HostileStore { store: PathBuf, why: String },
    /// A part of the store is of a file type that cannot be used.
    #[error("the store {store} is damaged: {why}")]
    #[strum(
        message = "'checkpoint verify --repair' keeps all that can be read, and so does the next 'checkpoint create'"
    )]
    StoreUnusable { store: PathBuf, why: String },
    /// The store was removed or moved away while we waited for its lock.
    #[error("the store {store} was removed meanwhile")]
    #[strum(message = "'checkpoint create' makes a new one")]
    StoreGone { store: PathBuf },
    #[error("cannot {action} {path}: {source}")]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// There is no room left; `hint` was looked for.
    #[error("cannot write {path}: {source}")]
    #[strum(serialize = "io")]
    DiskFull {
        path: PathBuf,
        source: std::io::Error,
        hint: Sentence,
    },
    /// As [`Self::Io`], for one of the user's files.
    #[error("cannot {action} {path}: {source}")]
    #[strum(serialize = "io")]
    TreeIo {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A signal asked us to stop; nothing is half-made.
    #[error("interrupted")]
    Interrupted { signal: i32 },
    #[error("{0:#}")]
    #[strum(serialize = "failed")]
    Unexpected(anyhow::Error),
}

impl Error {
    /// Returns a closure for `map_err` that names the action and the path.
    pub fn io<'p>(
        action: &'static str,
        path: &'p Path,
    ) -> impl FnOnce(std::io::Error) -> Error + 'p {
        move |source| Error::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }

    /// Returns the failure to write an answer.
    pub fn unanswered(why: impl std::fmt::Display) -> Self {
        Self::unexpected(format!(
            "the answer could not be written to standard output: {why}"
        ))
    }

    /// Returns a failure that no caller branches on, in words.
    pub fn unexpected(what: impl std::fmt::Display) -> Self {
        Self::Unexpected(anyhow::Error::msg(what.to_string()))
    }

    /// Returns [`Self::Damaged`] for what cannot be read, and why.
    pub fn damaged(what: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Self::Damaged {
            what: what.to_string(),
            why: why.to_string(),
        }
    }

    pub fn bad_span(option: &'static str, typed: &str) -> Self {
        Self::BadTime {
            option,
            typed: typed.to_owned(),
            forms: SPAN_FORMS,
        }
    }

    pub fn bad_time(option: &'static str, typed: &str) -> Self {
        Self::BadTime {
            option,
            typed: typed.to_owned(),
            forms: PAST_FORMS,
        }
    }

    /// Returns the checkpoints that a selector could have meant.
    pub fn candidates(&self) -> &[Candidate] {
        match self {
            Self::AmbiguousCheckpoint { candidates, .. } => candidates,
            Self::NoSuchCheckpoint { why, .. } => why.candidates(),
            _ => &[],
        }
    }

    /// Returns the stable code for this failure in JSON: the name of its variant, unless another is
    /// given there.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Workflow(problem) => problem.code,
            Self::StoppedAfter { cause, .. } => cause.code(),
            other => other.into(),
        }
    }
}

/// Formats `lead` and `text`, unless that is empty.
fn after(lead: &str, text: &str) -> String {
    if text.is_empty() {
        String::new()
    } else {
        format!("{lead}{text}")
    }
}

fn more(others: usize) -> String {
    if others > 0 {
        format!(", and {others} more")
    } else {
        String::new()
    }
}

fn list(obstacles: &[Obstacle]) -> String {
    const SHOWN: usize = 10;
    let mut listed: Vec<String> = obstacles
        .iter()
        .take(SHOWN)
        .map(|o| format!("{} ({})", o.path, o.why))
        .collect();
    if obstacles.len() > SHOWN {
        listed.push(format!("and {} more", obstacles.len() - SHOWN));
    }
    listed.join(", ")
}

/// Changes what the failure of one step says of all.
pub(super) fn more_changed(text: &str) -> String {
    text.replace("nothing was changed", "nothing more was changed")
}

fn joined<T>(items: &[T], shown: impl Fn(&T) -> String) -> String {
    items.iter().map(shown).collect::<Vec<_>>().join(", ")
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Self {
        Self::Unexpected(cause)
    }
}

impl From<Interrupted> for Error {
    fn from(Interrupted(signal): Interrupted) -> Self {
        Self::Interrupted { signal }
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
            SelectorProblem::Empty => Self::Usage {
                what: "the selector is empty: no checkpoint is named".into(),
            },
            SelectorProblem::NoMatch { query, why } => Self::NoSuchCheckpoint {
                query: escape(&query),
                why,
            },
            SelectorProblem::Ambiguous { query, candidates } => Self::AmbiguousCheckpoint {
                query: escape(&query),
                candidates,
            },
        }
    }
}
