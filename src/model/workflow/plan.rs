//! A plan of phases: as a document with dependencies, as words on a command line, or one of the presets.

use serde_json::Value;

use crate::model::workflow::phase::Phase;
use crate::model::workflow::profile::Finding;

/// The phases of `{"phases": [{"id", "name", "dependencies", "status", …}]}`.
///
/// # Errors
/// All that is wrong with it.
pub fn from_document(_value: &Value) -> Result<Vec<Phase>, Vec<Finding>> {
    Err(Vec::new())
}

/// Whether files that match patterns of the one may match patterns of the other. Without patterns it is not known what
/// a phase writes, so it shares with nobody: the plan was asked, and named nothing.
pub fn share_writes(_one: &[String], _other: &[String]) -> bool {
    false
}

/// All that is wrong with a plan.
pub fn check(_phases: &[Phase]) -> Vec<Finding> {
    Vec::new()
}
