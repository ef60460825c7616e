//! The state of a run at one moment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::json::parse;
use crate::base::malformed::Malformed;
use crate::base::time::json::{TimeText, always, maybe};
use crate::workflow::rules::phase::{Phase, Task};
use crate::workflow::rules::profile::{PHASE_FILE, Profile};
use crate::workflow::rules::status::RunStatus;

/// Newest known value of `schema`; a larger one is rejected.
pub const SCHEMA: u32 = 1;

/// State of a run, as it is stored and published. Times are milliseconds since 1970 here, and text
/// there; checkpoints and commits are 40 hex digits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Workflow {
    #[serde(rename = "state_version")]
    pub schema: u32,
    /// `<type>_<project>_<YYYYMMDD_HHMMSS>` by default.
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub description: String,
    /// Profile in whose files the run is kept, too.
    #[schemars(with = "Option<String>")]
    pub profile: Option<Profile>,
    /// `open`, `complete`, `failed` or `abandoned`.
    #[serde(rename = "outcome")]
    #[schemars(with = "String")]
    pub status: RunStatus,
    #[serde(rename = "created_at", with = "always")]
    #[schemars(with = "TimeText")]
    pub created_ms: i64,
    #[serde(rename = "updated_at", with = "always")]
    #[schemars(with = "TimeText")]
    pub updated_ms: i64,
    #[serde(rename = "finished_at", with = "maybe")]
    #[schemars(with = "Option<TimeText>")]
    pub finished_ms: Option<i64>,
    pub resume_count: u64,
    /// Set by an interruption, cleared by a resume.
    pub interrupted: Option<Interruption>,
    /// In the order of the plan.
    pub phases: Vec<Phase>,
    pub tasks: Vec<Task>,
    #[serde(flatten)]
    pub context: Notes,
    /// Free state, for the user's programs.
    pub state: Map<String, Value>,
    /// As given: text, or any value from a document of another program.
    pub last_error: Option<Value>,
    pub mini_commits: Vec<MiniCommit>,
    /// Documents of the profile as last read or written, by path in the project: unknown fields
    /// and the order of keys are kept. They are not published.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub documents: BTreeMap<String, Value>,
}

/// When and why a run was interrupted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interruption {
    pub reason: String,
    #[serde(rename = "interrupted_at", with = "always")]
    #[schemars(with = "TimeText")]
    pub at_ms: i64,
}

/// Notes that help a new session to find its way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Notes {
    pub branch: Option<String>,
    pub key_decisions: Vec<String>,
    /// Relative to the root, or absolute where they lie outside it.
    pub file_paths: Vec<String>,
}

/// A checkpoint made after every third phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MiniCommit {
    /// Number of completed phases at the time.
    #[serde(rename = "completed_count")]
    pub completed: usize,
    #[serde(rename = "checkpoint_id")]
    pub checkpoint: Option<String>,
    /// Commit id in the project's own repository, if requested.
    #[serde(rename = "commit_sha")]
    pub commit: Option<String>,
}

impl Workflow {
    /// Makes a run in which nothing has begun.
    pub fn new(id: String, kind: String, project: String, now_ms: i64) -> Self {
        Self {
            schema: SCHEMA,
            id,
            kind,
            project,
            created_ms: now_ms,
            updated_ms: now_ms,
            ..Self::default()
        }
    }

    /// Serializes the state as it is stored.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        format!("{text}\n")
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// The state is invalid or of a newer schema; the text says why.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Malformed> {
        let value = parse(bytes).map_err(|why| why.to_string())?;
        let schema = value["state_version"]
            .as_u64()
            .ok_or("it names no version")?;
        if schema > u64::from(SCHEMA) {
            return Err(format!("it has version {schema}; this program knows {SCHEMA}").into());
        }
        let read = serde_json::from_value(value.clone());
        let mut read: Self = read.map_err(|why| why.to_string())?;
        // Numbers of other programs keep their spelling.
        for (path, document) in &mut read.documents {
            document.clone_from(&value["documents"][path]);
        }
        if let Some(state) = value["state"].as_object() {
            read.state.clone_from(state);
        }
        read.last_error = read.last_error.map(|_| value["last_error"].clone());
        Ok(read)
    }

    /// Returns the id in a document of another program: not ours if it is no valid ref name or was
    /// taken. One that begins like an option could not be typed.
    pub fn named(&self) -> &str {
        let keys = ["workflow_id", "checkpoint_id"];
        let documents = self.documents.values();
        let mut ids = documents.flat_map(|document| keys.map(|key| document.get(key)?.as_str()));
        let id = ids.find_map(|id| id.filter(|id| !id.starts_with('-')));
        id.unwrap_or(&self.id)
    }

    /// Clears the mark of an interrupted write in `phase.json`: our transition rewrites it.
    pub fn end_foreign_write(&mut self) {
        let file = self.documents.get_mut(PHASE_FILE);
        let flag = file.and_then(|file| file.get_mut("interruption_safe"));
        if let Some(flag) = flag.filter(|flag| **flag == false) {
            *flag = true.into();
        }
    }

    pub fn phase(&self, id: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == id)
    }

    pub fn phase_mut(&mut self, id: &str) -> Option<&mut Phase> {
        self.phases.iter_mut().find(|phase| phase.id == id)
    }

    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// Returns the position of a phase in the plan, from 1.
    pub fn number_of(&self, id: &str) -> Option<usize> {
        let at = self.phases.iter().position(|phase| phase.id == id);
        at.map(|at| at + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back_and_a_newer_schema_is_refused() {
        let mut workflow = Workflow::new("a_b_20260101_000000".into(), "a".into(), "b".into(), 5);
        workflow.phases.push(Phase::new("one", "One"));
        workflow.state.insert("z".into(), Value::from(1));
        workflow.state.insert("a".into(), Value::Null);
        let text = workflow.to_json();
        assert_eq!(Workflow::from_json(text.as_bytes()), Ok(workflow));
        let newer = text.replacen("\"state_version\": 1", "\"state_version\": 2", 1);
        assert!(
            Workflow::from_json(newer.as_bytes())
                .unwrap_err()
                .to_string()
                .contains("version 2")
        );
        assert!(Workflow::from_json(b"{}").is_err());
    }
}
