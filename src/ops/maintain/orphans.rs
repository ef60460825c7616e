//! `prune --orphaned`: removes stores whose root is gone, and the damaged copies that repairs kept.

use crate::error::{Error, Result};
use crate::model::json::{JsonSchema, Serialize};
use crate::ops::find_root::projects;
use crate::ops::maintain::stores;
use crate::ops::{Context, KnownStore, RootState, Warning};
use crate::store::lifecycle::description::refuse_newer;
use crate::store::lifecycle::removal;
use crate::store::{Layout, StoreRemoval};

/// What became of the stores of roots that are gone.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct OrphansOutcome {
    /// Stores that were removed, or would be in a dry run.
    pub removed: Vec<KnownStore>,
    /// Orphaned stores that stay.
    pub left: Vec<LeftStore>,
    pub dry_run: bool,
    /// Of those that are left.
    #[serde(skip)]
    pub failures: Vec<Error>,
}

/// A store that could not be removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftStore {
    #[serde(flatten)]
    pub known: KnownStore,
    pub why: String,
}

/// Removes orphaned stores with the consent of the user.
pub fn prune_orphaned(
    context: &Context,
    dry_run: bool,
    consent: impl FnOnce(&[KnownStore]) -> Result<()>,
) -> Result<(OrphansOutcome, Vec<Warning>)> {
    let mut orphans = stores::all(context)?;
    orphans.retain(is_orphan);
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    let mut outcome = OrphansOutcome {
        dry_run,
        ..OrphansOutcome::default()
    };
    if dry_run {
        outcome.removed = orphans;
        return Ok((outcome, warnings));
    }
    if !orphans.is_empty() {
        consent(&orphans)?;
    }
    for orphan in orphans {
        match remove(context, &orphan) {
            Ok(()) => outcome.removed.push(orphan),
            Err(failure) => {
                let why = failure.to_string();
                outcome.left.push(LeftStore { known: orphan, why });
                outcome.failures.push(failure);
            }
        }
    }
    warnings.extend(clear_leftovers(context)?);
    Ok((outcome, warnings))
}

fn is_orphan(store: &KnownStore) -> bool {
    store.kept_copy || store.root_state == RootState::Gone
}

/// Removes one store. Under the lock, checks again that the root is gone: it may have come back.
fn remove(context: &Context, orphan: &KnownStore) -> Result<()> {
    let removal = if orphan.kept_copy {
        StoreRemoval::of_copy(&orphan.store)?
    } else {
        StoreRemoval::of_store(&orphan.store, context.lock_wait, &context.holder)?
    };
    let Some(removal) = removal else {
        return Ok(());
    };
    refuse_newer(&Layout::new(orphan.store.clone()))?;
    if !stores::read_store(orphan.store.clone()).is_some_and(|now| is_orphan(&now)) {
        let root = orphan.root.clone().unwrap_or_default();
        return Err(Error::unexpected(format!(
            "{} is there again",
            root.display()
        )));
    }
    removal.detach()?.remove()
}

/// Removes what killed deletions of any store left behind.
fn clear_leftovers(context: &Context) -> Result<Vec<Warning>> {
    let projects = projects(&context.base)?.into_iter();
    let failures = projects
        .filter_map(|project| removal::clear_leftovers(&project.join("checkpoints"), None).err());
    let warning = |e| Warning::bookkeeping("removing what an earlier deletion left")(e);
    Ok(failures.map(warning).collect())
}
