//! The directory that we own: a bare git repository with one ref a checkpoint. It knows nothing of working directories.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::checkpoint::hold::Hold;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::database::Databases;
use crate::model::state::meta::Meta;
use crate::model::state::object_id::ObjectId;
use crate::model::state::snapshot::Snapshot;
use crate::store::damage::replace_store;
use crate::store::files::read_regular;
use crate::store::gc::last_gc;
use crate::store::layout::Layout;
use crate::store::lifecycle::description::Description;
use crate::store::lifecycle::{init, ownership};
use crate::store::lock;
use crate::store::objects::odb::Objects;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::refs::inventory::{self, Inventory};
use crate::store::refs::{self, commit_cache};
use crate::store::state::journal::{self, JournalState};
use crate::store::state::{holds, stat_cache};
use crate::store::trees::meta_tree::{self, CheckpointExtras};
use crate::store::trees::{self, database_tree};

/// A salvage that takes longer than this to put its store into place has been stopped.
const LONGEST_SALVAGE: Duration = Duration::from_secs(30);

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
        if !ownership::is_store(&layout)? {
            return Ok(None);
        }
        ownership::check(&layout)?;
        Self::open_plain(layout).map(Some)
    }

    /// Opens one that was just looked at, or just made.
    pub(super) fn open_plain(layout: Layout) -> Result<Self> {
        let objects = Objects::open(&layout.objects())?;
        Ok(Self { layout, objects })
    }

    /// Opens the store in `dir`, and makes it first where there is none.
    pub fn open_or_create(dir: PathBuf, description: &Description) -> Result<Self> {
        if let Some(store) = Self::open(dir.clone())? {
            return Ok(store);
        }
        // Between two renames of a salvage the place is empty for a moment: nobody may build there then.
        replace_store::settle(&dir, LONGEST_SALVAGE)?;
        if let Some(store) = Self::open(dir.clone())? {
            return Ok(store);
        }
        let layout = Layout::new(dir);
        make(&layout, description)?;
        ownership::check(&layout)?;
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
        let kept = commit_cache::read(&self.layout, &self.objects);
        Inventory::read_with_rows(&self.layout, CommitReader::with_kept(&self.objects, kept))
    }

    /// The same, with every commit read from its pack.
    pub(in crate::store) fn inventory_as_stored(&self) -> Result<Inventory> {
        Inventory::read_with_rows(&self.layout, CommitReader::new(&self.objects))
    }

    /// The journal of a restore. Changes are under way only once its two checkpoints are here: where neither is, it was
    /// brought from another store, and nothing in it is believed.
    pub fn journal(&self) -> Result<JournalState> {
        let state = journal::read(&self.layout)?;
        let is_here = |id: &ObjectId| self.objects.contains(id) || refs::ref_files::exists(&self.layout, *id);
        Ok(match state {
            JournalState::Open(open)
                if open.stage == journal::JournalStage::Applying && ![open.target, open.safety].iter().any(is_here) =>
            {
                JournalState::Unreadable
            }
            state => state,
        })
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
        self.extras(checkpoint).map(|extras| extras.meta)
    }

    /// The meta, and what else belongs to a checkpoint without being a file of the user's.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn extras(&self, checkpoint: &Checkpoint) -> Result<CheckpointExtras> {
        let Some(id) = checkpoint.meta else { return Ok(CheckpointExtras::default()) };
        meta_tree::read(&self.objects, id).map_err(|why| self.damage(checkpoint.id, why))
    }

    /// The databases that a checkpoint holds.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn databases(&self, checkpoint: &Checkpoint) -> Result<Databases> {
        let beside = self.extras(checkpoint)?.beside;
        database_tree::read(&self.objects, beside.databases).map_err(|why| self.damage(checkpoint.id, why))
    }

    /// The whole state that a checkpoint holds: every tree is read and checked, its meta too.
    pub fn snapshot(&self, checkpoint: &Checkpoint) -> Result<Snapshot> {
        let read = trees::convert::read_snapshot(&self.objects, checkpoint.tree);
        let mut snapshot = read.map_err(|why| self.damage(checkpoint.id, why))?;
        self.meta(checkpoint)?.complete(&mut snapshot).map_err(|why| self.damage(checkpoint.id, why))?;
        Ok(snapshot)
    }

    /// The failure for something of a checkpoint that cannot be read.
    pub fn damage(&self, checkpoint: ObjectId, why: String) -> Error {
        inventory::damage_or_eviction(&self.layout, checkpoint, why)
    }

    /// The exclusion list as it stands; without one the built-in list.
    pub fn exclusion_list(&self) -> Vec<u8> {
        let built_in = || crate::model::default_rules::DEFAULT_STORE_LIST.as_bytes().to_vec();
        read_regular::read(&self.layout.exclusion_list()).unwrap_or_else(|_| built_in())
    }

    /// Whether a cache may be believed: its checkpoints are there, and each of its packs is as it was.
    pub fn trusts(&self, cache: &stat_cache::StatCache) -> bool {
        let packs = self.objects.packs();
        let named = [Some(cache.checkpoint()), cache.restored()];
        named.into_iter().flatten().all(|id| refs::ref_files::exists(&self.layout, id))
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
    pub fn last_gc(&self) -> Option<ObjectId> {
        last_gc::last(&self.layout)
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
        read_regular::read_text(&self.layout.left_out()).ok()
    }
}

/// Makes all that a store has from the start. Another process may make the same one at this moment, have the lock
/// before us, and clear our temporary files away as leftovers: then it is done once more.
fn make(layout: &Layout, description: &Description) -> Result<()> {
    const TRIES: usize = 10;
    let attempt = || {
        init::heal(layout)?;
        init::write_founding_files(layout, description)
    };
    for _ in 1..TRIES {
        match attempt() {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
    attempt()
}
