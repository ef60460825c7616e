//! The inventory of checkpoints: refs and their commits, ordered by sequence.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::base::text::escape;
use crate::error::{Error, Result};
use crate::model::checkpoint::limits::LARGEST_SEQUENCE;
use crate::model::checkpoint::manifest;
use crate::model::{Checkpoint, CheckpointId, DamagedCheckpoint, Line, ObjectId, transition};
use crate::store::files::{checksummed_text, read_regular};
use crate::store::objects::odb::ObjectError;
use crate::store::refs::{adopt, commit_codec, ref_files};
use crate::store::{
    CheckReport, CommitReader, Family, Layout, ObjectIds, ObjectKind, Objects, Origins, Rewords,
};

/// Maximum number of missing ids for which the object directories are listed again.
const LOOKED_FOR_ANEW: usize = 64;

/// All checkpoints that the refs name, and those that only rows of the manifest name.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    pub checkpoints: Line,
    pub damaged: Vec<DamagedCheckpoint>,
    /// Those of `checkpoints` that only a row of the manifest still names.
    pub without_ref: Vec<ObjectId>,
    /// Those of `checkpoints` that plain git made and that are not adopted yet.
    pub unadopted: Vec<ObjectId>,
    /// The largest format number among the commits named by refs.
    pub newest_format: u32,
    /// Why the reasons given later cannot be read; those of the commits count then.
    pub unread_rewords: Option<String>,
    /// What is noted of imported checkpoints.
    pub origins: Origins,
}

impl Inventory {
    /// Reads every commit from its pack.
    pub fn read(layout: &Layout, objects: &Objects) -> Result<Self> {
        Self::read_by(layout, &mut CommitReader::new(objects))
    }

    /// Reads the inventory with a reader that stays in use.
    pub fn read_by(layout: &Layout, reader: &mut CommitReader<'_>) -> Result<Self> {
        let pins = ref_files::names(layout, Family::Pins)?;
        let mut inventory = Self::default();
        let rewords = checksummed_text::read::<Rewords>(&layout.rewords());
        inventory.unread_rewords = rewords.as_ref().err().map(ToString::to_string);
        let rewords = rewords.unwrap_or_default();
        let origins = checksummed_text::read::<Origins>(&layout.origins()).unwrap_or_default();
        let mut of_plain_git = Vec::new();
        let mut checkpoints = Vec::new();
        let mut ids = ref_files::names(layout, Family::Checkpoints)?;
        let index = Arc::clone(reader.index());
        // Those of which more is noted than their commit says are decoded at once.
        let is_noted = |id: &ObjectId| {
            pins.contains(id) || rewords.contains_key(id) || origins.contains_key(id)
        };
        let own = index.own();
        let indexed = own.filter(|(_, entry)| !is_noted(&entry.id) && ids.remove(&entry.id));
        let indexed: Vec<_> = indexed.collect();
        for (_, entry) in &indexed {
            reader.place(entry);
        }
        let mut ids: Vec<ObjectId> = ids.into_iter().collect();
        ids.sort_unstable();
        for id in ids {
            // Looking again for each of a million refs of missing commits would take minutes.
            let read = match inventory.damaged.len() {
                LOOKED_FOR_ANEW.. if !reader.objects().holds(&id) => {
                    Err(ObjectError::Missing(id).into())
                }
                _ => reader.own(id),
            };
            match read {
                Ok(Some(own)) => checkpoints.push(own),
                Ok(None) => of_plain_git.push(id),
                Err(why) => inventory.add_damaged(id, &why),
            }
        }
        if !of_plain_git.is_empty() {
            reader.set_adopted_sequences(adopt::known_sequences(layout));
        }
        for id in of_plain_git {
            match reader.checkpoint(id) {
                Ok(adopted) => checkpoints.push(adopted),
                Err(why) => inventory.add_damaged(id, &why),
            }
        }
        for checkpoint in &mut checkpoints {
            checkpoint.pinned = pins.contains(&checkpoint.id);
            add_later_notes(checkpoint, &rewords, &origins);
        }
        inventory.origins = origins;
        inventory.newest_format = reader.newest_format();
        inventory.checkpoints = Line::from(checkpoints);
        inventory
            .checkpoints
            .add_indexed(&index, indexed.into_iter());
        inventory.drop_evicted_meanwhile(layout)?;
        Ok(inventory)
    }

