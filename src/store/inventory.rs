//! The list of checkpoints: refs and the commits that they name, in order of their sequence.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::model::checkpoint::{Checkpoint, DamagedCheckpoint};
use crate::model::manifest;
use crate::model::message;
use crate::model::object_id::ObjectId;
use crate::store::check::Report;
use crate::store::commit_codec;
use crate::store::hash::ObjectKind;
use crate::store::layout::Layout;
use crate::store::objects::{ObjectError, Objects};
use crate::store::refs::{self, Family};

/// Everything that the refs name.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// In order of their sequence, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    pub damaged: Vec<DamagedCheckpoint>,
    /// Among the checkpoints: those that only a row of the manifest still names.
    pub without_ref: Vec<ObjectId>,
    /// The largest format number among the commits that the refs name.
    pub newest_format: u32,
}

impl Inventory {
    pub fn read(layout: &Layout, objects: &Objects) -> Result<Self> {
        let pins = refs::read_family(layout, Family::Pins)?;
        let mut inventory = Self::default();
        for id in refs::read_family(layout, Family::Checkpoints)?.into_keys() {
            match read_with_format(objects, id) {
                Ok((checkpoint, format)) => {
                    inventory.newest_format = inventory.newest_format.max(format);
                    inventory.checkpoints.push(Checkpoint { pinned: pins.contains_key(&id), ..checkpoint });
                }
                Err(why) => inventory.damaged.push(DamagedCheckpoint { id, why }),
            }
        }
        inventory.drop_evicted_meanwhile(layout)?;
        inventory.sort();
        Ok(inventory)
    }

    /// The list for those who only read: rows of the manifest whose ref is gone are in it too, if their commit is there.
    pub fn read_with_rows(layout: &Layout, objects: &Objects) -> Result<Self> {
        let mut inventory = Self::read(layout, objects)?;
        let text = std::fs::read(layout.manifest()).unwrap_or_default();
        let rows = inventory.rows_without_checkpoint(&String::from_utf8_lossy(&text));
        for id in rows.iter().flat_map(|row| objects.by_prefix(row)) {
            if let Ok(checkpoint) = read_checkpoint(objects, id) {
                inventory.checkpoints.push(checkpoint);
                inventory.without_ref.push(id);
            }
        }
        inventory.sort();
        Ok(inventory)
    }

    /// Ids in rows of a manifest that name none of these checkpoints.
    pub fn rows_without_checkpoint(&self, text: &str) -> Vec<String> {
        let ids = self.checkpoints.iter().map(|c| c.id).chain(self.damaged.iter().map(|damaged| damaged.id));
        let known: HashSet<String> = ids.map(ObjectId::short).collect();
        let mut rows = manifest::ids(text);
        rows.retain(|row| !known.contains(&row[..ObjectId::SHORT_DIGITS]));
        rows
    }

    /// What looked damaged may have been evicted between the reading of its ref and of its commit.
    fn drop_evicted_meanwhile(&mut self, layout: &Layout) -> Result<()> {
        if !self.damaged.is_empty() {
            let still = refs::read_family(layout, Family::Checkpoints)?;
            self.damaged.retain(|damaged| still.contains_key(&damaged.id));
        }
        Ok(())
    }

    pub fn sort(&mut self) {
        self.checkpoints.sort_by_key(|c| (c.record.sequence, c.id));
    }

    pub fn newest(&self) -> Option<&Checkpoint> {
        self.checkpoints.last()
    }

    pub fn get(&self, id: ObjectId) -> Option<&Checkpoint> {
        self.checkpoints.iter().find(|c| c.id == id)
    }

    pub fn next_sequence(&self) -> u64 {
        self.newest().map_or(1, |c| c.record.sequence + 1)
    }

    /// An id that begins like this and is damaged: asked for after no whole checkpoint answered.
    pub fn damaged_by_prefix(&self, prefix: &str) -> Option<&DamagedCheckpoint> {
        let prefix = prefix.to_ascii_lowercase();
        self.damaged.iter().find(|damaged| prefix.len() >= 4 && damaged.id.to_hex().starts_with(&prefix))
    }
}

/// Reads one commit as a checkpoint, or says why it is none.
pub fn read_checkpoint(objects: &Objects, id: ObjectId) -> std::result::Result<Checkpoint, String> {
    read_with_format(objects, id).map(|(checkpoint, _)| checkpoint)
}

fn read_with_format(objects: &Objects, id: ObjectId) -> std::result::Result<(Checkpoint, u32), String> {
    let (kind, bytes) = objects.read(&id).map_err(|e: ObjectError| e.to_string())?;
    if kind != ObjectKind::Commit {
        return Err(format!("{} is no commit", id.short()));
    }
    let commit = commit_codec::parse(&bytes)?;
    let (record, meta) = message::parse(&commit.message)?;
    let checkpoint = Checkpoint { id, tree: commit.tree, meta, record, pinned: false };
    Ok((checkpoint, message::format_of(&commit.message).unwrap_or_default()))
}

/// What a check found to be damaged may have been evicted since the refs were read.
pub fn drop_evicted(layout: &Layout, inventory: &Inventory, report: &mut Report) -> Result<()> {
    if !report.damaged.is_empty() {
        let still = refs::read_family(layout, Family::Checkpoints)?;
        let only_a_row = |id: &ObjectId| inventory.without_ref.contains(id);
        report.damaged.retain(|state| still.contains_key(&state.id) || only_a_row(&state.id));
    }
    Ok(())
}

/// A failure to read an object that a checkpoint needs, told apart from its eviction.
pub fn damage_or_eviction(layout: &Layout, checkpoint: ObjectId, why: String) -> Error {
    match refs::read_family(layout, Family::Checkpoints) {
        Ok(refs) if !refs.contains_key(&checkpoint) => Error::EvictedMeanwhile { id: checkpoint },
        _ => Error::Damaged { what: format!("checkpoint {}", checkpoint.short()), why },
    }
}
