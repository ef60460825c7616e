//! Reads commits as checkpoints: ours by their trailers, those of plain git by their position in
//! the history.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::Error;
use crate::model::checkpoint::message::{self, Ours};
use crate::model::{Checkpoint, LineEntry, ObjectId, transition};
use crate::store::refs::commit_codec;
use crate::store::{CommitIndex, CommitParts, Inventory, Layout, ObjectKind, Objects, ReadFailure};

const NO_CHECKPOINT: &str = "it is a transition of a workflow and no checkpoint";

/// Reads commits and remembers their sequence numbers.
pub struct CommitReader<'o> {
    objects: &'o Objects,
    /// Sequence numbers of commits met so far; 0 for an unreadable commit.
    sequences: HashMap<ObjectId, u64>,
    newest_format: u32,
    index: Arc<CommitIndex>,
    /// Commits that were not in the index.
    read: Vec<(ObjectId, Vec<u8>)>,
    /// Time in milliseconds since 1970 and sequence number of each of our checkpoints read so far.
    own: Vec<(i64, u64)>,
}

impl<'o> CommitReader<'o> {
    pub fn new(objects: &'o Objects) -> Self {
        Self::by(objects, CommitIndex::default())
    }

    /// Creates a reader that takes commits from the index where it can.
    pub fn indexed(layout: &Layout, objects: &'o Objects) -> Self {
        Self::by(objects, CommitIndex::read(layout, objects))
    }

    fn by(objects: &'o Objects, index: CommitIndex) -> Self {
        Self {
            objects,
            sequences: HashMap::new(),
            newest_format: 0,
            index: Arc::new(index),
            read: Vec::new(),
            own: Vec::new(),
        }
    }

    pub fn index(&self) -> &Arc<CommitIndex> {
        &self.index
    }

    /// Notes the place of a checkpoint of ours that is not read.
    pub fn place(&mut self, entry: &LineEntry) {
        self.own.push((entry.time_ms, entry.sequence));
    }

