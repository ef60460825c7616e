//! The list of checkpoints: refs and the commits that they name, in order of their sequence.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::model::checkpoint::{Checkpoint, DamagedCheckpoint};
use crate::model::manifest;
use crate::model::object_id::ObjectId;
use crate::store::ObjectIds;
use crate::store::adopt;
use crate::store::check::Report;
use crate::store::commit_reader::CommitReader;
use crate::store::layout::Layout;
use crate::store::objects::Objects;
use crate::store::plain_file;
use crate::store::refs::{self, Family};

/// Everything that the refs name.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// In order of their sequence, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    pub damaged: Vec<DamagedCheckpoint>,
    /// Among the checkpoints: those that only a row of the manifest still names.
    pub without_ref: Vec<ObjectId>,
    /// Among the checkpoints: those that plain git made and nobody has taken over yet.
    pub unadopted: Vec<ObjectId>,
    /// The largest format number among the commits that the refs name.
    pub newest_format: u32,
}

impl Inventory {
    pub fn read(layout: &Layout, objects: &Objects) -> Result<Self> {
        Self::read_by(layout, &mut CommitReader::new(objects))
    }

    /// The same with a reader that goes on to be used.
    pub fn read_by(layout: &Layout, reader: &mut CommitReader<'_>) -> Result<Self> {
        let pins = refs::names(layout, Family::Pins)?;
        let mut inventory = Self::default();
        let mut of_plain_git = Vec::new();
        for id in refs::names(layout, Family::Checkpoints)? {
            match reader.own(id) {
                Ok(Some(own)) => inventory.checkpoints.push(own),
                Ok(None) => of_plain_git.push(id),
                Err(why) => inventory.damaged.push(DamagedCheckpoint { id, why }),
            }
        }
        for id in of_plain_git {
            match reader.checkpoint(id) {
                Ok(adopted) => inventory.checkpoints.push(adopted),
                Err(why) => inventory.damaged.push(DamagedCheckpoint { id, why }),
            }
        }
        for checkpoint in &mut inventory.checkpoints {
            checkpoint.pinned = pins.contains(&checkpoint.id);
        }
        inventory.newest_format = reader.newest_format();
        inventory.drop_evicted_meanwhile(layout)?;
        inventory.sort();
        Ok(inventory)
    }

    /// The list for those who only read: in it are also rows of the manifest whose ref is gone, if their commit is
    /// there, and what plain git made since the last command that wrote.
    pub fn read_with_rows(layout: &Layout, mut reader: CommitReader<'_>) -> Result<Self> {
        let objects = reader.objects();
        let mut inventory = Self::read_by(layout, &mut reader)?;
        let text = plain_file::read(&layout.manifest()).ok().filter(|bytes| manifest::is_readable(bytes));
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        for checkpoint in adopt::candidates(layout, &mut reader, &inventory, text.as_deref())? {
            inventory.add_without_ref(checkpoint);
        }
        let lost: Vec<ObjectId> = match &text {
            Some(text) => {
                let rows = inventory.rows_without_checkpoint(text);
                rows.iter().flat_map(|row| objects.by_prefix(row)).collect()
            }
            // Without a manifest nothing tells an evicted checkpoint from one whose ref was lost.
            None => objects.commits(),
        };
        let known = inventory.ids();
        for id in lost.into_iter().filter(|id| !known.contains(id)) {
            if let Ok(checkpoint) = reader.checkpoint(id) {
                inventory.add_without_ref(checkpoint);
            }
        }
        inventory.sort();
        Ok(inventory)
    }

    fn add_without_ref(&mut self, checkpoint: Checkpoint) {
        let list = if checkpoint.adopted { &mut self.unadopted } else { &mut self.without_ref };
        list.push(checkpoint.id);
        self.checkpoints.push(checkpoint);
    }

    /// Every id in it, damaged ones too.
    pub fn ids(&self) -> ObjectIds {
        self.checkpoints.iter().map(|c| c.id).chain(self.damaged.iter().map(|damaged| damaged.id)).collect()
    }

    /// Ids in rows of a manifest that name none of these checkpoints.
    pub fn rows_without_checkpoint(&self, text: &str) -> Vec<String> {
        let known: HashSet<String> = self.ids().into_iter().map(ObjectId::short).collect();
        let mut rows = manifest::ids(text);
        rows.retain(|row| !known.contains(&row[..ObjectId::SHORT_DIGITS]));
        rows
    }

    /// What looked damaged may have been evicted between the reading of its ref and of its commit.
    fn drop_evicted_meanwhile(&mut self, layout: &Layout) -> Result<()> {
        if !self.damaged.is_empty() {
            let still = refs::names(layout, Family::Checkpoints)?;
            self.damaged.retain(|damaged| still.contains(&damaged.id));
        }
        Ok(())
    }

    pub fn sort(&mut self) {
        self.checkpoints.sort_by_key(|c| (c.record.sequence, c.record.time_ms, c.id));
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

/// What a check found to be damaged may have been evicted since the refs were read.
pub fn drop_evicted(layout: &Layout, inventory: &Inventory, report: &mut Report) -> Result<()> {
    if !report.damaged.is_empty() {
        let still = refs::names(layout, Family::Checkpoints)?;
        let only_a_row = |id: &ObjectId| inventory.without_ref.contains(id) || inventory.unadopted.contains(id);
        report.damaged.retain(|state| still.contains(&state.id) || only_a_row(&state.id));
    }
    Ok(())
}

/// A failure to read an object that a checkpoint needs, told apart from its eviction.
pub fn damage_or_eviction(layout: &Layout, checkpoint: ObjectId, why: String) -> Error {
    match refs::names(layout, Family::Checkpoints) {
        Ok(refs) if !refs.contains(&checkpoint) => Error::EvictedMeanwhile { id: checkpoint },
        _ => Error::Damaged { what: format!("checkpoint {}", checkpoint.short()), why },
    }
}
