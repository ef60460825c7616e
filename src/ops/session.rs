//! Locks the store for a change, reports what was recovered and clears leftovers of killed processes.

use crate::error::{Code, Error, Result};
use crate::model::{Line, ObjectId};
use crate::ops::{Context, Warning};
use crate::store::{
    Description, Inventory, Journal, JournalStage, JournalState, LockedStore, Store,
};
use crate::worktree::WorkTree;
use crate::worktree::apply::stage;

/// A restore that was interrupted after changes may have begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    pub target: ObjectId,
    pub safety: ObjectId,
    /// `None` if it cannot be read: the newest safety checkpoint gives target and safety checkpoint.
    pub journal: Option<Box<Journal>>,
}

impl Pending {
    /// Returns the failure of a command that has to wait for the end of this restore.
    pub fn refusal(&self) -> Error {
        let (target, safety) = (self.target.short(), self.safety.short());
        let what = format!("a restore to {target} (safety checkpoint {safety}) was interrupted");
        Error::new(Code::RESTORE_PENDING, what).advise(match self.journal {
            Some(_) => "'checkpoint restore --resume' finishes it, 'checkpoint undo' takes it back",
            None => "'checkpoint undo' takes it back",
        })
    }

    pub fn warning(&self) -> Warning {
        let (target, safety) = (self.target, self.safety);
        match self.journal {
            Some(_) => Warning::RestorePending { target, safety },
            None => Warning::JournalUnreadable,
        }
    }
}

/// The lock, and what was found once it was held.
pub struct Session<'s> {
    pub locked: LockedStore<'s>,
    pub pending: Option<Pending>,
    pub warnings: Vec<Warning>,
    /// Bytes that the checkpoints need, once an eviction for size was planned.
    pub needed_bytes: Option<u64>,
}

/// Locks the store and clears away a restore that was killed before it changed anything.
pub fn begin<'s>(context: &Context, store: &'s Store) -> Result<Session<'s>> {
    let mut locked = store.lock(context.lock_wait(), &context.holder)?;
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    let known = describe(context, store, &locked)?;
    warnings.extend(another_root(context, known.as_ref(), locked.inventory()));
    let (recovery, inventory) = (locked.recovery(), locked.inventory());
    let ids = recovery.refs_restored.clone();
    warnings.extend((!ids.is_empty()).then_some(Warning::RefsRestored { ids }));
    let count = recovery.adopted.len();
    warnings.extend((count > 0).then_some(Warning::Adopted { commits: count }));
    warnings.extend(Warning::bounded_times(inventory, &recovery.adopted));
    let is_rebuilt = recovery.manifest_rebuilt;
    warnings.extend(is_rebuilt.then_some(Warning::ManifestRebuilt));
    let count = recovery.indexes_rebuilt;
    warnings.extend((count > 0).then_some(Warning::IndexesRebuilt { packs: count }));
    let restored = recovery.workflows_restored.iter().cloned();
    warnings.extend(restored.map(|id| Warning::WorkflowRestored { id }));
    warnings.extend(Warning::damaged(&inventory.damaged));
    let pending = match locked.journal()? {
        JournalState::Open(journal) if journal.stage != JournalStage::Applying => {
            let target = journal.target;
            match clear_away(context, &mut locked, &journal) {
                Ok(()) if journal.stage == JournalStage::Preparing => {
                    warnings.push(Warning::RestoreNeverBegan { target });
                }
                Ok(()) => {}
                Err(e) => {
                    let step = "clearing away what a killed restore left";
                    warnings.push(Warning::bookkeeping(step)(e));
                }
            }
            None
        }
        journal => pending(journal, &locked.inventory().checkpoints),
    };
    warnings.extend(pending.as_ref().map(Pending::warning));
    Ok(Session {
        locked,
        pending,
        warnings,
        needed_bytes: None,
    })
}

