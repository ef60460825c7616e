//! Sets keys by name: fields of the run, or keys of its free state.

use serde_json::{Map, Value};

use crate::workflow::rules::workflow::Workflow;
use crate::workflow::words::run_error::RunError;

/// Sets one key; `null` removes a key of the free state.
///
/// # Errors
/// The key requires text, or its path leads through a value that is not an object.
pub fn set(workflow: &mut Workflow, key: &str, value: &Value) -> Result<(), RunError> {
    let words = || match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(RunError::BadValue {
            key: key.to_owned(),
        }),
    };
    match key {
        "description" => workflow.description = words()?.unwrap_or_default(),
        "branch" => workflow.context.branch = words()?,
        "last_error" => workflow.last_error = Some(value.clone()).filter(|value| !value.is_null()),
        _ => set_free(workflow, key, value)?,
    }
    Ok(())
}

fn set_free(workflow: &mut Workflow, key: &str, value: &Value) -> Result<(), RunError> {
    let mut names: Vec<&str> = key.split('.').collect();
    if names.iter().any(|name| name.is_empty()) {
        return Err(RunError::EmptyKey {
            key: key.to_owned(),
        });
    }
    let Some(last) = names.pop() else {
        return Ok(());
    };
    let mut at = &mut workflow.state;
    for name in names {
        at = object_at(at, name).ok_or_else(|| RunError::NoKeysIn {
            key: key.to_owned(),
            name: name.to_owned(),
        })?;
    }
    if value.is_null() {
        at.shift_remove(last);
    } else {
        at.insert(last.to_owned(), value.clone());
    }
    Ok(())
}

/// Returns the object at a key, creating a missing one.
fn object_at<'m>(map: &'m mut Map<String, Value>, key: &str) -> Option<&'m mut Map<String, Value>> {
    map.entry(key)
        .or_insert_with(|| Value::Object(Map::new()))
        .as_object_mut()
}