    /// Reads the inventory for commands that only read. Adds rows of the manifest whose ref is
    /// gone, if their commit exists or is damaged, and commits that plain git made since the last
    /// writing command.
    pub fn read_with_rows(layout: &Layout, mut reader: CommitReader<'_>) -> Result<Self> {
        let objects = reader.objects();
        let mut inventory = Self::read_by(layout, &mut reader)?;
        let text = read_regular::read(&layout.manifest());
        let text = text.ok().and_then(manifest::text_of);
        let unadopted = adopt::candidates(
            layout,
            &mut reader,
            &|id| inventory.knows(id),
            inventory.is_empty(),
            text.as_deref(),
        )?;
        for checkpoint in unadopted {
            inventory.add_without_ref(checkpoint);
        }
        let lost: Vec<ObjectId> = match &text {
            Some(text) => {
                let rows = inventory.rows_without_checkpoint(text);
                rows.iter().flat_map(|row| objects.by_prefix(row)).collect()
            }
            // Without a manifest an evicted checkpoint looks like one whose ref was lost.
            None => reader.commits_of_no_remote(),
        };
        let known = if lost.is_empty() {
            ObjectIds::default()
        } else {
            inventory.ids()
        };
        for id in lost.into_iter().filter(|id| !known.contains(id)) {
            match reader.checkpoint(id) {
                Ok(checkpoint) => inventory.add_without_ref(checkpoint),
                Err(why) if text.is_some() && is_damaged(objects, id) => {
                    inventory.add_damaged(id, &why);
                }
                Err(_) => {}
            }
        }
        if let Some(text) = &text {
            inventory.add_lost_rows(layout, objects, text)?;
        }
        Ok(inventory)
    }

    /// Adds rows whose commits are lost: the program itself drops a row before anything else. A row
    /// that equals the missing row of a checkpoint except for its id is that row with a garbled id.
    ///
    /// # Errors
    /// The refs cannot be listed.
    pub fn add_lost_rows(&mut self, layout: &Layout, objects: &Objects, text: &str) -> Result<()> {
        let without: HashSet<String> = self.rows_without_checkpoint(text).into_iter().collect();
        if without.is_empty() {
            return Ok(());
        }
        // A checkpoint may have been made or dropped since the refs were read.
        let made: HashSet<String> = ref_files::names(layout, Family::Checkpoints)?
            .into_iter()
            .map(ObjectId::short)
            .collect();
        let now = read_regular::read(&layout.manifest()).unwrap_or_default();
        let still: HashSet<String> = manifest::ids(&String::from_utf8_lossy(&now))
            .into_iter()
            .collect();
        let unnamed = self
            .checkpoints
            .iter()
            .filter(|c| !still.contains(&c.id.short()))
            .map(manifest::row);
        let unnamed: HashSet<String> = unnamed
            .map(|row| manifest::without_id(&row).to_owned())
            .collect();
        let is_lost = |(id, row): &(String, &str)| {
            without.contains(id)
                && still.contains(id)
                && !made.contains(&id[..ObjectId::SHORT_DIGITS])
                && !unnamed.contains(manifest::without_id(row))
                && !names_transition(objects, id)
        };
        let lost: BTreeMap<String, &str> = manifest::rows(text).filter(is_lost).collect();
        self.damaged
            .extend(lost.into_iter().map(|(id, row)| lost_row(id, row)));
        Ok(())
    }

    /// Renders the manifest. Rows of damaged checkpoints stay as in `before`: they may be their
    /// only trace.
    pub fn manifest(&self, before: &str) -> String {
        if self.damaged.is_empty()
            && let Some(added) = self.checkpoints.rows_after(before)
        {
            return format!("{before}{added}");
        }
        let damaged: HashSet<String> = self
            .damaged
            .iter()
            .map(|damaged| damaged.id.short())
            .collect();
        let is_kept = |id: &str| damaged.contains(&id[..ObjectId::SHORT_DIGITS]);
        let kept: String = manifest::rows(before)
            .filter(|(id, _)| is_kept(id))
            .map(|(_, row)| format!("{row}\n"))
            .collect();
        manifest::render_after(&kept, self.checkpoints.iter())
    }

    pub fn add_damaged(&mut self, id: ObjectId, why: &impl ToString) {
        let (id, why) = (id.into(), why.to_string());
        self.damaged.push(DamagedCheckpoint { id, why });
    }

    fn add_without_ref(&mut self, checkpoint: Checkpoint) {
        let list = if checkpoint.adopted {
            &mut self.unadopted
        } else {
            &mut self.without_ref
        };
        list.push(checkpoint.id);
        self.checkpoints.push(checkpoint);
    }

    /// The ids of all commits, including damaged ones.
    pub fn ids(&self) -> ObjectIds {
        let damaged = self.damaged.iter().filter_map(|lost| lost.id.commit());
        let checkpoints = self.checkpoints.entries().map(|entry| entry.id);
        checkpoints.chain(damaged).collect()
    }

