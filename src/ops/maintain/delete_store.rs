//! `delete --all`: removes the whole store of this root, readable or not.

use std::path::Path;

use crate::base::text::escape_path;
use crate::error::{Code, CommandWords, Error, Result, Sentence};
use crate::model::Line;
use crate::ops::contract::hold::active_holds;
use crate::ops::maintain::delete::DeletionConsent;
use crate::ops::{
    Context, DeleteOptions, DeleteOutcome, DeletedWithStore, ToDelete, Warning, session,
};
use crate::store::gc::disk_usage::bytes_below;
use crate::store::lifecycle::description::refuse_newer;
use crate::store::lifecycle::ownership;
use crate::store::lifecycle::removal;
use crate::store::small_files::journal;
use crate::store::transfer::remotes;
use crate::store::{Inventory, JournalStage, JournalState, Layout, Store, StoreRemoval, lock};

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
    if !lock::is_held(&layout.lock()) {
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
