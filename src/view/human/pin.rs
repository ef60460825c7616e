//! `pin` and `unpin` in words.

use crate::base::text::escape;
use crate::ops::maintain::pin::PinOutcome;
use crate::view::human::Output;

pub fn pin(outcome: &PinOutcome) -> Output {
    let checkpoint = &outcome.checkpoint;
    let state = match (checkpoint.pinned, outcome.changed) {
        (true, true) => "Pinned",
        (true, false) => "Already pinned:",
        (false, true) => "Unpinned",
        (false, false) => "Was not pinned:",
    };
    let result = format!("{state} {} ({})\n", checkpoint.id.short(), escape(&checkpoint.record.reason));
    Output { result, talk: String::new() }
}
