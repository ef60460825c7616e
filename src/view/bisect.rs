//! `bisect` as text and as JSON.

use serde_json::{Value, json};

use crate::base::text::escape;
use crate::model::checkpoint::bisection::BisectVerdict;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::command_end::CommandEnd;
use crate::ops::browse::bisect::{BisectOutcome, TestedCheckpoint};
use crate::view::envelope::{envelope, hex, row};
use crate::view::format::{Paint, count};
use crate::view::words::Output;

fn named(checkpoint: &Checkpoint) -> String {
    format!(
        "{} ({})",
        checkpoint.id.short(),
        escape(&checkpoint.record.reason)
    )
}

/// Formats one line after each test.
pub fn tested(tested: &TestedCheckpoint) -> String {
    let how = if tested.ended.is_none() {
        ", without a run"
    } else {
        ""
    };
    format!(
        "testing {}: {}{how}\n",
        named(&tested.checkpoint),
        tested.verdict.into_str()
    )
}

/// The result is only ids, for use in scripts.
pub fn human(outcome: &BisectOutcome) -> Output {
    let result = outcome
        .candidates
        .iter()
        .map(|candidate| format!("{}\n", candidate.id.short()))
        .collect();
    let Some(bad) = outcome.first_bad() else {
        return Output {
            result,
            talk: String::new(),
        };
    };
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

/// Explains why there is no single answer.
pub fn undecided(outcome: &BisectOutcome, paint: Paint) -> String {
    let number = count(outcome.candidates.len(), "checkpoint", "checkpoints");
    let ids: Vec<String> = outcome
        .candidates
        .iter()
        .map(|candidate| candidate.id.short())
        .collect();
    format!(
        "{} the first bad one is among {number}, and the others could not be told: {} (the last good one is {})\n",
        paint.red("checkpoint:"),
        ids.join(" "),
        outcome.last_good.id.short()
    )
}

pub fn json(outcome: &BisectOutcome, exit: u8) -> String {
    let skipped = outcome
        .tested
        .iter()
        .filter(|tested| tested.verdict == BisectVerdict::Skip);
    let data = json!({
        "first_bad": outcome.first_bad().map(row),
        "last_good": row(&outcome.last_good),
        "candidates": outcome.candidates.iter().map(row).collect::<Vec<_>>(),
        "tested": outcome.tested.iter().map(tested_json).collect::<Vec<_>>(),
        "skipped": skipped.map(tested_json).collect::<Vec<_>>(),
    });
    envelope("bisect", exit, &data, &outcome.warnings)
}

fn tested_json(tested: &TestedCheckpoint) -> Value {
    let checkpoint = &tested.checkpoint;
    json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "reason": checkpoint.record.reason,
        "verdict": tested.verdict.into_str(),
        "exit": tested.ended.map(CommandEnd::code),
    })
}
