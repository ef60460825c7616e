//! The facts in a restore's contract: the present content, compared with the checkpoint.

use crate::error::Result;
use crate::model::state::entry::git_mode;
use crate::model::{Kind, RelPath, RestoreScope};
use crate::ops::capture::present::read_through;
use crate::ops::{Context, DatabaseFate, RestoreOutcome};
use crate::store::ReadFailure;
use crate::store::trees::digest::{self, ContentSink, Facts};
use crate::worktree::{ReadOutcome, WorkTree};

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
    let within = target.record.terms.scope.clone();
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
