//! The directory that we own: a bare git repository with one ref a checkpoint. It knows nothing of working directories.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::progress::Phase;
use crate::error::{Error, Result};
use crate::model::checkpoint::{Checkpoint, CheckpointId};
use crate::model::database::Databases;
use crate::model::hold::Hold;
use crate::model::meta::Meta;
use crate::model::object_id::ObjectId;
use crate::model::snapshot::Snapshot;

pub mod adopt;
pub mod adopted_places;
pub mod base_cache;
pub mod catalogue;
pub mod check;
pub mod check_files;
pub mod check_objects;
pub mod check_states;
pub mod check_workflows;
pub mod commit_codec;
pub mod commit_reader;
pub mod databases;
pub mod deflate;
pub mod delta;
pub mod delta_make;
pub mod delta_plan;
pub mod delta_write;
pub mod description;
pub mod digest;
pub mod directories;
pub mod durable;
pub mod fold_packs;
pub mod foreign;
pub mod guard;
pub mod hash;
pub mod holds;
pub mod id_set;
pub mod inventory;
pub mod journal;
pub mod kept_commits;
pub mod layout;
pub mod left_behind;
pub mod lock;
pub mod locked;
pub mod loose_files;
pub mod mark;
pub mod meta_tree;
pub mod object_error;
pub mod objects;
mod objects_damage;
mod objects_delta;
mod objects_quick;
pub mod pack_delta;
pub mod pack_error;
pub mod pack_index;
pub mod pack_list;
pub mod pack_publish;
pub mod pack_reader;
pub mod pack_set;
pub mod pack_walk;
pub mod pack_writer;
mod pack_writer_delta;
pub mod plain_file;
pub mod projected;
pub mod reach;
pub mod read_back;
pub mod recording;
pub mod recover;
pub mod refs;
pub mod relocate;
pub mod removal;
pub mod repack;
pub mod repack_plan;
pub mod rescue;
pub mod salvage;
pub mod salvage_objects;
pub mod salvage_refs;
pub mod scratch;
pub mod size_gate;
pub mod skeleton;
pub mod stat_cache;
pub mod stat_cache_head;
pub mod summed;
pub mod survey;
pub mod swap;
pub mod sweep;
pub mod threads;
pub mod tidied;
pub mod tree_codec;
pub mod tree_memo;
pub mod trees;
pub mod unlike;
pub mod usage;
pub mod versions;
pub mod weight;
pub mod workflow_refs;
pub mod workflow_roll;
pub mod workflow_salvage;
pub mod workflow_writes;
pub mod workflows;

use commit_reader::CommitReader;
use description::Description;
use inventory::Inventory;
use journal::JournalState;
use layout::Layout;
use locked::LockedStore;
use meta_tree::Companion;
use objects::Objects;

/// A salvage that takes longer than this to put its store into place has been stopped.
const LONGEST_SALVAGE: Duration = Duration::from_secs(30);

pub use id_set::ObjectIds;

/// A store that is there, open for reading. Nothing here writes or waits.
pub struct Store {
    layout: Layout,
    objects: Objects,
}

impl Store {
    /// Opens the store in `dir`; `None` if there is none.
    ///
    /// # Errors
    /// A store that belongs to another user or holds something planted is refused.
    pub fn open(dir: PathBuf) -> Result<Option<Self>> {
        let layout = Layout::new(dir);
        if !guard::is_store(&layout)? {
            return Ok(None);
        }
        guard::check(&layout)?;
        Self::open_plain(layout).map(Some)
    }

    /// Opens one that was just looked at, or just made.
    fn open_plain(layout: Layout) -> Result<Self> {
        let objects = Objects::open(&layout.objects())?;
        Ok(Self { layout, objects })
    }

    /// Opens the store in `dir`, and makes it first where there is none.
    pub fn open_or_create(dir: PathBuf, description: &Description) -> Result<Self> {
        if let Some(store) = Self::open(dir.clone())? {
            return Ok(store);
        }
        // Between two renames of a salvage the place is empty for a moment: nobody may build there then.
        swap::settle(&dir, LONGEST_SALVAGE)?;
        if let Some(store) = Self::open(dir.clone())? {
            return Ok(store);
        }
        let layout = Layout::new(dir);
        make(&layout, description)?;
        guard::check(&layout)?;
        Self::open_plain(layout)
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub fn dir(&self) -> &Path {
        self.layout.dir()
    }

    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    pub fn description(&self) -> Result<Option<Description>> {
        Description::read(&self.layout)
    }

    pub fn inventory(&self) -> Result<Inventory> {
        let kept = kept_commits::read(&self.layout, &self.objects);
        Inventory::read_with_rows(&self.layout, CommitReader::with_kept(&self.objects, kept))
    }

    /// The same, with every commit read from its pack.
    fn inventory_as_stored(&self) -> Result<Inventory> {
        Inventory::read_with_rows(&self.layout, CommitReader::new(&self.objects))
    }

    /// The journal of a restore. Changes are under way only once its two checkpoints are here: where neither is, it was
    /// brought from another store, and nothing in it is believed.
    pub fn journal(&self) -> Result<JournalState> {
        let state = journal::read(&self.layout)?;
        let is_here = |id: &ObjectId| self.objects.contains(id) || refs::exists(&self.layout, *id);
        Ok(match state {
            JournalState::Open(open)
                if open.stage == journal::Stage::Applying && ![open.target, open.safety].iter().any(is_here) =>
            {
                JournalState::Unreadable
            }
            state => state,
        })
    }

    /// Waits for the exclusive lock and heals what is derived.
    pub fn lock(&self, wait: Duration, holder: &str) -> Result<LockedStore<'_>> {
        LockedStore::acquire(self, wait, holder)
    }

