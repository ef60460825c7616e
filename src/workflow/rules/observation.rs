//! Observed files of a run, collected first so that the rules need no disk access.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::json::parse;
use crate::workflow::rules::status::TaskStatus;
use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::flaw::OutputFlaw;

/// Observed files by their path in the run.
pub type Observations = BTreeMap<String, ObservedFile>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedFile {
    Missing,
    /// An empty file or directory.
    Empty,
    /// Invalid JSON: writing it was interrupted.
    Broken(String),
    /// A usable file with its SHA-256, or a directory. `status` is the outcome of the work, given
    /// in a JSON object.
    There {
        sum: Option<String>,
        status: Option<String>,
    },
}

impl ObservedFile {
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::There { .. })
    }

    /// Whether it is usable and does not say itself that the work goes on or failed. An unknown
    /// status word is ignored.
    pub fn is_finished(&self) -> bool {
        match self {
            Self::There {
                status: Some(word), ..
            } => TaskStatus::from_word(word).is_none_or(|status| status == TaskStatus::Complete),
            other => other.is_usable(),
        }
    }

    /// Returns the outcome of the task that wrote it: complete if there is no status, `None` if it
    /// is missing or the word is unknown.
    pub fn task_status(&self) -> Option<TaskStatus> {
        match self {
            Self::There {
                status: Some(word), ..
            } => TaskStatus::from_word(word),
            Self::There { status: None, .. } => Some(TaskStatus::Complete),
            _ => None,
        }
    }

    /// Whether it is usable and does not contradict completion.
    pub fn bears_out_completion(&self) -> bool {
        self.is_usable()
            && self
                .task_status()
                .is_none_or(|status| status == TaskStatus::Complete)
    }

    /// Returns what is wrong with it; `None` if it is usable.
    pub fn flaw(&self) -> Option<OutputFlaw> {
        match self {
            Self::Missing => Some(OutputFlaw::Missing),
            Self::Empty => Some(OutputFlaw::Empty),
            Self::Broken(why) => Some(OutputFlaw::Broken(why.clone())),
            Self::There { .. } => None,
        }
    }

    /// Classifies a file by its bytes.
    pub fn of_file(path: &str, bytes: &[u8], sum: String) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        let is_json = std::path::Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "json");
        if !is_json {
            return Self::There {
                sum: Some(sum),
                status: None,
            };
        }
        match parse(bytes) {
            Err(why) => Self::Broken(why.to_string()),
            Ok(value) => Self::There {
                sum: Some(sum),
                status: status_in(&value),
            },
        }
    }
}

/// Returns the status word; `"success": false` outweighs it.
fn status_in(value: &Value) -> Option<String> {
    let word = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match (value.get("success"), value.get("status")) {
        (Some(Value::Bool(false)), _) => Some(TaskStatus::Failed.into_str().to_owned()),
        (_, Some(status)) => Some(word(status)),
        (Some(Value::Bool(true)), None) => Some(TaskStatus::Complete.into_str().to_owned()),
        (success, None) => success.map(word),
    }
}

/// Returns the files that the free state names, as `plan_path` does.
pub fn named_files(workflow: &Workflow) -> Vec<&str> {
    let (mut found, mut left) = (Vec::new(), Vec::new());
    left.extend(workflow.state.iter());
    while let Some((key, value)) = left.pop() {
        let is_name = ["path", "paths", "file", "files"]
            .iter()
            .any(|end| key.rsplit('_').next() == Some(end));
        match value {
            Value::String(path) if is_name && !path.contains("://") => found.push(path.as_str()),
            Value::Array(list) => left.extend(list.iter().map(|one| (key, one))),
            Value::Object(map) => left.extend(map),
            _ => {}
        }
    }
    found
}

/// Returns every path to look at before a run is judged.
pub fn paths(workflow: &Workflow) -> Vec<String> {
    let outputs = workflow
        .phases
        .iter()
        .flat_map(|phase| phase.outputs.iter().map(|output| output.path.clone()));
    let named = named_files(workflow).into_iter();
    let mut paths: Vec<String> = outputs
        .chain(workflow.tasks.iter().filter_map(|task| task.output.clone()))
        .chain(named.map(str::to_owned))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
