//! The store while its lock is held: the only type with methods that change a store.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use crate::error::{Code, Error, Result};
use crate::model::checkpoint::message;
use crate::model::{CheckpointId, DamagedCheckpoint, Hold, Listing, ObjectId, SessionNotes};
use crate::store::damage::recover::{self, Recovery};
use crate::store::damage::replace_store;
use crate::store::files::{atomic_file, checksummed_text, directories, read_regular};
use crate::store::gc::reach;
use crate::store::lifecycle::description::refuse_newer;
use crate::store::lifecycle::{init, ownership};
use crate::store::refs::{adopt, ref_files};
use crate::store::small_files::{journal, stat_cache};
use crate::store::{
    Basis, CommitReader, Description, Family, Inventory, Journal, JournalState, Layout, LockGuard,
    LockWait, PackSet, PackStamp, Scratch, StatCache, Store, WatchNote, lock,
};

/// Proof that this process alone may change the store.
pub struct LockedStore<'s> {
    store: &'s Store,
    lock: LockGuard,
    pub(super) inventory: Inventory,
    recovery: Recovery,
}

impl Store {
    /// Waits for the exclusive lock and recovers derived files.
    pub fn lock(&self, wait: impl Into<LockWait>, holder: &str) -> Result<LockedStore<'_>> {
        LockedStore::acquire(self, wait.into(), holder)
    }
}

impl<'s> LockedStore<'s> {
    /// Waits for the lock, recovers derived and constant files, and reads the inventory.
    pub(super) fn acquire(store: &'s Store, wait: LockWait, holder: &str) -> Result<Self> {
        let layout = store.layout();
        refuse_newer(layout)?;
        directories::create_private_in(layout.dir(), &layout.own())
            .map_err(|cause| store_gone(layout, cause))?;
        let mut lock = lock::acquire(&layout.lock(), wait.clone(), None)
            .map_err(|cause| store_gone(layout, cause))?;
        if lock.had_to_wait {
            // The store may have been replaced meanwhile.
            ownership::check(layout)?;
            refuse_newer(layout)?;
            store.objects().refresh()?;
        }
        store.objects().refresh_if_used()?;
        let mut reader = CommitReader::indexed(layout, store.objects());
        let mut inventory = Inventory::read_by(layout, &mut reader)?;
        refuse_newer_commits(layout, &inventory)?;
        lock.announce(holder);
        if replace_store::settle(layout.dir(), Duration::ZERO)? {
            drop(lock);
            return Self::acquire(store, wait, holder);
        }
        adopt::keep_detached_head(layout)?;
        init::ensure_layout(layout)?;
        init::write_exclusion_list(layout)?;
        match ref_files::unpack(layout, store.objects()) {
            // They are read where they are, so that commands which free space still run.
            Err(error) if error.is_full() => {}
            unpacked => unpacked?,
        }
        let recovery = recover::run(store, &mut reader, &mut inventory)?;
        store.know_fetched(&mut inventory.checkpoints);
        // Without the index the next read is only slower.
        let _ = reader.save(layout, &inventory);
        Ok(Self {
            store,
            lock,
            inventory,
            recovery,
        })
    }

