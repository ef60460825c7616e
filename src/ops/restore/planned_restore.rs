//! Captures the present state and plans what a restore would do to it.

use std::collections::BTreeSet;

use crate::error::{Code, Error, Result};
use crate::model::state::entry::RWX_BITS;
use crate::model::{
    Blocker, Entry, Listing, Meta, ObjectId, PlannedWrite, RelPath, RestorePlan, RestoreScope,
    Snapshot, Stat, Verb, WhyNot,
};
use crate::ops::capture::lazy_snapshot;
use crate::ops::capture::pipeline::{self, Sink};
use crate::ops::database::restore_databases;
use crate::ops::restore::companions;
use crate::ops::select::words::no_such_path;
use crate::ops::{
    CaptureOptions, Captured, Capturing, Context, DatabaseReport, DirFilter, Pending,
    RestoreRequest, Target, Warning,
};
use crate::store::trees::{digest, meta_tree};
use crate::store::{Extras, Store};
use crate::worktree::apply::refusals::refusals;
use crate::worktree::scan::walk::STORES_RULE;
use crate::worktree::{StatReader, WorkTree};

/// Both states, each as far as they differ, and the plan from one to the other.
pub struct PlannedRestore {
    pub captured: Captured,
    pub snapshot: Snapshot,
    /// The target state adapted to this directory, see [`Target::adapted`].
    pub wanted: Snapshot,
    pub plan: RestorePlan,
    pub databases: Vec<DatabaseReport>,
    /// See [`crate::ops::restore::restore_options::RestoreOutcome::since`].
    pub since: Option<Vec<RelPath>>,
}

/// Captures the present state, with every path that the target or its successor holds, and plans.
pub fn capture_and_plan(
    request: &RestoreRequest<'_>,
    mut sink: Sink<'_, '_>,
) -> Result<PlannedRestore> {
    let RestoreRequest {
        context,
        store,
        target,
        ..
    } = request;
    // Under the lock they are compared when their present state is kept.
    let compares = matches!(sink, Sink::HashOnly);
    if !context.root.path().is_dir() {
        let captured = empty_root(target);
        return plan(
            request,
            captured,
            &DirFilter::Everything,
            target.snapshot(&DirFilter::Everything)?,
        );
    }
    let worktree = WorkTree::open_root(&context.root)?;
    let options = CaptureOptions::default();
    let mut capturing = pipeline::begin(context, Some(store), &worktree, &options)?;
    capturing.exclude(&target.files_of_databases());
    let mut filter = read_and_compare(&mut capturing, request, &mut sink)?;
    let mut held = target.snapshot(&filter)?;
    let mut spared = take_out(&of_others_in(capturing.listing()), &mut held);
    if extend(&mut capturing, request, &held, &filter)? {
        filter = read_and_compare(&mut capturing, request, &mut sink)?;
        held = target.snapshot(&filter)?;
        spared = take_out(&of_others_in(capturing.listing()), &mut held);
    }
    let captured = capturing.finish(&mut sink)?;
    let mut planned = plan(request, captured, &filter, held)?;
    let states = (&planned.snapshot, &planned.wanted);
    let parted = companions::parted(&worktree, store, states, &planned.plan);
    let without_log = companions::without_log(store, &planned.wanted, &planned.plan);
    planned.captured.warnings.extend(without_log);
    let refused = refusals(&worktree, &planned.plan).into_iter();
    let refused = refused.map(|(path, why)| (path, Blocker::Refused(why)));
    let (databases, barred) = restore_databases::plan(&worktree, request, &planned.plan, compares)?;
    planned.databases = databases;
    let conflicts = &mut planned.plan.conflicts;
    conflicts.extend(parted.into_iter().chain(refused).chain(barred));
    refuse_unknown(request, &planned)?;
    let scope = &request.scope;
    let is_asked_for = |store: &RelPath| {
        scope.covers(store) || scope.paths.iter().any(|path| path.is_at_or_below(store))
    };
    planned
        .plan
        .left_alone
        .extend(spared.into_iter().filter(is_asked_for));
    Ok(planned)
}

