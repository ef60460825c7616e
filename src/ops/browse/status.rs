//! `status`: a summary of root, store, newest checkpoint and changes since.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::model::checkpoint::retention;
use crate::model::checkpoint::selector::latest;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{
    ChangeCounts, Checkpoint, CheckpointRef, CheckpointRow, Hold, PlannedChange, RelPath,
    RestorePlan, RestoreScope, RestoreStory, Snapshot, ToldStory,
};
use crate::ops::browse::list::reader_warnings;
use crate::ops::capture::monitor::Reliance;
use crate::ops::capture::pipeline::{Sink, capture};
use crate::ops::capture::present::Compared;
use crate::ops::contract::hold;
use crate::ops::create::watched;
use crate::ops::maintain::{moved, size_limit};
use crate::ops::{CaptureOptions, Context, LeftOut, Moved, Warning, WorktreeSide, session};
use crate::store::Store;
use crate::store::damage::replace_store::damaged_copies;
use crate::store::gc::disk_usage::bytes_below;
use crate::store::layout::dir_hash;
use crate::worktree::WorkTree;

/// The state of the directory and its store.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct StatusOutcome {
    #[serde(serialize_with = "json::path")]
    pub root: PathBuf,
    #[serde(serialize_with = "json::path")]
    pub store: PathBuf,
    #[serde(serialize_with = "json::path")]
    pub manifest: PathBuf,
    pub dir_hash: String,
    /// The folder of all stores.
    #[serde(serialize_with = "json::path")]
    pub base: PathBuf,
    /// Whether there is a store.
    pub exists: bool,
    /// Number of checkpoints but for safety checkpoints.
    pub checkpoint_count: usize,
    pub pinned_count: usize,
    pub safety_count: usize,
    pub damaged_count: usize,
    pub store_bytes: Option<u64>,
    #[serde(serialize_with = "json::row")]
    #[schemars(with = "Option<CheckpointRow>")]
    pub latest: Option<Checkpoint>,
    /// The checkpoint that the directory was last restored to or recorded as.
    #[serde(serialize_with = "json::row")]
    #[schemars(with = "Option<CheckpointRow>")]
    pub baseline: Option<Checkpoint>,
    /// The baseline, or if that is a safety checkpoint, one that holds the same.
    #[serde(skip)]
    pub position: Option<Checkpoint>,
    /// If the position is a safety checkpoint: the restore before which it was made, and the reason
    /// of what that led to.
    #[serde(skip)]
    pub position_story: Option<ToldStory>,
    /// What changed since the baseline; null if it is not known.
    pub drift: Option<ChangeCounts>,
    /// What differs from the baseline, by path.
    #[serde(skip)]
    pub changed: Vec<(RelPath, PlannedChange)>,
    /// A restore that was interrupted.
    pub pending: Option<PendingRestore>,
    /// The process that makes checkpoints by itself; null if there is none.
    pub watcher: Option<String>,
    /// Holds that have not ended.
    pub holds: Vec<Hold>,
    pub over_keep: bool,
    pub max_store_bytes: Option<u64>,
    pub over_max_store_size: Option<bool>,
    /// The nearest directory above whose checkpoints hold this one too.
    #[serde(serialize_with = "json::optional_path")]
    pub root_above: Option<PathBuf>,
    /// Damaged stores that a repair kept.
    #[serde(serialize_with = "json::path_list")]
    pub kept_copies: Vec<PathBuf>,
    #[serde(skip)]
    pub left_out: Option<LeftOut>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// A restore that was interrupted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PendingRestore {
    pub target: CheckpointRef,
    pub safety: CheckpointRef,
}

/// Returns the state, and the store if there is one.
pub fn status(context: &Context, brief: bool) -> Result<(StatusOutcome, Option<Store>)> {
    let dir = context.store_dir()?;
    let layout = crate::store::layout::Layout::new(dir.clone());
    let mut outcome = StatusOutcome {
        root: context.root.path().to_path_buf(),
        base: context.base.clone(),
        manifest: layout.manifest(),
        store: dir,
        dir_hash: dir_hash(context.root.path()),
        max_store_bytes: context.settings.max_store_size_bytes,
        ..StatusOutcome::default()
    };
    outcome.kept_copies = damaged_copies(&outcome.store);
    let store = context.find_store()?;
    outcome.root_above = (!brief)
        .then(|| context.root_above(store.is_none()))
        .flatten();
    if let Some(store) = &store {
        describe_store(context, store, brief, &mut outcome)?;
    } else {
        let moved = if brief {
            moved::find_moved_stores(context, &mut |_| Ok(false))?
        } else {
            moved::find_without_capture(context)?
        };
        outcome.warnings.extend(moved.iter().map(Moved::warning));
        let remarks = context.settings.remarks.iter();
        outcome.warnings.extend(remarks.map(Warning::from));
    }
    Ok((outcome, store))
}