    pub fn store(&self) -> &'s Store {
        self.store
    }

    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Whether checkpoints are known and none of them is in the store any more. An unreadable
    /// object is not lost.
    pub fn has_lost_all(&self) -> bool {
        let is_nowhere = |lost: &DamagedCheckpoint| {
            lost.id
                .commit()
                .is_none_or(|id| !self.store.objects().holds(&id))
        };
        let damaged = &self.inventory.damaged;
        self.inventory.checkpoints.is_empty()
            && !damaged.is_empty()
            && damaged.iter().all(is_nowhere)
            && self.store.objects().take_unread().is_none()
    }

    /// Repairs made when the lock was taken.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Returns the lock alone, for work on the directory as a whole.
    pub fn into_lock(self) -> LockGuard {
        self.lock
    }

    /// Creates a scratch directory for this process; it outlives the lock.
    pub fn begin_scratch(&self) -> Result<Scratch> {
        Scratch::create(&self.store.layout().own())
    }

    /// Keeps a checkpoint from every policy for as long as this process has what is returned.
    pub fn mark_used(&self, id: ObjectId) -> Result<Scratch> {
        Scratch::mark(&self.store.layout().own(), id)
    }

    pub fn begin_pack(&self) -> Result<PackSet<'s>> {
        PackSet::begin(&self.store.layout().objects(), self.store.objects())
    }

    /// Keeps a commit that plain git just put on `main` by a ref, before `main` moves on; the next
    /// writer adopts it.
    pub(super) fn keep_foreign_main(&self) -> Result<()> {
        let layout = self.store.layout();
        let Some(main) = ref_files::read_main(layout)? else {
            return Ok(());
        };
        if !self.inventory.knows(main) && self.store.objects().contains(&main) {
            ref_files::write(layout, Family::Foreign, main, main)?;
        }
        Ok(())
    }

    /// Drops checkpoints durably: first from the manifest, then their refs, so that no row brings
    /// them back. Pruning removes their objects.
    pub fn drop_checkpoints(&mut self, ids: &[ObjectId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.forget(ids)?;
        self.flush_manifest()?;
        self.remove_refs(ids)?;
        ref_files::sync(self.store.layout())
    }

    /// Evicts checkpoints by policy. After a power cut some may be back, whole: no object is
    /// removed before a sweep has made the eviction durable.
    pub fn evict_checkpoints(&mut self, ids: &[ObjectId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.forget(ids)?;
        self.remove_refs(ids)
    }

    /// Makes evictions durable.
    pub fn flush_drops(&self) -> Result<()> {
        self.flush_manifest()?;
        ref_files::sync(self.store.layout())
    }

    /// Drops, durably, checkpoints that only rows of the manifest still name.
    pub fn drop_rows(&mut self, rows: &[CheckpointId]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.inventory
            .damaged
            .retain(|damaged| !rows.contains(&damaged.id));
        self.write_derived()?;
        self.flush_manifest()
    }

    pub(super) fn remove_refs(&self, ids: &[ObjectId]) -> Result<()> {
        ref_files::remove(self.store.layout(), &refs_of(ids))
    }

    /// Pins or unpins a checkpoint; returns whether that changed anything.
    pub fn set_pinned(&mut self, id: ObjectId, pinned: bool) -> Result<bool> {
        let layout = self.store.layout();
        if ref_files::is_pinned(layout, id)? == pinned {
            return Ok(false);
        }
        if pinned {
            ref_files::write(layout, Family::Pins, id, id)?;
        } else {
            ref_files::remove(layout, &[(Family::Pins, id)])?;
            ref_files::sync(layout)?;
        }
        self.inventory.checkpoints.set_pinned(id, pinned);
        Ok(true)
    }

    /// Gives a checkpoint another reason than that of its commit.
    pub fn reword(&mut self, id: ObjectId, reason: &str) -> Result<()> {
        let layout = self.store.layout();
        let mut rewords = (self.store.later_reasons())
            .map_err(|why| Error::damaged("the file of later reasons", why))?;
        rewords.retain(|id, _| self.inventory.knows(*id));
        rewords.insert(id, reason.to_owned());
        checksummed_text::write(&layout.rewords(), &rewords)?;
        self.inventory.checkpoints.set_reason(id, reason);
        self.write_derived()
    }

    /// Saves the stat cache of a scan; `known` is the cache that the scan used, and whether it stays
    /// valid.
    pub fn save_stat_cache(
        &self,
        basis: (Basis, Option<WatchNote>),
        listing: &Listing,
        known: (Option<&StatCache>, bool),
    ) -> Result<()> {
        stat_cache::save(self.store.layout(), basis, listing, known)
    }

    /// Notes why the monitor is not to be used for this store.
    pub fn write_monitor_off(&self, why: &str) -> Result<()> {
        let layout = self.store.layout();
        atomic_file::replace_derived(&layout.own(), &layout.monitor_off(), why.as_bytes())
    }

    pub fn write_left_out(&self, text: &str) -> Result<()> {
        let layout = self.store.layout();
        atomic_file::replace_derived(&layout.own(), &layout.left_out(), text.as_bytes())
    }

    /// Writes the notes without a flush: a power cut may leave the old ones.
    pub fn write_session_notes(&self, notes: &SessionNotes) -> Result<()> {
        let layout = self.store.layout();
        let text = checksummed_text::document(notes);
        atomic_file::replace_derived(&layout.own(), &layout.agent_sessions(), text.as_bytes())
    }

    pub fn write_holds(&self, holds: &[Hold]) -> Result<()> {
        let layout = self.store.layout();
        if !holds.is_empty() {
            checksummed_text::write(&layout.holds(), &holds)
        } else if atomic_file::remove_if_there(&layout.holds())? {
            atomic_file::sync_directory(&layout.own())
        } else {
            Ok(())
        }
    }

    /// Records the newest checkpoint at the time of this gc. A failure only makes the next `create`
    /// look, and is not reported.
    pub fn note_gc(&self, newest: ObjectId) {
        let (layout, text) = (self.store.layout(), format!("{newest}\n"));
        let _ = atomic_file::replace_derived(&layout.own(), &layout.last_gc(), text.as_bytes());
    }

    /// Removes pins of commits that are not in the store.
    pub fn drop_lost_pins(&self) -> Result<()> {
        let layout = self.store.layout();
        let lost = reach::lost_pins(self.store)?;
        if lost.is_empty() {
            return Ok(());
        }
        let lost: Vec<_> = lost.iter().map(|id| (Family::Pins, *id)).collect();
        ref_files::remove(layout, &lost)?;
        ref_files::sync(layout)
    }

    /// Removes plain git's own index if it is unchanged since `before_ms` (milliseconds since
    /// 1970): it is a cache, and would keep its blobs alive forever.
    pub fn drop_old_git_index(&self, before_ms: i64) -> Result<()> {
        let path = self.store.layout().git_index();
        let touched = std::fs::metadata(&path)
            .and_then(|found| found.modified())
            .ok();
        let age = touched.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        if age.is_some_and(|age| i64::try_from(age.as_millis()).is_ok_and(|ms| ms < before_ms)) {
            atomic_file::remove_if_there(&path)?;
        }
        Ok(())
    }

    pub fn write_description(&self, description: &Description) -> Result<()> {
        description.write(self.store.layout())
    }

    pub fn journal(&self) -> Result<JournalState> {
        self.store.journal()
    }

    /// Returns a writer of journals for while the store itself is borrowed for a record.
    pub fn journal_writer(&self) -> JournalWriter<'s> {
        JournalWriter(self.store)
    }

    pub fn write_journal(&self, journal: &Journal) -> Result<()> {
        journal::write(self.store.layout(), journal)
    }

    pub fn remove_journal(&self) -> Result<()> {
        journal::remove(self.store.layout())
    }
}

