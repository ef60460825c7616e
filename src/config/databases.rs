//! Databases that are no files: the commands of the user's that give their content and take it back.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What is said of a table that [`checked`] refuses.
pub const COMPLAINT: &str = "has an empty name or an empty command in it";

/// Both are lines for the shell, run in the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseCommands {
    /// Its standard output is the content.
    pub dump: String,
    /// Gets the content on its standard input.
    pub restore: String,
}

/// `None` if something that is needed is empty.
pub fn checked(found: BTreeMap<String, DatabaseCommands>) -> Option<BTreeMap<String, DatabaseCommands>> {
    let is_said = |text: &String| !text.trim().is_empty();
    let is_whole = |(name, commands): (&String, &DatabaseCommands)| {
        is_said(name) && is_said(&commands.dump) && is_said(&commands.restore)
    };
    found.iter().all(is_whole).then_some(found)
}
