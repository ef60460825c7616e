//! A path that stands in the way of a restore.

use crate::model::state::rel_path::RelPath;

/// The path, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    pub path: RelPath,
    pub why: String,
}
