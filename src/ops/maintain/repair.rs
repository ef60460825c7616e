//! Repair: rebuilds derived files, looks for missing objects elsewhere, and salvages a store in
//! which damage remains. Nothing is deleted: the damaged store is kept.

use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result};
use crate::model::CheckpointId;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::ops::maintain::heal_from_worktree::heal_from_worktree;
use crate::ops::session;
use crate::ops::{Context, Session, Warning};
use crate::store::damage::check::FileFinding;
use crate::store::damage::check_store::lacks_only_bytes;
use crate::store::damage::salvage::{Salvage, Unreadable};
use crate::store::damage::salvage_backlog;
use crate::store::lifecycle::{description, ownership};
use crate::store::{CheckOptions, CheckReport, Layout, Salvaged, Store, lock};

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
    let mut store = match Store::open(place.clone()) {
        Ok(Some(store)) => store,
        Ok(None) => return Ok(None),
        Err(error) if error.code == Code::STORE_UNUSABLE => {
            let salvaged = salvage_unusable(context, &place, Unreadable::IsPassedOver)?;
            let outcome = RepairOutcome {
                salvaged,
                ..RepairOutcome::default()
            };
            return Ok(Some((outcome, check_again(context, place)?, Vec::new())));
        }
        Err(other) => return Err(other),
    };
    let check_interrupt = || context.check_interrupt();
    let options = CheckOptions {
        full: true,
        check_interrupt: &check_interrupt,
        progress: &context.progress,
    };
    let before = check_with_retries(context, &mut store, None, true)?;
    let fetched = fetch(context, &place)?;
    let Some(store) = Store::open(place.clone())? else {
        return Ok(None);
    };
    let mut session = begin_session(context, &store)?;
    let mut outcome = RepairOutcome {
        derived: before.derived,
        fetched,
        ..RepairOutcome::default()
    };
    outcome.set_aside = repair_files(context, &session)?;
    let report = heal_from_worktree(context, &store, &|| store.check(None, &options))?;
    outcome.healed = before
        .damaged
        .iter()
        .filter(|was| report.damaged.iter().all(|is| is.id != was.id))
        .count();
    let warnings = std::mem::take(&mut session.warnings);
    // If only file contents are lost for good, a fresh store would lack them too.
    let beyond = |id: &CheckpointId| !lacks_only_bytes(&store, id);
    if report.files.is_empty() && !report.damaged.iter().any(|state| beyond(&state.id)) {
        session.locked.write_derived()?;
        let report = store.check(None, &options)?;
        return Ok(Some((outcome, report, warnings)));
    }
    outcome.salvaged = Some(salvage(context, &place, Unreadable::IsPassedOver)?);
    drop(session);
    Ok(Some((outcome, check_again(context, place)?, warnings)))
}

/// Fetches from kept copies what was unreadable at a store's replacement but may be readable now.
fn fetch(context: &Context, place: &Path) -> Result<usize> {
    let Some(store) = Store::open(place.to_path_buf())? else {
        return Ok(0);
    };
    if salvage_backlog::copies(store.layout())?.is_empty() {
        return Ok(0);
    }
    let session = begin_session(context, &store)?;
    salvage_backlog::fetch(&session.locked, &|| context.check_interrupt())
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
    locked.rebuild_indexes()?;
    locked.drop_bad_caches()?;
    locked.drop_lost_pins()?;
    let mut set_aside = locked.set_unreadable_aside(context.now_ms)?;
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
    // Taking the lock recovers what only the final location can tell; it is held during the check.
    let session = begin_session(context, &store)?;
    let options = CheckOptions {
        full: true,
        check_interrupt: &|| Ok(()),
        progress: &context.progress,
    };
    let report = store.check(None, &options);
    drop(session);
    report
}

/// Salvages a store with unusable parts; `None` if another process has done so meanwhile.
pub fn salvage_unusable(
    context: &Context,
    place: &Path,
    unreadable: Unreadable,
) -> Result<Option<Salvaged>> {
    let layout = Layout::new(place.to_path_buf());
    if let Some(found) =
        description::format_of(&layout).filter(|found| *found > description::STORE_FORMAT)
    {
        let supported = description::STORE_FORMAT;
        return Err(Error::store_too_new(place, found, supported));
    }
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
    let check_interrupt = || context.check_interrupt();
    let (wait, holder) = (context.lock_wait, &context.holder);
    let salvage = Salvage::begin(
        place,
        &context.description(false),
        wait,
        holder,
        unreadable,
        &check_interrupt,
    )?;
    heal_from_worktree(context, salvage.store(), &|| salvage.check())?;
    salvage.finish(context.now_ms)
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
    let check_interrupt = || context.check_interrupt();
    let options = CheckOptions {
        full,
        check_interrupt: &check_interrupt,
        progress: &context.progress,
    };
    let mut report = store.check(only, &options)?;
    for pass in 1..PASSES_UPTO {
        if report.is_whole() {
            break;
        }
        let Some(reopened) = Store::open(store.dir().to_path_buf())? else {
            break;
        };
        *store = reopened;
        let before = std::mem::replace(&mut report, store.check(only, &options)?);
        if pass + 1 >= PASSES && report.shares_damage(&before) {
            break;
        }
    }
    Ok(report)
}
