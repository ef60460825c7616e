//! Observed files of a run, collected first so that the rules need no disk access.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::json::parse;
use crate::workflow::rules::workflow::from_word;
use crate::workflow::{TaskStatus, Workflow};

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

    /// Whether it is usable and does not report another outcome than success. An unknown status word
    /// is ignored.
    pub fn is_finished(&self) -> bool {
        let is_complete = |status| status == TaskStatus::Complete;
        self.is_usable() && self.task_status().is_none_or(is_complete)
    }

    /// Returns the outcome of the task that wrote it: complete if there is no status, `None` if it
    /// is missing or the word is unknown.
    pub fn task_status(&self) -> Option<TaskStatus> {
        match self {
            Self::There { status: None, .. } => Some(TaskStatus::Complete),
            Self::There { status, .. } => from_word(status.as_ref()?),
            _ => None,
        }
    }

    pub fn sum(&self) -> Option<&String> {
        match self {
            Self::There { sum, .. } => sum.as_ref(),
            _ => None,
        }
    }

    /// Returns the code and the words of what is wrong with it; `None` if it is usable.
    pub fn flaw(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Missing => Some(("output_missing", "is missing".to_owned())),
            Self::Empty => Some(("output_missing", "is empty".to_owned())),
            Self::Broken(why) => Some(("output_broken", format!("is not valid: {why}"))),
            Self::There { .. } => None,
        }
    }

    /// Classifies a file by its bytes.
    pub fn of_file(path: &str, bytes: &[u8], sum: String) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        let sum = Some(sum);
        let is_json = std::path::Path::new(path).extension() == Some("json".as_ref());
        match is_json.then(|| parse(bytes)).transpose() {
            Err(why) => Self::Broken(why.to_string()),
            Ok(value) => Self::There {
                sum,
                status: value.as_ref().and_then(status_in),
            },
        }
    }
}

/// Returns the status word; `"success": false` outweighs it.
fn status_in(value: &Value) -> Option<String> {
    let word = match (value.get("success"), value.get("status")) {
        (Some(Value::Bool(false)), _) => "failed",
        (_, Some(Value::String(word))) | (Some(Value::String(word)), None) => word,
        (Some(Value::Bool(true)), None) => "complete",
        (other, status) => return status.or(other).map(Value::to_string),
    };
    Some(word.to_owned())
}

/// Returns the files that the free state names, as `plan_path` does.
pub fn named_files(workflow: &Workflow) -> Vec<&str> {
    let (mut found, mut left) = (Vec::new(), Vec::new());
    left.extend(workflow.state.iter());
    while let Some((key, value)) = left.pop() {
        let end = key.rsplit('_').next().unwrap_or_default();
        let is_name = ["path", "paths", "file", "files"].contains(&end);
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
pub fn paths(workflow: &Workflow) -> BTreeSet<String> {
    let of_phases = workflow.phases.iter().flat_map(|phase| &phase.outputs);
    let of_phases = of_phases.map(|output| &*output.path);
    let of_tasks = workflow.tasks.iter();
    let of_tasks = of_tasks.filter_map(|task| task.output.as_deref());
    let all = of_phases.chain(of_tasks).chain(named_files(workflow));
    all.map(str::to_owned).collect()
}
