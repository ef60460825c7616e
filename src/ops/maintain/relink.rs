//! `relink`: gives a moved project the checkpoints of its old location.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Instead, Result};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::json::{self, JsonSchema, Serialize};
use crate::ops::context::Context;
use crate::ops::maintain::moved::{self, Moved, RootEvidence};
use crate::ops::maintain::stores;
use crate::ops::open_store::refuse_below_top;
use crate::ops::session;
use crate::ops::warning::Warning;
use crate::store::layout::{Layout, store_dir};
use crate::store::lifecycle::description::Description;
use crate::store::lifecycle::relocate;
use crate::store::lifecycle::removal::{Detached, StoreRemoval};
use crate::store::refs::inventory::Inventory;
use crate::store::repository::Store;
use crate::worktree::root::{Root, identity};

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

impl RelinkOutcome {
    fn new(moved: &Moved, root: &Path, store: PathBuf, already_here: usize, dry_run: bool) -> Self {
        Self {
            old_root: moved.old_root.clone(),
            root: root.to_path_buf(),
            store,
            checkpoint_count: moved.checkpoints,
            already_here,
            likeness: moved.by,
            dry_run,
        }
    }
}

/// A relink and its warnings.
type Relinked = (RelinkOutcome, Vec<Warning>);

const BELOW_TOP: &str = "nothing was changed; 'checkpoint -C {} relink OLD-PATH' acts on all of it, 'checkpoint --here relink OLD-PATH' on this directory";

/// Maximum attempts when another process creates a store in the new location at the same moment.
const MOVE_TRIES: usize = 3;

pub fn relink(
    context: &Context,
    options: &RelinkOptions,
    consent: &mut RelinkConsent<'_>,
) -> Result<Relinked> {
    refuse_below_top(context, BELOW_TOP)?;
    let mut tries = 1;
    loop {
        match attempt(context, options, consent) {
            Err(error)
                if error.io_kind() == Some(ErrorKind::DirectoryNotEmpty) && tries < MOVE_TRIES =>
            {
                tries += 1;
            }
            done => return done,
        }
    }
}

fn attempt(
    context: &Context,
    options: &RelinkOptions,
    consent: &mut RelinkConsent<'_>,
) -> Result<Relinked> {
    let root = context.root.path();
    let Some(my_identity) = context.root.identity() else {
        return Err(Error::root_missing(root));
    };
    let here = context.find_store()?;
    let moved = find(context, options, here.as_ref().map(Store::dir))?;
    let present = here
        .as_ref()
        .map(Store::inventory)
        .transpose()?
        .unwrap_or_default()
        .checkpoints;
    if let Some(store) = here
        .as_ref()
        .filter(|store| store.dir() == moved.store && moved.old_root != root)
    {
        return finish(context, store, &moved, options.dry_run);
    }
    if let Some(store) = here
        .as_ref()
        .filter(|_| moved.old_root == root && !is_same_root(context, &options.old_root))
    {
        return finish_trade(context, store, moved, options.dry_run);
    }
    refuse_place(&moved, my_identity)?;
    refuse_mixing(&moved, &present)?;
    let place = here.as_ref().map_or_else(
        || store_dir(&context.base, root),
        |here| here.dir().to_path_buf(),
    );
    let outcome = RelinkOutcome::new(&moved, root, place, present.len(), options.dry_run);
    if options.dry_run {
        return Ok((outcome, Vec::new()));
    }
    if !options.yes {
        consent(&outcome)?;
    }
    let warnings = carry_out(context, &moved, &outcome, here.as_ref())?;
    Ok((outcome, warnings))
}

/// Finishes a move whose store is in place already: taking the lock updates a stale description.
fn finish(context: &Context, store: &Store, moved: &Moved, dry_run: bool) -> Result<Relinked> {
    let warnings = if dry_run {
        Vec::new()
    } else {
        session::begin(context, store)?.warnings
    };
    let (root, place) = (context.root.path(), store.dir().to_path_buf());
    Ok((RelinkOutcome::new(moved, root, place, 0, dry_run), warnings))
}

/// Whether the old path is this very root, so that there is nothing to take over.
fn is_same_root(context: &Context, old_root: &Path) -> bool {
    identity(old_root).is_some_and(|found| context.root.identity() == Some(found))
}

/// Finishes a trade of two stores: the one no longer needed lies in the old place. Its checkpoints
/// were copied before that, and are copied again to be sure.
fn finish_trade(context: &Context, here: &Store, moved: Moved, dry_run: bool) -> Result<Relinked> {
    let (root, place) = (context.root.path(), here.dir().to_path_buf());
    let outcome = RelinkOutcome::new(&moved, root, place, 0, dry_run);
    if dry_run {
        return Ok((outcome, Vec::new()));
    }
    let mut session = session::begin(context, here)?;
    if let Some(left) = Store::open(moved.store)? {
        let left = left.lock(context.lock_wait(), &context.holder)?;
        relocate::take_over(&session.locked, &left)?;
        StoreRemoval::of_locked(left).detach()?.remove()?;
    }
    let warnings = std::mem::take(&mut session.warnings);
    drop(session);
    session::begin(context, here)?.locked.write_derived()?;
    Ok((outcome, warnings))
}

/// Takes both locks, the one of the older history first.
fn carry_out(
    context: &Context,
    moved: &Moved,
    outcome: &RelinkOutcome,
    here: Option<&Store>,
) -> Result<Vec<Warning>> {
    let gone = || Error::no_store(&moved.old_root, &Instead::OtherStore);
    let old = Store::open(moved.store.clone())?.ok_or_else(gone)?;
    let locked = old.lock(context.lock_wait(), &context.holder)?;
    let identity = context.identity().unwrap_or_default();
    let new = Description::of_root(&outcome.root, context.now_ms, identity, false);
    let description = match old.description()? {
        Some(known) => Description {
            root: new.root,
            identity: new.identity,
            ..known
        },
        None => new,
    };
    let mut warnings: Vec<Warning> = context.settings.remarks.iter().map(Warning::from).collect();
    let mut leftover = None;
    if let Some(here) = here {
        let session = session::begin(context, here)?;
        if let Some(pending) = session.pending {
            return Err(pending.refusal());
        }
        relocate::take_over(&locked, &session.locked)?;
        leftover = relocate::trade(locked, session.locked, &description)?;
    } else {
        relocate::move_to(locked, &outcome.store, &description)?;
    }
    if let Some(Err(e)) = leftover.map(Detached::remove) {
        warnings.push(Warning::bookkeeping(
            "removing the store that was taken over",
        )(e));
    }
    // Bring the manifest and `main` up to date with what came from the other store.
    let taken = Store::open(outcome.store.clone())?.ok_or_else(gone)?;
    session::begin(context, &taken)?.locked.write_derived()?;
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

/// Refuses to interleave two histories: all checkpoints here must be newer than those there.
/// Checkpoints in both were copied by an interrupted attempt.
fn refuse_mixing(moved: &Moved, here: &[Checkpoint]) -> Result<()> {
    let Some(first) = here.first() else {
        return Ok(());
    };
    let there = inventory_of(&moved.store)?.checkpoints;
    let last = there
        .iter()
        .rev()
        .find(|c| !here.iter().any(|known| known.id == c.id));
    if last.is_none_or(|last| last.record.sequence < first.record.sequence) {
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
