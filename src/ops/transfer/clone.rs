//! `clone`: the project of another machine, as its newest checkpoint has it.

use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result, Sentence};
use crate::model::json::{self, JsonSchema, Serialize};
use crate::model::{Checkpoint, Line};
use crate::ops::restore::commands;
use crate::ops::transfer::fetch::fetch;
use crate::ops::transfer::{bundle, remote};
use crate::ops::{CommonOptions, Context, GitLimits, RestoreOptions, TypedWords, Warning, session};
use crate::store::lifecycle::removal::Detached;
use crate::store::transfer::remotes;
use crate::store::{FetchedCheckpoints, Store, StoreRemoval};
use crate::worktree::apply::stage::STAGE_PREFIX;

/// A project that was cloned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CloneOutcome {
    #[serde(serialize_with = "json::path")]
    pub directory: PathBuf,
    /// Those of the new store, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// The one whose files are in the directory.
    pub restored: Checkpoint,
    /// Number of checkpoints that the next create will evict.
    pub to_be_evicted: usize,
}

/// Fetches everything into a new store, makes it the store's own, and restores the newest state.
/// The remote is `origin` afterwards. After a failure, the same call goes on.
///
/// # Errors
/// Those of `fetch` and `restore`, or the remote has no checkpoints.
pub fn clone(
    context: &Context,
    url: &str,
    here: &Path,
    limits: GitLimits,
) -> Result<(CloneOutcome, Vec<Warning>)> {
    let is_new = context.find_store()?.is_none();
    make_room(context, url, here)?;
    let (_, mut warnings) = remote::add(context, remote::USUAL, url, here)?;
    let fetched = bring(context, limits, &mut warnings).map_err(|why| {
        if is_new {
            remove_empty(context);
        }
        without_store(why, is_new)
    })?;
    let store = context.require_store()?;
    {
        let _shield = context.interrupt.shield();
        let session = session::begin(context, &store)?;
        session.locked.adopt_fetched(&fetched)?;
    }
    session::begin(context, &store)?.locked.write_derived()?;
    let mut restored = None;
    for checkpoint in newest_states(&fetched.checkpoints) {
        let options = RestoreOptions {
            words: TypedWords::of_checkpoint(checkpoint.id.to_hex()),
            common: CommonOptions {
                yes: true,
                evicts_nothing: true,
                ..CommonOptions::default()
            },
            ..RestoreOptions::default()
        };
        let outcome = commands::restore(context, &options, &mut |_| Ok(()))?;
        warnings.extend(outcome.warnings);
        restored = Some(outcome.target);
    }
    let restored = restored.ok_or_else(|| Error::unexpected("there is nothing to restore"))?;
    let outcome = CloneOutcome {
        directory: context.root.path().to_path_buf(),
        checkpoints: fetched.checkpoints.iter().cloned().collect(),
        restored,
        to_be_evicted: bundle::to_be_evicted(context, &session::begin(context, &store)?),
    };
    Ok((outcome, warnings))
}

/// Fetches what is there.
fn bring(
    context: &Context,
    limits: GitLimits,
    warnings: &mut Vec<Warning>,
) -> Result<FetchedCheckpoints> {
    let (_, more) = fetch(context, Some(remote::USUAL), false, false, limits)?;
    warnings.extend(more);
    let fetched = context.require_store()?.fetched(remote::USUAL)?;
    if fetched.checkpoints.iter().all(Checkpoint::is_safety) {
        let what = "there are no checkpoints at that remote";
        let hint = "a push from where they are brings them there";
        return Err(Error::new(Code::NOTHING_FOUND, what).advise(hint));
    }
    Ok(fetched)
}

/// Names a step that can be taken where no store is.
fn without_store(why: Error, is_new: bool) -> Error {
    if is_new && why.code == Code::DAMAGED {
        why.advise("nothing was cloned; a push from where it was made brings it again")
    } else {
        why
    }
}

/// Removes a store into which nothing came; one that stays does no harm.
fn remove_empty(context: &Context) {
    let is_empty = |store: &Store| {
        let fetched = remotes::fetched(store.layout(), remote::USUAL);
        let own = store.inventory();
        fetched.is_ok_and(|lines| lines.is_empty())
            && own.is_ok_and(|own| own.checkpoints.is_empty())
    };
    if let Ok(Some(store)) = context.find_store()
        && is_empty(&store)
        && let Ok(Some(removal)) =
            StoreRemoval::of_store(store.dir(), context.lock_wait, &context.holder)
    {
        let _ = removal.detach().map(Detached::remove);
    }
}

/// Names what completes an interrupted clone of this URL, if the store of the directory was made by one
/// and has only files to restore.
pub fn way_on(context: &Context, url: &str, here: &Path) -> Option<Sentence> {
    let known = remote::list(context).ok()?.remotes;
    let mut known = known.iter().filter(|one| one.name == remote::USUAL);
    known.find(|one| remote::is_url_of(one, url, here))?;
    let store = context.find_store().ok()??;
    let own = store.inventory().ok()?.checkpoints;
    let fetched = store.fetched(remote::USUAL).ok()?.checkpoints;
    let has_all = !fetched.is_empty() && fetched.iter().all(|c| own.holds(c.id));
    let is_pending = session::pending_unlocked(&store, &own).ok()?.is_some();
    let hint = if is_pending {
        "'checkpoint -C {} restore --resume' goes on where a clone was interrupted"
    } else {
        "'checkpoint -C {} restore latest --yes' goes on where a clone was interrupted"
    };
    let directory = context.root.path().as_os_str().as_encoded_bytes();
    has_all.then(|| Sentence::new(hint, &[&directory]))
}

/// Whether a directory has nothing but what a killed call left.
///
/// # Errors
/// It cannot be listed.
pub fn is_free(directory: &Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        if !name.as_encoded_bytes().starts_with(STAGE_PREFIX.as_bytes()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The newest checkpoint of everything, and the newest of each scope after it; none that was made for
/// a patch, which may have been taken back.
fn newest_states(line: &Line) -> Vec<Checkpoint> {
    let (mut states, mut scopes) = (Vec::new(), Vec::new());
    let is_of_patch = |c: &Checkpoint| c.is_scoped() && c.record.terms.is_automatic;
    for checkpoint in line.rev().filter(|c| !c.is_safety() && !is_of_patch(c)) {
        let scope = &checkpoint.record.terms.scope;
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
            states.push(checkpoint.clone());
        }
        if checkpoint.is_whole() {
            break;
        }
    }
    states.reverse();
    states
}

/// Refuses a store with checkpoints of a directory that was here before, unless they are of an earlier
/// call for the same URL; forgets a URL that led nowhere.
fn make_room(context: &Context, url: &str, here: &Path) -> Result<()> {
    let Some(store) = context.find_store()? else {
        return Ok(());
    };
    let known = remote::list(context)?.remotes;
    let origin = known.into_iter().find(|one| one.name == remote::USUAL);
    let is_same = |one: &remote::RemoteRow| remote::is_url_of(one, url, here);
    if origin.as_ref().is_some_and(is_same) {
        return Ok(());
    }
    if !store.inventory()?.checkpoints.is_empty() {
        return Err(Error::bad_destination(
            context.root.path(),
            "there are checkpoints of a directory that was here before; -C with its path lists them",
        ));
    }
    match origin {
        Some(_) => remote::remove(context, remote::USUAL).map(drop),
        None => Ok(()),
    }
}
