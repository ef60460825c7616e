//! Types for documents of other programs: a file to write, and the context for reading one.

use serde_json::Value;

/// One file to be written to the project.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Relative to the root.
    pub path: String,
    pub value: Value,
}

/// Context for reading a document.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Absolute path of the root, the prefix of paths in documents.
    pub root: &'a str,
}

/// Returns the last component of the root: the default project name.
pub fn project_of(root: &str) -> &str {
    root.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or("work")
}
