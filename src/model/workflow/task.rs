//! One task inside a phase: what a single agent works on.

use serde::{Deserialize, Serialize};

use crate::model::workflow::status::TaskStatus;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    pub status: TaskStatus,
    /// How often it was started. Of a task that was cut off the next start is in it already.
    #[serde(default)]
    pub attempts: u32,
    /// The next start is in `attempts` already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_next_counted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ms: Option<i64>,
    /// The file that it writes when it is done, relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Task {
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: None,
            phase: None,
            status: TaskStatus::Pending,
            attempts: 0,
            is_next_counted: false,
            started_ms: None,
            completed_ms: None,
            output: None,
            agent: None,
            note: None,
        }
    }
}
