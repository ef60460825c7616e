//! Repair: rebuilds derived files, looks for missing objects in kept copies and in the working
//! directory, and salvages a store in which damage remains. Nothing is deleted: that store is kept.

use std::path::{Path, PathBuf};

use crate::error::{Code, Result};
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{CheckpointId, ObjectId, RelPath};
use crate::ops::capture::pipeline::{Sink, capture};
use crate::ops::{CaptureOptions, Context, Session, Warning, session};
use crate::store::damage::check::lacks_only_bytes;
use crate::store::damage::check_report::FileFinding;
use crate::store::damage::salvage::{self, SalvageOptions, Unreadable};
use crate::store::damage::{left_behind, unindexed_packs};
use crate::store::lifecycle::description::refuse_newer;
use crate::store::lifecycle::ownership;
use crate::store::objects::pack::pack_writer::ClaimedObjects;
use crate::store::trees::meta_tree;
use crate::store::{
    CheckOptions, CheckReport, FaultyCheckpoint, Layout, ObjectKind, PackSet, Salvaged, Store, lock,
};
use crate::worktree::WorkTree;

/// Number of checks before damage is believed; the store is reopened for each further one.
const PASSES: usize = 4;
/// Upper bound on the checks while no two in a row find the same thing damaged.
const PASSES_UPTO: usize = 16;

/// What a repair did.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct RepairOutcome {
    /// Derived files that were wrong and have been rebuilt.
    pub derived: Vec<FileFinding>,
    /// Unusable files that were set aside within the store.
    #[serde(serialize_with = "json::path_list")]
    pub set_aside: Vec<PathBuf>,
    /// Checkpoints that lacked objects and are whole again.
    pub healed: usize,
    /// Checkpoints brought back from the copy that an earlier repair had kept.
    pub fetched: usize,
    /// Set if the store was replaced by a fresh one.
    pub salvaged: Option<Salvaged>,
}

impl RepairOutcome {
    pub fn lost_nothing(&self) -> bool {
        self.salvaged
            .as_ref()
            .is_none_or(|salvaged| salvaged.lost.is_empty() && salvaged.lost_refs.is_empty())
    }

    pub fn is_nothing(&self) -> bool {
        self.derived.is_empty()
            && self.set_aside.is_empty()
            && self.healed == 0
            && self.fetched == 0
            && self.salvaged.is_none()
    }
}

/// Repairs the store of this root; `None` if there is none. The report describes the store after
/// the repair.
pub fn repair(context: &Context) -> Result<Option<(RepairOutcome, CheckReport, Vec<Warning>)>> {
    let place = context.store_dir()?;
    let _shield = context.interrupt.shield();
    let mut outcome = RepairOutcome::default();
    let mut store = match Store::open(place.clone()) {
        Err(error) if error.code == Code::STORE_UNUSABLE => {
            outcome.salvaged = salvage_unusable(context, &place, Unreadable::IsPassedOver)?;
            let report = check_again(context, place)?;
            return Ok(Some((outcome, report, Vec::new())));
        }
        opened => match opened? {
            Some(store) => store,
            None => return Ok(None),
        },
    };
    let before = check_with_retries(context, &mut store, None, true)?;
    let mut session = begin_session(context, &store)?;
    let stop = || context.check_interrupt();
    outcome.fetched = left_behind::fetch(&session.locked, &check_options(context, &stop, true))?;
    outcome.derived = before.derived;
    outcome.set_aside = repair_files(context, &session)?;
    let report = heal(context, &store)?;
    // If only file contents are lost for good, a fresh store would lack them too.
    let beyond = |state: &FaultyCheckpoint| !lacks_only_bytes(&store, &state.id);
    let is_lasting = !report.files.is_empty() || report.damaged.iter().any(beyond);
    let is_healed = |was: &&FaultyCheckpoint| report.damaged.iter().all(|is| is.id != was.id);
    outcome.healed = before.damaged.iter().filter(is_healed).count();
    let warnings = std::mem::take(&mut session.warnings);
    if is_lasting {
        outcome.salvaged = Some(salvage(context, &place, Unreadable::IsPassedOver)?);
    }
    drop(session);
    Ok(Some((outcome, check_again(context, place)?, warnings)))
}

/// Takes the lock and forgets damage noticed before: packs that vanished were replaced, not lost.
fn begin_session<'s>(context: &Context, store: &'s Store) -> Result<Session<'s>> {
    let session = session::begin(context, store)?;
    store.objects().forget_damage()?;
    Ok(session)
}

/// Repairs files of the store that taking the lock leaves as they are.
fn repair_files(context: &Context, session: &Session<'_>) -> Result<Vec<PathBuf>> {
    let locked = &session.locked;
    unindexed_packs::write_indexes(locked.store().objects())?;
    locked.repair_refs()?;
    locked.drop_lost_pins()?;
    let mut set_aside = locked.clear_unusable(context.now_ms)?;
    set_aside.sort();
    if locked.store().description()?.is_none() {
        locked.write_description(&context.description(false))?;
    }
    Ok(set_aside)
}

