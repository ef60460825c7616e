//! `delete`: drops the checkpoints that the user names and frees the space that only they used;
//! `delete --all` removes the whole store of this root, readable or not.

use std::path::{Path, PathBuf};

use crate::base::text::escape_path;
use crate::error::{Code, CommandWords, Error, Result, Sentence};
use crate::model::json::{self, Dropped, JsonSchema, Serialize, published_as};
use crate::model::{
    Candidate, CheckpointId, CheckpointKind, CheckpointRef, DamagedCheckpoint, Line, ObjectId,
};
use crate::ops::contract::hold::active_holds;
use crate::ops::restore::planned_restore::refuse_other_plan;
use crate::ops::select::checkpoint::find_own;
use crate::ops::{Context, Pending, Session, Warning, session};
use crate::store::gc::disk_usage::bytes_below;
use crate::store::lifecycle::description::refuse_newer;
use crate::store::lifecycle::{ownership, removal};
use crate::store::refs::ref_files;
use crate::store::small_files::journal;
use crate::store::transfer::remotes;
use crate::store::trees::digest;
use crate::store::{
    Effort, Inventory, JournalStage, JournalState, Layout, ObjectIds, Store, StoreRemoval, lock,
};

#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    pub selectors: Vec<String>,
    pub yes: bool,
    pub dry_run: bool,
    /// Delete the whole store even while a restore is pending.
    pub force: bool,
    /// Digest of the plan that was shown; any other is refused.
    pub plan: Option<String>,
}

/// A checkpoint to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToDelete {
    pub id: CheckpointId,
    /// Reason and time in milliseconds since 1970; `None` for a damaged checkpoint.
    pub record: Option<(String, i64)>,
    pub kind: Option<CheckpointKind>,
}

published_as! { ToDelete, Dropped, |one| {
    let record = one.record.as_ref();
    let made = record.map(|(_, time_ms)| *time_ms).zip(one.kind);
    Dropped {
        checkpoint: CheckpointRef::of_parts(&one.id, record.map(|(reason, _)| &**reason), made),
        why: "asked_for".to_owned(),
    }
}; }

/// Shows what would be deleted and asks for consent. An error ends the command: no terminal, or the
/// answer was no.
pub type DeletionConsent<'c> = dyn FnMut(&DeleteOutcome) -> Result<()> + 'c;

/// What is deleted with a whole store, beside its checkpoints.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DeletedWithStore {
    /// Number of pinned checkpoints.
    pub pinned_count: usize,
    /// Ids of workflow runs that have not ended.
    pub open_workflows: Vec<String>,
    /// Names of holds that have not ended.
    pub hold_names: Vec<String>,
    pub remote_names: Vec<String>,
}

/// What was deleted, or would be.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DeleteOutcome {
    /// Whether there was a store.
    #[serde(skip)]
    pub exists: bool,
    /// In the order in which they were named.
    #[serde(rename = "dropped")]
    pub deleted: Vec<ToDelete>,
    /// The store's directory was deleted too.
    pub whole_store: bool,
    #[serde(flatten)]
    pub with_store: DeletedWithStore,
    pub dry_run: bool,
    /// Digest of the plan, which `--plan` takes; null unless it is a dry run.
    pub plan_digest: Option<String>,
    /// The command that would do it.
    #[serde(skip)]
    pub again: Option<CommandWords>,
    #[serde(serialize_with = "json::path")]
    pub store: PathBuf,
    /// Size of the store before and after.
    #[serde(rename = "before_bytes")]
    pub bytes_before: u64,
    #[serde(rename = "after_bytes")]
    pub bytes_after: u64,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

impl DeleteOutcome {
    /// Returns the answer of a dry run, which names its plan.
    #[must_use]
    pub fn planned(mut self) -> Self {
        self.plan_digest = Some(self.digest());
        if self.whole_store {
            self.bytes_after = 0;
        }
        self
    }

    /// Refuses what is not the plan that was shown.
    ///
    /// # Errors
    /// `consent_needed`
    pub fn check_plan(&self, shown: Option<&String>) -> Result<()> {
        shown.map_or(Ok(()), |shown| refuse_other_plan(shown, &self.digest()))
    }

