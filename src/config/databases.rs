//! Databases that are not files: the user's commands that dump and restore them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Error text for a table that [`checked`] refuses.
pub const COMPLAINT: &str = "has an empty name or an empty command in it";

/// Command lines for the shell, run in the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseCommands {
    /// Writes the content to its standard output.
    pub dump: String,
    /// Reads the content from its standard input.
    pub restore: String,
}

/// Returns the tables; `None` if a name or command is empty.
pub fn checked(
    found: BTreeMap<String, DatabaseCommands>,
) -> Option<BTreeMap<String, DatabaseCommands>> {
    let is_said = |text: &String| !text.trim().is_empty();
    let is_whole = |(name, commands): (&String, &DatabaseCommands)| {
        is_said(name) && is_said(&commands.dump) && is_said(&commands.restore)
    };
    found.iter().all(is_whole).then_some(found)
}
