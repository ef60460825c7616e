//! The store open for reading: a bare git repository with one ref per checkpoint, without knowledge
//! of working trees.

use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Code, Error, Result, Sentence};
use crate::model::default_rules::DEFAULT_STORE_LIST;
use crate::model::{Checkpoint, Databases, Hold, Meta, ObjectId, SessionNotes, Snapshot};
use crate::store::damage::replace_store;
use crate::store::files::{checksummed_text, directories, read_regular, scratch};
use crate::store::lifecycle::{init, ownership};
use crate::store::refs::{self, inventory};
use crate::store::small_files::{journal, stat_cache};
use crate::store::trees::{self, meta_tree};
use crate::store::{
    CheckpointExtras, CommitReader, Description, Extras, Inventory, Journal, JournalStage,
    JournalState, Layout, Objects, Rewords, lock,
};

/// Maximum wait for a running salvage to put its store into place, before a new one is made.
const LONGEST_SALVAGE: Duration = Duration::from_secs(30);

/// An existing store, open for reading. Nothing here writes or waits.
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

    /// Opens a store whose ownership was just checked, or that was just made.
    pub(super) fn open_plain(layout: Layout) -> Result<Self> {
        let objects = Objects::open(&layout.objects())?;
        Ok(Self { layout, objects })
    }

    /// Makes a store for the moment in an empty directory: nothing of it is flushed, and it ends with
    /// its directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn make_scratch(dir: PathBuf) -> Result<Self> {
        let layout = Layout::new(dir);
        directories::create_private(&layout.packs())?;
        directories::create_private(&layout.own())?;
        Self::open_plain(layout)
    }

    /// Lets a scratch store read the packs of another, whose lock is held as long.
    ///
    /// # Errors
    /// Its directories cannot be listed.
    pub(super) fn borrow_packs_of(&mut self, other: &Self) -> Result<()> {
        let packs = other.objects.pack_list();
        self.objects = Objects::open_borrowing(&self.layout.objects(), packs)?;
        Ok(())
    }

    /// Opens the store in `dir`, creating it if there is none.
    pub fn open_or_create(dir: PathBuf, description: &Description) -> Result<Self> {
        if let Some(store) = Self::open(dir.clone())? {
            return Ok(store);
        }
        // Between two renames of a salvage the place is empty for a moment, and no store may be
        // created there.
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
        let reader = CommitReader::indexed(&self.layout, &self.objects);
        let mut inventory = Inventory::read_with_rows(&self.layout, reader)?;
        self.know_fetched(&mut inventory.checkpoints);
        // The next command that takes the lock drops it.
        if let Some(open) = self.never_begun() {
            inventory.checkpoints.remove(&[open.safety]);
        }
        Ok(inventory)
    }

    /// Returns the restore that a killed process prepared, and that changed nothing.
    pub fn never_begun(&self) -> Option<Box<Journal>> {
        match journal::read(&self.layout).ok()? {
            JournalState::Open(open) if open.stage == JournalStage::Preparing => {
                (!self.is_locked()).then_some(open)
            }
            _ => None,
        }
    }

    /// Reads the inventory with every commit from its pack.
    pub(in crate::store) fn inventory_as_stored(&self) -> Result<Inventory> {
        Inventory::read_with_rows(&self.layout, CommitReader::new(&self.objects))
    }

    /// Reads the journal of a restore. Changes begin only once its two checkpoints are stored: a
    /// journal without either was copied from another store and is not trusted.
    pub fn journal(&self) -> Result<JournalState> {
        let state = journal::read(&self.layout)?;
        let is_here =
            |id: &ObjectId| self.objects.contains(id) || refs::ref_files::exists(&self.layout, *id);
        Ok(match state {
            JournalState::Open(open)
                if open.stage == JournalStage::Applying
                    && ![open.target, open.safety].iter().any(is_here) =>
            {
                JournalState::Unreadable
            }
            state => state,
        })
    }

    /// Whether a process holds the lock at this moment.
    pub fn is_locked(&self) -> bool {
        lock::holder(&self.layout.lock()).is_some()
    }

    /// Returns the meta of a checkpoint; the default one if it names none.
    ///
    /// # Errors
    /// A meta that is named but unreadable makes the checkpoint damaged.
    pub fn meta(&self, checkpoint: &Checkpoint) -> Result<Meta> {
        self.meta_and_extras(checkpoint).map(|both| both.meta)
    }

    /// Returns what belongs to a checkpoint beside its tree and meta.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn extras(&self, checkpoint: &Checkpoint) -> Result<Extras> {
        self.meta_and_extras(checkpoint).map(|both| both.extras)
    }

    /// Returns both in one read.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn meta_and_extras(&self, checkpoint: &Checkpoint) -> Result<CheckpointExtras> {
        let Some(id) = checkpoint.meta else {
            return Ok(CheckpointExtras::default());
        };
        meta_tree::read(&self.objects, id).map_err(|why| self.damage(checkpoint.id, why))
    }

    /// Returns the databases of a checkpoint.
    ///
    /// # Errors
    /// As [`Self::meta`].
    pub fn databases(&self, checkpoint: &Checkpoint) -> Result<Databases> {
        let extras = self.extras(checkpoint)?;
        meta_tree::read_databases(&self.objects, extras.databases)
            .map_err(|why| self.damage(checkpoint.id, why))
    }

    /// Reads the whole state of a checkpoint; every tree and the meta are checked.
    pub fn snapshot(&self, checkpoint: &Checkpoint) -> Result<Snapshot> {
        let read = trees::convert::read_snapshot(&self.objects, checkpoint.tree);
        let mut snapshot = read.map_err(|why| self.damage(checkpoint.id, why))?;
        self.meta(checkpoint)?
            .complete(&mut snapshot)
            .map_err(|why| self.damage(checkpoint.id, why))?;
        Ok(snapshot)
    }

    /// Returns the error for an unreadable part of a checkpoint.
    pub fn damage(&self, checkpoint: ObjectId, why: impl Display) -> Error {
        if let Some((remote, _)) = self.fetched_with(checkpoint) {
            return Error::new(
                Code::DAMAGED,
                format!(
                    "checkpoint {} of the remote {remote} is damaged: {why}",
                    checkpoint.short()
                ),
            )
            .next(Sentence::new(
                "'checkpoint fetch {} --refetch' brings it again",
                &[&remote],
            ));
        }
        inventory::damage_or_eviction(&self.layout, checkpoint, why.to_string())
    }

    /// Returns the exclusion list; the built-in one if there is none, or it cannot be read.
    pub fn exclusion_list(&self) -> Vec<u8> {
        let built_in = || DEFAULT_STORE_LIST.as_bytes().to_vec();
        read_regular::read(&self.layout.exclusion_list()).unwrap_or_else(|_| built_in())
    }

    /// Whether a cache can be trusted: its checkpoints exist, and each of its packs is unchanged.
    pub fn trusts(&self, basis: &stat_cache::Basis) -> bool {
        let packs = self.objects.packs();
        let named = [Some(basis.checkpoint), basis.restored];
        named
            .into_iter()
            .flatten()
            .all(|id| refs::ref_files::exists(&self.layout, id))
            && basis.packs.iter().all(|pack| packs.contains(pack))
    }

    /// Whether an object exists, is readable and matches its id.
    pub fn has_intact_object(&self, id: ObjectId) -> bool {
        self.objects.stream_blob(&id, &mut std::io::sink()).is_ok()
    }

    /// Returns the stat cache of the last scan, if there is a valid one.
    pub fn stat_cache(&self) -> Option<stat_cache::StatCache> {
        stat_cache::read(&self.layout)
    }

    /// Returns what the stat cache is valid for.
    pub fn stat_cache_head(&self) -> Option<stat_cache::CacheHead> {
        stat_cache::head(&self.layout)
    }

    /// As [`Self::stat_cache`], to read only a part of it.
    pub fn open_stat_cache(&self) -> Option<stat_cache::StatCache> {
        stat_cache::open(&self.layout)
    }

    /// Returns the newest checkpoint at the time of the last gc; it may be gone.
    /// Checkpoints that processes at work are going to need.
    pub fn used(&self) -> Vec<ObjectId> {
        scratch::used(&self.layout.own())
    }

    pub fn last_gc(&self) -> Option<ObjectId> {
        let text = read_regular::read_text(&self.layout.last_gc()).ok()?;
        ObjectId::from_hex(text.trim_end())
    }

    /// Returns the notes on the sessions of agents; those that are missing or damaged count as empty.
    pub fn session_notes(&self) -> SessionNotes {
        checksummed_text::read(&self.layout.agent_sessions()).unwrap_or_default()
    }

    /// Returns all holds that were taken, including those that have ended.
    ///
    /// # Errors
    /// The holds cannot be read; then none is in force.
    pub fn holds(&self) -> std::io::Result<Vec<Hold>> {
        let are_sound = |holds: &Vec<Hold>| holds.iter().all(Hold::is_sound);
        checksummed_text::read_if(&self.layout.holds(), are_sound)
    }

    /// Returns the reasons that checkpoints were given later.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn later_reasons(&self) -> std::io::Result<Rewords> {
        checksummed_text::read(&self.layout.rewords())
    }

    /// Returns the last report of what the rules left out, as it was worded then.
    pub fn left_out(&self) -> Option<String> {
        read_regular::read_text(&self.layout.left_out()).ok()
    }
}

/// Makes the initial files of a store. Another process may make the same store, take the lock first
/// and clear our temporary files as leftovers: hence several tries.
fn make(layout: &Layout, description: &Description) -> Result<()> {
    const MAKE_TRIES: usize = 10;
    let attempt = || {
        init::ensure_layout(layout)?;
        init::write_founding_files(layout, description)
    };
    for _ in 1..MAKE_TRIES {
        match attempt() {
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::NotFound) => {}
            done => return done,
        }
    }
    attempt()
}

const NEW_LIST: &str = "nothing was recorded; 'checkpoint verify --repair' keeps all that can be read, \
    with the built-in list in its place";

/// Refuses an exclusion list that is there and cannot be read: more might be captured without it.
///
/// # Errors
/// Why it cannot be read.
pub fn check_exclusion_list(layout: &Layout) -> Result<()> {
    let path = layout.exclusion_list();
    match read_regular::read(&path) {
        Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let is_no_file = e.kind() == ErrorKind::InvalidData;
            let error = Error::io("read", &path)(e);
            Err(if is_no_file {
                error.advise(NEW_LIST)
            } else {
                error
            })
        }
        _ => Ok(()),
    }
}
