//! The order of every restore: capture, plan, show, ask, lock, capture again, safety checkpoint, stage,
//! journal, apply, verify, close. A failure is rolled back or leaves it pending.

use std::collections::{BTreeSet, HashSet};
use std::io::ErrorKind;

use crate::base::WorkPhase;
use crate::base::random_name::random_hex;
use crate::error::{Code, Error, Obstacle, Result, Sentence};
use crate::model::state::database::base_of_log;
use crate::model::{
    Blocker, Checkpoint, Entry, ObjectId, Operation, RelPath, RestorePlan, RestoreScope, Snapshot,
    Steps, Verb,
};
use crate::ops::capture::pipeline::Sink;
use crate::ops::create::record::{apply_retention, safety_record};
use crate::ops::database::restore_databases::DatabaseRestore;
use crate::ops::maintain::room;
use crate::ops::restore::listing_after_restore;
use crate::ops::restore::planned_restore::{
    PlannedRestore, capture_and_plan, ends_of, plan_digest, refuse_other_plan,
};
use crate::ops::restore::restore_paths::escaped;
use crate::ops::restore::staging::{self, Staged};
use crate::ops::restore::verify_written::{Verification, hash_of, verify};
use crate::ops::{
    Captured, Consent, DatabaseFate, DatabaseReport, DirFilter, Pending, RestoreJob,
    RestoreOutcome, RestoreRequest, Session, Target, Verified, Warning, session,
};
use crate::store::{Extras, Journal, JournalStage, LockedStore, NewCheckpoint, PackSet, Store};
use crate::worktree::apply::stage;
use crate::worktree::apply::transaction::{ApplyError, apply};
use crate::worktree::{Applied, WorkTree, root};

/// Restores, undoes or redoes: plans, asks for consent, then plans again under the lock and applies
/// the plan. Asks again if it changed meanwhile. `None` if another process took the step of an undo
/// or redo before the lock was had.
pub fn restore(
    request: &RestoreRequest<'_>,
    consent: &mut Consent<'_>,
) -> Result<Option<RestoreOutcome>> {
    let RestoreRequest {
        context,
        store,
        common,
        ..
    } = request;
    // With --yes nothing is shown, so the plan made under the lock is enough; but a missing root is
    // made only for a plan that has something in it.
    let mut shown = outcome(request, RestorePlan::default(), None, Vec::new());
    if common.dry_run || !common.yes || !context.root.exists() {
        let first = capture_and_plan(request, Sink::HashOnly)?;
        let digest = plan_digest(request, &first.captured)?;
        let plan = refuse_conflicts(request, first.plan)?;
        shown = outcome(request, plan, first.since, first.databases);
        shown.nothing_to_do = is_nothing_to_do(request, &shown.plan, &shown.databases);
        let foreseen = foresee(request, &shown.plan)?;
        if common.dry_run || shown.nothing_to_do {
            let mut warnings = first.captured.warnings;
            warnings.extend(foreseen.into_iter().filter(|_| common.dry_run));
            return Ok(Some(RestoreOutcome {
                warnings,
                dry_run: common.dry_run,
                plan_digest: common.dry_run.then_some(digest),
                ..shown
            }));
        }
    }
    loop {
        if !common.yes && needs_consent(request, &shown) {
            consent(&shown)?;
        }
        let mut session = session::begin(context, store).map_err(elsewhere)?;
        if is_taken_meanwhile(&session, request) {
            return Ok(None);
        }
        check_still_there(&session, request)?;
        let _shield = context.interrupt.shield();
        let is_new_root = make_root(request, &mut session)?;
        let mut pack = session.locked.begin_pack()?;
        let present = capture_and_plan(request, Sink::Pack(&mut pack))?;
        if let Some(shown) = &common.plan {
            let checked = refuse_other_plan(shown, &plan_digest(request, &present.captured)?);
            checked.inspect_err(|_| {
                if is_new_root {
                    root::remove_empty(context.root.path());
                }
            })?;
        }
        let plan = refuse_conflicts(request, present.plan.clone())?;
        if plan != shown.plan && !common.yes {
            shown = outcome(request, plan, present.since, present.databases);
            shown.is_shown_again = true;
            continue;
        }
        if is_nothing_to_do(request, &plan, &present.databases) {
            return Ok(Some(nothing_done(session.warnings, request, present)));
        }
        return restore_under_lock(request, &mut session, pack, present).map(Some);
    }
}

