//! How far something has come: a whole run, a phase, a task. Each word is read in every spelling that is about.

use serde::{Deserialize, Serialize};

/// What is stored of a run. How far it is otherwise follows from its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    Pending,
    InProgress,
    AwaitingApproval,
    Complete,
    Failed,
    Skipped,
}

impl PhaseStatus {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// In whatever spelling a document has it.
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

    /// Nothing more is to be done for it: what depends on it may begin.
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Complete | Self::Skipped)
    }

    /// It was begun, and is not at its end.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::InProgress | Self::AwaitingApproval | Self::Failed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    Running,
    Complete,
    Failed,
    Blocked,
}

impl TaskStatus {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }

    /// In whatever spelling a document has it.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
            "pending" | "todo" | "queued" => Self::Pending,
            "running" | "in_progress" | "started" | "partial" => Self::Running,
            "complete" | "completed" | "done" | "success" => Self::Complete,
            "failed" | "error" | "timeout" | "timed_out" | "cancelled" | "canceled" | "aborted" => Self::Failed,
            "blocked" => Self::Blocked,
            _ => return None,
        })
    }
}
