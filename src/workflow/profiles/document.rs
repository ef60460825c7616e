//! Documents of other programs: what one is read with, and what is found to be wrong with it.

use serde_json::Value;

/// One file as it is to be in the project.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Relative to the root.
    pub path: String,
    pub value: Value,
}

/// What a document is read with.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    pub now_ms: i64,
    /// The root, as absolute paths in documents begin.
    pub root: &'a str,
}

/// The last component of the root: what a project is called where nobody says more.
pub fn project_of(root: &str) -> &str {
    root.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or("work")
}
