//! `guard` as text and as JSON.

use serde_json::json;

use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::alias;
use crate::ops::contract::guard::GuardOutcome;
use crate::view::envelope::{envelope, hex};
use crate::view::words::Output;

pub fn human(outcome: &GuardOutcome, now_ms: i64) -> Output {
    let checkpoint = &outcome.checkpoint;
    let record = &checkpoint.record;
    let (reason, coverage) = (escape(&record.reason), record.coverage.into_str());
    let made = if outcome.age_ms == 0 {
        "just made".to_owned()
    } else {
        format!("{} old", age(record.time_ms, now_ms))
    };
    Output {
        result: format!("{}\n", checkpoint.id.short()),
        talk: format!("{reason}: {coverage}, {made}\n"),
    }
}

pub fn json(outcome: &GuardOutcome) -> String {
    let checkpoint = &outcome.checkpoint;
    let data = json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "alias": alias::of(checkpoint),
        "age_ms": outcome.age_ms,
        "coverage": checkpoint.record.coverage.into_str(),
    });
    envelope("guard", 0, &data, &outcome.warnings)
}