fn describe_store(
    context: &Context,
    store: &Store,
    brief: bool,
    outcome: &mut StatusOutcome,
) -> Result<()> {
    let inventory = store.inventory()?;
    let checkpoints = &inventory.checkpoints;
    let pending = session::pending_unlocked(store, checkpoints)?;
    outcome.exists = true;
    outcome.checkpoint_count = checkpoints.regular_count();
    outcome.pinned_count = checkpoints.pinned_count();
    outcome.safety_count = checkpoints.safety_count();
    outcome.damaged_count = inventory.damaged.len();
    outcome.latest = latest(checkpoints, 0).cloned();
    outcome.baseline = checkpoints.baseline().cloned();
    outcome.position = checkpoints.position().cloned();
    let told = |set: &Checkpoint| RestoreStory::with_reason(set, checkpoints);
    outcome.position_story = outcome.position.as_ref().and_then(told);
    let named = |id| CheckpointRef::of_id(id, inventory.get(id));
    outcome.pending = pending.as_ref().map(|pending| PendingRestore {
        target: named(pending.target),
        safety: named(pending.safety),
    });
    outcome
        .warnings
        .extend(reader_warnings(context, store, &inventory)?);
    outcome.watcher = watched::watcher(store);
    outcome.holds = hold::active_holds(context, store, &mut outcome.warnings);
    let needed = session::needed(context, store, pending.as_ref());
    let policy = &context.settings.keep;
    outcome.over_keep = retention::plan(checkpoints, policy, context.now_ms, &needed).over_keep;
    if outcome.over_keep {
        outcome.warnings.push(Warning::OverKeep {
            keep: policy.last,
            kept: outcome.checkpoint_count,
        });
    }
    let partial = outcome.latest.as_ref().and_then(Warning::partial);
    outcome.warnings.extend(partial);
    if !brief {
        let bytes = bytes_below(store.dir());
        outcome.store_bytes = Some(bytes);
        outcome.over_max_store_size = Some(bytes > outcome.max_store_bytes.unwrap_or(u64::MAX));
        let over = size_limit::warning_before_prune(
            context,
            store,
            checkpoints,
            pending.as_ref(),
            outcome.max_store_bytes,
        );
        outcome.warnings.extend(over);
        measure_drift(context, store, outcome)?;
    }
    Ok(())
}

fn measure_drift(context: &Context, store: &Store, outcome: &mut StatusOutcome) -> Result<()> {
    if !context.root.exists() {
        return Ok(());
    }
    let worktree = WorkTree::open_root(&context.root)?;
    let options = CaptureOptions {
        reliance: Reliance::Listed,
        ..CaptureOptions::default()
    };
    let captured = capture(context, Some(store), &worktree, &options, Sink::HashOnly)?;
    outcome.left_out = Some(LeftOut::of(&captured.listing));
    outcome.warnings.extend(captured.warnings.iter().cloned());
    let Some(baseline) = &outcome.baseline else {
        return Ok(());
    };
    let compared = Compared::new(context, store, &worktree, (baseline, &[]), captured);
    if let Ok([held, present]) = compared.map(|compared| compared.states) {
        outcome.changed = changed(&held, &present);
        outcome.drift = Some(drift(&outcome.changed));
    }
    Ok(())
}

/// What changed in the directory since a checkpoint.
#[derive(Debug, Default)]
pub struct ChangedSince {
    pub changes: Vec<(RelPath, PlannedChange)>,
    /// Number of files of the checkpoint in whose place is something that is not captured.
    pub uncaptured: usize,
}

/// Returns what changed in the directory since a checkpoint.
///
/// # Errors
/// The checkpoint is damaged, or the directory cannot be read.
pub fn changed_since(context: &Context, checkpoint: &Checkpoint) -> Result<ChangedSince> {
    let store = context.require_store()?;
    if !store.inventory()?.checkpoints.holds(checkpoint.id) {
        return Err(Error::evicted_meanwhile(checkpoint.id));
    }
    let (_, [held, present], _) = WorktreeSide::capture(context, &store, checkpoint, &[])?;
    let changes = changed(&held, &present);
    let gone = |(_, change): &&(_, PlannedChange)| *change == PlannedChange::Deleted;
    let told = changes.iter().filter(gone).count();
    let is_missing = |path: &&RelPath| !present.files.contains_key(*path);
    let missing = held.files.keys().filter(is_missing).count();
    Ok(ChangedSince {
        changes,
        uncaptured: missing.saturating_sub(told),
    })
}

/// Returns the changes from the checkpoint to the present, as a restore plan tells them: files, then
/// directories below which nothing changed.
fn changed(held: &Snapshot, present: &Snapshot) -> Vec<(RelPath, PlannedChange)> {
    let plan = RestorePlan::between(held, present, &RestoreScope::default(), &|_, _| true);
    let changes = plan.changes();
    let above: HashSet<RelPath> = changes
        .iter()
        .flat_map(|(path, _)| path.ancestors())
        .collect();
    let is_dir = |change| {
        matches!(
            change,
            PlannedChange::DirectoryAdded | PlannedChange::DirectoryDeleted
        )
    };
    let told = changes
        .into_iter()
        .filter(|(path, change)| !(is_dir(*change) && above.contains(*path)));
    let mut told: Vec<_> = told.map(|(path, change)| (path.clone(), change)).collect();
    told.sort_by_key(|(_, change)| is_dir(*change));
    told
}

/// Counts the files that changed.
pub fn drift(changed: &[(RelPath, PlannedChange)]) -> ChangeCounts {
    let of = |kind| changed.iter().filter(|(_, found)| *found == kind).count();
    ChangeCounts {
        added: of(PlannedChange::Added),
        modified: of(PlannedChange::Modified) + of(PlannedChange::Mode),
        deleted: of(PlannedChange::Deleted),
    }
}
