//! Executes a restore plan: stage, journal, apply, verify, close; a failure is rolled back or
//! leaves it pending.

use crate::base::WorkPhase;
use crate::error::{Error, Obstacle, Result, Sentence};
use crate::model::RelPath;
use crate::ops::restore::staging::{self, Staged};
use crate::ops::restore::verify_written::{Verification, verify};
use crate::ops::{RestoreJob, Verified, Warning};
use crate::store::{Journal, JournalStage, LockedStore};
use crate::worktree::Applied;
use crate::worktree::apply::stage;
use crate::worktree::apply::transaction::{ApplyError, apply};

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
    let named: Vec<String> = problems
        .iter()
        .map(|p| format!("{} ({})", p.path, p.why))
        .collect();
    Error::unexpected(format!(
        "{error}; it could not be taken back at {}; {FINISH_OR_UNDO}",
        named.join(", ")
    ))
}