/// Updates the store's description, or restores a missing one from the store's location. Device and
/// inode become today's, so that a moved directory is recognized. Returns the previous description.
pub fn describe(
    context: &Context,
    store: &Store,
    locked: &LockedStore<'_>,
) -> Result<Option<Description>> {
    let Some(identity) = context.identity() else {
        return Ok(None);
    };
    let fresh = Description::of_root(context.root.path(), context.now_ms, identity, false);
    let known = store.description()?;
    let described = match known.clone() {
        Some(known) => Description {
            root: fresh.root,
            identity: fresh.identity,
            ..known
        },
        None => fresh,
    };
    if known.as_ref() == Some(&described) {
        return Ok(known);
    }
    let is_hint = known.as_ref().is_some_and(|it| it.root == described.root);
    match locked.write_description(&described) {
        // Device and inode can wait until there is space, and must not block what frees it.
        Err(error) if is_hint && error.is_full() => Ok(known),
        written => written.map(|()| known),
    }
}

/// Whether the directory at the root's path is not the one its checkpoints were made of. Compares
/// inodes: a device number may change with each mount.
pub fn another_root(
    context: &Context,
    known: Option<&Description>,
    inventory: &Inventory,
) -> Option<Warning> {
    let (_, now) = context.root.identity()?;
    let known = known.filter(|known| known.names(context.root.path()))?;
    let (_, then) = known.identity.root;
    let checkpoints = inventory.checkpoints.regular_count();
    (!inventory.checkpoints.is_empty() && then != 0 && then != now)
        .then_some(Warning::AnotherRoot { checkpoints })
}

/// Returns the interrupted restore, as a reader without the lock sees it.
pub fn pending_unlocked(store: &Store, checkpoints: &Line) -> Result<Option<Pending>> {
    Ok(match store.journal()? {
        JournalState::Open(journal) if journal.stage != JournalStage::Applying => None,
        // The process that holds the lock may be carrying out that very restore.
        JournalState::Open(_) if store.is_locked() => None,
        state => pending(state, checkpoints),
    })
}

/// Interprets the state of the journal for a process that holds the lock.
pub fn pending(journal: JournalState, checkpoints: &Line) -> Option<Pending> {
    match journal {
        JournalState::None => None,
        JournalState::Open(journal) => Some(Pending {
            target: journal.target,
            safety: journal.safety,
            journal: Some(journal),
        }),
        JournalState::Unreadable => checkpoints.safeties().rev().find_map(|made| {
            Some(Pending {
                target: made.record.operation.as_ref()?.target,
                safety: made.id,
                journal: None,
            })
        }),
    }
}

/// Removes the staging directory of a restore that changed nothing yet, or everything; in the first
/// case also its safety checkpoint.
fn clear_away(context: &Context, locked: &mut LockedStore<'_>, journal: &Journal) -> Result<()> {
    if context.root.exists() {
        stage::remove_leftover(&WorkTree::open_root(&context.root)?, &journal.staging)?;
    }
    if journal.stage == JournalStage::Preparing {
        locked.drop_checkpoints(&[journal.safety])?;
    }
    locked.remove_journal()
}

/// Refuses a command that would have to wait for the end of an interrupted restore.
///
/// # Errors
/// There is one.
pub fn refuse_pending(context: &Context) -> Result<()> {
    let Some(store) = context.find_store()? else {
        return Ok(());
    };
    let pending = pending_unlocked(&store, &store.inventory()?.checkpoints)?;
    pending.map_or(Ok(()), |pending| Err(pending.refusal()))
}

/// Checkpoints that no policy drops: those of an interrupted restore, of open runs, and of processes
/// that go back to them.
pub fn needed(context: &Context, store: &Store, pending: Option<&Pending>) -> Vec<ObjectId> {
    let mut needed = (context.workflows.needed)(store);
    needed.extend(store.used());
    needed.extend(pending.into_iter().flat_map(|it| [it.target, it.safety]));
    needed
}
