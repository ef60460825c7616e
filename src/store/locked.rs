//! The store while its lock is held: the only type with methods that change anything.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::base::time::compact_utc;
use crate::error::{Error, Result};
use crate::model::checkpoint::hold::Hold;
use crate::model::checkpoint::message;
use crate::model::checkpoint::record::{CheckpointId, DamagedCheckpoint};
use crate::model::state::listing::Listing;
use crate::model::state::object_id::ObjectId;
use crate::store::damage::recover::{self, Recovery};
use crate::store::damage::{replace_store, unindexed_packs};
use crate::store::files::scratch::Scratch;
use crate::store::files::{atomic_file, directories, read_regular};
use crate::store::gc::pack_usage::{self, PackUsage};
use crate::store::gc::repack::{self, RepackOutcome};
use crate::store::gc::repack_plan::{self, RepackPlan};
use crate::store::gc::{delta_plan, last_gc, mark, rejected_bases};
use crate::store::layout::Layout;
use crate::store::lifecycle::description::{self, Description};
use crate::store::lifecycle::{init, ownership};
use crate::store::lock::{self, LockGuard};
use crate::store::objects::id_set::ObjectIds;
use crate::store::objects::pack::checkpoint_packs::PackSet;
use crate::store::objects::pack::pack_list::PackStamp;
use crate::store::refs::commit_reader::CommitReader;
use crate::store::refs::inventory::Inventory;
use crate::store::refs::ref_files::{self, Family};
use crate::store::refs::{adopt, commit_cache};
use crate::store::repository::Store;
use crate::store::state::holds;
use crate::store::state::journal::{self, Journal, JournalState};
use crate::store::state::stat_cache::{self, Basis, StatCache};

/// Proof that this process alone may change the store.
pub struct LockedStore<'s> {
    store: &'s Store,
    lock: LockGuard,
    pub(super) inventory: Inventory,
    recovery: Recovery,
}

impl Store {
    /// Waits for the exclusive lock and heals what is derived.
    pub fn lock(&self, wait: Duration, holder: &str) -> Result<LockedStore<'_>> {
        LockedStore::acquire(self, wait, holder)
    }
}

impl<'s> LockedStore<'s> {
    /// Waits for the lock, heals what is derived or constant, and reads the list of checkpoints.
    pub(super) fn acquire(store: &'s Store, wait: Duration, holder: &str) -> Result<Self> {
        let layout = store.layout();
        refuse_newer(layout)?;
        directories::create_private_in(layout.dir(), &layout.own()).map_err(|cause| gone(layout, cause))?;
        let mut lock = lock::acquire(&layout.lock(), wait, None).map_err(|cause| gone(layout, cause))?;
        if lock.had_to_wait {
            // Meanwhile the store may have been replaced.
            ownership::check(layout)?;
            refuse_newer(layout)?;
            store.objects().refresh()?;
        }
        store.objects().refresh_if_used()?;
        let mut reader = CommitReader::with_kept(store.objects(), commit_cache::read(layout, store.objects()));
        let mut inventory = Inventory::read_by(layout, &mut reader)?;
        refuse_newer_commits(layout, &inventory)?;
        lock.announce(holder);
        replace_store::settle(layout.dir(), Duration::ZERO)?;
        adopt::keep_detached_head(layout)?;
        init::heal(layout)?;
        init::write_exclusion_list(layout)?;
        ref_files::unpack(layout, store.objects())?;
        let recovery = recover::run(store, &mut reader, &mut inventory)?;
        // Without the file all goes on as before, only more slowly.
        let _ = reader.keep(layout);
        Ok(Self { store, lock, inventory, recovery })
    }