/// Refuses a path that the target lacks and that no checkpoint of today would hold: nothing can be
/// done about it.
fn refuse_unknown(request: &RestoreRequest<'_>, planned: &PlannedRestore) -> Result<()> {
    let PlannedRestore { snapshot, plan, .. } = planned;
    let named = request.scope.paths.iter();
    for path in named.filter(|_| request.verb == Verb::Restore) {
        let is_present = snapshot.files.contains_key(path) || snapshot.dirs.contains_key(path);
        let is_present = is_present && request.target.checkpoint.covers(path);
        let mut left = plan.left_alone.iter().chain(plan.unreadable.keys());
        let is_named = left.any(|left| left.is_at_or_below(path) || path.is_at_or_below(left));
        if !is_present && !is_named && plan.is_empty() && !request.target.holds(path)? {
            return Err(no_such_path(request.target.id(), &path.to_string()));
        }
    }
    Ok(())
}

/// Checkpoint stores and linked worktrees within the tree: no restore changes them, even if a
/// checkpoint has them.
fn of_others_in(listing: &Listing) -> Vec<RelPath> {
    let is_of_others = |why: &WhyNot| {
        matches!(why, WhyNot::LeftOut(rule) if rule == STORES_RULE)
            || matches!(why, WhyNot::Worktree | WhyNot::GitDir)
    };
    let found = listing.uncaptured(is_of_others);
    found.map(|(path, _)| path).collect()
}

/// Removes stores from a state; returns those of which it held something.
fn take_out(stores: &[RelPath], held: &mut Snapshot) -> Vec<RelPath> {
    let spared = stores.iter().filter(|store| held.dirs.contains_key(store));
    let spared: Vec<RelPath> = spared.cloned().collect();
    if !spared.is_empty() {
        held.retain(&|path| !spared.iter().any(|store| path.is_at_or_below(store)));
    }
    spared
}

/// Reads the files; compares all directories after an interrupted restore or without trusted cache.
fn read_and_compare(
    capturing: &mut Capturing<'_>,
    request: &RestoreRequest<'_>,
    sink: &mut Sink<'_, '_>,
) -> Result<DirFilter> {
    capturing.read(sink)?;
    if request.pending.is_some() || !capturing.is_trusted() {
        return Ok(DirFilter::Everything);
    }
    capturing.tree(sink)?;
    request
        .target
        .filter(capturing.listing(), &capturing.meta())
}

/// Adds files on disk that today's rules leave out but the states concerned hold; returns whether
/// there were any.
fn extend(
    capturing: &mut Capturing<'_>,
    request: &RestoreRequest<'_>,
    held: &Snapshot,
    filter: &DirFilter,
) -> Result<bool> {
    let successor = request.target.successor(filter);
    let pending = request.pending.as_ref();
    let ends = pending.map(|pending| ends_of(request.store, pending));
    let more = ends.transpose()?.into_iter().flatten();
    let mut more: Vec<RelPath> = more.flat_map(|end| end.files.into_keys()).collect();
    more.retain(|path| !request.target.spares(path));
    let is_wanted = |path: &&RelPath| lazy_snapshot::may_exist_unlisted(capturing.listing(), path);
    // A directory that the step made goes even if its name is that of a secret.
    let made = successor.dirs.keys();
    let made = made.filter(|dir| !held.dirs.contains_key(*dir));
    let files = held.files.keys().chain(successor.files.keys());
    let files = files.chain(made).chain(&more).filter(is_wanted);
    let files: BTreeSet<RelPath> = files.cloned().collect();
    let dirs = held.dirs.keys().chain(successor.dirs.keys());
    let dirs: BTreeSet<RelPath> = dirs.filter(is_wanted).cloned().collect();
    if files.is_empty() && dirs.is_empty() {
        return Ok(false);
    }
    let [files, dirs] = [files, dirs].map(|paths| paths.into_iter().collect::<Vec<_>>());
    capturing.add(&files, &dirs).map(|()| true)
}

