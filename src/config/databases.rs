//! Databases that are not files: the user's commands that dump and restore them.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Command lines for the shell, run in the root.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseCommands {
    /// Writes the content to its standard output.
    pub dump: String,
    /// Reads the content from its standard input.
    pub restore: String,
}

/// Reads tables by name, none of which has an empty name or command.
pub fn named<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, DatabaseCommands>, D::Error> {
    let found = BTreeMap::<String, DatabaseCommands>::deserialize(from)?;
    let has_empty = found.iter().any(|(name, commands)| {
        [name, &commands.dump, &commands.restore]
            .iter()
            .any(|text| text.trim().is_empty())
    });
    if has_empty {
        return Err(D::Error::custom("it has an empty name or an empty command"));
    }
    Ok(found)
}
