//! `relink`: gives a moved project the checkpoints of its old location.

use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Instead, Result};
use crate::model::Line;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::ops::maintain::moved;
use crate::ops::maintain::stores;
use crate::ops::open_store::{open_usable, refuse_below_top};
use crate::ops::{Context, Moved, RootEvidence, Warning, session};
use crate::store::layout::store_dir;
use crate::store::lifecycle::relocate;
use crate::store::{Description, Inventory, Layout, Store, StoreRemoval};
use crate::worktree::Root;
use crate::worktree::root::identity;

#[derive(Clone, Debug, Default)]
pub struct RelinkOptions {
    /// Old location of the project, absolute.
    pub old_root: PathBuf,
    /// The same as it was named, since a path of another system cannot be made absolute.
    pub as_given: PathBuf,
    pub yes: bool,
    pub dry_run: bool,
}

/// Asks the user for consent. An error ends the command: no terminal, or the answer was no.
pub type RelinkConsent<'c> = dyn FnMut(&RelinkOutcome) -> Result<()> + 'c;

/// The checkpoints that were taken over, or will be.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelinkOutcome {
    #[serde(serialize_with = "json::path")]
    pub old_root: PathBuf,
    #[serde(serialize_with = "json::path")]
    pub root: PathBuf,
    /// Where the store is from now on.
    #[serde(serialize_with = "json::path")]
    pub store: PathBuf,
    /// Number of checkpoints that were taken over.
    pub checkpoint_count: usize,
    /// Number of checkpoints that this directory had before.
    pub already_here: usize,
    /// What says that it is the same project.
    pub likeness: RootEvidence,
    pub dry_run: bool,
}

/// A relink and its warnings.
type Relinked = (RelinkOutcome, Vec<Warning>);

const BELOW_TOP: &str = "nothing was changed; 'checkpoint -C {} relink OLD-PATH' acts on all of it, 'checkpoint --here relink OLD-PATH' on this directory";

/// Takes the checkpoints of the old root over, as an import does, then removes its store.
///
/// # Errors
/// There is no such store, it is still needed there, or the histories would be mixed; the user says
/// no; or a file cannot be written: then both stores are whole.
pub fn relink(
    context: &Context,
    options: &RelinkOptions,
    consent: &mut RelinkConsent<'_>,
) -> Result<Relinked> {
    refuse_below_top(context, BELOW_TOP)?;
    let root = context.root.path();
    let Some(my_identity) = context.root.identity() else {
        return Err(Error::root_missing(root));
    };
    let here = context.find_store()?;
    let moved = find(context, options, here.as_ref().map(Store::dir))?;
    let present = here.as_ref().map(Store::inventory).transpose()?;
    let present = present.unwrap_or_default().checkpoints;
    let in_place = here.filter(|store| store.dir() == moved.store && moved.old_root != root);
    let outcome = RelinkOutcome {
        old_root: moved.old_root.clone(),
        root: root.to_path_buf(),
        store: context.store_dir()?,
        checkpoint_count: moved.checkpoints,
        already_here: in_place.as_ref().map_or(present.len(), |_| 0),
        likeness: moved.by,
        dry_run: options.dry_run,
    };
    if in_place.is_none() {
        refuse_place(&moved, my_identity)?;
        refuse_mixing(&moved, &present)?;
    }
    if options.dry_run {
        return Ok((outcome, Vec::new()));
    }
    if let Some(store) = in_place {
        // Taking the lock updates the description.
        return Ok((outcome, session::begin(context, &store)?.warnings));
    }
    if !options.yes {
        consent(&outcome)?;
    }
    let warnings = carry_out(context, &moved)?;
    Ok((outcome, warnings))
}

