//! (to be written)
use super::{Document, Finding, Reading};
use crate::model::workflow::Workflow;
use serde_json::Value;
pub fn begin(_value: &Value, _reading: Reading<'_>) -> Result<Workflow, Vec<Finding>> {
    Err(Vec::new())
}
pub const PHASE_FILE: &str = "memory/state/phase.json";
pub const EXECUTION_FILE: &str = "memory/state/execution.json";
pub const ARCHIVE: &str = "memory/state/.archive";
pub fn export(_workflow: &Workflow) -> Vec<Document> {
    Vec::new()
}
pub fn take(_w: &mut Workflow, _path: &str, _value: &Value, _reading: Reading<'_>) -> Result<(), Vec<Finding>> {
    Ok(())
}
