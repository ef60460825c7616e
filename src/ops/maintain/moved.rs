//! Moved or renamed projects: finds the store of the old root by directory identity or by content.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::base::json::{JsonSchema, Serialize};
use crate::error::{Code, Error, Instead, More, Result};
use crate::model::Checkpoint;
use crate::ops::capture::pipeline::{Sink, begin};
use crate::ops::maintain::stores;
use crate::ops::{CaptureOptions, Context, Warning};
use crate::store::{Description, Layout, Store};
use crate::worktree::WorkTree;
use crate::worktree::root::identity;

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
