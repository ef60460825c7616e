//! Where a setting came from, in words and as a word.

use crate::ops::browse::config::Origin;

pub fn words(origin: &Origin) -> String {
    let what = word(origin).replace('_', " ");
    place(origin).map_or(what.clone(), |place| format!("{what} {place}"))
}

pub fn word(origin: &Origin) -> &'static str {
    match origin {
        Origin::Default => "default",
        Origin::UserFile(_) => "user_file",
        Origin::ProjectFile(_) => "project_file",
        Origin::Environment(_) => "environment",
        Origin::Flag(_) => "flag",
    }
}

/// The file, variable or flag.
pub fn place(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Default => None,
        Origin::UserFile(path) | Origin::ProjectFile(path) => Some(path.display().to_string()),
        Origin::Environment(name) | Origin::Flag(name) => Some((*name).to_owned()),
    }
}