    /// Brings the index up to date, if it lacks many commits.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(self, layout: &Layout, inventory: &Inventory) -> Result<(), Error> {
        self.index.save(layout, self.objects, &self.read, inventory)
    }

    /// Adds the sequence numbers of adopted commits, before the first of them is read.
    pub fn set_adopted_sequences(&mut self, sequences: impl IntoIterator<Item = (ObjectId, u64)>) {
        self.sequences.extend(sequences);
    }

    /// The largest format number among our checkpoints read so far.
    pub fn newest_format(&self) -> u32 {
        self.newest_format
    }

    pub fn objects(&self) -> &'o Objects {
        self.objects
    }

    /// Adds a commit that was just read, so that it is not read again: a failing disk may not
    /// return it twice.
    pub fn take_in(&mut self, id: ObjectId, content: Vec<u8>) {
        self.read.push((id, content));
    }

    /// Reads a commit as a checkpoint.
    ///
    /// # Errors
    /// The commit is missing or damaged, the object is no commit, or our trailers are invalid.
    pub fn checkpoint(&mut self, id: ObjectId) -> Result<Checkpoint, ReadFailure> {
        let commit = self.parts(id)?;
        if let Some(own) = self.own_of(id, &commit)? {
            return Ok(own);
        }
        let record = message::of_plain_git(&commit.message, commit.seconds, self.sequence_of(id));
        Ok(Checkpoint {
            id,
            tree: commit.tree,
            meta: None,
            record,
            pinned: false,
            adopted: true,
        })
    }

    /// Reads a commit of ours; `None` for one of plain git. Read ours first: the places of the
    /// others depend on them.
    ///
    /// # Errors
    /// As [`Self::checkpoint`].
    pub fn own(&mut self, id: ObjectId) -> Result<Option<Checkpoint>, ReadFailure> {
        let commit = self.parts(id)?;
        self.own_of(id, &commit)
    }

    fn own_of(
        &mut self,
        id: ObjectId,
        commit: &CommitParts,
    ) -> Result<Option<Checkpoint>, ReadFailure> {
        let Some(ours) = message::read(&commit.message) else {
            let is_carrier = message::trailer(&commit.message, message::CARRIER_KEY).is_some();
            return if is_carrier || transition::is_ours(&commit.message) {
                Err(NO_CHECKPOINT.into())
            } else {
                Ok(None)
            };
        };
        self.newest_format = self.newest_format.max(ours.format.unwrap_or_default());
        let made = made_of(id, commit.tree, ours)?;
        self.own.push((made.record.time_ms, made.record.sequence));
        Ok(Some(made))
    }

    /// Returns all stored commits but the carriers of remotes and what these brought.
    pub fn commits_of_no_remote(&mut self) -> Vec<ObjectId> {
        let mut commits = self.objects().commits();
        let mut brought = HashSet::new();
        for id in &commits {
            let carrier = self.parts(*id).ok();
            let is_carrier =
                |c: &CommitParts| message::trailer(&c.message, message::CARRIER_KEY).is_some();
            if let Some(carrier) = carrier.filter(is_carrier) {
                brought.insert(*id);
                brought.extend(carrier.parents);
            }
        }
        commits.retain(|id| !brought.contains(id));
        commits
    }

    /// # Errors
    /// As [`Self::checkpoint`], but the message is not checked.
    pub fn parts(&mut self, id: ObjectId) -> Result<CommitParts, ReadFailure> {
        if let Some(content) = self.index.get(id) {
            return Ok(commit_codec::parse(&content)?);
        }
        if let Some((_, content)) = self.read.last().filter(|(read, _)| *read == id) {
            return Ok(commit_codec::parse(content)?);
        }
        let (kind, bytes) = self.objects.read(&id)?;
        if kind != ObjectKind::Commit {
            return Err(format!("{} is not a commit", id.short()).into());
        }
        let parts = commit_codec::parse(&bytes)?;
        self.read.push((id, bytes));
        Ok(parts)
    }

    /// The sequence number of a commit: its trailer's, or one more than the largest of its parents.
    /// So a commit of plain git comes after the checkpoint it was made on, and before all later
    /// ones. One without parents, such as an amended checkpoint, is placed by its time.
    fn sequence_of(&mut self, id: ObjectId) -> u64 {
        let mut pending = vec![id];
        let mut parents_of: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
        while let Some(id) = pending.last().copied() {
            if self.sequences.contains_key(&id) {
                pending.pop();
                continue;
            }
            if let Some(parents) = parents_of.get(&id) {
                let sequence = parents
                    .iter()
                    .filter_map(|parent| self.sequences.get(parent))
                    .max()
                    .copied();
                let sequence = sequence.unwrap_or_else(|| self.last_before(id));
                self.sequences.insert(id, sequence.saturating_add(1));
                continue;
            }
            match self.parts(id) {
                Err(_) => {
                    self.sequences.insert(id, 0);
                }
                Ok(commit) if message::is_ours(&commit.message) => {
                    let sequence =
                        message::parse(&commit.message).map_or(0, |(record, _)| record.sequence);
                    self.sequences.insert(id, sequence);
                }
                Ok(commit) => {
                    pending.extend(&commit.parents);
                    parents_of.insert(id, commit.parents);
                }
            }
        }
        self.sequences.get(&id).copied().unwrap_or_default()
    }

    /// The largest sequence number among our checkpoints that are not younger than a commit.
    fn last_before(&mut self, id: ObjectId) -> u64 {
        let Ok(commit) = self.parts(id) else { return 0 };
        // The commit's time is in seconds only.
        let until_ms = commit.seconds.saturating_mul(1000).saturating_add(999);
        let earlier = self.own.iter().filter(|(time_ms, _)| *time_ms <= until_ms);
        earlier
            .map(|(_, sequence)| *sequence)
            .max()
            .unwrap_or_default()
    }
}

fn made_of(id: ObjectId, tree: ObjectId, ours: Ours) -> Result<Checkpoint, ReadFailure> {
    let (record, meta) = ours.record?;
    Ok(Checkpoint {
        id,
        tree,
        meta,
        record,
        pinned: false,
        adopted: false,
    })
}

/// Decodes a commit of ours; `None` for one of plain git.
///
/// # Errors
/// The commit or our trailers are invalid.
pub fn decode(id: ObjectId, content: &[u8]) -> Result<Option<Checkpoint>, ReadFailure> {
    let commit = commit_codec::parse(content)?;
    let ours = message::read(&commit.message);
    ours.map(|ours| made_of(id, commit.tree, ours)).transpose()
}

/// Reads a commit as a checkpoint.
///
/// # Errors
/// As [`CommitReader::checkpoint`].
pub fn read_checkpoint(objects: &Objects, id: ObjectId) -> Result<Checkpoint, ReadFailure> {
    CommitReader::new(objects).checkpoint(id)
}