/// Says of a store that cannot be written what can be done with it still.
fn elsewhere(error: Error) -> Error {
    match error.io_kind() {
        Some(ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) => {
            error.advise("nothing was changed; 'checkpoint restore SEL --to DIR' writes elsewhere")
        }
        _ => error,
    }
}

/// Finds what would bar a plan from being carried out: an error if nothing could be done, else what
/// a dry run names.
fn foresee(request: &RestoreRequest<'_>, plan: &RestorePlan) -> Result<Vec<Warning>> {
    let context = request.context;
    let target = &request.target;
    target.check_contents(plan, &request.scope, &context.interrupt)?;
    let mut foreseen: Vec<Warning> = Warning::refused_now(request.store).into_iter().collect();
    if !context.root.exists() {
        foreseen.extend(Warning::refused_above(context.root.path()));
    }
    Ok(foreseen)
}

/// Whether the user is asked. An undo or a redo can be taken back itself: it is a question only if
/// files changed since go with it, or if that cannot be told.
fn needs_consent(request: &RestoreRequest<'_>, shown: &RestoreOutcome) -> bool {
    let is_step = matches!(request.verb, Verb::Undo | Verb::Redo) && request.pending.is_none();
    let since = shown.since.as_ref();
    let changes_database = shown.databases.iter().any(|one| one.fate.changes_it());
    !is_step || changes_database || since.is_none_or(|since| !since.is_empty())
}

/// Whether the directory already matches. Ending an interrupted restore is something to do, and so
/// is a database that is not known to match.
fn is_nothing_to_do(
    request: &RestoreRequest<'_>,
    plan: &RestorePlan,
    databases: &[DatabaseReport],
) -> bool {
    let is_same = |one: &DatabaseReport| one.fate == DatabaseFate::Unchanged;
    let is_missed = plan.is_of_nothing() && request.scope.filter.only.is_some();
    let is_there = is_missed || request.context.root.exists();
    let are_same = databases.iter().all(is_same);
    plan.is_empty() && request.pending.is_none() && are_same && is_there
}

fn nothing_done(
    mut warnings: Vec<Warning>,
    request: &RestoreRequest<'_>,
    present: PlannedRestore,
) -> RestoreOutcome {
    warnings.extend(present.captured.warnings);
    RestoreOutcome {
        nothing_to_do: true,
        warnings,
        ..outcome(request, present.plan, present.since, present.databases)
    }
}

/// Makes the root if it is missing, and warns of it; returns whether it did.
fn make_root(request: &RestoreRequest<'_>, session: &mut Session<'_>) -> Result<bool> {
    let context = request.context;
    let path = context.root.path();
    if path.is_dir() {
        return Ok(false);
    }
    root::make(path, request.target.root_perm())?;
    session::describe(context, request.store, &session.locked)?;
    session.warnings.push(Warning::RootWasRecreated);
    let written = (context.workflows.write_files)(context, session.locked.store());
    let failed = written
        .err()
        .map(Warning::bookkeeping("writing the files of workflows"));
    session.warnings.extend(failed);
    Ok(true)
}

fn refuse_conflicts(request: &RestoreRequest<'_>, plan: RestorePlan) -> Result<RestorePlan> {
    if plan.conflicts.is_empty() {
        return Ok(plan);
    }
    let hint = without_conflicts(request, &plan);
    let obstacles = plan.conflicts.into_iter().map(Obstacle::from).collect();
    Err(Error::obstacles(Code::CONFLICT, "not restored because of", obstacles).next(hint))
}

