//! What is found on disk of the files that a run speaks of: collected first, so that the rules need no disk.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::workflow::Workflow;
use crate::model::workflow::profile::reader::parse;

/// By the path as the run has it.
pub type Sights = BTreeMap<String, Found>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Missing,
    /// There and empty, or a directory with nothing in it.
    Empty,
    /// A JSON file that does not parse: cut off while it was written.
    Broken(String),
    /// With the SHA-256 of a file; a directory has none. `status` is what a JSON object says under that key.
    There {
        sum: Option<String>,
        status: Option<String>,
    },
}

impl Found {
    pub fn is_usable(&self) -> bool {
        matches!(self, Self::There { .. })
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
            Ok(value) => {
                let status = value.get("status").and_then(Value::as_str).map(str::to_owned);
                Self::There { sum: Some(sum), status }
            }
        }
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
