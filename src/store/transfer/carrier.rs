//! The commits that carry checkpoints to a remote. Checkpoints have no parents, and git would send
//! the whole tree of each; a carrier has as parents the carrier before it and what is new, so that
//! git sends only what changed. Its tree has the file `refs` and the metas, by checkpoint.

use std::collections::BTreeMap;

use crate::base::malformed::Malformed;
use crate::error::Result;
use crate::model::checkpoint::message;
use crate::model::state::object_id::ObjectId;
use crate::store::objects::object_hash::ObjectKind;
use crate::store::objects::odb::Objects;
use crate::store::refs::commit_codec::{self, CommitParts};
use crate::store::transfer::header::BundleRef;
use crate::store::transfer::line_state::LineState;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_FILE, TreeEntry};

/// Value of the trailer `Carrier-Format`; a line with a larger one is not read.
pub const CARRIER_FORMAT: u32 = 1;

const FORMAT_KEY: &str = message::CARRIER_KEY;
/// The file in the tree of a carrier that says what it changes.
const REFS: &[u8] = b"refs";
/// Largest such file that is read, in bytes.
const LARGEST_REFS_BYTES: u64 = 64 << 20;

/// The parts of a new carrier.
pub struct CarrierParts<'c> {
    /// What it changes in the state of the line.
    pub changes: &'c str,
    /// The carrier before it, and what is new.
    pub parents: Vec<ObjectId>,
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
    let refs = put(ObjectKind::Blob, parts.changes.as_bytes())?;
    let mut entries = vec![TreeEntry {
        mode: MODE_FILE,
        name: REFS.into(),
        id: refs,
    }];
    entries.extend(
        parts
            .metas
            .iter()
            .map(|(checkpoint, meta, kind)| TreeEntry {
                mode: match kind {
                    ObjectKind::Tree => MODE_DIRECTORY,
                    _ => MODE_FILE,
                },
                name: checkpoint.to_hex().into_bytes().into(),
                id: *meta,
            }),
    );
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
    let commit = commit_codec::encode_after(tree, &parts.parents, seconds, &text);
    put(ObjectKind::Commit, &commit)
}

/// Reads a line from its newest carrier back to the first or to one whose state is known. Returns its
/// state.
///
/// # Errors
/// A carrier cannot be read, or names or contains what no carrier has.
pub fn read_line(
    objects: &Objects,
    tip: ObjectId,
    known: &BTreeMap<ObjectId, LineState>,
) -> Result<LineState, Malformed> {
    let (mut carriers, mut next) = (Vec::new(), Some(tip));
    let (mut state, mut former) = (LineState::default(), None);
    while let Some(id) = next {
        if let Some(known) = known.get(&id) {
            (state, former) = (known.clone(), Some(id));
            break;
        }
        let Some(commit) = read(objects, id)? else {
            break;
        };
        next = commit.parents.first().copied();
        carriers.push((id, commit));
    }
    if carriers.is_empty() && former.is_none() {
        return Err("its newest commit is no carrier".into());
    }
    while let Some((id, carrier)) = carriers.pop() {
        apply(objects, &carrier, former, &mut state)
            .map_err(|why| format!("its carrier {}: {why}", id.short()))?;
        former = Some(id);
    }
    Ok(state)
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

fn apply(
    objects: &Objects,
    carrier: &CommitParts,
    former: Option<ObjectId>,
    state: &mut LineState,
) -> Result<(), Malformed> {
    let unread = |why: &dyn std::fmt::Display| Malformed::from(why.to_string());
    let (_, tree) = objects.read(&carrier.tree).map_err(|why| unread(&why))?;
    let entries = tree_codec::parse(&tree)?;
    let refs = tree_codec::find(&entries, REFS)
        .ok_or("it has no file of refs")?
        .id;
    if objects.size(&refs).map_err(|why| unread(&why))? > LARGEST_REFS_BYTES {
        return Err("its file of refs is too large".into());
    }
    let (_, text) = objects.read(&refs).map_err(|why| unread(&why))?;
    state.apply(std::str::from_utf8(&text).map_err(|_| "its file of refs is no text")?)?;
    for entry in entries.iter().filter(|entry| *entry.name != *REFS) {
        let of = std::str::from_utf8(&entry.name).unwrap_or_default();
        let meta = state.get(&format!("refs/meta/{of}"));
        if meta.map(BundleRef::value) != Some(entry.id) {
            return Err("its tree has what is no meta".into());
        }
    }
    let is_run = |id: ObjectId| {
        state
            .refs()
            .any(|one| matches!(one, BundleRef::Run(_, tip) if *tip == id))
    };
    let is_known = |id: &&ObjectId| {
        former == Some(**id)
            || state.get(&format!("refs/checkpoints/{id}")).is_some()
            || is_run(**id)
    };
    match carrier.parents.iter().find(|id| !is_known(id)) {
        Some(other) => Err(format!("its parent {} is no checkpoint", other.short()).into()),
        None => Ok(()),
    }
}