/// Returns the command that restores everything but what is in the way.
fn without_conflicts(request: &RestoreRequest<'_>, plan: &RestorePlan) -> Sentence {
    const NAMED: usize = 10;
    let conflicts = &plan.conflicts;
    if conflicts.iter().any(|(path, _)| path.is_root()) {
        let elsewhere = "nothing was changed; 'checkpoint restore {} --to DIR' writes elsewhere";
        return Sentence::new(elsewhere, &[&request.target.id().short()]);
    }
    // What is to be written there needs the place of all that is in it.
    let cause = |(path, _): &(RelPath, Blocker)| {
        let above = path.ancestors();
        let above = above.filter(|above| plan.write.contains_key(above));
        above.last().unwrap_or_else(|| path.clone())
    };
    let causes: BTreeSet<RelPath> = conflicts.iter().map(cause).collect();
    let again = request.again.as_ref();
    let again = again.filter(|_| !leaves_nothing_named(request, plan, &causes));
    let hint = match again {
        None => Sentence::text("nothing was changed; move these away, then run this again"),
        Some(_) if conflicts.len() > NAMED => Sentence::text(
            "nothing was changed; move these away, or restore all but these with --exclude; \
             --json lists them all",
        ),
        Some(again) => {
            let exclude = causes
                .iter()
                .flat_map(|path| [b"--exclude".to_vec(), [b"/", &*escaped(path)].concat()]);
            Sentence::text("nothing was changed; move these away, or leave them out: ")
                .then_command(again.clone().with(exclude))
        }
    };
    let base = conflicts.iter().find_map(|(path, why)| match why {
        Blocker::Parted(_) => Some(base_of_log(path).unwrap_or_else(|| path.clone())),
        _ => None,
    });
    let whole = "; 'checkpoint create --db {}' holds a database with its log";
    match base {
        Some(base) => hint.then_sentence(Sentence::new(whole, &[&base.as_bytes()])),
        None => hint,
    }
}

/// Whether without these a PATH, or all patterns, would name nothing that can be restored.
fn leaves_nothing_named(
    request: &RestoreRequest<'_>,
    plan: &RestorePlan,
    causes: &BTreeSet<RelPath>,
) -> bool {
    let is_out = |path: &RelPath| causes.iter().any(|cause| path.is_at_or_below(cause));
    let is_lost = |path: &RelPath| is_out(path) && !request.target.holds(path).unwrap_or_default();
    let has_patterns = request.scope.filter.only.is_some() && plan.unchanged == 0;
    let paths = &request.scope.paths;
    let is_below = |path: &RelPath| is_out(path) && !causes.contains(path);
    paths.iter().any(is_lost)
        || paths.iter().all(is_out) && paths.iter().any(is_below)
        || has_patterns && plan.changes().iter().all(|(path, _)| is_out(path))
}

/// Whether the step of an undo or redo is not the one at hand any more.
fn is_taken_meanwhile(session: &Session<'_>, request: &RestoreRequest<'_>) -> bool {
    let steps = || Steps::of(session.locked.inventory().checkpoints.safeties());
    let stack = match request.verb {
        _ if request.pending.is_some() => return false,
        Verb::Undo => steps().done,
        Verb::Redo => steps().taken_back,
        Verb::Restore | Verb::Resume => return false,
    };
    let at_hand = stack.iter().rev().nth(request.passed);
    at_hand.is_none_or(|step| step.safety != request.target.id())
}

/// Checks under the lock that the target was not evicted nor another restore interrupted meanwhile.
fn check_still_there(session: &Session<'_>, request: &RestoreRequest<'_>) -> Result<()> {
    let id = request.target.id();
    let is_own = session.locked.inventory().checkpoints.holds(id);
    if !is_own && session.locked.store().fetched_with(id).is_none() {
        return Err(Error::evicted_meanwhile(id));
    }
    match (&session.pending, &request.pending) {
        (None, None) => Ok(()),
        (Some(now), Some(then)) if now == then => Ok(()),
        (Some(now), _) => Err(now.refusal()),
        (None, Some(_)) => Err(Error::nothing_to(request.verb.into_str(), true)),
    }
}

