//! `guard` for programs.

use serde_json::json;

use crate::model::checkpoint::alias;
use crate::ops::contract::guard::GuardOutcome;
use crate::view::json::parts::{envelope, hex};

pub fn guard(outcome: &GuardOutcome) -> String {
    let checkpoint = &outcome.checkpoint;
    let data = json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "alias": alias::of(checkpoint),
        "age_ms": outcome.age_ms,
        "coverage": checkpoint.record.coverage.word(),
    });
    envelope("guard", 0, &data, &outcome.warnings)
}
