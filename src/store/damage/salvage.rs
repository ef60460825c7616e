//! Salvage: fills a fresh store beside a damaged one with all that is still readable, then puts it
//! in its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::Progress;
use crate::error::Result;
use crate::model::ObjectId;
use crate::model::checkpoint::manifest;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::store::damage::check_store::lacks_only_bytes;
use crate::store::damage::replace_store::{self, Mark};
use crate::store::damage::salvage_backlog;
use crate::store::damage::salvage_objects::{copy_readable, copy_wanted};
use crate::store::damage::salvage_refs::{remembered, restore_refs};
use crate::store::files::{atomic_file, directories, read_regular};
use crate::store::lifecycle::init;
use crate::store::lock;
use crate::store::objects::loose_files::names_in;
use crate::store::refs::ref_files;
use crate::store::small_files::journal;
use crate::store::{
    CheckOptions, CheckReport, CheckpointChecker, Description, FaultyCheckpoint, Inventory,
    JournalState, KnownRefs, Layout, LockGuard, Objects, PackWriter, Store,
};

pub use crate::store::damage::salvage_objects::Unreadable;

/// The result of a salvage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Salvaged {
    /// Path at which the damaged store is kept.
    #[serde(serialize_with = "json::path")]
    pub kept_as: PathBuf,
    pub whole: usize,
    /// Kept checkpoints that lack the bytes of some files; the others can be restored singly.
    pub in_part: usize,
    /// Checkpoints that remain only in the kept copy.
    pub lost: Vec<FaultyCheckpoint>,
    /// Refs of runs and of other programs that were lost, or cut to their intact part.
    pub lost_refs: Vec<String>,
}

/// A salvage in progress. Until it is finished the damaged store is untouched.
pub struct Salvage<'s> {
    place: PathBuf,
    fresh: Store,
    remembered: KnownRefs,
    check_interrupt: &'s dyn Fn() -> Result<()>,
    finished: bool,
    /// Keeps other processes from exchanging stores here.
    _beside: Option<LockGuard>,
    /// Held to the end, because its file remains the lock once the store is in place.
    _lock: LockGuard,
}

impl<'s> Salvage<'s> {
    /// Builds the fresh store. The caller holds the lock of the damaged one, if that can be locked.
    /// `description` is the new store's, except for a readable old creation time and forced flag.
    ///
    /// # Errors
    /// Another salvage is running, the disk is full, or the caller asked to stop. Nothing changed.
    pub fn begin(
        place: &Path,
        description: &Description,
        wait: Duration,
        holder: &str,
        unreadable: Unreadable,
        check_interrupt: &'s dyn Fn() -> Result<()>,
    ) -> Result<Self> {
        let beside = lock::acquire_directory(place.parent().unwrap_or(place), wait)?;
        let layout = Layout::new(replace_store::fresh_path(place));
        directories::create_private(&layout.own())?;
        replace_store::set_mark(&layout, Mark::BeingMade)?;
        let lock = lock::acquire(&layout.lock(), wait, Some(holder))?;
        init::ensure_layout(&layout)?;
        let damaged = Layout::new(place.to_path_buf());
        take_small_files(&damaged, &layout, description)?;
        let fresh = Store::open_plain(layout)?;
        let mut salvage = Self {
            place: place.to_path_buf(),
            fresh,
            remembered: KnownRefs::default(),
            check_interrupt,
            finished: false,
            _beside: beside,
            _lock: lock,
        };
        copy_readable(
            &damaged.objects(),
            salvage.fresh.objects(),
            unreadable,
            check_interrupt,
        )?;
        salvage.remembered = remembered(&damaged, salvage.fresh.objects());
        Ok(salvage)
    }

    /// The new store, so that the caller can add missing objects.
    pub fn store(&self) -> &Store {
        &self.fresh
    }

    /// Checks the remembered checkpoints in the new store.
    pub fn check(&self) -> Result<CheckReport> {
        let progress = Progress::default();
        let options = CheckOptions {
            full: true,
            check_interrupt: self.check_interrupt,
            progress: &progress,
        };
        let mut checker = CheckpointChecker::new(self.fresh.objects(), &options);
        let mut report = CheckReport::default();
        self.remembered
            .checkpoints
            .iter()
            .try_for_each(|id| checker.check(*id, &mut report))?;
        report.damaged.extend(
            self.remembered
                .lost_rows
                .iter()
                .cloned()
                .map(FaultyCheckpoint::from),
        );
        Ok(report)
    }

    /// Restores the ref of each checkpoint that lacks at most bytes of files, and puts the new
    /// store into place.
    ///
    /// # Errors
    /// A file cannot be written or renamed. The damaged store still exists, in place or beside it.
    pub fn finish(mut self, now_ms: i64) -> Result<Salvaged> {
        let report = self.check()?;
        let lost: BTreeSet<ObjectId> = report
            .damaged
            .iter()
            .filter_map(|state| state.id.commit())
            .collect();
        let whole: Vec<ObjectId> = self
            .remembered
            .checkpoints
            .difference(&lost)
            .copied()
            .collect();
        let (in_part, lost): (Vec<FaultyCheckpoint>, Vec<FaultyCheckpoint>) = report
            .damaged
            .into_iter()
            .partition(|state| lacks_only_bytes(&self.fresh, &state.id));
        let kept: Vec<ObjectId> = whole
            .iter()
            .copied()
            .chain(in_part.iter().filter_map(|state| state.id.commit()))
            .collect();
        let lost_refs = self.write_refs(&kept)?;
        let kept_as = self.put_in_place(now_ms, &kept, !lost.is_empty(), &lost_refs)?;
        Ok(Salvaged {
            kept_as,
            whole: whole.len(),
            in_part: in_part.len(),
            lost,
            lost_refs,
        })
    }