/// Applies the plan under the lock. On failure it is rolled back, or the restore stays pending.
fn restore_under_lock(
    request: &RestoreRequest<'_>,
    session: &mut Session<'_>,
    mut pack: PackSet<'_>,
    mut present: PlannedRestore,
) -> Result<RestoreOutcome> {
    let context = request.context;
    let worktree = WorkTree::open_root(&context.root)?;
    let mut databases = DatabaseRestore::prepare(&session.locked, &mut pack, request)?;
    present.databases = databases.reports();
    if is_nothing_to_do(request, &present.plan, &present.databases) {
        let warnings = std::mem::take(&mut session.warnings);
        return Ok(nothing_done(warnings, request, present));
    }
    let staging = random_hex();
    take_over_pending(session, &worktree, &present, request, &staging)?;
    let held = (&present, &databases);
    let safety = record_safety_checkpoint(request, session, pack, held, &staging)?;
    let job = RestoreJob {
        context,
        store: request.store,
        worktree: &worktree,
        planned: &present,
        target: request.target.id(),
        special_bits: request.scope.special_bits,
        reads_back: request.common.reads_back,
        was_pending: request.pending.is_some(),
    };
    let applying = journal_of(request, safety.id, &staging, JournalStage::Applying);
    let mut last = || databases.restore(context);
    let carried = execute(&mut session.locked, &job, &applying, &mut last)
        .map_err(|failure| room::by_deleting(failure, request, &present.plan))?;
    let mut warnings = std::mem::take(&mut session.warnings);
    warnings.retain(|warning| !is_settled(warning));
    warnings.extend(present.captured.warnings.iter().cloned());
    warnings.extend(carried.warning);
    let captured = capture_after_restore(
        present.captured,
        &present.plan,
        request,
        &carried.left_alone,
        carried.verified,
    );
    let evicted = apply_retention(
        context,
        &mut session.locked,
        (!request.common.evicts_nothing).then_some(context.settings.keep),
        None,
        &captured,
        &mut warnings,
    );
    let mut plan = present.plan;
    plan.left_alone.extend(carried.left_alone);
    Ok(RestoreOutcome {
        safety: Some(safety),
        evicted,
        warnings,
        ..outcome(request, plan, present.since, databases.reports())
    })
}

/// Whether a warning is of an interrupted restore, which is ended by now.
fn is_settled(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::RestorePending { .. } | Warning::JournalUnreadable
    )
}

/// Clears what an interrupted restore staged, and names the new stage in its journal.
fn take_over_pending(
    session: &mut Session<'_>,
    worktree: &WorkTree,
    present: &PlannedRestore,
    request: &RestoreRequest<'_>,
    staging: &str,
) -> Result<()> {
    let Some(pending) = &request.pending else {
        return Ok(());
    };
    let Some(journal) = &pending.journal else {
        return Ok(());
    };
    let known = known_blobs(session.locked.store(), pending, &request.target, present)?;
    session
        .warnings
        .extend(clear_leftovers(worktree, journal, &known)?);
    // Until all is staged anew, the journal describes the interrupted restore: a kill leaves no
    // stage unnamed.
    session.locked.write_journal(&Journal {
        filling: Some(staging.to_owned()),
        ..journal.as_ref().clone()
    })
}

/// The capture as it is after the restore. After an interrupted one no stat cache is written, since
/// the checkpoint it would name may not hold everything that was left.
fn capture_after_restore(
    mut captured: Captured,
    plan: &RestorePlan,
    request: &RestoreRequest<'_>,
    left: &[RelPath],
    verified: Verified,
) -> Captured {
    captured.seen = captured.seen.filter(|_| request.pending.is_none());
    if let Some(seen) = &mut captured.seen {
        seen.restored = Some(request.target.id());
        captured.listing = listing_after_restore::after(captured.listing, plan, left, verified);
    }
    captured
}

/// Records the present state. Finishing an interrupted restore records it only if it holds
/// something that neither of its two checkpoints does.
fn record_safety_checkpoint(
    request: &RestoreRequest<'_>,
    session: &mut Session<'_>,
    mut pack: PackSet<'_>,
    (present, databases): (&PlannedRestore, &DatabaseRestore),
    staging: &str,
) -> Result<Checkpoint> {
    let store = session.locked.store();
    if let (Verb::Resume, Some(pending)) = (request.verb, &request.pending)
        && !has_unsaved(store, pending, &present.snapshot)?
        && !databases.has_unsaved(store, pending)?
        && let Some(safety) = session.locked.inventory().get(pending.safety)
    {
        return Ok(safety.clone());
    }
    let RestoreScope {
        paths,
        within,
        filter,
        ..
    } = request.scope.clone();
    let operation = Operation {
        verb: request.verb,
        target: request.target.id(),
        paths,
        within,
        filter,
    };
    let is_pending = request.pending.is_some();
    let record = safety_record(request.context, &present.captured, operation, is_pending);
    let (tree, meta) = (present.captured.tree, present.captured.meta.clone());
    let extras = Extras {
        databases: databases.record(&mut pack)?,
        ..Extras::default()
    };
    let new = NewCheckpoint {
        pack,
        tree,
        meta,
        extras,
        record,
    };
    // Unless a restore is pending, this journal is written before the safety checkpoint: nothing
    // has changed yet.
    let announced = session.locked.journal_writer();
    let preparing = |safety| journal_of(request, safety, staging, JournalStage::Preparing);
    let mut announce = |safety| {
        if is_pending {
            Ok(())
        } else {
            announced.write(&preparing(safety))
        }
    };
    session.locked.record(new, &mut announce)
}