/// What the two checkpoints of an interrupted restore hold.
pub fn ends_of(store: &Store, pending: &Pending) -> Result<Vec<Snapshot>> {
    let inventory = store.inventory()?;
    let ends = [pending.target, pending.safety].into_iter();
    let ends = ends.filter_map(|id| inventory.get(id));
    ends.map(|checkpoint| store.snapshot(checkpoint)).collect()
}

fn plan(
    request: &RestoreRequest<'_>,
    mut captured: Captured,
    filter: &DirFilter,
    held: Snapshot,
) -> Result<PlannedRestore> {
    let target = &request.target;
    let mut snapshot = lazy_snapshot::present(&captured.listing, filter);
    if target.ignores_otherwise(&captured.meta, &snapshot, &held) {
        lazy_snapshot::add_left_out(&captured.listing, &mut snapshot);
    }
    let wanted = target.adapted(held, &snapshot);
    let is_step = matches!(request.verb, Verb::Undo | Verb::Redo);
    let may_delete = |path: &RelPath, is_dir: bool| {
        // Beyond the limits, only what the step made can be meant.
        let is_meant = !is_dir || is_step || request.scope.covers_dir(path);
        is_meant && target.may_delete(&snapshot, path, is_dir)
    };
    let mut plan = RestorePlan::between(&snapshot, &wanted, &request.scope, &may_delete);
    let named = plan.delete.keys().filter_map(|path| {
        let path = path.clone();
        if target.leaves_out_dir(&path) {
            return Some(Warning::DirNotHeld { path });
        }
        let may_be_secret = target.may_have_been_secret(&path);
        may_be_secret.then_some(Warning::SecretNotHeld { path })
    });
    captured.warnings.extend(named);
    target.check_all_was_known()?;
    plan.unreadable
        .extend(target.unreadable_then_too(&captured.meta, &request.scope));
    plan.unchanged += skipped(&captured.listing, &snapshot, filter, &request.scope);
    let since = made_since(request, &plan, &snapshot, filter);
    Ok(PlannedRestore {
        captured,
        snapshot,
        wanted,
        plan,
        databases: restore_databases::planned(request),
        since,
    })
}

/// Files and directories that an undo or redo would change or delete although the step it takes
/// back did not leave them so. `None` if the state after that step is gone.
fn made_since(
    request: &RestoreRequest<'_>,
    plan: &RestorePlan,
    present: &Snapshot,
    filter: &DirFilter,
) -> Option<Vec<RelPath>> {
    if request.pending.is_some() || !matches!(request.verb, Verb::Undo | Verb::Redo) {
        return Some(Vec::new());
    }
    if !request.target.has_successor() {
        return None;
    }
    let left = request.target.successor(filter);
    let overwritten = |(path, write): (_, &PlannedWrite)| write.before.is_some().then_some(path);
    let concerned = plan.write.iter().filter_map(overwritten);
    let concerned = concerned.chain(plan.delete.keys());
    let concerned: BTreeSet<&RelPath> = concerned.chain(plan.chmod.keys()).collect();
    let of_perm = |perm: &u32| {
        if request.target.knows_modes_after {
            perm & RWX_BITS
        } else {
            0
        }
    };
    let is_new = |path: &&RelPath| {
        let of = |entry: &Entry| (entry.id, entry.git_mode(), of_perm(&entry.perm));
        present.files.get(*path).map(of) != left.files.get(*path).map(of)
    };
    let is_new_dir =
        |path: &&RelPath| present.dirs.get(*path).map(of_perm) != left.dirs.get(*path).map(of_perm);
    let mut since: BTreeSet<RelPath> = concerned.into_iter().filter(is_new).cloned().collect();
    // A directory that holds one of these goes without saying.
    let told: BTreeSet<RelPath> = since.iter().flat_map(RelPath::ancestors).collect();
    let dirs = plan.remove_dirs.iter().chain(plan.chmod_dirs.keys());
    since.extend(
        dirs.filter(is_new_dir)
            .filter(|dir| !told.contains(*dir))
            .cloned(),
    );
    Some(since.into_iter().collect())
}