fn carry_out(context: &Context, moved: &Moved) -> Result<Vec<Warning>> {
    let old = Store::open(moved.store.clone())?
        .ok_or_else(|| Error::no_store(&moved.old_root, &Instead::OtherStore))?;
    let is_forced = old.description()?.is_some_and(|known| known.forced);
    let here = open_usable(context, is_forced)?;
    let mut session = session::begin(context, &here)?;
    if let Some(pending) = &session.pending {
        return Err(pending.refusal());
    }
    let old = old.lock(context.lock_wait(), &context.holder)?;
    relocate::take_over(&session.locked, &old)?;
    let removed = StoreRemoval::of_locked(old).detach()?.remove();
    let mut warnings = std::mem::take(&mut session.warnings);
    let left = removed.err();
    warnings.extend(left.map(Warning::bookkeeping(
        "removing the store that was taken over",
    )));
    drop(session);
    // Bring the manifest and `main` up to date with what came from the other store.
    session::begin(context, &here)?.locked.write_derived()?;
    Ok(warnings)
}

/// Finds the store of the old root, by the path's hash or by a description. `here` is chosen only
/// if there is no other.
fn find(context: &Context, options: &RelinkOptions, here: Option<&Path>) -> Result<Moved> {
    let old_root = &options.old_root;
    let resolved = Root::resolve(old_root, None)
        .map_or_else(|_| old_root.clone(), |root| root.path().to_path_buf());
    let paths = [old_root, &resolved, &options.as_given];
    let places = paths.map(|path| store_dir(&context.base, path));
    let described = |place: &Path| {
        Description::read(&Layout::new(place.to_path_buf()))
            .ok()??
            .root_path()
    };
    let named = |place: &PathBuf| {
        described(place).is_some_and(|root| paths.contains(&&root)) || places.contains(place)
    };
    let mut found: Vec<PathBuf> = stores::places(context)?.into_iter().filter(named).collect();
    if found.len() > 1 {
        found.retain(|place| here != Some(place));
    }
    let [store] = found.as_slice() else {
        return Err(Error::no_store(&resolved, &Instead::OtherStore));
    };
    let store = store.clone();
    if let Some(moved) = moved::find_without_capture(context)?
        .into_iter()
        .find(|moved| moved.store == store && moved.top.is_none())
    {
        return Ok(moved);
    }
    let inventory = inventory_of(&store)?;
    Ok(Moved {
        old_root: described(&store).unwrap_or(resolved),
        checkpoints: inventory.checkpoints.regular_count(),
        last_sequence: inventory
            .newest()
            .map_or(0, |newest| newest.record.sequence),
        store,
        top: None,
        by: RootEvidence::Nothing,
    })
}

/// Refuses if the old root still exists: its checkpoints are its own.
fn refuse_place(moved: &Moved, my_identity: (u64, u64)) -> Result<()> {
    let old = moved.old_root.display();
    let now_there = identity(&moved.old_root);
    if now_there == Some(my_identity) {
        return Err(refused(format!("{old} is this same directory")));
    }
    if now_there.is_some() && moved.by != RootEvidence::Directory {
        return Err(refused(format!(
            "{old} still exists and needs its checkpoints"
        )));
    }
    Ok(())
}

/// Refuses to interleave two histories: all checkpoints here must be newer than those there, but for
/// those that an interrupted attempt copied.
fn refuse_mixing(moved: &Moved, here: &Line) -> Result<()> {
    let there = inventory_of(&moved.store)?.checkpoints;
    let first = here.iter().find(|c| !there.holds(c.id));
    let last = there.rev().find(|c| !here.holds(c.id));
    if first
        .zip(last)
        .is_none_or(|(first, last)| last.record.sequence < first.record.sequence)
    {
        return Ok(());
    }
    let old = moved.old_root.display();
    Err(refused(format!(
        "this directory has checkpoints of its own that are no continuation of those of {old}; \
         'checkpoint delete --all' would clear the place"
    )))
}

fn inventory_of(store: &Path) -> Result<Inventory> {
    Ok(Store::open(store.to_path_buf())?
        .map(|store| store.inventory())
        .transpose()?
        .unwrap_or_default())
}

fn refused(why: String) -> Error {
    Error::new(Code::RELINK_REFUSED, why)
        .advise("nothing was changed; 'checkpoint list --all' shows every store")
}