    fn digest(&self) -> String {
        let what = if self.whole_store {
            "delete all"
        } else {
            "delete"
        };
        let size = if self.whole_store {
            self.bytes_before
        } else {
            0
        };
        let ids: Vec<String> = self
            .deleted
            .iter()
            .map(|one| format!("{:?}", one.id))
            .collect();
        digest::of_parts(&[
            what.as_bytes(),
            self.store.as_os_str().as_encoded_bytes(),
            ids.join(" ").as_bytes(),
            // Pins, runs and holds go with the store too, and each of them has bytes.
            size.to_string().as_bytes(),
        ])
    }
}

/// Deletes the named checkpoints. All selectors are resolved before anything is deleted.
pub fn delete(
    context: &Context,
    options: &DeleteOptions,
    consent: &mut DeletionConsent<'_>,
) -> Result<DeleteOutcome> {
    let store = context.require_store()?;
    let inventory = if options.dry_run {
        store.inventory()?
    } else {
        // Lost refs are restored first, so that every checkpoint can be named.
        session::begin(context, &store)?.locked.inventory().clone()
    };
    let mut to_delete: Vec<ToDelete> = Vec::new();
    for selector in &options.selectors {
        let found = resolve(context, &inventory, selector)?;
        if !to_delete.contains(&found) {
            to_delete.push(found);
        }
    }
    refuse_protected(
        &store,
        &to_delete,
        session::pending_unlocked(&store, &inventory.checkpoints)?.as_ref(),
    )?;
    let bytes_before = bytes_below(store.dir());
    let outcome = DeleteOutcome {
        exists: true,
        store: store.dir().to_path_buf(),
        deleted: to_delete,
        dry_run: options.dry_run,
        bytes_before,
        bytes_after: bytes_before,
        ..DeleteOutcome::default()
    };
    if options.dry_run {
        let damaged = Warning::damaged(&inventory.damaged).into_iter();
        let warnings = damaged.chain(Warning::refused_now(&store)).collect();
        return Ok(DeleteOutcome {
            warnings,
            ..outcome.planned()
        });
    }
    outcome.check_plan(options.plan.as_ref())?;
    if !options.yes {
        consent(&outcome)?;
    }
    carry_out(context, &store, outcome)
}

fn carry_out(context: &Context, store: &Store, outcome: DeleteOutcome) -> Result<DeleteOutcome> {
    let mut session = session::begin(context, store)?;
    refuse_protected(store, &outcome.deleted, session.pending.as_ref())?;
    let (rows, commits): (Vec<CheckpointId>, Vec<CheckpointId>) = outcome
        .deleted
        .iter()
        .map(|to_delete| to_delete.id.clone())
        .partition(|id| id.commit().is_none());
    let commits: Vec<ObjectId> = commits.iter().filter_map(CheckpointId::commit).collect();
    session.locked.drop_checkpoints(&commits)?;
    session.locked.drop_rows(&rows)?;
    let mut warnings = std::mem::take(&mut session.warnings);
    warnings.retain(|warning| !matches!(warning, Warning::Damaged { .. }));
    warnings.extend(Warning::damaged(&session.locked.inventory().damaged));
    let freed = give_back_room(&mut session);
    let kept = freed.unwrap_or_else(|why| Some(why.to_string()));
    warnings.extend(kept.map(Warning::not_freed));
    Ok(DeleteOutcome {
        bytes_after: bytes_below(store.dir()),
        warnings,
        ..outcome
    })
}

/// Returns why not all of it could be given back.
fn give_back_room(session: &mut Session<'_>) -> Result<Option<String>> {
    refuse_damage(session)?;
    let live = session.locked.live(&ObjectIds::default())?;
    let swept = session.locked.sweep(&live, Effort::Usual, &|| false)?;
    Ok(swept.no_space)
}

