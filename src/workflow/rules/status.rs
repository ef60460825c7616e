//! Status of a run, a phase and a task; words are read in every known spelling.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Stored status of a run. All other progress is derived from its phases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    #[default]
    Open,
    Complete,
    Failed,
    Abandoned,
}

impl RunStatus {
    pub fn is_open(self) -> bool {
        self == Self::Open
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum PhaseStatus {
    #[default]
    #[serde(alias = "todo", alias = "not_started")]
    Pending,
    #[serde(alias = "running", alias = "started", alias = "active")]
    InProgress,
    #[serde(alias = "awaiting_user")]
    AwaitingApproval,
    #[serde(alias = "completed", alias = "done")]
    Complete,
    #[serde(alias = "error")]
    Failed,
    Skipped,
}

impl PhaseStatus {
    pub fn from_word(word: &str) -> Option<Self> {
        from_word(word)
    }

    /// Whether nothing is left to do, so that dependents may begin.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Complete | Self::Skipped)
    }

    /// Whether it has begun and is not settled; failed ones count.
    pub fn is_under_way(self) -> bool {
        !self.is_settled() && self != Self::Pending
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    #[serde(alias = "todo", alias = "queued")]
    Pending,
    #[serde(alias = "in_progress", alias = "started", alias = "partial")]
    Running,
    #[serde(alias = "completed", alias = "done", alias = "success")]
    Complete,
    #[serde(alias = "error", alias = "timeout", alias = "timed_out")]
    #[serde(alias = "cancelled", alias = "canceled", alias = "aborted")]
    Failed,
    Blocked,
}

impl TaskStatus {
    pub fn from_word(word: &str) -> Option<Self> {
        from_word(word)
    }
}

fn from_word<T: DeserializeOwned>(word: &str) -> Option<T> {
    let word = word.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    serde_json::from_value(Value::from(word)).ok()
}
