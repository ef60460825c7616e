//! Exit codes of failures and outcomes.

use crate::error::Error;
use crate::error::problem::Grade;
use crate::ops::browse::diff::compare::DiffOutcome;
use crate::ops::create::copies::Copies;
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::ops::maintain::orphans::OrphansOutcome;
use crate::ops::restore::restore_options::{DatabaseFate, RestoreOutcome};
use crate::ops::warning::Warning;
use crate::view::answer::Done;

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
/// `diff --exit-code` found differences. With it, failures are `FAILED_TO_COMPARE`.
pub const DIFFERENT: u8 = 1;
pub const FAILED_TO_COMPARE: u8 = 128;
pub const USAGE: u8 = 2;
pub const NO_SUCH: u8 = 3;
pub const REFUSED: u8 = 4;
pub const PARTIAL: u8 = 5;
pub const DAMAGED: u8 = 6;
pub const BUSY: u8 = 7;
/// Added to the number of the signal that interrupted the work.
const SIGNALLED: i32 = 128;

pub fn of_error(error: &Error) -> u8 {
    match error {
        Error::Usage { .. }
        | Error::UnclearWords { .. }
        | Error::BadTime { .. }
        | Error::NoFileNamed { .. } => USAGE,
        Error::NoSuchCheckpoint { .. }
        | Error::EvictedMeanwhile { .. }
        | Error::AmbiguousCheckpoint { .. }
        | Error::NoSuchPath { .. }
        | Error::PathNotCheckpoint { .. }
        | Error::CheckpointNotPath { .. }
        | Error::IsDirectory { .. }
        | Error::NoStore { .. }
        | Error::BundleNeeds { .. }
        | Error::StoreGone { .. }
        | Error::NothingToTakeBack { .. }
        | Error::NothingFound { .. }
        | Error::NoSuchHold { .. }
        | Error::RootMissing { .. }
        | Error::RootIsFile { .. } => NO_SUCH,
        Error::AmbiguousStore { .. }
        | Error::UnsafeRoot { .. }
        | Error::BadDestination { .. }
        | Error::ConsentNeeded { .. }
        | Error::PlanNeeded { .. }
        | Error::PlanMoved { .. }
        | Error::PlanNotKnown { .. }
        | Error::DirNotAllowed { .. }
        | Error::Declined
        | Error::Conflict { .. }
        | Error::DotGitPath { .. }
        | Error::LinkedPath { .. }
        | Error::WorkflowFile { .. }
        | Error::RestorePending { .. }
        | Error::RestoreNeverBegan { .. }
        | Error::Pinned { .. }
        | Error::Held { .. }
        | Error::SeveralHolds { .. }
        | Error::Unguarded { .. }
        | Error::NothingHeld { .. }
        | Error::NotRecorded { .. }
        | Error::RelinkRefused { .. }
        | Error::RemoteNameTaken { .. }
        | Error::NotOwn { .. }
        | Error::DatabaseNotHeld { .. }
        | Error::ChangedMeanwhile { .. } => REFUSED,
        Error::Damaged { .. }
        | Error::BadBundle { .. }
        | Error::DamageFound { .. }
        | Error::StoreUnusable { .. }
        | Error::StoreTooNew { .. } => DAMAGED,
        Error::Workflow(problem) => match problem.grade {
            Grade::NoSuch => NO_SUCH,
            Grade::Refused => REFUSED,
            Grade::Damaged => DAMAGED,
        },
        Error::Busy { .. } => BUSY,
        Error::StoppedAfter { cause, .. } => of_error(cause),
        Error::Interrupted { signal } | Error::InterruptedLate { signal, .. } => {
            u8::try_from(SIGNALLED + signal).unwrap_or(FAILED)
        }
        // What no caller branches on.
        _ => FAILED,
    }
}

/// Partial if a checkpoint was made but lacks files or copies.
pub fn of_create(outcome: &CreateOutcome) -> u8 {
    if outcome.copies == Some(Copies::Failed) {
        return PARTIAL;
    }
    let made = outcome
        .checkpoint
        .as_ref()
        .filter(|_| outcome.skipped != Some(Skipped::Dedup));
    if made.is_some() && outcome.is_partial() {
        PARTIAL
    } else {
        DONE
    }
}

/// Ends a transfer: partial if one of several checkpoints or lines was left behind.
pub fn transferred<A>((answer, warnings): (A, Vec<Warning>)) -> Done<A> {
    let is_partial = warnings.iter().any(Warning::leaves_something);
    Done {
        exit: if is_partial { PARTIAL } else { DONE },
        ..Done::new(answer, warnings)
    }
}

/// The work is done, but its answer was lost; `failed` is the failure code of the command.
pub fn unanswered(code: u8, failed: u8) -> u8 {
    if matches!(code, DONE | PARTIAL) {
        failed
    } else {
        code
    }
}

/// Partial if a database failed, or unreadable paths remain; of a dry run, if they would.
pub fn of_restore(outcome: &RestoreOutcome) -> u8 {
    let failed = outcome
        .databases
        .iter()
        .any(|report| matches!(report.fate, DatabaseFate::Failed(_)));
    if failed || !outcome.plan.unreadable.is_empty() {
        PARTIAL
    } else {
        DONE
    }
}

/// Damage first, then differences, then partial; `asked` is `--exit-code`.
pub fn of_diff(outcome: &DiffOutcome, asked: bool) -> u8 {
    match outcome {
        _ if !outcome.damaged.is_empty() => DAMAGED,
        _ if asked && outcome.is_different() => DIFFERENT,
        _ if outcome.is_partial() => PARTIAL,
        _ => DONE,
    }
}

/// Partial if some stores were removed; if none was, the highest code of the causes.
pub fn of_orphans(outcome: &OrphansOutcome) -> u8 {
    match outcome.failures.iter().map(of_error).max() {
        None => DONE,
        Some(cause) if outcome.removed.is_empty() => cause,
        Some(_) => PARTIAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Instead;

    #[test]
    fn each_failure_has_the_code_that_the_readme_names() {
        let expected = [
            (
                Error::Usage {
                    what: String::new(),
                },
                2,
            ),
            (
                Error::NoStore {
                    root: "/".into(),
                    instead: Instead::Create,
                },
                3,
            ),
            (Error::Declined, 4),
            (
                Error::Damaged {
                    what: String::new(),
                    why: String::new(),
                },
                6,
            ),
            (
                Error::Busy {
                    holder: String::new(),
                    waited: std::time::Duration::ZERO,
                },
                7,
            ),
            (Error::NoBase { home: None }, 1),
            (Error::Interrupted { signal: 2 }, 130),
            (Error::Interrupted { signal: 15 }, 143),
        ];
        for (error, code) in expected {
            assert_eq!(of_error(&error), code, "{error:?}");
        }
    }
}
