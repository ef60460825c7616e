//! What is found on disk of the files that a run speaks of: collected first, so that the rules need no disk.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::workflow::profiles::reader::parse;
use crate::workflow::rules::status::TaskStatus;
use crate::workflow::rules::workflow::Workflow;

/// By the path as the run has it.
pub type Sights = BTreeMap<String, ObservedFile>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedFile {
    Missing,
    /// There and empty, or a directory with nothing in it.
    Empty,
    /// A JSON file that does not parse: cut off while it was written.
    Broken(String),
    /// With the SHA-256 of a file; a directory has none. `status` is the word in which a JSON object says how the work
    /// ended that wrote it.
    There {
        sum: Option<String>,
        status: Option<String>,
    },
}

impl ObservedFile {
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::There { .. })
    }

    /// Whether it can be used, and does not say itself that the work goes on or failed. A word that is no status is the
    /// document's own.
    pub fn is_finished(&self) -> bool {
        match self {
            Self::There { status: Some(word), .. } => {
                TaskStatus::from_word(word).is_none_or(|status| status == TaskStatus::Complete)
            }
            other => other.is_usable(),
        }
    }

    /// How the task ended that wrote it: complete where it says nothing, `None` where it is not there or says a word that
    /// is no status.
    pub fn task_status(&self) -> Option<TaskStatus> {
        match self {
            Self::There { status: Some(word), .. } => TaskStatus::from_word(word),
            Self::There { status: None, .. } => Some(TaskStatus::Complete),
            _ => None,
        }
    }

    /// Whether it can be used, and does not say itself that the task ended otherwise.
    pub fn bears_out_completion(&self) -> bool {
        self.is_usable() && self.task_status().is_none_or(|status| status == TaskStatus::Complete)
    }

    /// What is wrong with it, after its path; `None` where it can be used.
    pub fn flaw(&self) -> Option<String> {
        match self {
            Self::Missing => Some("is missing".to_owned()),
            Self::Empty => Some("is empty".to_owned()),
            Self::Broken(why) => Some(format!("is not valid: {why}")),
            Self::There { .. } => None,
        }
    }

    /// What the bytes of a file amount to.
    pub fn of_file(path: &str, bytes: &[u8], sum: String) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        let is_json = std::path::Path::new(path).extension().is_some_and(|extension| extension == "json");
        if !is_json {
            return Self::There { sum: Some(sum), status: None };
        }
        match parse(bytes) {
            Err(why) => Self::Broken(why.to_string()),
            Ok(value) => Self::There { sum: Some(sum), status: status_in(&value) },
        }
    }
}

/// A `success` that is false outweighs every `status`.
fn status_in(value: &Value) -> Option<String> {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (value.get("success"), value.get("status")) {
        (Some(Value::Bool(false)), _) => Some(TaskStatus::Failed.word().to_owned()),
        (_, Some(status)) => Some(word(status)),
        (Some(Value::Bool(true)), None) => Some(TaskStatus::Complete.word().to_owned()),
        (success, None) => success.map(word),
    }
}

/// Every path that is to be looked at before a run can be judged.
pub fn paths(workflow: &Workflow) -> Vec<String> {
    let outputs = workflow.phases.iter().flat_map(|phase| phase.outputs.iter().map(|output| output.path.clone()));
    let mut paths: Vec<String> = outputs.chain(workflow.tasks.iter().filter_map(|task| task.output.clone())).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
