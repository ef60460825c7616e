//! `reword` as text and as JSON.

use serde_json::json;

use crate::base::text::escape;
use crate::base::time::rfc3339;
use crate::ops::maintain::reword::RewordOutcome;
use crate::view::envelope::{envelope, hex};
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

pub fn json(outcome: &RewordOutcome) -> String {
    let checkpoint = &outcome.checkpoint;
    let data = json!({
        "checkpoint": {
            "id": hex(checkpoint.id),
            "short": checkpoint.id.short(),
            "reason": checkpoint.record.reason,
            "time": rfc3339(checkpoint.record.time_ms),
            "kind": checkpoint.record.kind.into_str(),
        },
        "before": outcome.before,
        "changed": outcome.is_changed(),
    });
    envelope("reword", 0, &data, &outcome.warnings)
}
