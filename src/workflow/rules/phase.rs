//! A phase of a plan, and the tasks in it, each the work of a single agent.

use serde::{Deserialize, Serialize};

use crate::workflow::rules::profile::EXECUTION_FILE;
use crate::workflow::rules::status::{PhaseStatus, TaskStatus};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub id: String,
    pub name: String,
    pub status: PhaseStatus,
    /// A file named it, and neither the plan nor the format of that file knows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unplanned: bool,
    /// Ids of the phases that must be settled before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// What is lost if it is cut off; `None` where nobody said so and its name does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Patterns of the files that it writes. None: unknown, and so it shares with everybody.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// It commits in the project's own repository.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub commits: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_approval: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ms: Option<i64>,
    /// A note on what is done of it so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Of the project's own repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_sha: Option<String>,
    /// Where the project's HEAD was when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<PhaseOutput>,
    /// How often it was started.
    #[serde(default)]
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The checkpoint of the files right before it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The checkpoint of the files right after it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A file that a phase leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseOutput {
    /// Relative to the root. `*` in the last component stands for anything; a slash at the end means a directory with
    /// something in it.
    pub path: String,
    /// Without it the phase is not done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Of its content when the phase was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// What a phase makes, the hardest to make again first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    Issues,
    Commits,
    Files,
    Docs,
    Other,
}

impl Class {
    pub fn word(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::Commits => "commits",
            Self::Files => "files",
            Self::Docs => "docs",
            Self::Other => "other",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Issues, Self::Commits, Self::Files, Self::Docs, Self::Other]
            .into_iter()
            .find(|class| class.word() == word)
    }
}

impl Phase {
    pub fn new(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            status: PhaseStatus::Pending,
            is_unplanned: false,
            dependencies: Vec::new(),
            class: None,
            writes: Vec::new(),
            commits: false,
            requires_approval: false,
            approved_ms: None,
            started_ms: None,
            completed_ms: None,
            progress: None,
            commit_sha: None,
            head: None,
            outputs: Vec::new(),
            attempts: 0,
            last_error: None,
            before: None,
            after: None,
        }
    }

    pub fn lacks_approval(&self) -> bool {
        self.requires_approval && self.approved_ms.is_none()
    }

    /// Whether it belongs into the list of completed phases of a document: a skipped one only if it stands there already.
    pub fn is_done_in(&self, listed: &[&str]) -> bool {
        match self.status {
            PhaseStatus::Complete => true,
            PhaseStatus::Skipped => listed.contains(&self.id.as_str()),
            _ => false,
        }
    }

    /// Whether its work is the list of tasks.
    pub fn is_of_tasks(&self) -> bool {
        self.outputs.iter().any(|output| output.path == EXECUTION_FILE)
    }

    /// As it was before it was started; what was approved and how often it was tried stays known.
    pub fn reset(&mut self) {
        self.status = PhaseStatus::Pending;
        (self.started_ms, self.completed_ms, self.approved_ms) = (None, None, None);
        (self.progress, self.commit_sha, self.head, self.last_error, self.after) = (None, None, None, None, None);
        for output in &mut self.outputs {
            output.sha256 = None;
        }
    }
}

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