/// Resolves a selector as every command does, and a damaged checkpoint by the digits of its id.
fn resolve(context: &Context, inventory: &Inventory, selector: &str) -> Result<ToDelete> {
    let named = |id: &CheckpointId| id.answers_to(selector);
    let damaged = inventory.damaged.iter().map(|damaged| &damaged.id);
    let damaged: Vec<&CheckpointId> = damaged.filter(|id| named(id)).collect();
    let whole = inventory.checkpoints.iter().filter(|c| named(&c.id.into()));
    match damaged.as_slice() {
        [] => {
            let found = find_own(context, inventory, selector)?;
            Ok(ToDelete {
                id: found.id.into(),
                record: Some((found.record.reason, found.record.time_ms)),
                kind: Some(found.record.kind),
            })
        }
        [one] if whole.clone().count() == 0 => Ok(ToDelete {
            id: (*one).clone(),
            record: None,
            kind: None,
        }),
        several => {
            let lost = several.iter().filter_map(|id| id.commit());
            let lost = lost.map(|id| Candidate {
                id,
                reason: "damaged".into(),
                made: None,
            });
            let candidates = whole.map(Candidate::of).chain(lost);
            Err(Error::ambiguous_checkpoint(selector, candidates.collect()))
        }
    }
}

/// Refuses to delete pinned checkpoints and those that an interrupted restore needs.
fn refuse_protected(
    store: &Store,
    to_delete: &[ToDelete],
    pending: Option<&Pending>,
) -> Result<()> {
    for id in to_delete.iter().filter_map(|one| one.id.commit()) {
        if ref_files::is_pinned(store.layout(), id)? {
            let short = id.short();
            let what = format!("checkpoint {short} is pinned; nothing was deleted");
            let next = Sentence::new("'checkpoint unpin {}' removes the pin", &[&short]);
            return Err(Error::new(Code::PINNED, what).next(next));
        }
        let needs = |pending: &&Pending| [pending.target, pending.safety].contains(&id);
        if let Some(pending) = pending.filter(needs) {
            return Err(pending.refusal());
        }
    }
    Ok(())
}

/// Refuses while a checkpoint cannot be read, since the objects it needs are unknown. A row whose
/// commit is missing needs none, unless nothing else is left.
pub fn refuse_damage(session: &mut Session<'_>) -> Result<()> {
    let in_the_way = |damaged: &&DamagedCheckpoint| {
        damaged.id.commit().is_some() || session.locked.has_lost_all()
    };
    match session.locked.inventory().damaged.iter().find(in_the_way) {
        Some(damaged) => Err(Error::damaged(
            format!("checkpoint {}", damaged.id.short()),
            format!("{}; nothing is pruned while that is so", damaged.why),
        )),
        None => Ok(()),
    }
}

pub fn delete_store(
    context: &Context,
    options: &DeleteOptions,
    consent: &mut DeletionConsent<'_>,
) -> Result<DeleteOutcome> {
    refuse_above(context, options)?;
    let dir = context.store_dir()?;
    let exists = ownership::is_own_directory(&dir)?;
    let outcome = DeleteOutcome {
        exists,
        whole_store: exists,
        ..whole_store_outcome(context, &dir, options.dry_run)
    };
    if options.dry_run {
        let store = Store::open(dir.clone()).ok().flatten();
        let warnings = store.as_ref().and_then(Warning::refused_now);
        let warnings = warnings.or_else(|| Warning::refused_above(&dir));
        return Ok(DeleteOutcome {
            warnings: warnings.into_iter().collect(),
            ..outcome.planned()
        });
    }
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    if !exists {
        clear_leftovers(&dir)?;
        return Ok(outcome);
    }
    let checkpoints = read(&dir)
        .map(|inventory| inventory.checkpoints)
        .unwrap_or_default();
    let layout = Layout::new(dir.clone());
    // The process that holds the lock may be carrying out that very restore, so wait for it.
    if lock::holder(&layout.lock()).is_none() {
        refuse(&layout, options, &checkpoints)?;
    }
    outcome.check_plan(options.plan.as_ref())?;
    if !options.yes {
        consent(&outcome)?;
    }
    if let Some(removal) = StoreRemoval::of_store(&dir, context.lock_wait, &context.holder)? {
        refuse(&layout, options, &checkpoints)?;
        whole_store_outcome(context, &dir, false).check_plan(options.plan.as_ref())?;
        removal::clear_unfinished(&dir, context.lock_wait)?;
        // The store is gone now. What cannot be removed is tried once more below, and named.
        let _ = removal.detach()?.remove();
    }
    let left = clear_leftovers(&dir).err();
    warnings.extend(left.map(Warning::bookkeeping("removing all files of the store")));
    Ok(DeleteOutcome {
        bytes_after: left_behind(&dir),
        warnings,
        ..outcome
    })
}

