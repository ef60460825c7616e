//! A document of another program, as a file to be written.

use serde_json::Value;

/// One file to be written to the project.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Relative to the root.
    pub path: String,
    pub value: Value,
}

/// Returns the last component of the root: the default project name.
pub fn project_of(root: &str) -> &str {
    root.rsplit(['/', '\\'])
        .find(|name| !name.is_empty())
        .unwrap_or("work")
}
