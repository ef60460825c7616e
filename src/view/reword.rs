//! `reword` as text and as JSON.

use crate::base::text::escape;
use crate::model::json::CheckpointRef;
use crate::ops::maintain::reword::RewordOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::words::Output;

pub fn human(outcome: &RewordOutcome) -> Output {
    let checkpoint = &outcome.checkpoint;
    let (id, reason) = (checkpoint.id.short(), escape(&checkpoint.record.reason));
    let result = if outcome.is_changed() {
        format!("Reworded {id} ({}): {reason}\n", escape(&outcome.before))
    } else {
        format!("Already so: {id} ({reason})\n")
    };
    let talk = String::new();
    Output { result, talk }
}

/// A checkpoint with another reason.
#[derive(Serialize, JsonSchema)]
pub struct RewordAnswer {
    checkpoint: CheckpointRef,
    /// The reason before.
    reason_before: String,
    /// True if it was so already.
    nothing_to_do: bool,
}

pub fn json(outcome: &RewordOutcome) -> String {
    let data = RewordAnswer {
        checkpoint: CheckpointRef::new(&outcome.checkpoint),
        reason_before: outcome.before.clone(),
        nothing_to_do: !outcome.is_changed(),
    };
    envelope("reword", 0, &data, &outcome.warnings)
}
