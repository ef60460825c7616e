//! Carrying a plan out: stage, journal, apply, verify, close. Whatever fails, it is taken back or stays pending.

use crate::base::progress::WorkPhase;
use crate::error::{Error, Result};
use crate::model::restore_plan::Obstacle;
use crate::model::state::rel_path::RelPath;
use crate::ops::restore::restore_job::RestoreJob;
use crate::ops::restore::staging::{self, Staged};
use crate::ops::restore::verify_written::{Confirmed, confirm};
use crate::ops::warning::Warning;
use crate::store::locked::LockedStore;
use crate::store::state::journal::{Journal, JournalStage};
use crate::worktree::apply::stage_removal;
use crate::worktree::apply::transaction::{Applied, ApplyError, apply};

/// Changes the working directory.
///
/// `journal` is written once everything is staged. `was_pending`: an earlier restore is being finished or taken back,
/// so a failure leaves that one pending; otherwise a failure leaves nothing at all. `last` is done once the files are, and
/// is part of what a kill leaves pending.
pub fn execute(
    locked: &mut LockedStore<'_>,
    job: &RestoreJob<'_>,
    journal: &Journal,
    was_pending: bool,
    last: &mut dyn FnMut() -> Result<()>,
) -> Result<CarriedOut> {
    let Staged { stage, plan, expected } = match staging::stage(locked.store(), job, &journal.staging) {
        Ok(staged) => staged,
        Err(e) => return Err(give_up(locked, job, journal, was_pending, e)),
    };
    if let Err(e) = locked.write_journal(journal) {
        return Err(give_up(locked, job, journal, was_pending, e));
    }
    job.context.progress.begin(WorkPhase::Applying, 0, 0);
    let applied = match apply(job.worktree, stage, &plan, &job.context.interrupt) {
        Ok(applied) => applied,
        Err(ApplyError::Changed(obstacles)) => {
            return Err(give_up(locked, job, journal, was_pending, Error::ChangedMeanwhile { obstacles }));
        }
        Err(ApplyError::Failed { error, rolled_back: true, .. }) => {
            return Err(give_up(locked, job, journal, was_pending, error));
        }
        Err(ApplyError::Failed { error, problems, .. }) => return Err(half_done(&error, &problems)),
    };
    let confirmed = confirm(job, &applied, expected)?;
    last()?;
    let left_alone = applied.left_alone().to_vec();
    let late = applied.written_late();
    if !late.is_empty() {
        locked.remove_journal()?;
        let warning = Some(Warning::LateWrites { paths: late, staging: journal.staging.clone() });
        return Ok(CarriedOut { left_alone, confirmed, warning });
    }
    let closed = close(locked, journal, applied);
    let warning = closed.err().map(Warning::bookkeeping("clearing the staging directory away"));
    Ok(CarriedOut { left_alone, confirmed, warning })
}

/// What waits in the staging directory goes only after the journal says that nobody will ask for it. The restore is done
/// and durable by now: what fails here is said, and the next command that writes tries again.
fn close(locked: &mut LockedStore<'_>, journal: &Journal, applied: Applied<'_>) -> Result<()> {
    // Where there is no room to say so, both go all the same: a kill between them leaves a restore that counts as
    // interrupted, and all that is needed to end it is in the store.
    let _ = locked.write_journal(&Journal { stage: JournalStage::Finished, ..journal.clone() });
    applied.discard()?;
    locked.remove_journal()
}

/// What is to be said of a restore that was carried out.
pub struct CarriedOut {
    /// Directories that stayed after all.
    pub left_alone: Vec<RelPath>,
    pub confirmed: Confirmed,
    pub warning: Option<Warning>,
}

/// Nothing of the user's is changed at this point, or all of it was taken back.
fn give_up(
    locked: &mut LockedStore<'_>,
    job: &RestoreJob<'_>,
    journal: &Journal,
    was_pending: bool,
    error: Error,
) -> Error {
    let cleared = stage_removal::remove_leftover(job.worktree, &journal.staging).and_then(|()| {
        if was_pending {
            return Ok(());
        }
        // This safety checkpoint is of a restore that never was: `undo` must not find it.
        locked.drop_checkpoints(&[journal.safety])?;
        locked.remove_journal()
    });
    match cleared {
        Ok(()) => error,
        Err(later) => Error::unexpected(format!("{error}; and then: {later}")),
    }
}

fn half_done(error: &Error, problems: &[Obstacle]) -> Error {
    let named: Vec<String> = problems.iter().map(|p| format!("{} ({})", p.path, p.why)).collect();
    Error::unexpected(format!(
        "{error}; it could not be taken back at {}; 'checkpoint restore --resume' finishes the restore, \
         'checkpoint undo' takes it back",
        named.join(", ")
    ))
}
