//! A phase of a plan, and its tasks, each the work of one agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::time::json::{TimeText, maybe};
use crate::workflow::rules::profile::EXECUTION_FILE;
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};

/// A phase of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phase {
    pub id: String,
    pub name: String,
    #[schemars(with = "String")]
    pub status: PhaseStatus,
    /// A file names the phase, but neither the plan nor the format of the file knows it.
    pub is_unplanned: bool,
    /// Ids of the phases that must be settled before it.
    pub dependencies: Vec<String>,
    /// Class of its output; `None` if the plan gives none.
    #[schemars(with = "Option<String>")]
    pub class: Option<Class>,
    /// Patterns of the files that it writes; unknown if empty.
    pub writes: Vec<String>,
    /// The phase commits in the project's own repository.
    pub commits: bool,
    pub requires_approval: bool,
    #[serde(rename = "approved_at", with = "maybe")]
    #[schemars(with = "Option<TimeText>")]
    pub approved_ms: Option<i64>,
    #[serde(rename = "started_at", with = "maybe")]
    #[schemars(with = "Option<TimeText>")]
    pub started_ms: Option<i64>,
    #[serde(rename = "completed_at", with = "maybe")]
    #[schemars(with = "Option<TimeText>")]
    pub completed_ms: Option<i64>,
    /// Note on the progress.
    pub progress: Option<String>,
    /// Commit id in the project's own repository.
    pub commit_sha: Option<String>,
    /// Commit id of the project's HEAD at the start.
    pub head: Option<String>,
    pub outputs: Vec<PhaseOutput>,
    /// Number of starts.
    pub attempts: u32,
    pub last_error: Option<String>,
    /// Checkpoint of the files before the phase.
    #[serde(rename = "before_id")]
    pub before: Option<String>,
    /// Checkpoint of the files after the phase.
    #[serde(rename = "after_id")]
    pub after: Option<String>,
}

/// A file that a phase produces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PhaseOutput {
    /// Relative to the root. `*` in the last component is a wildcard; a trailing slash means a
    /// non-empty directory.
    #[serde(rename = "file", alias = "path")]
    pub path: String,
    /// The phase is not complete without it.
    pub required: bool,
    /// SHA-256 of the content when the phase was completed.
    pub sha256: Option<String>,
}

/// What a phase makes, hardest to make again first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Class {
    Issues,
    Commits,
    Files,
    Docs,
    Other,
}

impl Phase {
    pub fn new(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    pub fn lacks_approval(&self) -> bool {
        self.requires_approval && self.approved_ms.is_none()
    }

    /// Whether the phase belongs into a document's list of completed phases: a skipped one only if
    /// listed already.
    pub fn is_done_in(&self, listed: &[&str]) -> bool {
        match self.status {
            PhaseStatus::Complete => true,
            PhaseStatus::Skipped => listed.contains(&self.id.as_str()),
            _ => false,
        }
    }

    /// Whether the task list is an output of the phase.
    pub fn is_of_tasks(&self) -> bool {
        let mut outputs = self.outputs.iter();
        outputs.any(|output| output.path == EXECUTION_FILE)
    }

    /// Makes the phase pending again; the checkpoint before it and the number of attempts stay.
    pub fn reset(&mut self) {
        self.status = PhaseStatus::Pending;
        (self.started_ms, self.completed_ms, self.approved_ms) = (None, None, None);
        (self.progress, self.last_error) = (None, None);
        (self.commit_sha, self.head, self.after) = (None, None, None);
        for output in &mut self.outputs {
            output.sha256 = None;
        }
    }
}

/// A part of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Task {
    pub id: String,
    pub name: Option<String>,
    #[serde(rename = "phase_id", alias = "phase")]
    pub phase: Option<String>,
    #[schemars(with = "String")]
    pub status: TaskStatus,
    /// Number of starts; includes the next one if `is_next_counted`.
    pub attempts: u32,
    /// `attempts` includes the next start.
    pub is_next_counted: bool,
    #[serde(rename = "started_at", with = "maybe")]
    #[schemars(with = "Option<TimeText>")]
    pub started_ms: Option<i64>,
    #[serde(rename = "completed_at", with = "maybe")]
    #[schemars(with = "Option<TimeText>")]
    pub completed_ms: Option<i64>,
    /// Path of the file that the task writes, relative to the root.
    pub output: Option<String>,
    pub agent: Option<String>,
    pub note: Option<String>,
}

impl Task {
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }
}
