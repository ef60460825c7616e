//! Exit codes of failures and outcomes.

use crate::answer::Done;
use crate::ops::maintain::orphans::OrphansOutcome;
use crate::ops::warning::Warning;

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

/// Partial if some stores were removed; if none was, the highest code of the causes.
pub fn of_orphans(outcome: &OrphansOutcome) -> u8 {
    match outcome.failures.iter().map(|error| error.code.exit).max() {
        None => DONE,
        Some(cause) if outcome.removed.is_empty() => cause,
        Some(_) => PARTIAL,
    }
}