/// Checks that packs just published are where they were put.
pub(super) fn check_still_there(layout: &Layout, packs: &[PackStamp]) -> Result<()> {
    packs.iter().try_for_each(|stamp| {
        let pack = path_of(layout, stamp);
        std::fs::metadata(&pack)
            .map(drop)
            .map_err(Error::io("find the pack just written", &pack))
    })
}

/// Whether one of these packs is known not to be where it was put.
pub(super) fn is_gone(layout: &Layout, packs: &[PackStamp]) -> bool {
    let mut packs = packs.iter().map(|stamp| path_of(layout, stamp));
    packs.any(|pack| matches!(pack.try_exists(), Ok(false)))
}

fn path_of(layout: &Layout, stamp: &PackStamp) -> PathBuf {
    layout.packs().join(format!("{}.pack", stamp.name))
}

fn refs_of(ids: &[ObjectId]) -> Vec<(Family, ObjectId)> {
    let families = [Family::Checkpoints, Family::Pins, Family::Meta];
    ids.iter()
        .flat_map(|id| families.map(|family| (family, *id)))
        .collect()
}

/// Refuses commits of a newer format, which this program could misread and destroy.
fn refuse_newer_commits(layout: &Layout, inventory: &Inventory) -> Result<()> {
    let (found, known) = (inventory.newest_format, message::CHECKPOINT_FORMAT);
    if found <= known {
        return Ok(());
    }
    Err(Error::store_too_new(layout.dir(), found, known))
}

