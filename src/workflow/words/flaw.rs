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
    #[error("the dependencies lead around a circle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    #[error("what it depends on is said twice, and differently")]
    TwoLists,
    #[error("'{0}' is no status of a phase")]
    UnknownStatus(String),
    #[error("'{0}' is no class of phases")]
    UnknownClass(String),
    #[error(
        "'{phase}' makes {class} and comes after '{early}', which makes {other}; {class} are harder to make again: put it first"
    )]
    PhaseOrder {
        phase: String,
        class: &'static str,
        early: String,
        other: &'static str,
    },

    // Of a run.
    #[error("it was begun {0} ago")]
    Stale(String),
    #[error("nothing has happened in it for {0}")]
    Idle(String),
    #[error("{PHASE_FILE} names '{phase}', and that is none of {known}; mend it there{}", or_skip(.skip.as_deref()))]
    UnknownPhase {
        phase: String,
        known: String,
        /// The command that skips it.
        skip: Option<String>,
    },
    #[error("phase {phase} is said to be complete and to be {status}")]
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
    #[error("it is before it was started")]
    #[strum(serialize = "time_unlikely")]
    EndBeforeStart,
    #[error("{0} is before the run began")]
    #[strum(serialize = "time_unlikely")]
    BeforeTheRun(String),
    #[error("{0} has not come yet")]
    TimeInFuture(String),

    // Of the files of a run.
    #[error("phase {0} left it, and it is gone")]
    #[strum(serialize = "output_missing")]
    OutputGone(String),
    #[error("phase {0} left it, and it is empty")]
    #[strum(serialize = "output_missing")]
    OutputEmpty(String),
    #[error("phase {phase} left it, and it is no JSON any more: {why}")]
    OutputBroken { phase: String, why: String },
    #[error("phase {0} left it, and it lies outside of the directory, where it is not looked at")]
    OutputOutside(String),
    #[error("phase {0} left it, and it was changed since")]
    OutputChanged(String),
    #[error("phase {phase} writes it, and it {flaw}")]
    OutputOfPhase { phase: String, flaw: OutputFlaw },
    #[error("task {task} is complete, and its output {flaw}")]
    OutputOfTask { task: String, flaw: OutputFlaw },

    // Of a document that keeps a run.
    #[error("{0}")]
    NoJson(String),
    #[error("no format that is known")]
    UnknownFormat,
    #[error("no format that is known; --type says whose state it is")]
    #[strum(serialize = "unknown_format")]
    UnknownFormatAndType,
    #[error("it is of the run '{named}', not of '{run}'")]
    OtherRun { named: String, run: String },
    #[error("interruption_safe is false: its writer was cut off before its end, or is still at it")]
    InterruptedWrite,
}

fn or_skip(command: Option<&str>) -> String {
    command.map_or_else(String::new, |command| format!(", or skip it ('{command}')"))
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
