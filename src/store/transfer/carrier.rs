//! The commits that carry checkpoints to a remote. Checkpoints have no parents, and git would send
//! the whole tree of each; a carrier has as parents the carrier before it and what is new, so that
//! git sends only what changed. Its tree has all refs of the line, and the new metas by checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::Malformed;
use crate::error::Result;
use crate::model::ObjectId;
use crate::model::checkpoint::message;
use crate::store::refs::commit_codec;
use crate::store::trees::tree_codec::{self, MODE_DIRECTORY, MODE_FILE};
use crate::store::{BundleHeader, BundleRef, CommitParts, ObjectKind, Objects, TreeEntry};

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

/// Checkpoints up to which a line has a single file.
const MOST_IN_ONE_FILE: usize = 100;

/// The refs of a line at its newest carrier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineState(BTreeMap<String, BundleRef>);

impl LineState {
    /// Takes over refs; branches are only for bundles.
    pub fn of(refs: impl IntoIterator<Item = BundleRef>) -> Self {
        let refs = refs.into_iter();
        let kept = refs.filter(|one| !matches!(one, BundleRef::Branch(..)));
        Self(kept.map(|one| (one.to_string(), one)).collect())
    }

    pub fn refs(&self) -> impl Iterator<Item = &BundleRef> {
        self.0.values()
    }

    /// Returns the ref of this name.
    pub fn get(&self, name: &str) -> Option<&BundleRef> {
        self.0.get(name)
    }

    pub fn to_header(&self) -> BundleHeader {
        BundleHeader {
            prerequisites: Vec::new(),
            refs: self.0.values().cloned().collect(),
        }
    }

    /// The ids of all checkpoints.
    pub fn checkpoints(&self) -> BTreeSet<ObjectId> {
        let id = |one: &BundleRef| match one {
            BundleRef::Checkpoint(id) => Some(*id),
            _ => None,
        };
        self.refs().filter_map(id).collect()
    }

    /// Adds what a former state says of checkpoints that are here no more: they stay on the line.
    #[must_use]
    pub fn after(mut self, former: &Self) -> Self {
        let here = self.checkpoints();
        for (name, one) in &former.0 {
            let stays = match (one, one.checkpoint()) {
                (BundleRef::Origin(..), _) => true,
                (_, Some(id)) => !here.contains(&id),
                (_, None) => false,
            };
            if stays {
                self.0.insert(name.clone(), one.clone());
            }
        }
        self
    }

    /// Returns the files of a carrier, by the ending of their names. Of a long line each has the
    /// checkpoints whose ids begin with one digit, so that most files are those of the carrier before.
    pub fn to_files(&self) -> BTreeMap<String, String> {
        let is_long = self.checkpoints().len() > MOST_IN_ONE_FILE;
        let mut files = BTreeMap::new();
        for (name, one) in &self.0 {
            let id = one.checkpoint().filter(|_| is_long).map(ObjectId::to_hex);
            let ending = id.map_or_else(String::new, |id| id[..1].to_owned());
            let file: &mut String = files.entry(ending).or_default();
            file.push_str(&format!("{} {name}\n", one.value()));
        }
        files
    }

    /// Adds the refs of a file.
    ///
    /// # Errors
    /// A line is malformed, or names what is none of checkpoints.
    pub fn add_file(&mut self, text: &str) -> Result<(), Malformed> {
        for line in text.lines() {
            let shown = || format!("the line '{}' is none of a carrier", line.escape_debug());
            let (id, name) = line.split_once(' ').ok_or_else(shown)?;
            let one = ObjectId::from_hex(id).and_then(|id| BundleRef::of(name, id));
            match one {
                None | Some(BundleRef::Branch(..)) => return Err(shown().into()),
                Some(one) => drop(self.0.insert(name.to_owned(), one)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::id;

    #[test]
    fn files_of_short_and_long_lines_come_back_as_they_were_written() {
        let short = LineState::of([
            BundleRef::Checkpoint(id(1)),
            BundleRef::Pin(id(1)),
            BundleRef::Reason(id(1), "old".to_owned()),
            BundleRef::Run("r".to_owned(), id(2)),
        ]);
        let long = (0..=200).map(|byte| BundleRef::Checkpoint(id(byte)));
        let long = LineState::of(long.chain(short.refs().cloned()));
        for (state, count) in [(short, 1), (long, 14)] {
            let files = state.to_files();
            assert_eq!(files.len(), count);
            let mut read = LineState::default();
            for text in files.values() {
                read.add_file(text).unwrap();
            }
            assert_eq!(read, state);
        }
    }

    #[test]
    fn what_is_gone_here_stays_on_the_line() {
        let former = LineState::of([BundleRef::Checkpoint(id(1)), BundleRef::Pin(id(1))]);
        let next = LineState::of([BundleRef::Checkpoint(id(2))]).after(&former);
        assert_eq!(next.checkpoints(), BTreeSet::from([id(1), id(2)]));
        assert!(next.refs().any(|one| *one == BundleRef::Pin(id(1))));
    }

    #[test]
    fn other_lines_are_refused() {
        for text in ["x", "- refs/pins/x", "1 refs/heads/main", "0 y\n"] {
            assert!(LineState::default().add_file(text).is_err(), "{text}");
        }
        let heads = format!("{} refs/heads/main", id(1));
        assert!(LineState::default().add_file(&heads).is_err());
    }
}