/// Reports a missing store as gone: it was there when it was opened.
fn store_gone(layout: &Layout, cause: Error) -> Error {
    if cause.io_kind() != Some(std::io::ErrorKind::NotFound) {
        return cause;
    }
    let what = format!("the store {} was removed meanwhile", layout.dir().display());
    Error::new(Code::STORE_GONE, what).advise("'checkpoint create' makes a new one")
}

/// Writes journals, see [`LockedStore::journal_writer`]. It exists only while the lock is held.
pub struct JournalWriter<'s>(&'s Store);

impl JournalWriter<'_> {
    pub fn write(&self, journal: &Journal) -> Result<()> {
        journal::write(self.0.layout(), journal)
    }
}

impl LockedStore<'_> {
    /// Brings `main` and the manifest up to date with the inventory.
    pub fn write_derived(&self) -> Result<()> {
        self.write_main()?;
        let found = self.read_manifest();
        let text = self.inventory.manifest(&found);
        if let Some(added) = text.strip_prefix(&found).filter(|_| !found.is_empty()) {
            let path = self.store().layout().manifest();
            if added.is_empty() || atomic_file::append(&path, found.len(), added.as_bytes())? {
                return Ok(());
            }
        }
        self.write_manifest(&found, &text)
    }

    /// Takes checkpoints out of the inventory and the manifest.
    pub(in crate::store) fn forget(&mut self, ids: &[ObjectId]) -> Result<()> {
        self.keep_foreign_main()?;
        let found = self.read_manifest();
        let gone: HashSet<String> = ids.iter().map(|id| id.short()).collect();
        let is_gone = |row: &str| row.get(2..10).is_some_and(|short| gone.contains(short));
        let left = found.split_inclusive('\n').filter(|row| !is_gone(row));
        let left: String = left.collect();
        let inventory = &mut self.inventory;
        inventory.checkpoints.remove(ids);
        inventory
            .damaged
            .retain(|damaged| damaged.id.commit().is_none_or(|id| !ids.contains(&id)));
        self.write_main()?;
        self.write_manifest(&found, &self.inventory.manifest(&left))
    }

    fn read_manifest(&self) -> String {
        let found = read_regular::read(&self.store().layout().manifest()).unwrap_or_default();
        String::from_utf8(found)
            .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned())
    }

    fn write_main(&self) -> Result<()> {
        let layout = self.store().layout();
        match self.inventory.newest().map(|newest| newest.id) {
            // Git would report a ref to nothing as an error.
            None => ref_files::remove_main(layout),
            Some(newest) if ref_files::read_main(layout).is_ok_and(|main| main == Some(newest)) => {
                Ok(())
            }
            Some(newest) => ref_files::write_main(layout, newest),
        }
    }

    fn write_manifest(&self, found: &str, text: &str) -> Result<()> {
        if found == text {
            return Ok(());
        }
        let layout = self.store().layout();
        let path = layout.manifest();
        match atomic_file::replace_derived(&layout.own(), &path, text.as_bytes()) {
            Err(error) if error.is_full() => atomic_file::shrink(&path, text.as_bytes()),
            written => written,
        }
    }

    /// Flushes the manifest.
    pub(in crate::store) fn flush_manifest(&self) -> Result<()> {
        let layout = self.store().layout();
        atomic_file::sync_if_there(&layout.manifest())?;
        atomic_file::sync_directory(layout.dir())
    }
}
