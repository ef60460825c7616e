//! `guard` as text and as JSON.

use crate::base::cut_list::and_more;
use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::alias;
use crate::model::json::CheckpointRef;
use crate::model::state::scope::ScopePart;
use crate::ops::contract::guard::GuardOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::words::Output;

/// Maximum number of paths of a scope that are named.
const NAMED_PARTS: usize = 5;

pub fn human(outcome: &GuardOutcome, now_ms: i64) -> Output {
    let checkpoint = &outcome.checkpoint;
    let record = &checkpoint.record;
    let reason = escape(&record.reason);
    let made = age(now_ms - outcome.age_ms, now_ms);
    let what = match scope(outcome) {
        Some(parts) => format!("{} only", and_more(&parts, NAMED_PARTS)),
        None => "the whole directory".to_owned(),
    };
    Output {
        result: format!("{}\n", checkpoint.id.short()),
        talk: format!("covered by '{reason}' ({what}, {made} old)\n"),
    }
}

fn scope(outcome: &GuardOutcome) -> Option<Vec<String>> {
    let scope = outcome.checkpoint.record.terms.scope.as_ref()?;
    Some(scope.parts().iter().map(ScopePart::shown).collect())
}

/// The checkpoint that covers the change.
#[derive(Serialize, JsonSchema)]
pub struct GuardAnswer {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    alias: String,
    age_ms: i64,
    coverage: &'static str,
    /// What it is limited to, as typed; null for the whole directory.
    scope: Option<Vec<String>>,
}

pub fn json(outcome: &GuardOutcome) -> String {
    let checkpoint = &outcome.checkpoint;
    let data = GuardAnswer {
        checkpoint: CheckpointRef::new(checkpoint),
        alias: alias::of(checkpoint),
        age_ms: outcome.age_ms,
        coverage: checkpoint.record.coverage.into_str(),
        scope: scope(outcome),
    };
    envelope("guard", 0, &data, &outcome.warnings)
}
