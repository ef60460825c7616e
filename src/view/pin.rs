//! `pin` as text and as JSON.

use serde_json::json;

use crate::base::text::escape;
use crate::ops::maintain::pin::PinOutcome;
use crate::view::envelope::{envelope, hex};
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

pub fn json(command: &str, outcome: &PinOutcome) -> String {
    let checkpoint = &outcome.checkpoint;
    let data = json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "reason": checkpoint.record.reason,
        "pinned": checkpoint.pinned,
        "changed": outcome.changed,
    });
    envelope(command, 0, &data, &outcome.warnings)
}
