//! Gathers what a `create` records: the whole directory or the part within a scope, and the extras; and
//! checks what a scope matches, whether any of it can be held, and how.

use std::fmt::Display;

use crate::base::cut_list::first_of;
use crate::error::{Code, Error, Result};
use crate::model::{
    CheckpointType, Database, Listing, Meta, ObjectId, RelPath, RuleRecord, Scope, ScopePart,
    WhyNot,
};
use crate::ops::capture::monitor::Reliance;
use crate::ops::capture::pipeline::{self, Sink, capture};
use crate::ops::database::backup;
use crate::ops::restore::restore_paths;
use crate::ops::select::words::{did_you_mean, in_worktree};
use crate::ops::{CaptureOptions, Captured, Capturing, Context, CreateOptions};
use crate::store::trees::convert;
use crate::store::{Extras, ObjectKind, PackSet, Store};
use crate::worktree::WorkTree;
use crate::worktree::git::find_index;

/// The captured part of a directory, or all of it, with the extras: what a `create` records.
pub struct CapturedScope {
    pub captured: Captured,
    pub extras: Extras,
}

/// Captures into `pack` what the terms ask for, except the files of `databases`. The limit counts
/// files to be captured.
///
/// # Errors
/// A part of the scope matches nothing that may be captured, or what the type cannot hold.
pub fn gather(
    context: &Context,
    store: &Store,
    asked: &CreateOptions,
    limit_files: Option<u64>,
    pack: &mut PackSet<'_>,
) -> Result<CapturedScope> {
    let worktree = WorkTree::open_root(&context.root)?;
    let state_document = asked.state_document.as_ref();
    let extras = Extras {
        state_document: state_document
            .map(|document| pack.add(ObjectKind::Blob, &document.bytes))
            .transpose()?,
        ..Extras::default()
    };
    let mut replaced = Vec::new();
    for (path, content) in &asked.replaced {
        let id = pack.add(ObjectKind::Blob, content)?;
        replaced.push((path, id, content.len() as u64));
    }
    let mut sink = Sink::Pack(pack);
    let include_sensitive = &asked.include_sensitive;
    let options = CaptureOptions {
        limit_files,
        include_sensitive,
        reliance: if asked.full_scan {
            Reliance::None
        } else {
            Reliance::Folded
        },
        ..CaptureOptions::default()
    };
    let captured = match &asked.terms.scope {
        None => capture(context, Some(store), &worktree, &options, sink)?,
        Some(scope) if scope.parts().is_empty() => no_files(&worktree, &mut sink)?,
        Some(scope) => {
            let _shield = context.interrupt.shield();
            let scanned = scan_scope(context, Some(store), &worktree, scope, include_sensitive)?;
            check_each_part(context, scope, scanned.0.listing())?;
            let asked = (asked, &*replaced);
            return capture_scanned(context, scanned, asked, limit_files, extras, &mut sink);
        }
    };
    Ok(CapturedScope { captured, extras })
}

/// Captures the scanned part of a directory.
fn capture_scanned(
    context: &Context,
    (mut capturing, rules): ScannedScope<'_>,
    (asked, replaced): (&CreateOptions, &[(&RelPath, ObjectId, u64)]),
    limit_files: Option<u64>,
    mut extras: Extras,
    sink: &mut Sink<'_, '_>,
) -> Result<CapturedScope> {
    let databases = &asked.databases;
    capturing.exclude(
        &databases
            .iter()
            .flat_map(Database::files)
            .collect::<Vec<_>>(),
    );
    if let Some(limit) =
        limit_files.filter(|limit| capturing.listing().file_count() as u64 > *limit)
    {
        return Err(Error::too_many_files(limit, Vec::new()));
    }
    let wanted = asked.terms.checkpoint_type;
    check_git_holds_all(context, wanted, capturing.listing())?;
    capturing.read(sink)?;
    for (path, id, size_bytes) in replaced {
        capturing.replace(path, *id, *size_bytes)?;
    }
    extras.rules = rules
        .map(|listing| capturing.read_outer_rules(listing, sink))
        .transpose()?;
    let captured = capturing.finish(sink)?;
    if extras.state_document.is_none() && databases.is_empty() {
        check_something_is_held(&captured.listing)?;
    }
    Ok(CapturedScope { captured, extras })
}

/// A scan within a scope, and the ignore files outside it that affect it.
type ScannedScope<'c> = (Capturing<'c>, Option<Listing>);

/// Scans what lies in the scope.
fn scan_scope<'c>(
    context: &'c Context,
    store: Option<&'c Store>,
    worktree: &'c WorkTree,
    scope: &Scope,
    include_sensitive: &[String],
) -> Result<ScannedScope<'c>> {
    let named = scope.parts().iter().filter_map(ScopePart::as_path);
    let named: Vec<RelPath> = named.cloned().collect();
    let options = CaptureOptions {
        include_sensitive,
        named: &named,
        ..CaptureOptions::default()
    };
    let mut capturing = pipeline::begin(context, store, worktree, &options)?;
    let rules = capturing.filtered(scope);
    Ok((capturing, rules))
}

