//! The facts in contracts: those of a checkpoint are read back from the store after it was made, those
//! of a restore from the directory; never assumed.

use std::path::PathBuf;

use crate::error::Result;
use crate::model::state::entry::git_mode;
use crate::model::{
    Checkpoint, CheckpointType, Kind, Meta, RelPath, RestoreScope, Snapshot, StateDocument, Verb,
    WhyNot,
};
use crate::ops::capture::present::read_through;
use crate::ops::restore::commands::restore;
use crate::ops::{
    Context, CreateOutcome, DatabaseFate, RestoreOptions, RestoreOutcome, TypedWords,
};
use crate::store::trees::digest::{self, ContentSink, Facts};
use crate::store::{CheckpointExtras, Extras, ReadFailure, Sum};
use crate::worktree::git::find_index;
use crate::worktree::{ReadOutcome, WorkTree};

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

/// Proven facts about a restore.
#[derive(Debug)]
pub struct RestoreContract {
    /// Digest of the checkpoint's content within the scope of the restore.
    pub expected: Result<String, ReadFailure>,
    /// Digest of the same paths as they are now.
    pub actual: Result<String, ReadFailure>,
    /// The checkpoint holds values and no file: nothing was rolled back.
    pub is_values_alone: bool,
}

impl RestoreContract {
    pub fn is_match(&self) -> bool {
        matches!((&self.expected, &self.actual), (Ok(expected), Ok(actual)) if expected == actual)
    }
}

/// # Errors
/// The store cannot be opened, or the checkpoint's trees cannot be read. Other failures are facts
/// of the contract.
pub fn of_restore(context: &Context, outcome: &RestoreOutcome) -> Result<RestoreContract> {
    let store = context.require_store()?;
    let target = &outcome.target;
    let record = &target.record;
    let within = match outcome.verb {
        // The safety checkpoint holds everything; the step was of a scope.
        Verb::Undo | Verb::Redo => record.operation.as_ref().and_then(|of| of.within.clone()),
        _ => record.terms.scope.clone(),
    };
    let scope = RestoreScope {
        paths: outcome.paths.clone(),
        within,
        filter: outcome.filter.clone(),
        ..RestoreScope::default()
    };
    let (mut snapshot, extras) = (store.snapshot(target)?, store.extras(target)?);
    snapshot.retain(&|path| scope.covers(path));
    let expected = digest::sum(store.objects(), &snapshot, &extras).map(|sum| sum.hash);
    if extras.state_document.is_some() && snapshot.files.is_empty() && extras.databases.is_none() {
        let actual = Err("there is nothing to compare: values are not written to files".into());
        return Ok(RestoreContract {
            expected,
            actual,
            is_values_alone: true,
        });
    }
    let worktree = WorkTree::open_root(&context.root)?;
    let on_disk = snapshot.files.iter().map(|(path, entry)| {
        let found = read_facts(&worktree, path, entry.kind);
        (path, found.map_err(|why| format!("{path}: {why}").into()))
    });
    let is_as_then = |fate| !matches!(fate, &DatabaseFate::Planned | &DatabaseFate::Failed(_));
    let mut databases = outcome.databases.iter();
    let other_database = databases.find(|one| !is_as_then(&one.fate));
    let actual = match (other_database, outcome.plan.unreadable.first_key_value()) {
        (Some(one), _) => Err(format!("database {} differs", one.database).into()),
        (_, Some((path, why))) => Err(format!("{path} stays: {}", why.in_words()).into()),
        (None, None) => digest::sum_of(store.objects(), on_disk, &extras).map(|sum| sum.hash),
    };
    Ok(RestoreContract {
        expected,
        actual,
        is_values_alone: false,
    })
}

/// Returns the values of the restored checkpoint as given; only scoped checkpoints have any.
///
/// # Errors
/// The values cannot be read.
pub fn values(context: &Context, outcome: &RestoreOutcome) -> Result<Option<String>> {
    if !outcome.target.is_scoped() {
        return Ok(None);
    }
    let store = context.require_store()?;
    let Some(id) = store.extras(&outcome.target)?.state_document else {
        return Ok(None);
    };
    let damaged = |why| store.damage(outcome.target.id, format!("its values: {why}"));
    let (_, bytes) = store.objects().read(&id).map_err(damaged)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads one path in the directory: its git mode and content.
fn read_facts(
    worktree: &WorkTree,
    path: &RelPath,
    kind: Kind,
) -> Result<(u32, Facts), ReadFailure> {
    let fresh = |_| Some(ContentSink::default());
    let read = read_through(worktree, path, kind, &fresh);
    let (read, sink) = read.map_err(|error| error.to_string())?;
    match read {
        ReadOutcome::Captured { stat, kind, .. } => {
            let facts = sink.ok_or("nothing was read")?.finish();
            Ok((git_mode(kind, stat.perm()), facts))
        }
        ReadOutcome::Vanished | ReadOutcome::NotAFile => Err("it is not a file any more".into()),
        ReadOutcome::Unreadable(why) => Err(why.into()),
        ReadOutcome::Refused(why) => Err(why.in_words().into()),
    }
}
