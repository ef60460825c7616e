//! `guard` in words.

use crate::base::text::escape;
use crate::base::time::age;
use crate::ops::contract::guard::GuardOutcome;
use crate::view::human::Output;

pub fn guard(outcome: &GuardOutcome, now_ms: i64) -> Output {
    let checkpoint = &outcome.checkpoint;
    let record = &checkpoint.record;
    let (reason, coverage) = (escape(&record.reason), record.coverage.word());
    let made =
        if outcome.age_ms == 0 { "just made".to_owned() } else { format!("{} old", age(record.time_ms, now_ms)) };
    Output { result: format!("{}\n", checkpoint.id.short()), talk: format!("{reason}: {coverage}, {made}\n") }
}
