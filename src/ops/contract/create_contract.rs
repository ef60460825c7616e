//! The facts behind the contract of a checkpoint: read back from the store after it was made, never assumed.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::terms::CheckpointType;
use crate::model::state::database::Database;
use crate::model::state::entry::WhyNot;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::snapshot::Snapshot;
use crate::model::state::state_document::StateDocument;
use crate::ops::context::Context;
use crate::ops::create::command::CreateOutcome;
use crate::ops::create::copies::Copies;
use crate::ops::restore::commands::{RestoreOptions, restore};
use crate::ops::restore::restore_options::CommonOptions;
use crate::store::repository::Store;
use crate::store::trees::digest::{self, Sum};
use crate::store::trees::meta_tree::CheckpointExtras;
use crate::worktree::git::find_index;
use crate::worktree::tree_handle::WorkTree;

const NS_PER_MS: i64 = 1_000_000;

/// What can be said of a checkpoint with proof.
#[derive(Debug)]
pub struct Contract {
    pub checkpoint: Checkpoint,
    /// As asked for, or the one that fits what it holds.
    pub mechanism: CheckpointType,
    pub files: Vec<RelPath>,
    pub state_keys: Vec<String>,
    pub databases: Vec<Database>,
    /// What was read back, or why it could not be.
    pub content: std::result::Result<Sum, String>,
    /// Why a restore of it would be refused now, if it would.
    pub restorable: std::result::Result<(), String>,
    /// The youngest change of a file in it, in milliseconds since 1970.
    pub last_modified_ms: Option<i64>,
    /// What the project's own git index says of the files; `None` where there is none that can be read.
    pub index: Option<AgainstIndex>,
    /// Sensitive paths in its reach that were left out.
    pub secrets: Vec<RelPath>,
    /// Paths in its reach that are there and could not be captured, and why.
    pub unheld: Vec<(RelPath, String)>,
    /// One of them should have been captured.
    pub is_partial: bool,
    /// Files and directories in its reach that rules left out.
    pub left_out: usize,
    /// The file that keeps it alive.
    pub ref_file: PathBuf,
    /// Where plain copies lie, if any were made.
    pub copies: Option<PathBuf>,
    /// A reason was given.
    pub has_reason: bool,
}

/// Files compared with the index of the project's own repository, which is only read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgainstIndex {
    pub untracked: usize,
    /// Tracked, with other content than the index has.
    pub differing: usize,
}

/// The contract of what a `create` made, or found standing; `None` where there is no checkpoint.
///
/// # Errors
/// The store cannot be opened. Damage is a fact of the contract.
pub fn of_create(context: &Context, outcome: &CreateOutcome, has_reason: bool) -> Result<Option<Contract>> {
    let Some(checkpoint) = outcome.checkpoint.clone() else { return Ok(None) };
    let store = context.require_store()?;
    let (snapshot, extras) = (store.snapshot(&checkpoint)?, store.extras(&checkpoint)?);
    let index = against_index(context, &snapshot);
    let sum = match outcome.content.clone() {
        Some(sum) => Ok(sum),
        None => digest::sum(store.objects(), &snapshot, &extras.beside),
    };
    let left_out = &outcome.left_out;
    Ok(Some(Contract {
        mechanism: checkpoint.record.terms.mechanism.unwrap_or_else(|| fitting(index, &snapshot, &extras)),
        state_keys: extras.beside.state.map(|id| keys(&store, id)).unwrap_or_default(),
        databases: outcome.databases.clone(),
        content: sum,
        restorable: dry_run(context, &checkpoint),
        last_modified_ms: last_modified(context, &snapshot),
        index,
        secrets: left_out.secrets.iter().cloned().collect(),
        unheld: unheld(&extras),
        is_partial: outcome.is_partial(),
        left_out: left_out.directories.len() + left_out.files.len(),
        ref_file: store.layout().refs().join("checkpoints").join(checkpoint.id.to_hex()),
        files: snapshot.files.into_keys().collect(),
        copies: match &outcome.copies {
            Some(Copies::Made(dir)) => Some(dir.clone()),
            _ => None,
        },
        has_reason,
        checkpoint,
    }))
}

/// Without files it is what else it holds; files that git tracks, all of them, could be a stash, any others not.
fn fitting(index: Option<AgainstIndex>, snapshot: &Snapshot, extras: &CheckpointExtras) -> CheckpointType {
    if snapshot.files.is_empty() {
        if extras.beside.databases.is_some() {
            return CheckpointType::DatabaseSavepoint;
        }
        if extras.beside.state.is_some() {
            return CheckpointType::StateSnapshot;
        }
    }
    match index {
        Some(AgainstIndex { untracked: 0, .. }) if !snapshot.files.is_empty() => CheckpointType::GitStash,
        _ => CheckpointType::FileBackup,
    }
}

fn keys(store: &Store, state: ObjectId) -> Vec<String> {
    store.objects().read(&state).map(|(_, bytes)| StateDocument::keys_of(&bytes)).unwrap_or_default()
}

/// A restore that is planned and shown to nobody.
fn dry_run(context: &Context, checkpoint: &Checkpoint) -> std::result::Result<(), String> {
    let common = CommonOptions { dry_run: true, ..CommonOptions::default() };
    let options = RestoreOptions { selector: alias::of(checkpoint), common, ..RestoreOptions::default() };
    restore(context, &options, &mut |_| Ok(())).map(drop).map_err(|error: Error| error.to_string())
}

fn last_modified(context: &Context, snapshot: &Snapshot) -> Option<i64> {
    let worktree = WorkTree::open(context.root.path()).ok()?;
    let times = snapshot.files.keys().filter_map(|path| worktree.stat(path).ok()?);
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

fn unheld(extras: &CheckpointExtras) -> Vec<(RelPath, String)> {
    let told = |why: &WhyNot| match why {
        WhyNot::Unreadable(reason) => format!("cannot be read: {reason}"),
        why => why.in_words().to_owned(),
    };
    extras.meta.uncaptured.iter().map(|(path, standing)| (path.clone(), told(&standing.why))).collect()
}
