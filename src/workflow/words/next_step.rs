//! The next step for the worker on a run, in the words of the protocol that the run follows.

use crate::error::sentence::CommandWords;
use crate::workflow::words::run_error::starts_from_plan;

/// Returns the command of a transition of a phase.
pub fn phase_command(verb: &str, phase: &str, run: &str) -> CommandWords {
    CommandWords::new(["phase", verb, phase, "-w", run])
}

/// One step. Its code is the name of the variant, unless one is given.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum NextStep {
    #[error("workflow {0}")]
    Complete(&'static str),
    #[error("none: workflow {run} is archived; {}", starts_from_plan(.run))]
    #[strum(serialize = "complete")]
    Archived { run: String },
    #[error("no phase can start: check the plan")]
    Plan,
    #[error(
        "show again what {phase} made, and have it approved ('{command}'); nothing is made again"
    )]
    Approve {
        phase: String,
        command: CommandWords,
    },
    #[error("start {0}")]
    Start(String),
    #[error("start {0}; what it writes is there already, from before it was begun")]
    #[strum(serialize = "start")]
    StartOver(String),
    #[error("start {0} again")]
    Retry(String),
    #[error("continue {phase}{}", .progress.as_ref().map(|text| format!(" ({text})")).unwrap_or_default())]
    Continue {
        phase: String,
        progress: Option<String>,
    },

    // Of a team of agents.
    #[error("continue execution loop ({done} of {all} tasks complete)")]
    #[strum(serialize = "continue")]
    ContinueTasks { done: usize, all: usize },
    #[error("have ARCHITECTURE approved ('{command}'), then advance to IMPLEMENTATION")]
    #[strum(serialize = "approve")]
    ApproveArchitecture { command: CommandWords },
    #[error("advance to {0}")]
    Advance(&'static str),
    #[error("workflow complete")]
    #[strum(serialize = "advance")]
    AdvanceToEnd,
    #[error("spawn {0}")]
    Spawn(&'static str),
    #[error("re-spawn {0}")]
    #[strum(serialize = "spawn")]
    Respawn(&'static str),
}

impl NextStep {
    /// Returns the command that it names.
    pub fn command(&self) -> Option<&CommandWords> {
        match self {
            Self::Approve { command, .. } | Self::ApproveArchitecture { command } => Some(command),
            _ => None,
        }
    }
}
