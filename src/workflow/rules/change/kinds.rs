//! The kinds of transitions of a run.

use serde_json::Value;

use crate::workflow::rules::change::phases::{Finish, Start};
use crate::workflow::rules::workflow::MiniCommit;

/// One transition of a run.
#[derive(Clone, Debug)]
pub enum Change {
    StartPhase(Start),
    Progress {
        phase: Option<String>,
        text: String,
    },
    FinishPhase(Finish),
    FailPhase {
        phase: Option<String>,
        error: String,
        /// Fail the whole run, too.
        is_final: bool,
    },
    SkipPhase {
        phase: String,
        reason: String,
    },
    ApprovePhase {
        phase: Option<String>,
    },
    /// The phase waits for approval: its results are shown again, not made again.
    AwaitApproval {
        phase: String,
    },
    /// Makes a running phase pending again, with its progress note, because another comes first.
    Reset {
        phase: String,
    },
    AddTask {
        id: String,
        name: Option<String>,
        phase: Option<String>,
        output: Option<String>,
        agent: Option<String>,
    },
    StartTask {
        id: String,
        agent: Option<String>,
    },
    FinishTask {
        id: String,
        output: Option<String>,
        note: Option<String>,
    },
    FailTask {
        id: String,
        error: String,
    },
    /// Makes a task pending again; `cut_off`: it was running, and its next attempt is counted now.
    ResetTask {
        id: String,
        cut_off: bool,
    },
    /// Sets keys of the run, or dotted keys of its free state. `null` removes a key.
    Set(Vec<(String, Value)>),
    Note {
        decisions: Vec<String>,
        files: Vec<String>,
        branch: Option<String>,
    },
    Interrupt {
        reason: String,
    },
    Resume,
    Abandon {
        reason: String,
    },
    MiniCommit(MiniCommit),
}
