//! `restore --to`: writes a checkpoint, or some of its paths, into another directory. The store is
//! only read.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::model::checkpoint::record::Verb;
use crate::model::restore_plan::{RestorePlan, RestoreScope};
use crate::ops::browse::list::reader_warnings;
use crate::ops::capture::lazy_snapshot::DirFilter;
use crate::ops::context::Context;
use crate::ops::database::database_write;
use crate::ops::restore::commands::no_path_matches;
use crate::ops::restore::restore_options::{DatabaseFate, DatabaseReport, RestoreOutcome};
use crate::ops::restore::target::Target;
use crate::ops::restore::{companions, restore_paths, write_out};
use crate::ops::select::globs::Globs;
use crate::ops::select::words::{Lookup, TypedWords};
use crate::ops::warning::Warning;
use crate::store::repository::Store;
use crate::worktree::destination::Destination;

#[derive(Clone, Debug, Default)]
pub struct RestoreToOptions {
    /// `SEL` or `SEL:PATH`, then paths.
    pub words: TypedWords,
    pub globs: Globs,
    /// Absolute path of a directory that is empty or does not exist yet.
    pub to: PathBuf,
    pub special_bits: bool,
    pub dry_run: bool,
}

pub fn restore_to(context: &Context, options: &RestoreToOptions) -> Result<RestoreOutcome> {
    options.words.check_paths(&context.root)?;
    let filter = options.globs.parse(&context.root)?;
    let store = context.require_store()?;
    let inventory = store.inventory()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let (checkpoint, paths) = lookup.read_restored(&options.words)?;
    let target = Target::load(&store, &checkpoint)?;
    lookup.check_held(&target, &paths)?;
    let destination = Destination::resolve(&options.to)?;
    let is_inside = destination.check_location(&context.root, &context.base)?;
    destination.check_writable()?;
    let scope = RestoreScope {
        paths: restore_paths::limits(paths),
        within: None,
        filter,
        overlay: false,
        special_bits: options.special_bits,
    };
    let mut state = target.snapshot(&DirFilter::Everything)?;
    let databases = database_write::add_files(&store, &target, &scope, &mut state)?;
    let report = |database| DatabaseReport {
        database,
        fate: if options.dry_run {
            DatabaseFate::Planned
        } else {
            DatabaseFate::Restored
        },
    };
    let written = databases.written.into_iter().map(report).collect();
    let plan = write_out::plan(&state, &scope);
    if scope.filter.only.is_some() && plan.is_of_nothing() {
        return Err(no_path_matches(&checkpoint));
    }
    if options.dry_run {
        target.check_contents(&store, &plan, &scope, &context.interrupt)?;
    } else {
        carry_out(context, &store, &target, &plan, &scope, &destination)?;
    }
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(databases.skipped);
    warnings.extend(companions::without_log(&store, &state, &plan));
    if is_inside {
        warnings.push(Warning::CopyInsideRoot);
    }
    if checkpoint.is_partial() {
        warnings.push(Warning::IsPartial { id: checkpoint.id });
    }
    Ok(RestoreOutcome {
        plan_digest: None,
        verb: Verb::Restore,
        target: checkpoint,
        safety: None,
        plan,
        since: Some(Vec::new()),
        step: None,
        beyond: None,
        databases: written,
        paths: scope.paths,
        filter: scope.filter,
        overlay: false,
        dry_run: options.dry_run,
        calls_off: false,
        left_alone: Vec::new(),
        evicted: Vec::new(),
        to: Some(destination.path().to_path_buf()),
        check: None,
        warnings,
    })
}

fn carry_out(
    context: &Context,
    store: &Store,
    target: &Target<'_>,
    plan: &RestorePlan,
    scope: &RestoreScope,
    destination: &Destination,
) -> Result<()> {
    let _shield = context.interrupt.shield();
    let claimed = destination.claim()?;
    // An existing directory keeps its mode.
    let top = claimed.is_new().then(|| target.root_perm());
    let written = write_out::write_out(
        context,
        store,
        &target.checkpoint,
        plan,
        scope.special_bits,
        top,
        &claimed.work,
    );
    written.map_err(|error| match claimed.give_up() {
        Ok(()) => error,
        Err(left) => Error::unexpected(format!("{error}; then cleaning up failed: {left}")),
    })
}