    /// Whether some process holds the lock at this moment.
    pub fn is_locked(&self) -> bool {
        lock::is_held(&self.layout.lock())
    }

    /// What a tree cannot hold; the standard one where the checkpoint names none.
    ///
    /// # Errors
    /// A meta that is named and cannot be read makes the checkpoint damaged.
    pub fn meta(&self, checkpoint: &Checkpoint) -> Result<Meta> {
        self.companion(checkpoint).map(|companion| companion.meta)
    }

    /// The meta, and what else belongs to a checkpoint without being a file of the user's.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn companion(&self, checkpoint: &Checkpoint) -> Result<Companion> {
        let Some(id) = checkpoint.meta else { return Ok(Companion::default()) };
        meta_tree::read(&self.objects, id).map_err(|why| self.damage(checkpoint.id, why))
    }

    /// The databases that a checkpoint holds.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn databases(&self, checkpoint: &Checkpoint) -> Result<Databases> {
        let beside = self.companion(checkpoint)?.beside;
        databases::read(&self.objects, beside.databases).map_err(|why| self.damage(checkpoint.id, why))
    }

    /// The whole state that a checkpoint holds: every tree is read and checked, its meta too.
    pub fn snapshot(&self, checkpoint: &Checkpoint) -> Result<Snapshot> {
        let read = trees::read_snapshot(&self.objects, checkpoint.tree);
        let mut snapshot = read.map_err(|why| self.damage(checkpoint.id, why))?;
        self.meta(checkpoint)?.complete(&mut snapshot).map_err(|why| self.damage(checkpoint.id, why))?;
        Ok(snapshot)
    }

    /// The failure for something of a checkpoint that cannot be read.
    pub fn damage(&self, checkpoint: ObjectId, why: String) -> Error {
        inventory::damage_or_eviction(&self.layout, checkpoint, why)
    }

    /// Checks the whole store, or one checkpoint of it. Nothing is written.
    ///
    /// # Errors
    /// The store could not be looked at, or we were asked to stop. Damage is in the report.
    pub fn check(&self, only: Option<&CheckpointId>, options: &check::CheckOptions<'_>) -> Result<check::Report> {
        let inventory = self.inventory_as_stored()?;
        let mut report = check::Report::default();
        options.progress.begin(Phase::Verifying, 0, 0);
        let mut states = check_states::StateChecker::new(&self.objects, options);
        let is_asked = |id: &CheckpointId| only.is_none_or(|wanted| wanted == id);
        for checkpoint in inventory.checkpoints.iter().filter(|checkpoint| is_asked(&checkpoint.id.into())) {
            states.check(checkpoint.id, &mut report)?;
        }
        for lost in inventory.damaged.iter().filter(|lost| is_asked(&lost.id)) {
            report.checkpoints += 1;
            report.damaged.push(lost.clone().into());
        }
        inventory::drop_evicted(&self.layout, &inventory, &mut report)?;
        if only.is_none() {
            check_workflows::check(self, &mut states, &mut report)?;
            check_files::check(self, &inventory, &mut report)?;
            check_objects::check(&self.layout, &self.objects, options, &mut report)?;
        }
        Ok(report)
    }

    /// The exclusion list as it stands; without one the built-in list.
    pub fn exclusion_list(&self) -> Vec<u8> {
        let built_in = || crate::model::default_rules::DEFAULT_STORE_LIST.as_bytes().to_vec();
        plain_file::read(&self.layout.exclusion_list()).unwrap_or_else(|_| built_in())
    }

    /// Whether a cache may be believed: its checkpoints are there, and each of its packs is as it was.
    pub fn trusts(&self, cache: &stat_cache::StatCache) -> bool {
        let packs = self.objects.packs();
        let named = [Some(cache.checkpoint()), cache.restored()];
        named.into_iter().flatten().all(|id| refs::exists(&self.layout, id))
            && cache.packs().iter().all(|pack| packs.contains(pack))
    }

    /// Whether an object is there, can be read, and is what its id says.
    pub fn has_whole(&self, id: ObjectId) -> bool {
        self.objects.stream_blob(&id, &mut std::io::sink()).is_ok()
    }

    /// The cache of the last scan, if there is one that adds up.
    pub fn stat_cache(&self) -> Option<stat_cache::StatCache> {
        stat_cache::read(&self.layout)
    }

    /// The newest checkpoint of when packs were last tidied up, which may be gone.
    pub fn last_tidied(&self) -> Option<ObjectId> {
        tidied::last(&self.layout)
    }

    /// The holds that were taken, also those that have ended.
    ///
    /// # Errors
    /// In words: they cannot be read, so none stands.
    pub fn holds(&self) -> std::result::Result<Vec<Hold>, String> {
        holds::read(&self.layout)
    }

    /// What was left out by rule when that was last told, in the words of then.
    pub fn left_out(&self) -> Option<String> {
        plain_file::read_text(&self.layout.left_out()).ok()
    }
}

/// Makes all that a store has from the start. Another process may make the same one at this moment, have the lock
/// before us, and clear our temporary files away as leftovers: then it is done once more.
fn make(layout: &Layout, description: &Description) -> Result<()> {
    const TRIES: usize = 10;
    let attempt = || {
        skeleton::heal(layout)?;
        skeleton::write_founding_files(layout, description)
    };
    for _ in 1..TRIES {
        match attempt() {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
    attempt()
}
