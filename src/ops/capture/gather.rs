//! Gathers what a `create` records: the whole directory or the part within a scope, and the extras.

use crate::error::{Error, Result};
use crate::model::checkpoint::terms::CheckpointType;
use crate::model::state::database::Database;
use crate::model::state::entry::WhyNot;
use crate::model::state::listing::Listing;
use crate::model::state::meta::{Meta, RuleRecord};
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::{Scope, ScopePart};
use crate::ops::capture::pipeline::{self, Begun, CaptureOptions, CaptureOutcome, Captured, Sink, capture};
use crate::ops::context::Context;
use crate::ops::create::create_terms::RequestedOptions;
use crate::store::objects::hash::object_hash::ObjectKind;
use crate::store::objects::pack::checkpoint_packs::PackSet;
use crate::store::repository::Store;
use crate::store::trees::convert;
use crate::store::trees::meta_tree::Extras;
use crate::worktree::git::find_index;
use crate::worktree::tree_handle::WorkTree;

/// Maximum number of paths that a refusal names.
const NAMED_PATHS: usize = 3;

pub struct CapturedScope {
    pub captured: Box<Captured>,
    pub beside: Extras,
}

pub enum Gathering {
    Done(CapturedScope),
    OverLimit { limit: u64, largest: Vec<(RelPath, u64)> },
}

/// Captures into `pack` what the terms ask for, except the files of `databases`. The limit counts files to be captured.
///
/// # Errors
/// A part of the scope matches nothing that may be captured, or the mechanism cannot hold what it matches.
pub fn gather(
    context: &Context,
    store: &Store,
    asked: &RequestedOptions,
    limit_files: Option<u64>,
    include_sensitive: &[String],
    pack: &mut PackSet<'_>,
) -> Result<Gathering> {
    let worktree = WorkTree::open(context.root.path())?;
    let RequestedOptions { terms, databases, state } = asked;
    let state = state.as_ref().map(|document| pack.add(ObjectKind::Blob, &document.bytes)).transpose()?;
    let mut sink = Sink::Pack(pack);
    let Some(scope) = &terms.scope else {
        let options = CaptureOptions { limit_files, include_sensitive, ..CaptureOptions::default() };
        return Ok(match capture(context, Some(store), &worktree, &options, sink)? {
            CaptureOutcome::Done(captured) => Gathering::Done(CapturedScope { captured, beside: Extras::default() }),
            CaptureOutcome::OverLimit { limit, largest } => Gathering::OverLimit { limit, largest },
        });
    };
    if scope.parts().is_empty() {
        let captured = Box::new(no_files(&worktree, &mut sink)?);
        return Ok(Gathering::Done(CapturedScope { captured, beside: Extras { state, ..Extras::default() } }));
    }
    let named: Vec<RelPath> = scope.parts().iter().filter_map(ScopePart::as_path).cloned().collect();
    let options = CaptureOptions { include_sensitive, named: &named, ..CaptureOptions::default() };
    let _shield = context.interrupt.shield();
    let mut capturing = match pipeline::begin(context, Some(store), &worktree, &options)? {
        Begun::Scanned(capturing) => *capturing,
        Begun::OverLimit { .. } => return Err(Error::unexpected("a limit was met that was not set".to_owned())),
    };
    let rules = capturing.filtered(scope);
    check_each_part(scope, capturing.listing())?;
    capturing.exclude(&databases.iter().flat_map(Database::files).collect::<Vec<_>>());
    if let Some(limit) = limit_files.filter(|limit| capturing.listing().file_count() as u64 > *limit) {
        return Ok(Gathering::OverLimit { limit, largest: Vec::new() });
    }
    check_mechanism(context, terms.mechanism, capturing.listing())?;
    capturing.read(&mut sink)?;
    let rules = rules.map(|mut listing| capturing.read_beside(&mut listing, &mut sink)).transpose()?;
    let captured = Box::new(capturing.finish(&mut sink)?);
    if state.is_none() && databases.is_empty() {
        check_something_is_held(&captured.listing)?;
    }
    Ok(Gathering::Done(CapturedScope { captured, beside: Extras { rules, state, ..Extras::default() } }))
}

/// What a `create` with a scope would meet, as far as names tell.
pub struct Look {
    /// Why the `create` would be refused.
    pub refusal: Option<Error>,
    pub secrets: Vec<RelPath>,
    /// Paths that rules leave out.
    pub left_out: Vec<RelPath>,
}

/// Scans for a scope without reading any file.
///
/// # Errors
/// The directory cannot be scanned.
pub fn look(context: &Context, scope: &Scope, include_sensitive: &[String]) -> Result<Look> {
    let (worktree, store) = (WorkTree::open(context.root.path())?, context.find_store()?);
    let named: Vec<RelPath> = scope.parts().iter().filter_map(ScopePart::as_path).cloned().collect();
    let options = CaptureOptions { include_sensitive, named: &named, ..CaptureOptions::default() };
    let Begun::Scanned(mut capturing) = pipeline::begin(context, store.as_ref(), &worktree, &options)? else {
        return Err(Error::unexpected("a limit was met that was not set".to_owned()));
    };
    capturing.filtered(scope);
    let found = capturing.listing();
    let paths = found.paths();
    let refused = check_each_part(scope, found).and_then(|()| check_something_is_held(found));
    let secrets = uncaptured(found, &paths, |why| matches!(why, WhyNot::Secret(_))).collect();
    let left_out = uncaptured(found, &paths, |why| matches!(why, WhyNot::LeftOut(_))).collect();
    Ok(Look { refusal: refused.err(), secrets, left_out })
}