fn has_unsaved(store: &Store, pending: &Pending, present: &Snapshot) -> Result<bool> {
    let known = ends_of(store, pending)?;
    let file_is_known = |path: &RelPath, entry: &Entry| {
        let same = |held: &Entry| {
            held.id == entry.id && held.kind == entry.kind && held.perm == entry.perm
        };
        known
            .iter()
            .any(|state| state.files.get(path).is_some_and(same))
    };
    let dir_is_known =
        |path: &RelPath, perm: &u32| known.iter().any(|state| state.dirs.get(path) == Some(perm));
    Ok(!present
        .files
        .iter()
        .all(|(path, entry)| file_is_known(path, entry))
        || !present
            .dirs
            .iter()
            .all(|(path, perm)| dir_is_known(path, perm)))
}

/// Removes the stages of an interrupted restore and of an earlier attempt to end it. The former is
/// kept, with a warning, if it holds content found nowhere else.
fn clear_leftovers(
    worktree: &WorkTree,
    journal: &Journal,
    known: &HashSet<ObjectId>,
) -> Result<Option<Warning>> {
    if let Some(filling) = &journal.filling {
        stage::remove_leftover(worktree, filling)?;
    }
    let is_known = |file: &mut dyn std::io::Read, len| Ok(known.contains(&hash_of(file, len)?));
    if stage::leftover_has_unsaved(worktree, &journal.staging, &is_known)? {
        return Ok(Some(Warning::LateWrites {
            paths: Vec::new(),
            staging: journal.staging.clone(),
        }));
    }
    stage::remove_leftover(worktree, &journal.staging).map(|()| None)
}

/// Blobs that the working directory or one of the checkpoints concerned holds.
fn known_blobs(
    store: &Store,
    pending: &Pending,
    target: &Target<'_>,
    present: &PlannedRestore,
) -> Result<HashSet<ObjectId>> {
    let mut known = HashSet::new();
    let mut take = |state: &Snapshot| known.extend(state.files.values().map(|entry| entry.id));
    let successor = target.successor(&DirFilter::Everything);
    [&present.wanted, &successor, &present.snapshot]
        .into_iter()
        .for_each(&mut take);
    ends_of(store, pending)?.iter().for_each(take);
    Ok(known)
}

fn journal_of(
    request: &RestoreRequest<'_>,
    safety: ObjectId,
    staging: &str,
    stage: JournalStage,
) -> Journal {
    // Resuming keeps the verb and the safety checkpoint of the interrupted restore.
    let resumed = request
        .pending
        .as_ref()
        .filter(|_| request.verb == Verb::Resume);
    let resumed = resumed.and_then(|pending| pending.journal.as_ref());
    let (verb, safety) = resumed.map_or((request.verb, safety), |it| (it.verb, it.safety));
    Journal {
        stage,
        verb,
        target: request.target.id(),
        safety,
        scope: request.scope.clone(),
        staging: staging.to_owned(),
        filling: None,
        settles: request.settles,
    }
}

/// Returns the outcome of a restore before it changes anything.
pub(super) fn outcome(
    request: &RestoreRequest<'_>,
    plan: RestorePlan,
    since: Option<Vec<RelPath>>,
    databases: Vec<DatabaseReport>,
) -> RestoreOutcome {
    RestoreOutcome {
        verb: request.verb,
        target: request.target.checkpoint.clone(),
        plan,
        since,
        step: request.step.clone(),
        story: request.story.clone(),
        databases,
        paths: request.scope.paths.clone(),
        filter: request.scope.filter.clone(),
        overlay: request.scope.overlay,
        calls_off: request.verb == Verb::Undo && request.pending.is_some(),
        ..RestoreOutcome::default()
    }
}

