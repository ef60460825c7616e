//! `restore --to`: writes a checkpoint, or some of its paths, into another directory; databases of
//! SQLite become files there. The store is only read.

use std::path::Path;

use crate::error::{Code, Error, Result, Sentence};
use crate::model::{
    Checkpoint, Database, Entry, Held, Kind, RestorePlan, RestoreScope, Snapshot, Verb,
};
use crate::ops::browse::list::reader_warnings;
use crate::ops::restore::{companions, protocol, restore_paths, write_out};
use crate::ops::{
    Context, DatabaseFate, DatabaseReport, DirFilter, Lookup, RestoreOptions, RestoreOutcome,
    RestoreRequest, Target, Warning,
};
use crate::store::Store;
use crate::worktree::root::Destination;

/// Returns the failure of patterns that match no path of a checkpoint.
pub fn no_path_matches(checkpoint: &Checkpoint) -> Error {
    let short = checkpoint.id.short();
    let what = format!("no path of {short} matches --glob");
    let next = Sentence::new("'checkpoint ls -R {}' lists them all", &[&short]);
    Error::new(Code::NOTHING_FOUND, what).next(next)
}

/// Writes the checkpoint that the options name into the directory `to`.
pub fn restore_to(
    context: &Context,
    options: &RestoreOptions,
    to: &Path,
) -> Result<RestoreOutcome> {
    let dry_run = options.common.dry_run;
    let filter = options.globs.parse(&context.root)?;
    let (store, inventory) = context.read()?;
    let lookup = Lookup::new(context, &store, &inventory);
    let (checkpoint, paths) = lookup.read_restored(&options.words)?;
    let target = Target::load(&store, &checkpoint)?;
    lookup.check_held(&target, &paths)?;
    let destination = Destination::resolve(to)?;
    let is_inside = destination.check_location(&context.root, &context.base)?;
    destination.check_writable()?;
    let scope = RestoreScope {
        paths: restore_paths::limits(paths),
        within: None,
        filter,
        overlay: false,
        special_bits: options.special_bits,
    };
    let asked = (Verb::Restore, target, scope);
    let request = RestoreRequest::new(context, &store, &options.common, asked);
    let (target, scope) = (&request.target, &request.scope);
    let mut state = target.snapshot(&DirFilter::Everything)?;
    let databases = add_files(&store, target, scope, &mut state)?;
    let report = |database| DatabaseReport {
        database,
        fate: if dry_run {
            DatabaseFate::Planned
        } else {
            DatabaseFate::Restored
        },
    };
    let written = databases.written.into_iter().map(report).collect();
    let plan = write_out::plan(&state, scope);
    if scope.filter.only.is_some() && plan.is_of_nothing() {
        return Err(no_path_matches(&checkpoint));
    }
    if dry_run {
        target.check_contents(&plan, scope, &context.interrupt)?;
    } else {
        carry_out(&request, &plan, &destination)?;
    }
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(databases.skipped);
    warnings.extend(companions::without_log(&store, &state, &plan));
    if is_inside {
        warnings.push(Warning::CopyInsideRoot);
    }
    warnings.extend(Warning::partial(&checkpoint));
    Ok(RestoreOutcome {
        databases: written,
        dry_run,
        to: Some(destination.path().to_path_buf()),
        warnings,
        ..protocol::outcome(&request, plan, Some(Vec::new()), Vec::new())
    })
}

fn carry_out(
    request: &RestoreRequest<'_>,
    plan: &RestorePlan,
    destination: &Destination,
) -> Result<()> {
    let RestoreRequest { context, store, .. } = request;
    let _shield = context.interrupt.shield();
    let claimed = destination.claim()?;
    // An existing directory keeps its mode.
    let top = claimed.is_new().then(|| request.target.root_perm());
    let written = write_out::write_out(
        context,
        store,
        &request.target.checkpoint,
        plan,
        request.scope.special_bits,
        top,
        &claimed.work,
    );
    written.map_err(|error| match claimed.give_up() {
        Ok(()) => error,
        Err(left) => Error::unexpected(format!("{error}; then cleaning up failed: {left}")),
    })
}

/// Permission bits of a database, which are not recorded: access for the owner only.
const PERM: u32 = 0o600;
const DIR_PERM: u32 = 0o755;

#[derive(Debug, Default)]
pub struct WrittenDatabases {
    pub written: Vec<Database>,
    pub skipped: Vec<Warning>,
}

/// Adds the databases to the files to be written, and returns which are skipped.
///
/// # Errors
/// The content of a database cannot be read.
pub fn add_files(
    store: &Store,
    target: &Target<'_>,
    scope: &RestoreScope,
    snapshot: &mut Snapshot,
) -> Result<WrittenDatabases> {
    let mut done = WrittenDatabases::default();
    for (database, held) in target.databases_within(scope) {
        match (database, held) {
            (Database::File(path), Held::Content(id)) => {
                let damaged = |e| store.damage(target.id(), format!("database {path}: {e}"));
                let entry = Entry {
                    kind: Kind::File,
                    perm: PERM,
                    id: *id,
                    size_bytes: store.objects().size(id).map_err(damaged)?,
                };
                for dir in path.ancestors() {
                    snapshot.dirs.entry(dir).or_insert(DIR_PERM);
                }
                snapshot.uncaptured.remove(path);
                snapshot.files.insert(path.clone(), entry);
                done.written.push(database.clone());
            }
            (Database::File(_), Held::Absent) => {}
            (Database::Named(name), _) => {
                let name = name.clone();
                done.skipped.push(Warning::DatabaseSkipped { name });
            }
        }
    }
    Ok(done)
}