/// Captures the root itself, for a checkpoint without files.
fn no_files(worktree: &WorkTree, sink: &mut Sink<'_, '_>) -> Result<Captured> {
    let stat = worktree.root().stat().map_err(|cause| worktree.io("look at", &RelPath::root(), cause))?;
    let mut listing = Listing::of_empty_root(stat, 0);
    let tree = convert::build(&mut listing, &mut |bytes| sink.tree(bytes))?;
    let meta = Meta::of(&listing, RuleRecord::default());
    Ok(Captured { listing, seen: None, tree, meta, warnings: Vec::new() })
}

/// Refuses a scope with a part that matches nothing, since the user would believe it is held.
fn check_each_part(scope: &Scope, found: &Listing) -> Result<()> {
    let paths = found.paths();
    let missed = scope.parts().iter().find(|part| match part.as_path() {
        Some(path) => !stands(found, path),
        None => !present(found, &paths).any(|path| part.covers(&path)),
    });
    let Some(missed) = missed else { return Ok(()) };
    let shown = missed.shown();
    let mut secrets = uncaptured(found, &paths, |why| matches!(why, WhyNot::Secret(_)));
    Err(match secrets.find(|secret| missed.covers(secret)) {
        Some(secret) => Error::NothingFound {
            what: format!("scope '{shown}' matches nothing but secrets, such as {secret}"),
            hint: "--include-sensitive captures them".to_owned(),
        },
        None => Error::NothingFound {
            what: format!("scope '{shown}' matches nothing that may be captured"),
            hint: "a scope is a path or a pattern below the root; 'checkpoint status -v' lists what rules leave out"
                .to_owned(),
        },
    })
}

/// Refuses a scope of which nothing can be held: such a checkpoint could restore nothing.
fn check_something_is_held(part: &Listing) -> Result<()> {
    if part.file_count() > 0 {
        return Ok(());
    }
    let paths = part.paths();
    let lost = part.dirs.iter().zip(&paths).flat_map(|(dir, path)| {
        let lost = dir.uncaptured.iter().filter(|item| item.why.is_lost());
        lost.map(move |item| format!("{} ({})", path.join(&item.name), item.why.in_words()))
    });
    let lost: Vec<String> = lost.collect();
    if lost.is_empty() {
        return Ok(());
    }
    let named = lost[..lost.len().min(NAMED_PATHS)].join(", ");
    let more = if lost.len() > NAMED_PATHS { " and others" } else { "" };
    Err(Error::NothingHeld { why: format!("nothing of the scope can be held: {named}{more}") })
}

/// Whether something is held at a path, or known to exist there.
fn stands(found: &Listing, path: &RelPath) -> bool {
    if found.dir(path).is_some() || found.file(path).is_some() {
        return true;
    }
    let holder = path.parent().and_then(|above| found.dir(&above));
    let standing = holder.and_then(|dir| dir.uncaptured.iter().find(|item| *item.name == *path.name()));
    standing.is_some_and(|item| item.why.is_recorded())
}

/// All paths for which [`stands`] is true.
fn present<'l>(found: &'l Listing, paths: &'l [RelPath]) -> impl Iterator<Item = RelPath> + 'l {
    found.dirs.iter().zip(paths).flat_map(|(dir, path)| {
        let standing = dir.uncaptured.iter().filter(|item| item.why.is_recorded());
        let files = dir.files.iter().map(move |file| path.join(file.name));
        files.chain(standing.map(move |item| path.join(&item.name))).chain([path.clone()])
    })
}

fn uncaptured<'l>(
    found: &'l Listing,
    paths: &'l [RelPath],
    is_so: fn(&WhyNot) -> bool,
) -> impl Iterator<Item = RelPath> + 'l {
    found.dirs.iter().zip(paths).flat_map(move |(dir, path)| {
        dir.uncaptured.iter().filter(move |item| is_so(&item.why)).map(move |item| path.join(&item.name))
    })
}

/// Refuses files unknown to git if the mechanism holds them as git would.
fn check_mechanism(context: &Context, mechanism: Option<CheckpointType>, part: &Listing) -> Result<()> {
    if mechanism != Some(CheckpointType::GitStash) {
        return Ok(());
    }
    let refuse = |why: String| Error::Usage { what: format!("type git_stash holds only what git tracks: {why}") };
    let tracked = find_index::load(context.root.path()).map_err(refuse)?;
    let paths = part.dirs.iter().zip(part.paths());
    let all = paths.flat_map(|(dir, path)| dir.files.iter().map(move |file| path.join(file.name)));
    let untracked: Vec<RelPath> = all.filter(|path| !tracked.contains(path.as_bytes())).collect();
    if untracked.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = untracked.iter().take(NAMED_PATHS).map(ToString::to_string).collect();
    let more = if untracked.len() > NAMED_PATHS { " and others" } else { "" };
    Err(refuse(format!("{}{more} are not in its index; --type file_backup takes any file", named.join(", "))))
}
