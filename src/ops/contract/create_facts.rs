//! The facts in a checkpoint's contract: read back from the store after it was made, never assumed.

use std::path::PathBuf;

use crate::error::Result;
use crate::model::{Checkpoint, CheckpointType, Meta, RelPath, Snapshot, StateDocument, WhyNot};
use crate::ops::restore::commands::restore;
use crate::ops::{Context, CreateOutcome, RestoreOptions, TypedWords};
use crate::store::trees::digest;
use crate::store::{CheckpointExtras, Extras, ReadFailure, Sum};
use crate::worktree::WorkTree;
use crate::worktree::git::find_index;

const NS_PER_MS: i64 = 1_000_000;

/// Proven facts about a checkpoint.
#[derive(Debug)]
pub struct Contract<'o> {
    pub made: &'o CreateOutcome,
    pub checkpoint: &'o Checkpoint,
    /// As requested, or else the one that fits the content.
    pub checkpoint_type: CheckpointType,
    pub files: Vec<RelPath>,
    pub state_keys: Vec<String>,
    /// Digest of the content as read back, or why it could not be read.
    pub content: Result<Sum, ReadFailure>,
    /// Why a restore of this checkpoint would be refused now, if it would.
    pub restorable: Result<()>,
    /// Time of the latest change to a file in it, in milliseconds since 1970.
    pub last_modified_ms: Option<i64>,
    /// The files compared with the project's own git index; `None` if there is no readable one.
    pub index: Option<AgainstIndex>,
    /// Paths within its reach that exist but could not be captured, and why.
    pub unheld: Vec<(RelPath, String)>,
    /// Number of files and directories within its reach that rules left out.
    pub left_out: usize,
    /// The ref file that keeps it alive.
    pub ref_file: PathBuf,
}

/// Comparison with the index of the project's own repository, which is only read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgainstIndex {
    pub untracked: usize,
    /// Tracked files whose content differs from the index.
    pub differing: usize,
}

/// Returns the contract of the checkpoint that a `create` made or reused; `None` if there is none.
///
/// # Errors
/// The store cannot be opened. Damage is a fact of the contract.
pub fn of_create<'o>(context: &Context, made: &'o CreateOutcome) -> Result<Option<Contract<'o>>> {
    let Some(checkpoint) = &made.checkpoint else {
        return Ok(None);
    };
    let store = context.require_store()?;
    let snapshot = store.snapshot(checkpoint)?;
    let CheckpointExtras { meta, extras } = store.meta_and_extras(checkpoint)?;
    let index = against_index(context, &snapshot);
    let asked_for = checkpoint.record.terms.checkpoint_type;
    let document = extras.state_document;
    let document = document.and_then(|id| store.objects().read(&id).ok());
    let keys = document.map(|(_, bytes)| StateDocument::keys_of(&bytes));
    let refs = store.layout().refs().join("checkpoints");
    Ok(Some(Contract {
        made,
        checkpoint,
        checkpoint_type: asked_for.unwrap_or_else(|| fitting(index, &snapshot, &extras)),
        state_keys: keys.unwrap_or_default(),
        content: match made.content.clone() {
            Some(sum) => Ok(sum),
            None => digest::sum(store.objects(), &snapshot, &extras),
        },
        restorable: dry_run(context, checkpoint),
        last_modified_ms: last_modified(context, &snapshot),
        index,
        unheld: unheld(&meta),
        left_out: made.left_out.directories.len() + made.left_out.files.len(),
        ref_file: refs.join(checkpoint.id.to_hex()),
        files: snapshot.files.into_keys().collect(),
    }))
}

/// Returns the type that fits: without files by the other content; a stash only if git tracks
/// all files.
fn fitting(index: Option<AgainstIndex>, snapshot: &Snapshot, extras: &Extras) -> CheckpointType {
    let is_empty = snapshot.files.is_empty();
    match index {
        _ if is_empty && extras.databases.is_some() => CheckpointType::DatabaseSavepoint,
        _ if is_empty && extras.state_document.is_some() => CheckpointType::StateSnapshot,
        Some(AgainstIndex { untracked: 0, .. }) if !is_empty => CheckpointType::GitStash,
        _ => CheckpointType::FileBackup,
    }
}

/// Plans a restore without showing it, to learn whether it would be refused.
fn dry_run(context: &Context, checkpoint: &Checkpoint) -> Result<()> {
    let mut options = RestoreOptions {
        words: TypedWords::of_checkpoint(checkpoint.alias()),
        ..RestoreOptions::default()
    };
    options.common.dry_run = true;
    restore(context, &options, &mut |_| Ok(())).map(drop)
}

fn last_modified(context: &Context, snapshot: &Snapshot) -> Option<i64> {
    let worktree = WorkTree::open_root(&context.root).ok()?;
    let times = snapshot
        .files
        .keys()
        .filter_map(|path| worktree.stat(path).ok()?);
    times.map(|stat| stat.mtime_ns.div_euclid(NS_PER_MS)).max()
}

fn against_index(context: &Context, snapshot: &Snapshot) -> Option<AgainstIndex> {
    let blobs = find_index::blobs(context.root.path()).ok()??;
    let mut found = AgainstIndex::default();
    for (path, entry) in &snapshot.files {
        match blobs.get(path.as_bytes()) {
            None => found.untracked += 1,
            Some(id) if *id != entry.id => found.differing += 1,
            Some(_) => {}
        }
    }
    Some(found)
}

fn unheld(meta: &Meta) -> Vec<(RelPath, String)> {
    let told = |why: &WhyNot| match why {
        WhyNot::Unreadable(reason) => format!("cannot be read: {reason}"),
        why => why.in_words().to_owned(),
    };
    let unheld = meta.uncaptured.iter();
    unheld
        .map(|(path, entry)| (path.clone(), told(&entry.why)))
        .collect()
}
