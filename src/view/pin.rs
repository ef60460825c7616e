//! `pin` as text and as JSON.

use crate::base::text::escape;
use crate::ops::maintain::pin::PinOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::parts::CheckpointRef;
use crate::view::words::Output;

pub fn human(outcome: &PinOutcome) -> Output {
    let checkpoint = &outcome.checkpoint;
    let state = match (checkpoint.pinned, outcome.changed) {
        (true, true) => "Pinned",
        (true, false) => "Already pinned:",
        (false, true) => "Unpinned",
        (false, false) => "Was not pinned:",
    };
    let result = format!(
        "{state} {} ({})\n",
        checkpoint.id.short(),
        escape(&checkpoint.record.reason)
    );
    Output {
        result,
        talk: String::new(),
    }
}

/// A checkpoint that was pinned or unpinned.
#[derive(Serialize, JsonSchema)]
pub struct PinAnswer {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    pinned: bool,
    /// True if it was so already.
    nothing_to_do: bool,
}

pub fn json(command: &str, outcome: &PinOutcome) -> String {
    let data = PinAnswer {
        checkpoint: CheckpointRef::new(&outcome.checkpoint),
        pinned: outcome.checkpoint.pinned,
        nothing_to_do: !outcome.changed,
    };
    envelope(command, 0, &data, &outcome.warnings)
}
