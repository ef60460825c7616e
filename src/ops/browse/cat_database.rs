//! `cat SEL:@db/NAME`: the content of a database of a checkpoint.

use crate::error::Result;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::database::Held;
use crate::model::state::rel_path::RelPath;
use crate::store::repository::Store;
use crate::store::trees::tree_codec::{MODE_FILE, TreeEntry};

const PREFIX: &[u8] = b"@db/";

/// The blob of the database that was typed, under the path by which it was asked for; `None` if none is meant.
pub fn look_up(store: &Store, checkpoint: &Checkpoint, typed: &[u8]) -> Result<Option<(RelPath, TreeEntry)>> {
    let Some(wanted) = typed.strip_prefix(PREFIX) else { return Ok(None) };
    let databases = store.databases(checkpoint)?;
    let found = databases.iter().find_map(|(database, held)| match held {
        Held::Content(id) if database.typed() == wanted => Some(*id),
        _ => None,
    });
    let entry = found.map(|id| TreeEntry { mode: MODE_FILE, name: wanted.into(), id });
    // What no path can be, such as a name with two dots, is shown by the place alone.
    let path = RelPath::new(typed).or_else(|_| RelPath::new(b"@db")).unwrap_or_default();
    Ok(entry.map(|entry| (path, entry)))
}
