//! Exit codes: one table, from failures and outcomes to numbers.

use crate::error::Error;
use crate::ops::create::{CreateOutcome, Skipped};

pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const NO_SUCH: u8 = 3;
pub const REFUSED: u8 = 4;
pub const PARTIAL: u8 = 5;
pub const DAMAGED: u8 = 6;
pub const BUSY: u8 = 7;
/// Added to the number of the signal that ended the work.
const SIGNALLED: i32 = 128;

pub fn of_error(error: &Error) -> u8 {
    match error {
        Error::Usage { .. } => USAGE,
        Error::NoSuchCheckpoint { .. }
        | Error::EvictedMeanwhile { .. }
        | Error::AmbiguousCheckpoint { .. }
        | Error::NoSuchPath { .. }
        | Error::NoStore { .. }
        | Error::NothingToTakeBack { .. }
        | Error::NothingFound { .. }
        | Error::RootMissing { .. } => NO_SUCH,
        Error::AmbiguousStore { .. }
        | Error::UnsafeRoot { .. }
        | Error::BadDestination { .. }
        | Error::ConsentNeeded { .. }
        | Error::Declined
        | Error::Conflict { .. }
        | Error::DotGitPath { .. }
        | Error::RestorePending { .. }
        | Error::ChangedMeanwhile { .. } => REFUSED,
        Error::Damaged { .. } | Error::StoreTooNew { .. } => DAMAGED,
        Error::Busy { .. } => BUSY,
        Error::BadConfig { .. }
        | Error::NoBase
        | Error::HostileStore { .. }
        | Error::Io { .. }
        | Error::Unexpected(_) => FAILED,
        Error::Interrupted { signal } | Error::CheckInterrupted { signal, .. } => {
            u8::try_from(SIGNALLED + signal).unwrap_or(FAILED)
        }
    }
}

/// A checkpoint that could not hold everything is made all the same, and said to be partial.
pub fn of_create(outcome: &CreateOutcome) -> u8 {
    let made = outcome.checkpoint.as_ref().filter(|_| outcome.skipped != Some(Skipped::Dedup));
    if made.is_some_and(|checkpoint| !checkpoint.is_complete()) { PARTIAL } else { DONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_the_code_that_the_readme_names() {
        let expected = [
            (Error::Usage { what: String::new() }, 2),
            (Error::NoStore { root: "/".into(), ancestor: None }, 3),
            (Error::Declined, 4),
            (Error::Damaged { what: String::new(), why: String::new() }, 6),
            (Error::Busy { holder: String::new(), waited: std::time::Duration::ZERO }, 7),
            (Error::NoBase, 1),
            (Error::Interrupted { signal: 2 }, 130),
            (Error::Interrupted { signal: 15 }, 143),
        ];
        for (error, code) in expected {
            assert_eq!(of_error(&error), code, "{error:?}");
        }
    }
}