fn check_again(context: &Context, place: PathBuf) -> Result<CheckReport> {
    let Some(store) = Store::open(place)? else {
        return Ok(CheckReport::default());
    };
    // Taking the lock recovers what could not be read before; it is held during the check.
    let _session = begin_session(context, &store)?;
    check(context, &store, None, true)
}

/// Salvages a store with unusable parts; `None` if another process has done so meanwhile.
pub fn salvage_unusable(
    context: &Context,
    place: &Path,
    unreadable: Unreadable,
) -> Result<Option<Salvaged>> {
    let layout = Layout::new(place.to_path_buf());
    refuse_newer(&layout)?;
    // If the lock is a regular file, another process may hold it.
    let _lock = match layout.lock().symlink_metadata() {
        Ok(found) if found.is_file() => Some(lock::acquire(
            &layout.lock(),
            context.lock_wait(),
            Some(&context.holder),
        )?),
        _ => None,
    };
    match ownership::check(&layout) {
        Ok(()) => Ok(None),
        Err(error) if error.code == Code::STORE_UNUSABLE => {
            salvage(context, place, unreadable).map(Some)
        }
        Err(other) => Err(other),
    }
}

/// Replaces a damaged store, whose lock the caller holds, by a fresh one with everything that can
/// be read.
pub fn salvage(context: &Context, place: &Path, unreadable: Unreadable) -> Result<Salvaged> {
    let stop = || context.check_interrupt();
    let options = SalvageOptions {
        description: context.description(false),
        wait: context.lock_wait,
        holder: &context.holder,
        unreadable,
        now_ms: context.now_ms,
        check: check_options(context, &stop, true),
        heal: &|fresh| heal(context, fresh),
    };
    salvage::salvage(place, &options)
}

/// Restores missing objects until nothing more can be found; a restored tree may reveal further
/// missing blobs. Returns the last report of a full check.
fn heal(context: &Context, store: &Store) -> Result<CheckReport> {
    let mut report = check(context, store, None, true)?;
    loop {
        let missing = report.missing();
        if missing.is_empty() {
            return Ok(report);
        }
        let wanted: Vec<ObjectId> = missing.keys().copied().collect();
        let stop = || context.check_interrupt();
        let options = check_options(context, &stop, true);
        left_behind::copy_from_copies(&context.store_dir()?, store, &wanted, &options)?;
        let paths: Vec<RelPath> = missing.values().flatten().cloned().collect();
        add_from_worktree(context, store, &wanted, &paths)?;
        store.objects().forget_damage()?;
        report = check(context, store, None, true)?;
        if report.missing() == missing {
            return Ok(report);
        }
    }
}

/// Adds what is wanted of the working directory: as a capture sees it, and with the paths where
/// checkpoints hold it, whatever rules say today.
fn add_from_worktree(
    context: &Context,
    store: &Store,
    wanted: &[ObjectId],
    paths: &[RelPath],
) -> Result<()> {
    if !context.root.path().is_dir() {
        return Ok(());
    }
    let worktree = WorkTree::open_root(&context.root)?;
    let claims = ClaimedObjects::only(wanted.iter().copied().collect());
    let objects = store.layout().objects();
    let mut packs = PackSet::begin_sharing(&objects, store.objects(), claims)?;
    for also in [&[], paths] {
        let options = CaptureOptions {
            also,
            ..CaptureOptions::default()
        };
        // Without a store no stat cache is trusted: every file is read.
        let captured = capture(context, None, &worktree, &options, Sink::Pack(&mut packs))?;
        packs.add(ObjectKind::Blob, &meta_tree::blob(&captured.meta))?;
    }
    packs.finish(None)?;
    store.objects().refresh()
}

/// Options of a check that ends when the user interrupts.
fn check_options<'o>(
    context: &'o Context,
    check_interrupt: &'o dyn Fn() -> Result<()>,
    full: bool,
) -> CheckOptions<'o> {
    CheckOptions {
        full,
        check_interrupt,
        progress: &context.progress,
    }
}

/// Checks the store, or one checkpoint of it, once.
fn check(
    context: &Context,
    store: &Store,
    only: Option<&CheckpointId>,
    full: bool,
) -> Result<CheckReport> {
    let stop = || context.check_interrupt();
    store.check(only, &check_options(context, &stop, full))
}

/// Checks the store, and believes damage only if each freshly opened store shows some and the last
/// two the same, since a writer may be merging packs. Returns the last report; `store` is then the
/// store it describes.
pub fn check_with_retries(
    context: &Context,
    store: &mut Store,
    only: Option<&CheckpointId>,
    full: bool,
) -> Result<CheckReport> {
    let _shield = context.interrupt.shield();
    let mut report = check(context, store, only, full)?;
    for pass in 1..PASSES_UPTO {
        if report.is_whole() {
            break;
        }
        let Some(reopened) = Store::open(store.dir().to_path_buf())? else {
            break;
        };
        *store = reopened;
        let before = std::mem::replace(&mut report, check(context, store, only, full)?);
        if pass + 1 >= PASSES && report.shares_damage(&before) {
            break;
        }
    }
    Ok(report)
}
