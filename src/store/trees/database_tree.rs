//! The tree of a checkpoint's databases: one blob each, under a name that identifies it.

use crate::base::text::escape_bytes;
use crate::error::Result;
use crate::model::state::database::{entry_name, from_entry};
use crate::model::{Databases, Held, ObjectId};
use crate::store::trees::convert::read_tree;
use crate::store::trees::tree_codec::{self, MODE_FILE};
use crate::store::{ObjectKind, Objects, PackSet, ReadFailure, TreeEntry};

/// Writes the tree; the blobs must be in the pack already. `None` if there is no database.
///
/// # Errors
/// The pack cannot be written.
pub fn write(pack: &mut PackSet<'_>, databases: &Databases) -> Result<Option<ObjectId>> {
    if databases.is_empty() {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for (database, held) in databases {
        let id = match held {
            Held::Content(id) => *id,
            Held::Absent => pack.add(ObjectKind::Blob, &[])?,
        };
        entries.push(TreeEntry {
            mode: MODE_FILE,
            name: entry_name(database, *held).into_bytes().into(),
            id,
        });
    }
    Ok(Some(pack.add(
        ObjectKind::Tree,
        &tree_codec::encode(&mut entries),
    )?))
}

/// Reads the tree; without one there are no databases.
///
/// # Errors
/// The tree cannot be read, or a name in it is invalid.
pub fn read(objects: &Objects, tree: Option<ObjectId>) -> Result<Databases, ReadFailure> {
    let Some(tree) = tree else {
        return Ok(Databases::new());
    };
    let known = |entry: TreeEntry| {
        let found = from_entry(&entry.name, entry.id).filter(|_| entry.mode == MODE_FILE);
        found.ok_or_else(|| {
            format!(
                "the name of a database makes no sense: {}",
                escape_bytes(&entry.name)
            )
            .into()
        })
    };
    read_tree(objects, tree)?.into_iter().map(known).collect()
}
