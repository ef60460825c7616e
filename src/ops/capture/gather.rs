//! Gathers what a `create` records: the whole directory or the part within a scope, and the extras.

use crate::error::{Error, Result};
use crate::model::{
    Database, Listing, Meta, ObjectId, RelPath, RuleRecord, Scope, ScopePart, WhyNot,
};
use crate::ops::capture::pipeline::{self, Sink, capture};
use crate::ops::capture::scope_checks::{
    check_each_part, check_git_holds_all, check_something_is_held, uncaptured,
};
use crate::ops::{CaptureOptions, Captured, Capturing, Context, CreateOptions};
use crate::store::trees::convert;
use crate::store::{Extras, ObjectKind, PackSet, Store};
use crate::worktree::WorkTree;

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
    let named: Vec<RelPath> = scope
        .parts()
        .iter()
        .filter_map(ScopePart::as_path)
        .cloned()
        .collect();
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
    let paths = found.paths();
    let refused =
        check_each_part(context, scope, found).and_then(|()| check_something_is_held(found));
    let secrets = uncaptured(found, &paths, |why| matches!(why, WhyNot::Secret(_))).collect();
    let left_out = uncaptured(found, &paths, |why| matches!(why, WhyNot::LeftOut(_))).collect();
    Ok(ScopePreview {
        refusal: refused.err(),
        secrets,
        left_out,
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
