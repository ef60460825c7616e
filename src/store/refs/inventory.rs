//! The inventory of checkpoints: refs and their commits, ordered by sequence.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::sync::Arc;

use crate::base::text::escape;
use crate::error::{Error, Result};
use crate::model::checkpoint::limits::LARGEST_SEQUENCE;
use crate::model::checkpoint::manifest;
use crate::model::{
    Checkpoint, CheckpointId, DamagedCheckpoint, Line, LineEntry, ObjectId, transition,
};
use crate::store::files::read_regular;
use crate::store::objects::odb::ObjectError;
use crate::store::refs::packed_commits::PackedCommits;
use crate::store::refs::ref_files;
use crate::store::refs::{adopted_sequence, commit_codec, plain_git};
use crate::store::small_files::origins;
use crate::store::small_files::rewords;
use crate::store::{
    CheckReport, CommitReader, Family, KnownRows, Layout, ManifestText, ObjectIds, ObjectKind,
    Objects, Origins, Rewords, Seal,
};

/// Maximum number of missing ids for which the object directories are listed again.
const LOOKED_FOR_ANEW: usize = 64;

/// Opens the index of packed refs, with its seal.
pub type OpenIndex<'o> = &'o dyn Fn() -> Option<(PackedCommits, Option<Seal>)>;

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
    /// The index of the packed refs.
    pub packed: Option<Arc<PackedCommits>>,
    /// Whether a seal proved at once that all packed commits are stored.
    pub is_sealed: bool,
    pub rows: KnownRows,
    /// Why the reasons given later cannot be read; those of the commits count then.
    pub unread_rewords: Option<String>,
    /// What is noted of imported checkpoints; none of these is packed.
    pub origins: Origins,
    /// Checkpoints with a file beside their packed ref, left by a killed process.
    pub packed_twice: Vec<ObjectId>,
}

impl Inventory {
    /// Reads every commit from its pack.
    pub fn read(layout: &Layout, objects: &Objects) -> Result<Self> {
        Self::read_by(layout, &mut CommitReader::new(objects), None)
    }