    /// Writes the refs and the manifest; returns the names of lost refs.
    fn write_refs(&mut self, kept: &[ObjectId]) -> Result<Vec<String>> {
        let layout = self.fresh.layout().clone();
        let mut lost_refs = restore_refs(
            &layout,
            self.fresh.objects(),
            &self.remembered,
            kept,
            self.check_interrupt,
        )?;
        lost_refs.append(&mut self.remembered.torn);
        let inventory = Inventory::read(&layout, self.fresh.objects())?;
        atomic_file::replace_through(
            &layout.own(),
            &layout.manifest(),
            manifest::render(inventory.checkpoints.iter()).as_bytes(),
        )?;
        if let Some(newest) = inventory.newest() {
            ref_files::write_main(&layout, newest.id)?;
        }
        sync_below(layout.dir())?;
        Ok(lost_refs)
    }

    /// Puts the new store into place; returns where the damaged one is kept.
    fn put_in_place(
        &mut self,
        now_ms: i64,
        kept: &[ObjectId],
        has_lost: bool,
        lost_refs: &[String],
    ) -> Result<PathBuf> {
        let layout = self.fresh.layout().clone();
        let kept_as = replace_store::set_aside_path(&self.place, now_ms);
        if has_lost || !lost_refs.is_empty() || self.remembered.is_doubtful {
            salvage_backlog::note(
                &layout,
                &kept_as,
                salvage_backlog::given(&self.remembered, kept, lost_refs),
            )?;
        }
        replace_store::set_mark(&layout, Mark::Whole)?;
        replace_store::put_in_place(layout.dir(), &self.place, &kept_as)?;
        self.finished = true;
        let placed = Layout::new(self.place.clone());
        replace_store::remove_mark(&placed)?;
        // The config names the store's own path.
        init::ensure_layout(&placed)?;
        Ok(kept_as)
    }
}

impl Drop for Salvage<'_> {
    fn drop(&mut self) {
        if !self.finished && self.fresh.dir().symlink_metadata().is_ok() {
            // On failure the next writer removes it.
            let _ = replace_store::remove_store(self.fresh.dir());
        }
    }
}

/// Writes the description; copies exclusion list, journal and other readable, not derived files.
fn take_small_files(from: &Layout, to: &Layout, description: &Description) -> Result<()> {
    let known = Description::read(from).ok().flatten();
    let forced = description.forced || known.as_ref().is_some_and(|known| known.forced);
    let created_ms = known.map_or(description.created_ms, |known| known.created_ms);
    Description {
        created_ms,
        forced,
        ..description.clone()
    }
    .write(to)?;
    match read_regular::read(&from.exclusion_list()) {
        Ok(bytes) if !bytes.contains(&0) => {
            atomic_file::replace_through(&to.own(), &to.exclusion_list(), &bytes)?;
        }
        _ => init::write_exclusion_list(to)?,
    }
    // A read failure of the disk ends the salvage: the journal may record an interrupted restore.
    if let JournalState::Open(journal) = journal::read(from)? {
        journal::write(to, &journal)?;
    }
    let left_behind = [
        from.description(),
        from.lock(),
        from.journal(),
        from.stat_cache(),
        from.stat_cache_patch(),
        from.checkpoint_index(),
        from.size_gate(),
        // Salvaged runs enter the roll themselves.
        from.workflow_roll(),
        from.last_gc(),
        from.salvage_mark(),
    ];
    for name in names_in(&from.own()).unwrap_or_default() {
        let path = from.own().join(&name);
        if left_behind.contains(&path) || name.starts_with(atomic_file::TMP_PREFIX) {
            continue;
        }
        if let Ok(bytes) = read_regular::read(&path) {
            atomic_file::replace(&to.own().join(&name), &bytes)?;
        }
    }
    Ok(())
}

/// Flushes the entries of every directory.
fn sync_below(dir: &Path) -> Result<()> {
    for path in Layout::new(dir.to_path_buf()).directories() {
        atomic_file::sync_directory(&path)?;
    }
    atomic_file::sync_directory(dir)
}

/// Searches the kept damaged copies of a store for objects, and writes those found into the store.
///
/// # Errors
/// The store cannot be written.
pub fn take_from_damaged_copies(place: &Path, store: &Store, wanted: &[ObjectId]) -> Result<()> {
    let mut wanted = wanted.to_vec();
    for copy in replace_store::damaged_copies(place) {
        if wanted.is_empty() {
            break;
        }
        let Ok(objects) = Objects::open(&copy.join("objects")) else {
            continue;
        };
        let mut writer = PackWriter::begin(&store.layout().objects(), store.objects())?;
        let found = copy_wanted(&objects, &wanted, &mut writer)?;
        writer.finish()?;
        wanted.retain(|id| !found.contains(id));
    }
    store.objects().refresh()
}