/// Refuses a store that lies above the current directory: typed twice, the same command would take
/// the next store upwards.
fn refuse_above(context: &Context, options: &DeleteOptions) -> Result<()> {
    if context.root.current().is_root() {
        return Ok(());
    }
    let root = context.root.path();
    let what = format!(
        "not confirmed: the store belongs to {}, above the current directory",
        escape_path(root)
    );
    let given = [
        (options.force, &b"--force"[..]),
        (options.dry_run, b"--dry-run"),
        (options.yes, b"--yes"),
    ];
    let given = given.into_iter().filter(|(is_given, _)| *is_given);
    let root = root.as_os_str().as_encoded_bytes();
    let command = [b"-C", root, b"delete", b"--all"].into_iter();
    let command = command.chain(given.map(|(_, name)| name));
    Err(Error::new(Code::CONSENT_NEEDED, what).next(Sentence::command(CommandWords::new(command))))
}

/// Returns the size of what deletions of this store left behind.
fn left_behind(dir: &Path) -> u64 {
    let folder = dir.parent().unwrap_or(dir);
    let left = removal::leftovers(folder, Some(dir)).unwrap_or_default();
    left.iter().map(|path| bytes_below(path)).sum()
}

/// Removes what a killed deletion of this store left behind.
pub(in crate::ops) fn clear_leftovers(dir: &Path) -> Result<()> {
    dir.parent()
        .map_or(Ok(()), |folder| removal::clear_leftovers(folder, Some(dir)))
}

fn whole_store_outcome(context: &Context, dir: &Path, dry_run: bool) -> DeleteOutcome {
    let bytes = bytes_below(dir);
    let Inventory {
        checkpoints,
        damaged,
        ..
    } = read(dir).unwrap_or_default();
    let pinned = checkpoints.pinned_count();
    let whole = checkpoints.rev().map(|c| ToDelete {
        id: c.id.into(),
        record: Some((c.record.reason.clone(), c.record.time_ms)),
        kind: Some(c.record.kind),
    });
    let lost = damaged.into_iter().map(|damaged| ToDelete {
        id: damaged.id,
        record: None,
        kind: None,
    });
    DeleteOutcome {
        exists: true,
        store: dir.to_path_buf(),
        deleted: whole.chain(lost).collect(),
        whole_store: true,
        with_store: with_store(context, dir, pinned),
        dry_run,
        bytes_before: bytes,
        bytes_after: bytes,
        ..DeleteOutcome::default()
    }
}

/// Reads what else a store holds; what cannot be read is not named.
fn with_store(context: &Context, dir: &Path, pinned_count: usize) -> DeletedWithStore {
    let Ok(Some(store)) = Store::open(dir.to_path_buf()) else {
        return DeletedWithStore::default();
    };
    let holds = active_holds(context, &store, &mut Vec::new());
    let remotes = remotes::read(store.layout()).unwrap_or_default();
    DeletedWithStore {
        pinned_count,
        open_workflows: (context.workflows.open)(&store),
        hold_names: holds.into_iter().map(|hold| hold.name).collect(),
        remote_names: remotes.into_iter().map(|remote| remote.name).collect(),
    }
}

/// Reads what can be read of a possibly damaged store.
fn read(dir: &Path) -> Option<Inventory> {
    Store::open(dir.to_path_buf()).ok()??.inventory().ok()
}

/// Refuses a store of a newer format, and without `--force` one that a restore still needs.
fn refuse(layout: &Layout, options: &DeleteOptions, checkpoints: &Line) -> Result<()> {
    refuse_newer(layout)?;
    if layout.journal().symlink_metadata().is_err() {
        return Ok(());
    }
    let journal = journal::read(layout);
    let unreadable = !matches!(journal, Ok(JournalState::None | JournalState::Open(_)));
    let journal = match journal {
        Ok(JournalState::Open(journal)) if journal.stage != JournalStage::Applying => {
            JournalState::None
        }
        Ok(state) => state,
        Err(_) => JournalState::Unreadable,
    };
    match session::pending(journal, checkpoints) {
        _ if options.force => Ok(()),
        Some(pending) => Err(pending.refusal()),
        None if unreadable => {
            let why =
                "an interrupted restore may need this store; --force deletes it anyway".to_owned();
            Err(Error::damaged("the journal of an interrupted restore", why))
        }
        None => Ok(()),
    }
}
