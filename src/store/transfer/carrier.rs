//! The commits that carry checkpoints to a remote. Checkpoints have no parents, and git would send
//! the whole tree of each; a carrier has as parents the carrier before it and what is new, so that
//! git sends only what changed. Its tree has all refs of the line, and the new metas by checkpoint.

use std::collections::BTreeMap;

use crate::base::Malformed;
use crate::error::Result;
use crate::model::ObjectId;
use crate::model::checkpoint::message;
use crate::store::refs::commit_codec;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_FILE};
use crate::store::{BundleRef, CommitParts, LineState, ObjectKind, Objects, TreeEntry};

/// Value of the trailer `Carrier-Format`; a line with a larger one is not read.
pub const CARRIER_FORMAT: u32 = 1;

const FORMAT_KEY: &str = message::CARRIER_KEY;
/// Beginning of the names of files with refs in the tree of a carrier.
const REFS: &str = "refs";
/// Most bytes of such files that are read.
const LARGEST_REFS_BYTES: u64 = 64 << 20;

/// The parts of a new carrier.
pub struct CarrierParts<'c> {
    pub state: &'c LineState,
    /// The carrier before it, and what is new.
    pub parents: &'c [ObjectId],
    /// The metas of new checkpoints.
    pub metas: Vec<(ObjectId, ObjectId, ObjectKind)>,
    pub host: &'c str,
    /// New checkpoints, which its message names.
    pub checkpoints: &'c [ObjectId],
    pub time_ms: i64,
}

/// Stores an object.
pub type Put<'p> = dyn FnMut(ObjectKind, &[u8]) -> Result<ObjectId> + 'p;

/// Encodes a carrier; `put` stores each object. Returns the id of its commit.
///
/// # Errors
/// Those of `put`.
pub fn write(parts: &CarrierParts<'_>, put: &mut Put<'_>) -> Result<ObjectId> {
    let mut entries = Vec::new();
    for (ending, text) in parts.state.to_files() {
        entries.push(TreeEntry {
            mode: MODE_FILE,
            name: format!("{REFS}{ending}").into_bytes().into(),
            id: put(ObjectKind::Blob, text.as_bytes())?,
        });
    }
    for (checkpoint, meta, kind) in &parts.metas {
        entries.push(TreeEntry {
            mode: match kind {
                ObjectKind::Tree => MODE_DIRECTORY,
                _ => MODE_FILE,
            },
            name: checkpoint.to_hex().into_bytes().into(),
            id: *meta,
        });
    }
    let tree = put(ObjectKind::Tree, &tree_codec::encode(&mut entries))?;
    let names: String = parts
        .checkpoints
        .iter()
        .map(|id| format!("{id}\n"))
        .collect();
    let text = format!(
        "{} checkpoints of {}\n\n{names}\n{FORMAT_KEY}: {CARRIER_FORMAT}\n",
        parts.checkpoints.len(),
        parts.host.escape_debug()
    );
    let seconds = parts.time_ms.div_euclid(1000);
    let commit = commit_codec::encode_after(tree, parts.parents, seconds, &text);
    put(ObjectKind::Commit, &commit)
}

/// Reads what a carrier says of its line.
///
/// # Errors
/// It cannot be read, or is no carrier.
pub fn state(objects: &Objects, carrier: ObjectId) -> Result<LineState, Malformed> {
    let commit = read(objects, carrier)?.ok_or("its newest commit is no carrier")?;
    state_of(objects, &commit)
}

/// Reads a line, and checks its carriers back to the first or to one that is known.
///
/// # Errors
/// A carrier cannot be read, or names or contains what no carrier has.
pub fn check_line(
    objects: &Objects,
    tip: ObjectId,
    known: &BTreeMap<ObjectId, LineState>,
) -> Result<LineState, Malformed> {
    let newest = state(objects, tip)?;
    let mut next = Some(tip);
    while let Some(id) = next.filter(|id| !known.contains_key(id))
        && let Some(carrier) = read(objects, id)?
    {
        next = carrier.parents.first().copied();
        check(objects, &carrier, &newest)
            .map_err(|why| format!("its carrier {}: {why}", id.short()))?;
    }
    Ok(newest)
}

/// Reads a commit if it is a carrier.
fn read(objects: &Objects, id: ObjectId) -> Result<Option<CommitParts>, Malformed> {
    let text = |why: String| Malformed::from(format!("{}: {why}", id.short()));
    let (kind, bytes) = objects.read(&id).map_err(|why| text(why.to_string()))?;
    if kind != ObjectKind::Commit {
        return Err(text("it is no commit".to_owned()));
    }
    let commit = commit_codec::parse(&bytes)?;
    match message::trailer(&commit.message, FORMAT_KEY).map(str::parse) {
        None => Ok(None),
        Some(Ok(CARRIER_FORMAT)) => Ok(Some(commit)),
        Some(_) => Err(format!("its carrier {} {}", id.short(), message::MADE_BY_NEWER).into()),
    }
}

fn state_of(objects: &Objects, carrier: &CommitParts) -> Result<LineState, Malformed> {
    let unread = |why: &dyn std::fmt::Display| Malformed::from(why.to_string());
    let (mut state, mut left) = (None, LARGEST_REFS_BYTES);
    for entry in entries(objects, carrier)?
        .iter()
        .filter(|entry| has_refs(entry))
    {
        let size = objects.size(&entry.id).map_err(|why| unread(&why))?;
        left = left
            .checked_sub(size)
            .ok_or("its files of refs are too large")?;
        let (_, text) = objects.read(&entry.id).map_err(|why| unread(&why))?;
        let text = std::str::from_utf8(&text).map_err(|_| "its file of refs is no text")?;
        state
            .get_or_insert_with(LineState::default)
            .add_file(text)?;
    }
    Ok(state.ok_or("it has no file of refs")?)
}

fn entries(objects: &Objects, carrier: &CommitParts) -> Result<Vec<TreeEntry>, Malformed> {
    let read = objects.read(&carrier.tree);
    let (_, tree) = read.map_err(|why| Malformed::from(why.to_string()))?;
    tree_codec::parse(&tree)
}

fn has_refs(entry: &TreeEntry) -> bool {
    entry.name.starts_with(REFS.as_bytes())
}

/// Checks that a carrier leads to nothing but checkpoints, metas and runs of its line, as it is or as
/// it was then, and to the carrier before it.
fn check(objects: &Objects, carrier: &CommitParts, newest: &LineState) -> Result<(), Malformed> {
    for entry in entries(objects, carrier)?
        .iter()
        .filter(|entry| !has_refs(entry))
    {
        let of = std::str::from_utf8(&entry.name).unwrap_or_default();
        let meta = newest.get(&format!("refs/meta/{of}"));
        if meta.map(BundleRef::value) != Some(entry.id) {
            return Err("its tree has what is no meta".into());
        }
    }
    let is_in = |state: &LineState, id: ObjectId| {
        let is_run = |one: &BundleRef| matches!(one, BundleRef::Run(_, tip) if *tip == id);
        state.get(&format!("refs/checkpoints/{id}")).is_some() || state.refs().any(is_run)
    };
    for (nth, id) in carrier.parents.iter().enumerate() {
        let is_known = is_in(newest, *id)
            || (nth == 0 && read(objects, *id)?.is_some())
            || is_in(&state_of(objects, carrier)?, *id);
        if !is_known {
            return Err(format!("its parent {} is no checkpoint", id.short()).into());
        }
    }
    Ok(())
}
