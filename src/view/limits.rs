//! What a restore was limited to, as text and as JSON.

use crate::model::json::{PathName, paths};
use crate::model::path_filter::PathFilter;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::{Scope, ScopePart};
use crate::view::document::{JsonSchema, Serialize};

/// The paths and patterns of a restore; none for the whole directory.
#[derive(Serialize, JsonSchema)]
pub struct LimitsJson {
    /// The paths that were asked for; empty for all.
    paths: Vec<PathName>,
    /// Patterns of `--glob`; empty for all paths.
    glob: Vec<String>,
    /// Patterns of `--exclude`.
    exclude: Vec<String>,
}

impl LimitsJson {
    pub fn new(limited_to: &[RelPath], filter: &PathFilter) -> Self {
        Self {
            paths: paths(limited_to),
            glob: patterns(filter.only.as_ref()),
            exclude: patterns(filter.except.as_ref()),
        }
    }
}

fn patterns(scope: Option<&Scope>) -> Vec<String> {
    let parts = scope.into_iter().flat_map(Scope::parts);
    parts.map(ScopePart::shown).collect()
}

/// Returns the paths, or else the patterns, that a restore was limited to.
pub fn asked_for(limited_to: &[RelPath], filter: &PathFilter) -> Vec<String> {
    if limited_to.is_empty() {
        patterns(filter.only.as_ref())
    } else {
        limited_to.iter().map(RelPath::to_string).collect()
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