const FINISH_OR_UNDO: &str =
    "'checkpoint restore --resume' finishes the restore, 'checkpoint undo' takes it back";

/// Changes the working directory.
///
/// Writes `journal` once everything is staged. A failure leaves an earlier restore pending that is
/// being finished or undone; otherwise it leaves nothing behind. `last` runs after the files are in place; a kill during it leaves the restore pending.
pub fn execute(
    locked: &mut LockedStore<'_>,
    job: &RestoreJob<'_>,
    journal: &Journal,
    last: &mut dyn FnMut() -> Result<()>,
) -> Result<Executed> {
    let Staged {
        stage,
        plan,
        expected,
    } = match staging::stage(job, &journal.staging) {
        Ok(staged) => staged,
        Err(e) => return Err(give_up(locked, job, journal, e)),
    };
    if let Err(e) = locked.write_journal(journal) {
        return Err(give_up(locked, job, journal, e));
    }
    job.context.progress.begin(WorkPhase::Applying, 0, 0);
    let how = Verification::choose(job, &expected);
    let applied = match apply(job.worktree, stage, &plan, &job.context.interrupt) {
        Ok(applied) => applied,
        Err(ApplyError { error, problems }) if problems.is_empty() => {
            return Err(give_up(locked, job, journal, error));
        }
        Err(ApplyError { error, problems }) => return Err(half_done(&error, &problems)),
    };
    let verified = verify(job, &applied, expected, how)?;
    last().map_err(unfinished)?;
    let left_alone = applied.left_alone().to_vec();
    let late = applied.written_late();
    let warning = if late.is_empty() {
        let closed = close(locked, journal, applied);
        closed
            .err()
            .map(Warning::bookkeeping("clearing the staging directory away"))
    } else {
        locked.remove_journal()?;
        Some(Warning::LateWrites {
            paths: late,
            staging: journal.staging.clone(),
        })
    };
    Ok(Executed {
        left_alone,
        verified,
        warning,
    })
}

/// Removes the staging directory only after the journal says that it is no longer needed. The
/// restore is done and durable: a failure here is a warning, and the next writing command retries.
fn close(locked: &mut LockedStore<'_>, journal: &Journal, applied: Applied<'_>) -> Result<()> {
    // If there is no room to write this, remove both anyway: a kill in between leaves a restore
    // that counts as interrupted, and the store has all that is needed to finish it.
    let _ = locked.write_journal(&Journal {
        stage: JournalStage::Finished,
        ..journal.clone()
    });
    applied.discard()?;
    locked.remove_journal()
}

/// Result of a restore that was carried out.
pub struct Executed {
    /// Directories that could not be removed.
    pub left_alone: Vec<RelPath>,
    pub verified: Verified,
    pub warning: Option<Warning>,
}

/// Cleans up after a failure: no user file was changed, or all changes were rolled back.
fn give_up(
    locked: &mut LockedStore<'_>,
    job: &RestoreJob<'_>,
    journal: &Journal,
    error: Error,
) -> Error {
    let cleared = stage::remove_leftover(job.worktree, &journal.staging).and_then(|()| {
        if job.was_pending {
            return Ok(());
        }
        // This safety checkpoint belongs to a restore that never happened: `undo` must not find it.
        locked.drop_checkpoints(&[journal.safety])?;
        locked.remove_journal()
    });
    match cleared {
        Ok(()) => error,
        Err(later) => Error::unexpected(format!("{error}; then cleaning up failed: {later}")),
    }
}

/// Says of a signal that came too late to take the change back how to go on.
fn unfinished(error: Error) -> Error {
    match error.signal() {
        Some(signal) => Error::interrupted_late(
            signal,
            "the files are restored, the databases are not",
            Some(Sentence::new(FINISH_OR_UNDO, &[])),
        ),
        None => error,
    }
}

fn half_done(error: &Error, problems: &[Obstacle]) -> Error {
    let named = problems.iter().map(|p| format!("{} ({})", p.path, p.why));
    let named = named.collect::<Vec<_>>().join(", ");
    let what = format!("{error}; it could not be taken back at {named}");
    Error::unexpected(what).next(Sentence::new(FINISH_OR_UNDO, &[]))
}