    /// Reads the inventory with a reader that stays in use; `index` opens that of the packed refs.
    pub fn read_by(
        layout: &Layout,
        reader: &mut CommitReader<'_>,
        index: Option<OpenIndex<'_>>,
    ) -> Result<Self> {
        let pins = ref_files::names(layout, Family::Pins)?;
        let mut inventory = Self::default();
        let rewords = rewords::read(layout);
        inventory.unread_rewords = rewords.as_ref().err().map(ToString::to_string);
        let rewords = rewords.unwrap_or_default();
        let origins = origins::read(layout).unwrap_or_default();
        let mut of_plain_git = Vec::new();
        let mut checkpoints = Vec::new();
        // Files come first, see `ref_files::names`.
        let mut ids = ref_files::loose_names(layout, Family::Checkpoints)?;
        let packed = index.and_then(|open| open());
        if let Some((packed, _)) = &packed {
            inventory.packed_twice = packed.among(ids.iter().copied());
            ids.retain(|id| !inventory.packed_twice.contains(id));
        } else {
            ids.extend(ref_files::packed_names(layout, Family::Checkpoints)?);
        }
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
                Err(why) => inventory.damaged.push(DamagedCheckpoint {
                    id: id.into(),
                    why: why.to_string(),
                }),
            }
        }
        if !of_plain_git.is_empty() {
            reader.set_adopted_sequences(adopted_sequence::read(layout));
        }
        for id in of_plain_git {
            match reader.checkpoint(id) {
                Ok(adopted) => checkpoints.push(adopted),
                Err(why) => inventory.damaged.push(DamagedCheckpoint {
                    id: id.into(),
                    why: why.to_string(),
                }),
            }
        }
        for checkpoint in &mut checkpoints {
            checkpoint.pinned = pins.contains(&checkpoint.id);
            add_later_notes(checkpoint, &rewords, &origins);
        }
        inventory.origins = origins;
        inventory.newest_format = reader.newest_format();
        inventory.checkpoints = Line::from(checkpoints);
        if let Some((mut packed, seal)) = packed {
            packed.pins = pins;
            packed.rewords = rewords;
            inventory.newest_format = inventory.newest_format.max(packed.newest_format);
            let newer = std::mem::take(&mut inventory.checkpoints);
            inventory.join(newer.newer().to_vec(), packed);
            inventory.is_sealed = seal.is_some();
            inventory.rows = seal.map(|seal| seal.rows).unwrap_or_default();
        }
        inventory.drop_evicted_meanwhile(layout)?;
        Ok(inventory)
    }

    /// Leaves the checkpoints in an index of packed refs unread.
    pub fn take_packed(&mut self, packed: PackedCommits) {
        let mut newer = self.checkpoints.newer().to_vec();
        let known = packed.among(newer.iter().map(|c| c.id));
        let known: ObjectIds = known.into_iter().collect();
        newer.retain(|c| !known.contains(&c.id));
        self.join(newer, packed);
    }

    fn join(&mut self, newer: Vec<Checkpoint>, packed: PackedCommits) {
        let packed = Arc::new(packed);
        self.packed = Some(Arc::clone(&packed));
        self.rows = KnownRows::default();
        self.checkpoints = Line::new(newer, Some(packed));
    }

    /// Reads the inventory for commands that only read. Adds rows of the manifest whose ref is
    /// gone, if their commit exists or is damaged, and commits that plain git made since the last
    /// writing command.
    pub fn read_with_rows(
        layout: &Layout,
        mut reader: CommitReader<'_>,
        index: Option<OpenIndex<'_>>,
    ) -> Result<Self> {
        let objects = reader.objects();
        let mut inventory = Self::read_by(layout, &mut reader, index)?;
        let text = read_regular::open(&layout.manifest());
        let text = text.and_then(|file| inventory.read_manifest(file)).ok();
        let text = text.flatten();
        let unadopted = plain_git::candidates(
            layout,
            &mut reader,
            &|id| inventory.knows(id),
            inventory.is_empty(),
            text.as_ref().map(|text| text.rest.as_str()),
        )?;
        for checkpoint in unadopted {
            inventory.add_without_ref(checkpoint);
        }
        let lost: Vec<ObjectId> = match &text {
            Some(text) => {
                let rows = inventory.rows_without_checkpoint(&text.rest);
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
                    inventory.damaged.push(DamagedCheckpoint {
                        id: id.into(),
                        why: why.to_string(),
                    });
                }
                Err(_) => {}
            }
        }
        if let Some(text) = &text {
            inventory.add_lost_rows(layout, objects, &text.rest)?;
        }
        Ok(inventory)
    }

    /// Reads the manifest without the beginning that is known to have the rows of the checkpoints up
    /// to the newest packed one, and no others; `None` if it looks like no manifest.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_manifest(&self, file: File) -> std::io::Result<Option<ManifestText>> {
        let rows = if self.has_known_rows() {
            self.rows
        } else {
            KnownRows::default()
        };
        rows.read_after(file).map(ManifestText::of)
    }

    /// Whether a beginning of the manifest may be known.
    pub fn has_known_rows(&self) -> bool {
        self.damaged.is_empty() && self.rows.are_of(&self.checkpoints)
    }

    /// Adds rows whose commits are lost, in a manifest without its known beginning: the program itself
    /// drops a row before anything else. A row that equals the missing row of a checkpoint except for its id is that row with a garbled id.
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
        let known = self.known_rows(before);
        if known > 0 {
            return format!("{}{}", &before[..known], self.rows_after_known());
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
        manifest::render_after(&kept, &self.checkpoints)
    }

    /// Renders what follows the beginning of a manifest, or all of it if none is known.
    pub fn manifest_after(&self, before: &ManifestText) -> String {
        if before.known_bytes > 0 {
            self.rows_after_known()
        } else {
            self.manifest(&before.rest)
        }
    }

    fn rows_after_known(&self) -> String {
        let last = self.checkpoints.older().next_back();
        let newer = self.checkpoints.newer().iter();
        newer
            .filter(|c| Some(LineEntry::of(c)) > last)
            .map(manifest::row)
            .collect()
    }

    /// Length of the known beginning of a manifest.
    pub fn known_rows(&self, text: &str) -> usize {
        if self.has_known_rows() {
            self.rows.length_in(text)
        } else {
            0
        }
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
        let newer = self.checkpoints.newer().iter().map(|c| c.id);
        let older = self.checkpoints.older().map(|entry| entry.id);
        newer
            .chain(older)
            .chain(self.damaged.iter().filter_map(|lost| lost.id.commit()))
            .collect()
    }

    /// Ids in rows of a manifest, without its known beginning, that match none of these checkpoints.
    pub fn rows_without_checkpoint(&self, text: &str) -> Vec<String> {
        let newer = self.checkpoints.newer().iter().map(|c| c.id);
        let damaged = self.damaged.iter().filter_map(|lost| lost.id.commit());
        let known: HashSet<String> = newer.chain(damaged).map(ObjectId::short).collect();
        let mut rows = manifest::ids(text);
        rows.retain(|row| !known.contains(&row[..ObjectId::SHORT_DIGITS]));
        if !rows.is_empty() {
            let older = self.checkpoints.older();
            let older: HashSet<String> = older.map(|entry| entry.id.short()).collect();
            rows.retain(|row| !older.contains(&row[..ObjectId::SHORT_DIGITS]));
        }
        rows
    }

    /// Whether the ref of a checkpoint may be packed: its commit must tell its place.
    pub fn is_packable(&self, checkpoint: &Checkpoint) -> bool {
        !checkpoint.is_safety()
            && !checkpoint.adopted
            && checkpoint.record.operation.is_none()
            && !self.origins.contains_key(&checkpoint.id)
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

    pub fn get(&self, id: ObjectId) -> Option<Cow<'_, Checkpoint>> {
        self.checkpoints.find(id)
    }

    pub fn next_sequence(&self) -> u64 {
        let newest = self.newest().map_or(0, |c| c.record.sequence);
        (newest + 1).min(LARGEST_SEQUENCE)
    }

    /// Finds a damaged checkpoint by prefix, after no intact one matched.
    pub fn damaged_by_prefix(&self, prefix: &str) -> Option<DamagedCheckpoint> {
        self.all_damaged()
            .into_iter()
            .find(|damaged| damaged.id.answers_to(prefix))
    }

    /// The damaged checkpoints, with those of the index that were to be read and could not be.
    pub fn all_damaged(&self) -> Vec<DamagedCheckpoint> {
        let unreadable = self.checkpoints.unreadable().into_iter();
        let unreadable = unreadable.map(|id| DamagedCheckpoint {
            id: id.into(),
            why: "its commit cannot be read".to_owned(),
        });
        self.damaged.iter().cloned().chain(unreadable).collect()
    }

    /// Reads the checkpoints of the index, so that those that cannot be read count as damaged. Who
    /// drops a checkpoint or frees space must know of them.
    pub fn read_older(&mut self) {
        let all = self.checkpoints.to_vec();
        if !self.checkpoints.unreadable().is_empty() {
            self.damaged = self.all_damaged();
            self.checkpoints = Line::from(all);
            self.packed = None;
            self.rows = KnownRows::default();
        }
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
