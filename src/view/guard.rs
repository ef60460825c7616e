//! `guard` as text and as JSON.

use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::alias;
use crate::ops::contract::guard::GuardOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::parts::CheckpointRef;
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

/// The checkpoint that covers the change.
#[derive(Serialize, JsonSchema)]
pub struct GuardAnswer {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    alias: String,
    age_ms: i64,
    coverage: &'static str,
}

pub fn json(outcome: &GuardOutcome) -> String {
    let checkpoint = &outcome.checkpoint;
    let data = GuardAnswer {
        checkpoint: CheckpointRef::new(checkpoint),
        alias: alias::of(checkpoint),
        age_ms: outcome.age_ms,
        coverage: checkpoint.record.coverage.into_str(),
    };
    envelope("guard", 0, &data, &outcome.warnings)
}
