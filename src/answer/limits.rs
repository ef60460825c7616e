//! What a restore was limited to, as text and as JSON.

use crate::answer::document::{JsonSchema, Serialize};
use crate::model::json::{PathName, paths, patterns};
use crate::model::path_filter::PathFilter;
use crate::model::state::rel_path::RelPath;

/// The paths and patterns of a restore; none for the whole directory.
#[derive(Serialize, JsonSchema)]
pub struct LimitsJson {
    /// The paths that were asked for; empty for all.
    paths: Vec<PathName>,
    #[serde(flatten)]
    filter: PathFilter,
}

impl LimitsJson {
    pub fn new(limited_to: &[RelPath], filter: &PathFilter) -> Self {
        Self {
            paths: paths(limited_to),
            filter: filter.clone(),
        }
    }
}

/// Formats `src, docs except *.log`; empty for the whole directory.
pub fn limit_words(limited_to: &[RelPath], filter: &PathFilter) -> String {
    let mut only: Vec<String> = limited_to.iter().map(RelPath::to_string).collect();
    only.extend(patterns(filter.only.as_ref()));
    let except = patterns(filter.except.as_ref());
    match (only.is_empty(), except.is_empty()) {
        (_, true) => only.join(", "),
        (true, false) => format!("all except {}", except.join(", ")),
        (false, false) => format!("{} except {}", only.join(", "), except.join(", ")),
    }
}
