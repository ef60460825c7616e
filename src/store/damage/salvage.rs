//! Salvage: fills a fresh store beside a damaged one with all that is still readable, then puts it
//! in its place.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{CheckpointId, ObjectId};
use crate::store::damage::check::lacks_only_bytes;
use crate::store::damage::salvage_objects::copy_readable;
use crate::store::damage::{left_behind, replace_store, salvage_refs};
use crate::store::files::{atomic_file, read_regular};
use crate::store::lifecycle::init;
use crate::store::lock;
use crate::store::objects::loose_files::names_in;
use crate::store::refs::ref_files;
use crate::store::{
    CheckOptions, CheckReport, CheckpointChecker, Description, FaultyCheckpoint, Layout, LockGuard,
    Store,
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

/// How a store is salvaged.
pub struct SalvageOptions<'o> {
    /// That of the new store, except for a readable old creation time and forced flag.
    pub description: Description,
    pub wait: Duration,
    pub holder: &'o str,
    pub unreadable: Unreadable,
    pub now_ms: i64,
    pub check: CheckOptions<'o>,
    /// Adds what else can be found of the objects that a store lacks, and checks it.
    pub heal: &'o dyn Fn(&Store) -> Result<CheckReport>,
}

/// Replaces a damaged store, whose lock the caller holds if it can be locked.
///
/// # Errors
/// Another salvage is running, the disk is full, or the caller asked to stop. The damaged store
/// still exists, in place or beside it.
pub fn salvage(place: &Path, with: &SalvageOptions<'_>) -> Result<Salvaged> {
    // Keeps other processes from exchanging stores here.
    let _beside = lock::acquire_directory(place.parent().unwrap_or(place), with.wait)?;
    let fresh = replace_store::fresh_path(place);
    let filled = fill(place, &fresh, with);
    if filled.is_err() {
        // On failure the next writer removes it.
        let _ = replace_store::remove_store(&fresh);
    }
    // The lock's file remains the lock once the store is in place.
    let (salvaged, _lock) = filled?;
    let kept_as = replace_store::set_aside_path(place, with.now_ms);
    replace_store::put_in_place(&fresh, place, &kept_as)?;
    // The config names the store's own path.
    init::ensure_layout(&Layout::new(place.to_path_buf()))?;
    Ok(Salvaged {
        kept_as,
        ..salvaged
    })
}

/// Makes the new store; the damaged one is not touched. Its description is written last and says
/// that it is whole.
fn fill(place: &Path, fresh: &Path, with: &SalvageOptions<'_>) -> Result<(Salvaged, LockGuard)> {
    let damaged = Layout::new(place.to_path_buf());
    let layout = Layout::new(fresh.to_path_buf());
    init::ensure_layout(&layout)?;
    copy_small_files(&damaged, &layout)?;
    let fresh = Store::open_plain(layout.clone())?;
    copy_readable(
        &damaged.objects(),
        fresh.objects(),
        with.unreadable,
        &with.check,
    )?;
    let refs = salvage_refs::all(&damaged, fresh.objects())?;
    let checkpoints = |name: &str| salvage_refs::checkpoint_in(name).is_some();
    for (name, id) in refs.iter().filter(|(name, _)| checkpoints(name)) {
        id.map_or(Ok(()), |id| ref_files::write_named(&layout, name, id))?;
    }
    let report = (with.heal)(&fresh)?;
    // From here on it is a store like any other: the lock gives back refs of which rows or commits
    // tell, and what is lost is dropped as a user would.
    let mut locked = fresh.lock(with.wait, with.holder)?;
    let known = report.checkpoints;
    let (in_part, lost): (Vec<FaultyCheckpoint>, Vec<FaultyCheckpoint>) = report
        .damaged
        .into_iter()
        .partition(|state| lacks_only_bytes(&fresh, &state.id));
    let ids: Vec<CheckpointId> = lost.iter().map(|state| state.id.clone()).collect();
    let commits: Vec<ObjectId> = ids.iter().filter_map(CheckpointId::commit).collect();
    locked.drop_checkpoints(&commits)?;
    locked.drop_rows(&ids)?;
    locked.write_derived()?;
    let mut checker = CheckpointChecker::new(fresh.objects(), &with.check);
    let mut lost_refs = Vec::new();
    for (name, id) in refs.iter().filter(|(name, _)| !checkpoints(name)) {
        lost_refs.extend(salvage_refs::write_if_whole(
            &fresh,
            &mut checker,
            name,
            *id,
        )?);
    }
    left_behind::note(&layout, refs)?;
    locked.clear_unusable(with.now_ms)?;
    locked.flush_drops()?;
    layout
        .directories()
        .iter()
        .try_for_each(|dir| atomic_file::sync_directory(dir))?;
    let known_before = Description::read(&damaged).ok().flatten();
    let mut description = with.description.clone();
    if let Some(before) = known_before {
        description.forced |= before.forced;
        description.created_ms = before.created_ms;
    }
    locked.write_description(&description)?;
    let salvaged = Salvaged {
        whole: known.saturating_sub(in_part.len() + lost.len()),
        in_part: in_part.len(),
        lost,
        lost_refs,
        ..Salvaged::default()
    };
    Ok((salvaged, locked.into_lock()))
}

/// Copies manifest, exclusion list, journal and other readable files that are not derived.
fn copy_small_files(from: &Layout, to: &Layout) -> Result<()> {
    let own = names_in(&from.own()).unwrap_or_default();
    let mut files = vec![from.manifest(), from.exclusion_list()];
    files.extend(own.iter().map(|name| from.own().join(name)));
    let left_out = [
        from.description(),
        from.lock(),
        // Salvaged runs enter the roll themselves.
        from.workflow_roll(),
        from.last_gc(),
    ];
    files.retain(|path| !left_out.contains(path) && !from.caches().contains(path));
    for path in files {
        match read_regular::read(&path) {
            Ok(bytes) => {
                let name = path.strip_prefix(from.dir()).unwrap_or(&path);
                atomic_file::replace_through(&to.own(), &to.dir().join(name), &bytes)?;
            }
            // A read failure of the disk ends the salvage: it may record an interrupted restore.
            Err(cause) if path == from.journal() && cause.raw_os_error().is_some() => {
                return Err(Error::io("read", &path)(cause));
            }
            Err(_) => {}
        }
    }
    init::write_exclusion_list(to)
}
