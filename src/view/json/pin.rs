//! `pin` and `unpin` for programs.

use serde_json::json;

use crate::ops::maintain::pin::PinOutcome;
use crate::view::json::parts::{envelope, hex};

pub fn pin(command: &str, outcome: &PinOutcome) -> String {
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
