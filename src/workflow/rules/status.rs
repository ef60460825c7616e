//! Status of a run, a phase and a task; words are read in every known spelling.

use serde::{Deserialize, Serialize};

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
    Pending,
    InProgress,
    AwaitingApproval,
    Complete,
    Failed,
    Skipped,
}

impl PhaseStatus {
    /// Parses a status word in any spelling.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().replace('-', "_").as_str() {
            "pending" | "todo" | "not_started" => Self::Pending,
            "in_progress" | "running" | "started" | "active" => Self::InProgress,
            "awaiting_approval" | "awaiting_user" => Self::AwaitingApproval,
            "complete" | "completed" | "done" => Self::Complete,
            "failed" | "error" => Self::Failed,
            "skipped" => Self::Skipped,
            _ => return None,
        })
    }

    /// Whether nothing is left to do, so that dependents may begin.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Complete | Self::Skipped)
    }

    /// Whether it has begun and is not settled; failed ones count.
    pub fn is_under_way(self) -> bool {
        matches!(
            self,
            Self::InProgress | Self::AwaitingApproval | Self::Failed
        )
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    Pending,
    Running,
    Complete,
    Failed,
    Blocked,
}

impl TaskStatus {
    /// Parses a status word in any spelling.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(
            match word
                .trim()
                .to_ascii_lowercase()
                .replace(['-', ' '], "_")
                .as_str()
            {
                "pending" | "todo" | "queued" => Self::Pending,
                "running" | "in_progress" | "started" | "partial" => Self::Running,
                "complete" | "completed" | "done" | "success" => Self::Complete,
                "failed" | "error" | "timeout" | "timed_out" | "cancelled" | "canceled"
                | "aborted" => Self::Failed,
                "blocked" => Self::Blocked,
                _ => return None,
            },
        )
    }
}
