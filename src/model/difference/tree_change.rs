//! One file that two trees hold differently.

use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;

/// The path, and git mode and blob of each side; a side that lacks the file is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    pub path: RelPath,
    pub before: Option<(u32, ObjectId)>,
    pub after: Option<(u32, ObjectId)>,
}
