//! (to be written)
use super::{Document, Finding, Reading};
use crate::model::workflow::Workflow;
use serde_json::Value;
pub fn begin(_value: &Value, _reading: Reading<'_>) -> Result<Workflow, Vec<Finding>> {
    Err(Vec::new())
}
pub const FILE: &str = ".claude/pipeline-state.json";
pub fn export(_workflow: &Workflow, _root: &str) -> Document {
    Document { path: String::new(), value: Value::Null }
}
pub fn take(_w: &mut Workflow, _value: &Value, _reading: Reading<'_>) -> Result<(), Vec<Finding>> {
    Ok(())
}
