//! Findings: errors in a run or in a document of a run.

use schemars::JsonSchema;
use serde::Serialize;

/// One error in a document or a run, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Stable code in JSON.
    pub code: &'static str,
    /// A place in the document, such as `completed_phases[1].timestamp`, or a path.
    pub place: String,
    pub what: String,
}

impl Finding {
    pub fn new(code: &'static str, place: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            code,
            place: place.into(),
            what: what.into(),
        }
    }
}