    pub fn store(&self) -> &'s Store {
        self.store
    }

    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// Whether checkpoints are known and not one of them is anywhere in the store any more. What may not be read is not lost.
    pub fn has_lost_all(&self) -> bool {
        let Inventory { checkpoints, damaged, .. } = &self.inventory;
        let is_nowhere = |lost: &DamagedCheckpoint| lost.id.commit().is_none_or(|id| !self.store.objects().holds(&id));
        let is_all_gone = checkpoints.is_empty() && !damaged.is_empty() && damaged.iter().all(is_nowhere);
        is_all_gone && self.store.objects().take_unread().is_none()
    }

    /// What taking the lock had to mend.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The lock alone, for what goes on with the directory and not with what is in it.
    pub fn into_lock(self) -> LockGuard {
        self.lock
    }

    /// A directory for this process alone; it outlives the lock.
    pub fn begin_scratch(&self) -> Result<Scratch> {
        Scratch::create(&self.store.layout().own())
    }

    pub fn begin_pack(&self) -> Result<PackSet<'s>> {
        PackSet::begin(&self.store.layout().objects(), self.store.objects())
    }

    /// A commit that plain git put on `main` in this very moment keeps a ref before `main` moves on; the next writer
    /// adopts it.
    pub(super) fn keep_foreign_main(&self) -> Result<()> {
        let layout = self.store.layout();
        let Some(main) = ref_files::read_main(layout)? else { return Ok(()) };
        if !self.inventory.ids().contains(&main) && self.store.objects().contains(&main) {
            ref_files::write(layout, Family::Foreign, main, main)?;
        }
        Ok(())
    }

    /// Brings `main` and the manifest up to date with the list.
    pub fn write_derived(&self) -> Result<()> {
        let layout = self.store.layout();
        let newest = self.inventory.newest().map(|newest| newest.id);
        match newest {
            // A name that leads nowhere would be an error to git.
            None => ref_files::remove_main(layout)?,
            Some(newest) if ref_files::read_main(layout).is_ok_and(|main| main == Some(newest)) => {}
            Some(newest) => ref_files::write_main(layout, newest)?,
        }
        self.write_manifest()
    }

    fn write_manifest(&self) -> Result<()> {
        let path = self.store.layout().manifest();
        let found = std::fs::read(&path).unwrap_or_default();
        let text = self.inventory.manifest(&String::from_utf8_lossy(&found));
        if found == text.as_bytes() {
            return Ok(());
        }
        match atomic_file::replace_derived(&self.store.layout().own(), &path, text.as_bytes()) {
            Err(Error::Io { source, .. }) if atomic_file::is_full(&source) => {
                atomic_file::shrink(&path, text.as_bytes())
            }
            written => written,
        }
    }

    /// Drops checkpoints, durably: out of the manifest first, then their refs, so that no row calls them back.
    /// Their objects go when the store is pruned.
    pub fn drop_checkpoints(&mut self, ids: &[ObjectId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.forget(ids)?;
        self.flush_manifest()?;
        self.remove_refs(ids)?;
        ref_files::sync(self.store.layout())
    }

    /// The same for what a policy drops: after a power cut some may be there again, whole, since nothing of them goes
    /// before a sweep has made the dropping durable.
    pub fn evict_checkpoints(&mut self, ids: &[ObjectId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        self.forget(ids)?;
        self.remove_refs(ids)
    }

    fn forget(&mut self, ids: &[ObjectId]) -> Result<()> {
        self.keep_foreign_main()?;
        self.inventory.checkpoints.retain(|c| !ids.contains(&c.id));
        self.inventory.damaged.retain(|damaged| damaged.id.commit().is_none_or(|id| !ids.contains(&id)));
        self.write_derived()
    }

    /// Drops, durably, what only rows of the manifest still name.
    pub fn drop_rows(&mut self, rows: &[CheckpointId]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.inventory.damaged.retain(|damaged| !rows.contains(&damaged.id));
        self.write_derived()?;
        self.flush_manifest()
    }

    fn flush_manifest(&self) -> Result<()> {
        let path = self.store.layout().manifest();
        atomic_file::sync_if_there(&path)?;
        atomic_file::sync_directory(self.store.layout().dir())
    }

    pub(super) fn remove_refs(&self, ids: &[ObjectId]) -> Result<()> {
        let layout = self.store.layout();
        let families = [Family::Checkpoints, Family::Pins, Family::Meta];
        let gone: Vec<_> = ids.iter().flat_map(|id| families.map(|family| (family, *id))).collect();
        ref_files::remove(layout, &gone)
    }

    /// Pins a checkpoint or lets it go; the answer is whether that changed anything.
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
        for checkpoint in self.inventory.checkpoints.iter_mut().filter(|c| c.id == id) {
            checkpoint.pinned = pinned;
        }
        Ok(true)
    }

    /// Keeps what a scan saw for the next one; `known` is the cache that it went by.
    pub fn save_stat_cache(&self, basis: Basis, listing: &Listing, known: Option<&StatCache>) -> Result<()> {
        stat_cache::save(self.store.layout(), basis, listing, known)
    }

    pub fn write_left_out(&self, text: &str) -> Result<()> {
        let layout = self.store.layout();
        atomic_file::replace_derived(&layout.own(), &layout.left_out(), text.as_bytes())
    }

    pub fn write_holds(&self, holds: &[Hold]) -> Result<()> {
        holds::write(self.store.layout(), holds)
    }

    /// Gives back the room of everything that is not in `live`: dead packs go, mostly dead and small ones are merged,
    /// and of `versions` of large files, the newest of each line first, all but that become deltas.
    pub fn sweep(&self, live: &ObjectIds, versions: &[Vec<ObjectId>]) -> Result<RepackOutcome> {
        let survey = self.survey(live)?;
        let layout = self.store.layout();
        let plan = delta_plan::plan(&survey, versions, &rejected_bases::read(layout));
        let outcome = self.repack(&survey, &plan, live, &|| false)?;
        // Where it cannot be written they are tried again.
        let _ = rejected_bases::add(layout, &outcome.rejected_bases, live);
        Ok(outcome)
    }

    /// The same down to the last dead byte, however much has to be rewritten for it.
    pub fn sweep_tightly(&self, live: &ObjectIds) -> Result<RepackOutcome> {
        let survey = self.survey(live)?;
        self.repack(&survey, &repack_plan::plan_tight(&survey.facts()), live, &|| false)
    }

    /// The part of it that is cheap and brings the packs down to about `at_most`, until `stop` says so.
    pub fn sweep_cheaply(&self, live: &ObjectIds, at_most: usize, stop: &dyn Fn() -> bool) -> Result<()> {
        let survey = self.survey(live)?;
        let plan = repack_plan::plan_cheap(&survey.quick_facts(), at_most, &|pack| survey.has_deltas(&pack.name));
        self.repack(&survey, &plan, live, stop).map(|_| ())
    }

    /// Remembers that packs were tidied up after this checkpoint.
    pub fn note_gc(&self, newest: ObjectId) {
        last_gc::remember(self.store.layout(), newest);
    }

    /// Removes pins of what is nowhere.
    pub fn drop_lost_pins(&self) -> Result<()> {
        let layout = self.store.layout();
        let lost = mark::lost_pins(self.store)?;
        ref_files::remove(layout, &lost.iter().map(|id| (Family::Pins, *id)).collect::<Vec<_>>())?;
        if lost.is_empty() { Ok(()) } else { ref_files::sync(layout) }
    }

    /// Removes plain git's own index if nobody touched it since `before_ms` (milliseconds since 1970): it is a cache,
    /// and the blobs that it names would never go.
    pub fn drop_old_git_index(&self, before_ms: i64) -> Result<()> {
        let path = self.store.layout().git_index();
        let touched = std::fs::metadata(&path).and_then(|found| found.modified()).ok();
        let age = touched.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        if age.is_some_and(|age| i64::try_from(age.as_millis()).is_ok_and(|ms| ms < before_ms)) {
            atomic_file::remove_if_there(&path)?;
        }
        Ok(())
    }

    fn survey(&self, live: &ObjectIds) -> Result<PackUsage> {
        pack_usage::survey(self.store.objects(), live)
    }

    /// Repacks, and keeps the stat cache good: it names packs, and every blob that it names lives on in some pack.
    fn repack(
        &self,
        survey: &PackUsage,
        plan: &RepackPlan,
        live: &ObjectIds,
        stop: &dyn Fn() -> bool,
    ) -> Result<RepackOutcome> {
        let cache = self.store.stat_cache().filter(|cache| self.store.trusts(cache));
        let objects = self.store.objects();
        if !plan.keeps_all_packs() || plan.loose {
            self.flush_manifest()?;
            ref_files::sync(self.store.layout())?;
        }
        let outcome = repack::repack(&self.store.layout().objects(), survey, plan, live, objects, stop)?;
        if let Some(cache) = cache {
            // Without it the next scan checks each blob that it relies on; on a full disk that has to do.
            let _ = stat_cache::save_packs(self.store.layout(), &cache, objects.packs());
        }
        Ok(outcome)
    }

    /// Rebuilds the index of every whole pack that lacks a good one. Gives the files written.
    pub fn mend_indexes(&self) -> Result<Vec<PathBuf>> {
        self.store.objects().look_again();
        unindexed_packs::write_indexes(self.store.objects())
    }

    /// Renames what nothing can be made of, so that it is in nobody's way: a journal that cannot be read, and an
    /// exclusion list that is no text. Gives the new names.
    pub fn set_unreadable_aside(&self, now_ms: i64) -> Result<Vec<PathBuf>> {
        let layout = self.store.layout();
        let mut aside = Vec::new();
        if self.journal()? == JournalState::Unreadable {
            aside.push(set_aside(layout, &layout.journal(), "journal", now_ms)?);
        }
        let list = layout.exclusion_list();
        if read_regular::read(&list).is_ok_and(|bytes| bytes.contains(&0)) {
            aside.push(set_aside(layout, &list, "exclusion-list", now_ms)?);
        }
        init::write_exclusion_list(layout)?;
        Ok(aside)
    }

    /// Removes caches that do not add up; the next `create` fills them again.
    pub fn drop_bad_caches(&self) -> Result<()> {
        let layout = self.store.layout();
        if stat_cache::read(layout).is_none() {
            stat_cache::remove(layout)?;
        }
        if commit_cache::is_sound(layout) == Some(false) {
            atomic_file::remove_if_there(&layout.commits())?;
        }
        if holds::read(layout).is_err() {
            atomic_file::remove_if_there(&layout.holds())?;
        }
        for path in [layout.left_out(), layout.size_gate()] {
            if !read_regular::read_text(&path).is_ok_and(|text| !text.contains('\0')) {
                atomic_file::remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    pub fn write_description(&self, description: &Description) -> Result<()> {
        description.write(self.store.layout())
    }

    pub fn journal(&self) -> Result<JournalState> {
        self.store.journal()
    }

    /// Writes journals while the store itself is borrowed for a record.
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

/// Whether packs that were just published are where they were put.
pub(super) fn check_still_there(layout: &Layout, packs: &[PackStamp]) -> Result<()> {
    packs.iter().try_for_each(|stamp| {
        let pack = layout.packs().join(format!("{}.pack", stamp.name));
        std::fs::metadata(&pack).map(drop).map_err(Error::io("find the pack just written", &pack))
    })
}

fn set_aside(layout: &Layout, path: &Path, name: &str, now_ms: i64) -> Result<PathBuf> {
    let aside = layout.own().join(format!("{name}-damaged-{}", compact_utc(now_ms)));
    atomic_file::rename(path, &aside)?;
    atomic_file::sync_directory(&layout.own())?;
    Ok(aside)
}

/// A newer program may mean by its commits what this one would destroy.
fn refuse_newer_commits(layout: &Layout, inventory: &Inventory) -> Result<()> {
    match inventory.newest_format {
        found if found > message::FORMAT => {
            Err(Error::StoreTooNew { store: layout.dir().to_path_buf(), found, supported: message::FORMAT })
        }
        _ => Ok(()),
    }
}

/// A store that is not there any more was there when we opened it.
fn gone(layout: &Layout, cause: Error) -> Error {
    match cause {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Error::StoreGone { store: layout.dir().to_path_buf() }
        }
        other => other,
    }
}

/// In a store of a newer format not even the lock is ours to touch.
fn refuse_newer(layout: &Layout) -> Result<()> {
    match description::format_of(layout) {
        Some(found) if found > description::FORMAT => {
            let supported = description::FORMAT;
            Err(Error::StoreTooNew { store: layout.dir().to_path_buf(), found, supported })
        }
        _ => Ok(()),
    }
}

/// See [`LockedStore::journal_writer`]. It exists only while the lock is held.
pub struct JournalWriter<'s>(&'s Store);

impl JournalWriter<'_> {
    pub fn write(&self, journal: &Journal) -> Result<()> {
        journal::write(self.0.layout(), journal)
    }
}
