//! The extras of a checkpoint: the meta blob alone, or a tree of it and the other objects beside
//! the checkpoint's tree.

use crate::base::text::escape_bytes;
use crate::error::Result;
use crate::model::state::database::{entry_name, from_entry};
use crate::model::state::meta;
use crate::model::{Databases, Held, Meta, ObjectId};
use crate::store::objects::object_hash::hash_object;
use crate::store::trees::convert::read_tree;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_FILE};
use crate::store::{Collision, ObjectKind, Objects, PackSet, ReadFailure, TreeEntry};

const META: &str = "meta";
const RULES: &str = "rules";
const STATE: &str = "state.json";
const DATABASES: &str = "databases";
const PROMPT: &str = "prompt";

/// Objects beside the files; each must be in the pack already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Tree of the ignore files outside the scope that affect it.
    pub rules: Option<ObjectId>,
    /// Blob of the values that are not files.
    pub state_document: Option<ObjectId>,
    /// Tree of the databases, each a blob.
    pub databases: Option<ObjectId>,
    /// Blob with the text of the prompt before which it was made; no part of the state.
    pub prompt: Option<ObjectId>,
}

/// The extras with the meta, as they are read.
#[derive(Clone, Debug, Default)]
pub struct CheckpointExtras {
    pub meta: Meta,
    pub extras: Extras,
}

impl Extras {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Renders the meta blob.
pub fn blob(meta: &Meta) -> Vec<u8> {
    meta::render(meta)
}

/// Encodes the tree of a meta blob and the extras.
pub fn tree(meta: ObjectId, extras: &Extras) -> Vec<u8> {
    let entry = |name: &str, mode, id: Option<ObjectId>| {
        id.map(|id| TreeEntry {
            mode,
            name: name.as_bytes().into(),
            id,
        })
    };
    let parts = [
        entry(META, MODE_FILE, Some(meta)),
        entry(RULES, MODE_DIRECTORY, extras.rules),
        entry(STATE, MODE_FILE, extras.state_document),
        entry(DATABASES, MODE_DIRECTORY, extras.databases),
        entry(PROMPT, MODE_FILE, extras.prompt),
    ];
    tree_codec::encode(&mut parts.into_iter().flatten().collect::<Vec<_>>())
}

/// The id that a checkpoint would name; `None` if there is nothing to record.
///
/// # Errors
/// The content is an attack on the hash.
pub fn id_of(meta: &Meta, extras: &Extras) -> Result<Option<ObjectId>, Collision> {
    if extras.is_empty() && *meta == Meta::default() {
        return Ok(None);
    }
    let meta = hash_object(ObjectKind::Blob, &blob(meta))?;
    if extras.is_empty() {
        Ok(Some(meta))
    } else {
        hash_object(ObjectKind::Tree, &tree(meta, extras)).map(Some)
    }
}

/// Reads the extras in either form.
///
/// # Errors
/// An object cannot be read or is invalid.
pub fn read(objects: &Objects, id: ObjectId) -> Result<CheckpointExtras, ReadFailure> {
    let (kind, bytes) = objects.read(&id)?;
    if kind != ObjectKind::Tree {
        return Ok(CheckpointExtras {
            meta: meta::parse(&bytes)?,
            extras: Extras::default(),
        });
    }
    let entries = tree_codec::parse(&bytes)?;
    let find = |name: &str, mode| {
        let found = entries.iter().find(|entry| *entry.name == *name.as_bytes());
        match found {
            Some(entry) if entry.mode != mode => Err(format!("{name} in it is of another kind")),
            other => Ok(other.map(|entry| entry.id)),
        }
    };
    let meta = find(META, MODE_FILE)?.ok_or("there is no meta in it")?;
    let (_, text) = objects.read(&meta)?;
    let extras = Extras {
        rules: find(RULES, MODE_DIRECTORY)?,
        state_document: find(STATE, MODE_FILE)?,
        databases: find(DATABASES, MODE_DIRECTORY)?,
        prompt: find(PROMPT, MODE_FILE)?,
    };
    Ok(CheckpointExtras {
        meta: meta::parse(&text)?,
        extras,
    })
}

/// Writes the tree; the blobs must be in the pack already. `None` if there is no database.
///
/// # Errors
/// The pack cannot be written.
pub fn write_databases(pack: &mut PackSet<'_>, databases: &Databases) -> Result<Option<ObjectId>> {
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
pub fn read_databases(objects: &Objects, tree: Option<ObjectId>) -> Result<Databases, ReadFailure> {
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
