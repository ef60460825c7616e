//! Finds the checkpoint that a selector names.

use crate::base::text::escape;
use crate::error::{Code, Error, Result};
use crate::model::checkpoint::selector;
use crate::model::{Checkpoint, Mismatch, RelPath, SelectorProblem};
use crate::ops::Context;
use crate::ops::restore::restore_paths;
use crate::ops::select::timeline;
use crate::store::transfer::remotes;
use crate::store::{Inventory, Remote};
use crate::worktree::WorkTree;

/// Finds the checkpoint that a selector names; an unreadable one is damage, not absence.
///
/// # Errors
/// It names none or several; a path in the directory is called one.
pub fn find(context: &Context, inventory: &Inventory, query: &str) -> Result<Checkpoint> {
    let error = match resolve(context, inventory, query) {
        Ok(found) => return certain(inventory, query, found),
        Err(problem) => explain(inventory, problem),
    };
    if error.code != Code::NO_SUCH_CHECKPOINT || path_in_directory(context, query).is_none() {
        return Err(error);
    }
    let what = format!("'{}' is a path, not a checkpoint", escape(query));
    let error = Error::new(Code::NO_SUCH_CHECKPOINT, what);
    Err(error.advise("'checkpoint list' shows the checkpoints"))
}

/// Resolves a selector, also one that names a moment in the session of an agent.
///
/// # Errors
/// It names none or several.
pub fn resolve(
    context: &Context,
    inventory: &Inventory,
    query: &str,
) -> Result<Checkpoint, SelectorProblem> {
    let of_session = timeline::find(context, inventory, query);
    let of_session = of_session.map_err(|why| SelectorProblem::NoMatch {
        query: query.to_owned(),
        why,
    })?;
    if let Some(found) = of_session {
        return Ok(found.clone());
    }
    if query.contains('/')
        && let Some(Ok(found)) = of_remote(context, inventory, query)
    {
        return Ok(found);
    }
    match selector::resolve(query, &inventory.checkpoints, context.now_ms) {
        Ok(found) => Ok(found.clone()),
        Err(problem) => of_remote(context, inventory, query).unwrap_or(Err(problem)),
    }
}

/// Resolves `NAME/SEL`, and names that of an id which only a remote has. `None` if no remote is meant,
/// or what it has cannot be read.
fn of_remote(
    context: &Context,
    inventory: &Inventory,
    query: &str,
) -> Option<Result<Checkpoint, SelectorProblem>> {
    let store = context.find_store().ok()??;
    let remotes = remotes::read(store.layout()).ok()?;
    let no_match = |why| SelectorProblem::NoMatch {
        query: query.to_owned(),
        why,
    };
    let Some((name, selector)) = query.split_once('/') else {
        return remotes.iter().find_map(|Remote { name, .. }| {
            let line = store.fetched(name).ok()?.checkpoints;
            let found = selector::resolve(query, &line, context.now_ms).ok()?;
            let is_id = found.id.to_hex().starts_with(&query.to_ascii_lowercase());
            let meant = format!("{name}/{}", found.id.short());
            is_id.then(|| Err(no_match(Mismatch::OtherWord { meant })))
        });
    };
    let name = remotes.into_iter().find(|remote| remote.name == name)?.name;
    let line = store.fetched(&name).ok()?.checkpoints;
    let found = selector::resolve(selector, &line, context.now_ms);
    Some(match found.cloned() {
        Ok(found) => Ok(inventory.get(found.id).cloned().unwrap_or(found)),
        Err(_) if line.is_empty() => Err(no_match(Mismatch::NotFetched { name })),
        Err(SelectorProblem::NoMatch {
            why: Mismatch::Unknown { .. },
            ..
        }) => Err(no_match(Mismatch::OfRemote { name })),
        Err(SelectorProblem::NoMatch { why, .. }) => Err(no_match(why)),
        Err(problem) => Err(problem),
    })
}

/// Finds a checkpoint of this store, for a command that changes it.
///
/// # Errors
/// As [`find`], or it is one of a remote.
pub fn find_own(context: &Context, inventory: &Inventory, query: &str) -> Result<Checkpoint> {
    let found = find(context, inventory, query)?;
    if inventory.checkpoints.holds(found.id) {
        return Ok(found);
    }
    let query = escape(query);
    let what =
        format!("'{query}' is a checkpoint of a remote, which is only read; nothing was changed");
    let hint = "'checkpoint restore' brings its files here, and a checkpoint made then is yours";
    Err(Error::new(Code::NOT_OWN, what).advise(hint))
}

/// Returns the checkpoint found for a selector.
///
/// # Errors
/// It was found by its reason, and the reasons given later cannot be read.
pub fn certain(inventory: &Inventory, query: &str, found: Checkpoint) -> Result<Checkpoint> {
    if inventory.unread_rewords.is_none() || found.record.reason != query {
        return Ok(found);
    }
    let (query, short) = (escape(query), found.id.short());
    Err(Error::damaged(
        "the file of reasons given by reword",
        format!("'{query}' may name another checkpoint than {short}; give an id"),
    ))
}

/// Finds the checkpoint at which the directory stands.
///
/// # Errors
/// There is none.
pub fn current(context: &Context, inventory: &Inventory) -> Result<Checkpoint> {
    find(context, inventory, selector::CURRENT)
}

/// Returns the error for a selector. A damaged checkpoint has no readable reason or time, so any of
/// them may be the one meant.
pub fn explain(inventory: &Inventory, problem: SelectorProblem) -> Error {
    let SelectorProblem::NoMatch { query, .. } = &problem else {
        return problem.into();
    };
    if let Some(damaged) = inventory.damaged_by_prefix(query) {
        return Error::damaged(format!("checkpoint {}", damaged.id.short()), &damaged.why);
    }
    let Some(damaged) = inventory.damaged.first() else {
        return problem.into();
    };
    let (query, short) = (escape(query), damaged.id.short());
    let what = format!("no readable checkpoint is '{query}', and checkpoint {short}");
    Error::damaged(what, &damaged.why)
}

/// Returns the path that a word names in the directory, if something is there.
pub fn path_in_directory(context: &Context, word: &str) -> Option<RelPath> {
    let path = restore_paths::parse_one(&context.root, word.as_bytes()).ok()?;
    let tree = WorkTree::open_root(&context.root).ok()?;
    matches!(tree.stat(&path), Ok(Some(_))).then_some(path)
}