    /// Ids in rows of a manifest that match none of these checkpoints.
    pub fn rows_without_checkpoint(&self, text: &str) -> Vec<String> {
        if self.checkpoints.rows_after(text).is_some() {
            return Vec::new();
        }
        let known: HashSet<String> = self.ids().into_iter().map(ObjectId::short).collect();
        let mut rows = manifest::ids(text);
        rows.retain(|row| !known.contains(&row[..ObjectId::SHORT_DIGITS]));
        rows
    }

    /// Whether a commit is that of a checkpoint, which may be damaged.
    pub fn knows(&self, id: ObjectId) -> bool {
        self.checkpoints.holds(id) || self.damaged.iter().any(|lost| lost.id == id.into())
    }

    /// Whether there is not even a damaged one.
    pub fn is_empty(&self) -> bool {
        self.checkpoints.is_empty() && self.damaged.iter().all(|lost| lost.id.commit().is_none())
    }

    /// Drops damaged entries that were in fact evicted between reading the ref and the commit.
    fn drop_evicted_meanwhile(&mut self, layout: &Layout) -> Result<()> {
        if !self.damaged.is_empty() {
            let still = ref_files::names(layout, Family::Checkpoints)?;
            self.damaged
                .retain(|damaged| damaged.id.commit().is_none_or(|id| still.contains(&id)));
        }
        Ok(())
    }

    pub fn newest(&self) -> Option<&Checkpoint> {
        self.checkpoints.newest()
    }

    pub fn get(&self, id: ObjectId) -> Option<&Checkpoint> {
        self.checkpoints.find(id)
    }

    pub fn next_sequence(&self) -> u64 {
        let newest = self.newest().map_or(0, |c| c.record.sequence);
        (newest + 1).min(LARGEST_SEQUENCE)
    }

    /// Finds a damaged checkpoint by prefix, after no intact one matched.
    pub fn damaged_by_prefix(&self, prefix: &str) -> Option<&DamagedCheckpoint> {
        self.damaged
            .iter()
            .find(|damaged| damaged.id.answers_to(prefix))
    }
}

/// Whether an object exists but cannot be read.
pub fn is_damaged(objects: &Objects, id: ObjectId) -> bool {
    matches!(
        objects.read(&id),
        Err(ObjectError::Io(_) | ObjectError::Corrupt { .. })
    )
}

/// Whether a row names a transition of a run, which is neither a checkpoint nor lost.
pub fn names_transition(objects: &Objects, digits: &str) -> bool {
    objects
        .by_prefix(digits)
        .iter()
        .any(|id| match objects.read(id) {
            Ok((ObjectKind::Commit, bytes)) => {
                commit_codec::parse(&bytes).is_ok_and(|commit| transition::is_ours(&commit.message))
            }
            _ => false,
        })
}

/// Puts in what was noted after a checkpoint was made: its later reason, and its place here.
fn add_later_notes(checkpoint: &mut Checkpoint, rewords: &Rewords, origins: &Origins) {
    if let Some(reason) = rewords.get(&checkpoint.id) {
        checkpoint.record.reason.clone_from(reason);
    }
    if let Some(noted) = origins.get(&checkpoint.id) {
        checkpoint.record.sequence = noted.sequence;
        // A restore of another directory cannot be undone here.
        checkpoint.record.operation = None;
    }
}

/// Describes a checkpoint of which only its row is left.
pub fn lost_row(id: String, row: &str) -> DamagedCheckpoint {
    let rest = escape(manifest::without_id(row));
    let why = format!("its commit is missing from the store, only its row is left: {rest}");
    DamagedCheckpoint {
        id: CheckpointId::Row(id),
        why,
    }
}

/// Removes checkpoints from a report of damage that were evicted since the refs were read.
pub fn drop_evicted(
    layout: &Layout,
    inventory: &Inventory,
    report: &mut CheckReport,
) -> Result<()> {
    if !report.damaged.is_empty() {
        let still = ref_files::names(layout, Family::Checkpoints)?;
        let only_a_row =
            |id: &ObjectId| inventory.without_ref.contains(id) || inventory.unadopted.contains(id);
        let is_there = |id: ObjectId| still.contains(&id) || only_a_row(&id);
        report
            .damaged
            .retain(|state| state.id.commit().is_none_or(is_there));
    }
    Ok(())
}

/// Turns a failed read of a checkpoint's object into damage, or an eviction if the ref is gone.
pub fn damage_or_eviction(layout: &Layout, checkpoint: ObjectId, why: String) -> Error {
    match ref_files::names(layout, Family::Checkpoints) {
        Ok(refs) if !refs.contains(&checkpoint) => Error::evicted_meanwhile(checkpoint),
        _ => Error::damaged(format!("checkpoint {}", checkpoint.short()), why),
    }
}
