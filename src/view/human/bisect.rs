//! The steps of a bisect and what it found.

use crate::base::text::escape;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::bisect::{BisectOutcome, Tested};
use crate::view::format::{Paint, count};
use crate::view::human::Output;

fn named(checkpoint: &Checkpoint) -> String {
    format!("{} ({})", checkpoint.id.short(), escape(&checkpoint.record.reason))
}

/// One line after each test.
pub fn tested(tested: &Tested) -> String {
    let how = if tested.ended.is_none() { ", without a run" } else { "" };
    format!("testing {}: {}{how}\n", named(&tested.checkpoint), tested.verdict.word())
}

/// stdout gets ids alone.
pub fn bisect(outcome: &BisectOutcome) -> Output {
    let result = outcome.candidates.iter().map(|candidate| format!("{}\n", candidate.id.short())).collect();
    let Some(bad) = outcome.first_bad() else { return Output { result, talk: String::new() } };
    let good = &outcome.last_good;
    let talk = format!(
        "first bad checkpoint: {}, the good one before it: {}\n'checkpoint diff {} {}' shows what changed\n",
        named(bad),
        named(good),
        good.id.short(),
        bad.id.short()
    );
    Output { result, talk }
}

/// Why there is no single answer.
pub fn undecided(outcome: &BisectOutcome, paint: Paint) -> String {
    let number = count(outcome.candidates.len(), "checkpoint", "checkpoints");
    let ids: Vec<String> = outcome.candidates.iter().map(|candidate| candidate.id.short()).collect();
    format!(
        "{} the first bad one is among {number}, and the others could not be told: {} (the last good one is {})\n",
        paint.red("checkpoint:"),
        ids.join(" "),
        outcome.last_good.id.short()
    )
}
