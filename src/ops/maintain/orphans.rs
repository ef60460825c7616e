//! `prune --orphaned`: removes stores whose root is gone, and the damaged copies that repairs kept.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::ops::context::{Context, projects};
use crate::ops::maintain::stores::{self, KnownStore, RootState};
use crate::ops::warning::Warning;
use crate::store::layout::Layout;
use crate::store::lifecycle::description::{STORE_FORMAT, format_of};
use crate::store::lifecycle::removal::{self, StoreRemoval};

/// Shows what would be removed and asks for consent. An error ends the command.
pub type OrphanConsent<'c> = dyn FnMut(&[KnownStore]) -> Result<()> + 'c;

#[derive(Debug)]
pub struct OrphansOutcome {
    /// Stores that were removed, or would be in a dry run.
    pub removed: Vec<KnownStore>,
    /// Stores that could not be removed, and why.
    pub left: Vec<(KnownStore, Error)>,
    pub dry_run: bool,
    pub warnings: Vec<Warning>,
}

pub fn prune_orphaned(
    context: &Context,
    yes: bool,
    dry_run: bool,
    consent: &mut OrphanConsent<'_>,
) -> Result<OrphansOutcome> {
    let is_orphan = |store: &KnownStore| store.kept_copy || store.root_state == RootState::Gone;
    let orphans: Vec<KnownStore> = stores::all(context)?
        .into_iter()
        .filter(is_orphan)
        .collect();
    let warnings = context.settings.remarks.iter().map(Warning::from).collect();
    let mut outcome = OrphansOutcome {
        removed: Vec::new(),
        left: Vec::new(),
        dry_run,
        warnings,
    };
    if dry_run {
        outcome.removed = orphans;
        return Ok(outcome);
    }
    if !orphans.is_empty() && !yes {
        consent(&orphans)?;
    }
    for orphan in orphans {
        match remove(context, &orphan) {
            Ok(()) => outcome.removed.push(orphan),
            Err(e) => outcome.left.push((orphan, e)),
        }
    }
    outcome.warnings.extend(clear_leftovers(context)?);
    Ok(outcome)
}

/// Removes one store. Under the lock, checks again that the root is gone: it may have come back.
fn remove(context: &Context, orphan: &KnownStore) -> Result<()> {
    let removal = if orphan.kept_copy {
        StoreRemoval::of_copy(&orphan.dir)?
    } else {
        StoreRemoval::of_store(&orphan.dir, context.lock_wait, &context.holder)?
    };
    let Some(removal) = removal else {
        return Ok(());
    };
    if let Some(found) =
        format_of(&Layout::new(orphan.dir.clone())).filter(|found| *found > STORE_FORMAT)
    {
        return Err(Error::StoreTooNew {
            store: orphan.dir.clone(),
            found,
            supported: STORE_FORMAT,
        });
    }
    let still = |now: KnownStore| now.kept_copy || now.root_state == RootState::Gone;
    if !stores::read_store(orphan.dir.clone()).is_some_and(still) {
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
    let folders: Vec<PathBuf> = projects(&context.base)?
        .iter()
        .map(|project| project.join("checkpoints"))
        .collect();
    let failures = folders
        .iter()
        .filter_map(|folder| removal::clear_leftovers(folder, None).err());
    Ok(failures
        .map(|e| Warning::bookkeeping("removing what an earlier deletion left")(e))
        .collect())
}
