//! What is wrong with a run, its plan or its files: each flaw with its sentence and its code.

use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::profile::PHASE_FILE;

/// A flaw, which [`Self::at`] makes a finding. Its code is the name of the variant, unless one is
/// given.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Flaw {
    // Of a plan.
    #[error("the id is empty")]
    #[strum(serialize = "bad_name")]
    EmptyId,
    #[error("the id has control characters in it")]
    #[strum(serialize = "bad_name")]
    ControlsInId,
    #[error("another phase has the id '{0}' already")]
    DuplicateId(String),
    #[error("'{phase}' depends on '{id}', and no phase has that id")]
    UnknownDependency { phase: String, id: String },
    #[error("the dependencies form a cycle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    #[error("its dependencies are given twice, and differ")]
    TwoLists,
    #[error("'{0}' is not a status of a phase")]
    UnknownStatus(String),
    #[error("'{0}' is not a class of phases")]
    UnknownClass(String),
    #[error(
        "'{phase}' makes {class} and comes after '{early}', which makes {other}; {class} are harder to make again, so put it first"
    )]
    PhaseOrder {
        phase: String,
        class: &'static str,
        early: String,
        other: &'static str,
    },

    // Of a run.
    #[error("it was started {0} ago")]
    Stale(String),
    #[error("nothing has happened in it for {0}")]
    Idle(String),
    #[error("{PHASE_FILE} names '{phase}', which is none of {known}; fix it there{}", or_skip(.skip.as_deref()))]
    UnknownPhase {
        phase: String,
        known: String,
        /// The command that skips it.
        skip: Option<String>,
    },
    #[error("phase {phase} is listed as complete and as {status}")]
    DoneAndUnderWay { phase: String, status: &'static str },
    #[error("phase {phase} is {status} before {unmet}")]
    OutOfOrder {
        phase: String,
        status: String,
        unmet: String,
    },
    #[error("phase {phase} is complete, and task {task} is {status}")]
    TasksOpen {
        phase: String,
        task: String,
        status: &'static str,
    },
    #[error("it is before the start")]
    #[strum(serialize = "time_unlikely")]
    EndBeforeStart,
    #[error("{0} is before the run began")]
    #[strum(serialize = "time_unlikely")]
    BeforeTheRun(String),
    #[error("{0} is in the future")]
    TimeInFuture(String),

    // Of the files of a run.
    #[error("phase {0} wrote it, and it is missing")]
    #[strum(serialize = "output_missing")]
    OutputGone(String),
    #[error("phase {0} wrote it, and it is empty")]
    #[strum(serialize = "output_missing")]
    OutputEmpty(String),
    #[error("phase {phase} wrote it, and it is not valid JSON any more: {why}")]
    OutputBroken { phase: String, why: String },
    #[error("phase {0} wrote it outside the directory, where it is not checked")]
    OutputOutside(String),
    #[error("phase {0} wrote it, and it was changed since")]
    OutputChanged(String),
    #[error("phase {phase} writes it, and it {flaw}")]
    OutputOfPhase { phase: String, flaw: OutputFlaw },
    #[error("the workflow's state names it, and it is missing")]
    #[strum(serialize = "file_missing")]
    NamedFileGone,
    #[error("it has no 'tasks', so none of its tasks is known here")]
    NoTasks,
    #[error("task {task} is complete, and its output {flaw}")]
    OutputOfTask { task: String, flaw: OutputFlaw },

    // Of a document that keeps a run.
    #[error("{0}")]
    NoJson(String),
    #[error("unknown format")]
    UnknownFormat,
    #[error("unknown format; --type names the format")]
    #[strum(serialize = "unknown_format")]
    UnknownFormatAndType,
    #[error("it belongs to run '{named}', not to '{run}'")]
    OtherRun { named: String, run: String },
    #[error("interruption_safe is false: its writer was interrupted, or is still writing")]
    InterruptedWrite,
}

fn or_skip(command: Option<&str>) -> String {
    command.map_or_else(String::new, |command| {
        format!(", or skip it with '{command}'")
    })
}

impl Flaw {
    pub fn at(self, place: impl Into<String>) -> Finding {
        let code = match &self {
            Self::OutputOfPhase { flaw, .. } | Self::OutputOfTask { flaw, .. } => flaw.into(),
            other => other.into(),
        };
        Finding {
            code,
            place: place.into(),
            what: self.to_string(),
        }
    }
}

/// What is wrong with an output, to follow its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
pub enum OutputFlaw {
    #[error("is missing")]
    #[strum(serialize = "output_missing")]
    Missing,
    #[error("is empty")]
    #[strum(serialize = "output_missing")]
    Empty,
    #[error("is not valid: {0}")]
    #[strum(serialize = "output_broken")]
    Broken(String),
    /// It gives another status than complete.
    #[error("says '{0}'")]
    #[strum(serialize = "output_contradicts")]
    Contradicts(String),
}
