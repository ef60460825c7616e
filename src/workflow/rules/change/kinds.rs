//! The kinds of transitions of a run. Those of a phase and of a task are commands as they are.

use clap::Subcommand;
use serde_json::Value;

use crate::base::json::parse;
use crate::error::{Error, Result};
use crate::workflow::rules::workflow::MiniCommit;
use crate::workflow::words::flaw::OutputFlaw;

/// One transition of a run.
#[derive(Clone, Debug)]
pub enum Change {
    Phase(PhaseChange),
    Task(TaskChange),
    Note(Note),
    Resume,
    Abandon { reason: String },
    MiniCommit(MiniCommit),
}

impl Change {
    /// Returns its words in the log, such as `phase done`.
    pub fn verb(&self) -> String {
        match self {
            Self::Phase(change) => change.into_str().replace('.', " "),
            Self::Task(change) => change.into_str().replace('.', " "),
            Self::Note(note) if note.interrupted.is_some() => "interrupt".to_owned(),
            Self::Note(_) => "note".to_owned(),
            Self::Resume => "resume".to_owned(),
            Self::Abandon { .. } => "abandon".to_owned(),
            Self::MiniCommit(_) => "mini-commit".to_owned(),
        }
    }
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "phase.", serialize_all = "snake_case")]
pub enum PhaseChange {
    Start(Start),
    /// Record the progress of a phase
    Progress {
        /// What is done, and what comes next
        #[arg(value_name = "TEXT")]
        text: String,
        /// Phase [default: the only one under way]
        #[arg(long, value_name = "PHASE")]
        phase: Option<String>,
    },
    Done(Finish),
    /// Record that a phase failed; it can be started again
    Fail {
        /// Phase [default: the only one under way]
        #[arg(value_name = "PHASE")]
        phase: Option<String>,
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        error: String,
        /// Fail the whole run
        #[arg(long = "final")]
        is_final: bool,
    },
    /// Skip a phase
    Skip {
        /// Phase
        #[arg(value_name = "PHASE")]
        phase: String,
        /// Reason
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Record the user's approval of a phase
    Approve {
        /// Phase [default: the only one under way]
        #[arg(value_name = "PHASE")]
        phase: Option<String>,
    },
    /// The phase waits for approval: its results are shown again, not made again.
    #[command(skip)]
    Await {
        phase: String,
    },
    /// Makes a running phase pending again, with its progress note, because another comes first.
    #[command(skip)]
    Reset {
        phase: String,
    },
}

/// Start a phase, with a checkpoint of the files before it
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Start {
    /// Phase [default: the next one]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Start it despite open dependencies or shared files
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
    /// Checkpoint of the files before the phase.
    #[arg(skip)]
    pub before: Option<String>,
    /// Commit id of the project's HEAD.
    #[arg(skip)]
    pub head: Option<String>,
}

/// End a phase, with a checkpoint of the files after it
///
/// In the profile 'pipeline' every third phase is followed by a checkpoint of its own.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Finish {
    /// Phase [default: the only one under way]
    #[arg(value_name = "PHASE")]
    pub phase: Option<String>,
    /// Commit made in the phase [default: HEAD, if it moved]
    #[arg(long = "commit", value_name = "SHA")]
    pub commit_sha: Option<String>,
    /// File made or changed in the phase (repeatable)
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Decision made in the phase (repeatable)
    #[arg(long = "decision", value_name = "TEXT")]
    pub decisions: Vec<String>,
    /// End it despite missing outputs and open tasks
    #[arg(long)]
    pub force: bool,
    /// Make no checkpoint
    #[arg(long)]
    pub no_snapshot: bool,
    /// After every third phase, also commit everything in the project's own repository
    #[arg(long)]
    pub project_git: bool,
    /// Checkpoint of the files after the phase.
    #[arg(skip)]
    pub after: Option<String>,
    /// Outputs that are present, with the SHA-256 of files.
    #[arg(skip)]
    pub present: Vec<(String, Option<String>)>,
    /// Outputs that are not usable, with the reason.
    #[arg(skip)]
    pub flaws: Vec<(String, OutputFlaw)>,
    /// Findings about outputs of completed tasks.
    #[arg(skip)]
    pub task_flaws: Vec<String>,
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "task.", serialize_all = "snake_case")]
pub enum TaskChange {
    /// Add a task
    Add {
        /// Id of the new task
        #[arg(value_name = "TASK")]
        id: String,
        /// Short description
        #[arg(long, value_name = "TEXT")]
        name: Option<String>,
        /// Phase of the task [default: the one under way]
        #[arg(long, value_name = "PHASE")]
        phase: Option<String>,
        /// File that the task writes
        #[arg(long, value_name = "PATH")]
        output: Option<String>,
    },
    /// Start a task
    Start {
        /// Task
        #[arg(value_name = "TASK")]
        id: String,
        /// Agent that does the task
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
    },
    /// End a task
    Done {
        /// Task
        #[arg(value_name = "TASK")]
        id: String,
        /// Note about the result
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Record that a task failed; it can be started again
    Fail {
        /// Task
        #[arg(value_name = "TASK")]
        id: String,
        /// What went wrong
        #[arg(long, value_name = "TEXT")]
        error: String,
    },
    /// Make a task pending again
    Reset {
        /// Task
        #[arg(value_name = "TASK")]
        id: String,
        /// It was running: its next attempt is counted now.
        #[arg(skip)]
        cut_off: bool,
    },
}

/// Record what a new session should know
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "noted", multiple = true)]
pub struct Note {
    /// Decision (repeatable)
    #[arg(long = "decision", value_name = "TEXT")]
    pub decisions: Vec<String>,
    /// File made or changed (repeatable)
    #[arg(long = "file", value_name = "PATH")]
    pub files: Vec<String>,
    /// Key of the run or of its free state, with JSON or plain text; null removes it (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, Value)>,
    /// The run was interrupted, for this reason
    #[arg(long, value_name = "REASON", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "interrupted")]
    pub interrupted: Option<String>,
}

/// Reads `KEY=VALUE`. Other text than JSON is taken as is, to spare the user a second level of
/// quotes.
fn pair(typed: &str) -> Result<(String, Value)> {
    let (key, value) = typed
        .split_once('=')
        .ok_or_else(|| Error::usage(format!("'{typed}' is not KEY=VALUE")))?;
    let value = parse(value.as_bytes()).unwrap_or_else(|_| Value::from(value));
    Ok((key.to_owned(), value))
}
