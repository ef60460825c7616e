//! Moved or renamed projects: finds the store of the old root by directory identity or by content;
//! `relink` gives the project the checkpoints of its old location.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::{Code, Error, Instead, More, Result};
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{Checkpoint, Line};
use crate::ops::capture::pipeline::{Sink, begin};
use crate::ops::maintain::stores;
use crate::ops::open_store::{open_usable, refuse_below_top};
use crate::ops::{CaptureOptions, Context, Warning, session};
use crate::store::layout::store_dir;
use crate::store::lifecycle::relocate;
use crate::store::{Description, Inventory, Layout, Store, StoreRemoval};
use crate::worktree::root::identity;
use crate::worktree::{Root, WorkTree};

/// A store whose root was, or may have been, this directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub old_root: PathBuf,
    /// The top of the repository around the root, if it is that which was moved.
    pub top: Option<PathBuf>,
    pub store: PathBuf,
    pub checkpoints: usize,
    /// The sequence number of the newest of these checkpoints.
    pub last_sequence: u64,
    pub by: RootEvidence,
}

/// Evidence that the store belongs to this root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RootEvidence {
    /// The same directory, by device and inode.
    Directory,
    /// The root holds exactly what the newest checkpoint holds.
    Content,
    Nothing,
}

impl Moved {
    pub fn warning(&self) -> Warning {
        let (old_root, checkpoints) = (self.old_root.clone(), self.checkpoints);
        match self.top.clone() {
            Some(top) => Warning::TopMoved {
                old_root,
                top,
                checkpoints,
            },
            None => Warning::ProjectMoved {
                old_root,
                checkpoints,
            },
        }
    }
}

/// Adds to a failure for want of a store that the directory was moved, if it was.
pub fn named_in(context: &Context, error: Error) -> Error {
    let lacks_store = matches!(error.more, More::NoStoreYet)
        || error.code == Code::UNGUARDED
        || error.code.name == "no_workflow";
    if !lacks_store || !matches!(context.find_store(), Ok(None)) {
        return error;
    }
    let found = find_without_capture(context).unwrap_or_default();
    for moved in &found {
        context.pending_warnings.add(moved.warning());
    }
    match found.into_iter().next() {
        Some(moved) if moved.top.is_none() && matches!(error.more, More::NoStoreYet) => {
            Error::no_store(context.root.path(), &Instead::Former(moved.old_root))
        }
        _ => error,
    }
}

/// Looks for stores that may be this root's. `holds` tells whether the root holds exactly what a
/// checkpoint holds.
///
/// # Errors
/// The folder of the stores cannot be read. A store that cannot be read is skipped.
pub fn find_moved_stores(
    context: &Context,
    holds: &mut dyn FnMut(&Checkpoint) -> Result<bool>,
) -> Result<Vec<Moved>> {
    let mut found = Vec::new();
    let places = stores::places(context)?;
    for place in &places {
        let Some((moved, newest)) = candidate(context.root.path(), place) else {
            continue;
        };
        let by = match moved.by {
            RootEvidence::Nothing if newest.record.files > 0 && holds(&newest)? => {
                RootEvidence::Content
            }
            by => by,
        };
        if by != RootEvidence::Nothing {
            found.push(Moved { by, ..moved });
        }
    }
    let top = context.root_search().repository_top(context.root.path());
    if let Some(top) = top.filter(|_| found.is_empty() && !context.is_named) {
        let of_top = places.iter().filter_map(|place| candidate(&top, place));
        let of_top = of_top.map(|(moved, _)| moved);
        let of_top = of_top.filter(|moved| moved.by == RootEvidence::Directory);
        let top = Some(top.clone());
        found.extend(of_top.map(|moved| Moved {
            top: top.clone(),
            ..moved
        }));
    }
    Ok(found)
}

/// Like [`find_moved_stores`], for a command that has not captured the root: scans it, and reads files only if
/// the counts agree.
///
/// # Errors
/// As [`find_moved_stores`], and failures of the scan.
pub fn find_without_capture(context: &Context) -> Result<Vec<Moved>> {
    if !context.root.exists() {
        return Ok(Vec::new());
    }
    // An unreadable one is found by its identity alone.
    let worktree = WorkTree::open_root(&context.root).ok();
    let options = CaptureOptions {
        limit_files: Some(context.settings.max_files).filter(|limit| *limit > 0),
        ..CaptureOptions::default()
    };
    let mut scanned = None;
    find_moved_stores(context, &mut |newest| {
        if let (None, Some(worktree)) = (&scanned, &worktree) {
            scanned = match begin(context, None, worktree, &options) {
                Err(error) if matches!(error.more, More::TooManyFiles { .. }) => Some(None),
                begun => Some(Some(begun?)),
            };
        }
        let Some(Some(capturing)) = &mut scanned else {
            return Ok(false);
        };
        let found = capturing.listing();
        let record = &newest.record;
        if (found.file_count() as u64, found.content_bytes())
            != (record.files, record.content_bytes)
        {
            return Ok(false);
        }
        capturing.read(&mut Sink::HashOnly)?;
        Ok(capturing.tree(&mut Sink::HashOnly)? == newest.tree)
    })
}

/// Returns what is known of a store and its newest checkpoint; `None` if another root's, or empty.
fn candidate(root: &Path, place: &Path) -> Option<(Moved, Checkpoint)> {
    let description = Description::read(&Layout::new(place.into())).ok()??;
    let old_root = description.root_path().filter(|old| old != root)?;
    let now_there = identity(&old_root);
    let mine = identity(root)?;
    let same_inode = description.identity.root == mine && now_there != Some(mine);
    if !same_inode && now_there.is_some() {
        return None;
    }
    let inventory = Store::open(place.into()).ok()??.inventory().ok()?;
    let newest = inventory.newest()?.clone();
    let same = same_inode && !born_after(root, newest.record.time_ms);
    let moved = Moved {
        old_root,
        top: None,
        store: place.into(),
        checkpoints: inventory.checkpoints.regular_count(),
        last_sequence: newest.record.sequence,
        by: if same {
            RootEvidence::Directory
        } else {
            RootEvidence::Nothing
        },
    };
    (same || now_there.is_none()).then_some((moved, newest))
}

/// Whether the directory is younger than a checkpoint and so not its root: inodes are reused.
fn born_after(root: &Path, time_ms: i64) -> bool {
    let born = std::fs::metadata(root)
        .and_then(|found| found.created())
        .ok();
    let born = born.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    born.is_some_and(|age| i64::try_from(age.as_millis()).is_ok_and(|born_ms| born_ms > time_ms))
}

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
    if let Some(moved) = find_without_capture(context)?
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