/// Preview of a scoped `create`, judged by names alone.
pub struct ScopePreview {
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
pub fn preview_scope(
    context: &Context,
    scope: &Scope,
    include_sensitive: &[String],
) -> Result<ScopePreview> {
    let (worktree, store) = (WorkTree::open_root(&context.root)?, context.find_store()?);
    let (capturing, _) = scan_scope(context, store.as_ref(), &worktree, scope, include_sensitive)?;
    let found = capturing.listing();
    let refused =
        check_each_part(context, scope, found).and_then(|()| check_something_is_held(found));
    let secrets = found.uncaptured(|why| matches!(why, WhyNot::Secret(_)));
    let left_out = found.uncaptured(|why| matches!(why, WhyNot::LeftOut(_)));
    Ok(ScopePreview {
        refusal: refused.err(),
        secrets: secrets.map(|(path, _)| path).collect(),
        left_out: left_out.map(|(path, _)| path).collect(),
    })
}

/// Captures the root itself, for a checkpoint without files.
fn no_files(worktree: &WorkTree, sink: &mut Sink<'_, '_>) -> Result<Captured> {
    let stat = worktree
        .root()
        .stat()
        .map_err(|cause| worktree.io("look at", &RelPath::root(), cause))?;
    let mut listing = Listing::of_empty_root(stat, 0);
    let tree = convert::build(&mut listing, &mut |bytes| sink.tree(bytes))?;
    let meta = Meta::of(&listing, RuleRecord::default());
    Ok(Captured {
        listing,
        seen: None,
        tree,
        meta,
        warnings: Vec::new(),
    })
}

/// Maximum number of paths that a refusal names.
const NAMED_PATHS: usize = 3;

/// Refuses a scope with a part that matches nothing, since the user would believe it is held.
pub fn check_each_part(context: &Context, scope: &Scope, found: &Listing) -> Result<()> {
    let paths = found.paths();
    let missed = scope.parts().iter().find(|part| match part.as_path() {
        Some(path) => !exists(found, path),
        None => !present(found, &paths).any(|path| part.covers(&path)),
    });
    let Some(missed) = missed else { return Ok(()) };
    let path = missed.as_path();
    if let Some(refused) = path.and_then(|path| in_worktree(context, path)) {
        return Err(refused);
    }
    let root = &context.root;
    let from_root = path.and_then(|path| RelPath::new(&restore_paths::from_here(root, path)).ok());
    let is_there = |path: &RelPath| backup::live(context, path).symlink_metadata().is_ok();
    let from_root = from_root.filter(|path| !root.current().is_root() && is_there(path));
    let shown = missed.shown();
    let mut secrets = found.uncaptured(|why| matches!(why, WhyNot::Secret(_)));
    if let Some((secret, _)) = secrets.find(|(secret, _)| missed.covers(secret)) {
        let what = format!("scope '{shown}' matches only secrets, such as {secret}");
        return Err(
            Error::new(Code::NOTHING_FOUND, what).advise("--include-sensitive captures them")
        );
    }
    let what = format!("scope '{shown}' matches nothing that may be captured");
    let error = Error::new(Code::NOTHING_FOUND, what);
    Err(match from_root {
        Some(path) => error.next(did_you_mean(root, &path)),
        None => error.advise(
            "a scope is a path or a pattern below the root; 'checkpoint status -v' lists what \
             rules leave out",
        ),
    })
}

/// Refuses a scope of which nothing can be held: such a checkpoint could restore nothing.
pub fn check_something_is_held(part: &Listing) -> Result<()> {
    if part.file_count() > 0 {
        return Ok(());
    }
    let lost = part.uncaptured(WhyNot::is_lost);
    let lost = lost.map(|(path, item)| format!("{path} ({})", item.why.in_words()));
    let lost: Vec<String> = lost.collect();
    if lost.is_empty() {
        return Ok(());
    }
    let lost = named(&lost);
    Err(Error::nothing_held(format!(
        "nothing in the scope can be captured: {lost}"
    )))
}

/// Whether something is held at a path, or known to exist there.
fn exists(found: &Listing, path: &RelPath) -> bool {
    if found.dir(path).is_some() || found.file(path).is_some() {
        return true;
    }
    let holder = path.parent().and_then(|above| found.dir(&above));
    let entry = holder.and_then(|dir| {
        dir.uncaptured
            .iter()
            .find(|item| *item.name == *path.name())
    });
    entry.is_some_and(|item| item.why.is_recorded())
}

/// All paths for which [`exists`] is true.
fn present<'l>(found: &'l Listing, paths: &'l [RelPath]) -> impl Iterator<Item = RelPath> + 'l {
    found.dirs.iter().zip(paths).flat_map(|(dir, path)| {
        let recorded = dir.uncaptured.iter().filter(|item| item.why.is_recorded());
        let files = dir.files.iter().map(move |file| path.join(file.name));
        files
            .chain(recorded.map(move |item| path.join(&item.name)))
            .chain([path.clone()])
    })
}

/// Refuses files unknown to git if the type holds them as git would.
pub fn check_git_holds_all(
    context: &Context,
    checkpoint_type: Option<CheckpointType>,
    part: &Listing,
) -> Result<()> {
    if checkpoint_type != Some(CheckpointType::GitStash) {
        return Ok(());
    }
    let refuse =
        |why: String| Error::usage(format!("type git_stash takes only tracked files: {why}"));
    let tracked = find_index::load(context.root.path()).map_err(|why| refuse(why.to_string()))?;
    let paths = part.dirs.iter().zip(part.paths());
    let all = paths.flat_map(|(dir, path)| dir.files.iter().map(move |file| path.join(file.name)));
    let untracked: Vec<RelPath> = all
        .filter(|path| !tracked.contains(path.as_bytes()))
        .collect();
    if untracked.is_empty() {
        return Ok(());
    }
    let untracked = named(&untracked);
    Err(refuse(format!(
        "{untracked} not tracked; use --type file_backup"
    )))
}

fn named<T: Display>(paths: &[T]) -> String {
    first_of(paths, NAMED_PATHS, |_| " and others".to_owned())
}
