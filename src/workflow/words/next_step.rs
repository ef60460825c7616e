//! The next step for the worker on a run, in the words of the protocol that the run follows.

use crate::base::shell_word::shell_word;
use crate::workflow::words::run_error::starts_from_plan;

/// Returns the command line of a transition of a phase.
pub fn phase_command(verb: &str, phase: &str, run: &str) -> String {
    let word = |text: &str| shell_word(text.as_bytes());
    let words = ["phase", verb, &word(phase), "-w", &word(run)];
    format!("checkpoint {}", words.join(" "))
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
    Approve { phase: String, command: String },
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
    ApproveArchitecture { command: String },
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