/// Number of files not looked at because they match the target.
fn skipped(listing: &Listing, seen: &Snapshot, filter: &DirFilter, scope: &RestoreScope) -> usize {
    if *filter == DirFilter::Everything {
        return 0;
    }
    if scope.is_everything() {
        return listing.file_count().saturating_sub(seen.files.len());
    }
    let paths = listing.paths();
    let unseen = listing.dirs.iter().zip(&paths);
    let unseen = unseen.filter(|(_, path)| !filter.contains(path));
    let covered =
        |path: &RelPath, name: &[u8]| scope.covers(path) || scope.covers(&path.join(name));
    unseen
        .map(|(dir, path)| {
            dir.files
                .iter()
                .filter(|file| covered(path, file.name))
                .count()
        })
        .sum()
}

/// A missing root as it will be once made again: empty, with the target's mode.
fn empty_root(target: &Target<'_>) -> Captured {
    let stat = Stat {
        mode: target.root_perm(),
        ..Stat::default()
    };
    let listing = Listing::of_empty_root(stat, 0);
    let (tree, meta, warnings) = (target.checkpoint.tree, Meta::default(), Vec::new());
    Captured {
        listing,
        seen: None,
        tree,
        meta,
        warnings,
    }
}

/// Returns the digest of a plan: of what is restored, with which limits, over which state.
///
/// # Errors
/// The content is an attack on the hash.
pub fn plan_digest(request: &RestoreRequest<'_>, captured: &Captured) -> Result<String> {
    let context = request.context;
    let meta = meta_tree::id_of(&captured.meta, &Extras::default());
    let meta = meta.map_err(|e| Error::unexpected(e.to_string()))?;
    // Where the directory is missing, the restore makes it before it looks at it.
    let state = if context.root.exists() {
        format!("{} {meta:?} {:?}", captured.tree, request.scope)
    } else {
        format!("missing {:?}", request.scope)
    };
    Ok(digest::of_parts(&[
        request.verb.into_str().as_bytes(),
        context.root.path().as_os_str().as_encoded_bytes(),
        request.target.id().to_hex().as_bytes(),
        state.as_bytes(),
        stamps_of_databases(context, &request.target).as_bytes(),
    ]))
}

/// Databases are not in the captured state: their stamps tell whether they have changed.
fn stamps_of_databases(context: &Context, target: &Target<'_>) -> String {
    let Ok(work) = WorkTree::open_root(&context.root) else {
        return String::new();
    };
    let mut reader = StatReader::new(&work);
    let mut stamp = |path: &RelPath| {
        let stat = reader.stat(path).ok().flatten();
        stat.map_or_else(String::new, |stat| {
            format!("{path} {} {} {} ", stat.ino, stat.size_bytes, stat.mtime_ns)
        })
    };
    let files = target.files_of_databases();
    files.iter().map(&mut stamp).collect()
}

/// Refuses a plan other than the one that was shown.
///
/// # Errors
/// `consent_needed`
pub fn refuse_other_plan(given: &str, now: &str) -> Result<()> {
    if given == now {
        return Ok(());
    }
    let what = format!(
        "not confirmed: the checkpoint or the directory is not as it was when that plan was \
         shown; nothing was changed, and the plan is now {now}"
    );
    let hint = "look again with --dry-run, then give --plan what it names";
    Err(Error::new(Code::CONSENT_NEEDED, what).advise(hint))
}

/// What all steps of carrying out a restore share.
pub struct RestoreJob<'e> {
    pub context: &'e Context,
    pub store: &'e Store,
    pub worktree: &'e WorkTree,
    pub planned: &'e PlannedRestore,
    pub target: ObjectId,
    pub special_bits: bool,
    /// Whether every written file is read back.
    pub reads_back: bool,
    /// Whether an earlier restore is being finished or undone.
    pub was_pending: bool,
}

impl RestoreJob<'_> {
    pub(in crate::ops) fn stat_of(&self, path: &RelPath) -> Option<Stat> {
        let file = self.planned.captured.listing.file(path);
        file.map(|file| file.stat)
    }

    pub(in crate::ops) fn is_linked(&self, path: &RelPath) -> bool {
        self.stat_of(path).is_some_and(|stat| stat.links > 1)
    }
}
