//! `bisect` for programs.

use serde_json::{Value, json};

use crate::model::checkpoint::bisection::BisectVerdict;
use crate::model::ended::CommandEnd;
use crate::ops::browse::bisect::{BisectOutcome, Tested};
use crate::view::json::parts::{envelope, hex, row};

pub fn bisect(outcome: &BisectOutcome, exit: u8) -> String {
    let skipped = outcome.tested.iter().filter(|tested| tested.verdict == BisectVerdict::Skip);
    let data = json!({
        "first_bad": outcome.first_bad().map(row),
        "last_good": row(&outcome.last_good),
        "candidates": outcome.candidates.iter().map(row).collect::<Vec<_>>(),
        "tested": outcome.tested.iter().map(tested).collect::<Vec<_>>(),
        "skipped": skipped.map(tested).collect::<Vec<_>>(),
    });
    envelope("bisect", exit, &data, &outcome.warnings)
}

fn tested(tested: &Tested) -> Value {
    let checkpoint = &tested.checkpoint;
    json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "reason": checkpoint.record.reason,
        "verdict": tested.verdict.word(),
        "exit": tested.ended.map(CommandEnd::code),
    })
}
