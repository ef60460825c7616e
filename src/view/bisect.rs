//! `bisect` as text and as JSON.

use crate::base::text::escape;
use crate::model::checkpoint::bisection::BisectVerdict;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::command_end::CommandEnd;
use crate::model::json::{CheckpointRef, CheckpointRow};
use crate::ops::browse::bisect::{BisectOutcome, TestedCheckpoint};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{Paint, count};
use crate::view::place::placed;
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
        "first bad checkpoint: {}; the good one before it: {}\nto see what changed: {}\n",
        named(bad),
        named(good),
        placed(&format!(
            "checkpoint diff {} {}",
            good.id.short(),
            bad.id.short()
        ))
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
        "{} the first bad one is among these {number}, which could not be tested: {}; the last good one is {}\n",
        paint.red("checkpoint:"),
        ids.join(" "),
        outcome.last_good.id.short()
    )
}

/// What `bisect` found.
#[derive(Serialize, JsonSchema)]
pub struct BisectAnswer {
    /// Null if the checkpoints that could not be tested hide it.
    first_bad: Option<CheckpointRow>,
    last_good: CheckpointRow,
    /// The checkpoints among which the first bad one is.
    candidates: Vec<CheckpointRow>,
    /// In the order in which they were tested.
    tested: Vec<TestedJson>,
    untested: Vec<TestedJson>,
}

/// One test of a bisection.
#[derive(Serialize, JsonSchema)]
struct TestedJson {
    checkpoint: CheckpointRef,
    /// `good`, `bad` or `skip`.
    verdict: &'static str,
    /// The exit code of the command; null if it was not run.
    exit: Option<i32>,
}

impl TestedJson {
    fn new(tested: &TestedCheckpoint) -> Self {
        Self {
            checkpoint: CheckpointRef::new(&tested.checkpoint),
            verdict: tested.verdict.into_str(),
            exit: tested.ended.map(CommandEnd::code),
        }
    }
}

pub fn json(outcome: &BisectOutcome, exit: u8) -> String {
    let skipped = outcome
        .tested
        .iter()
        .filter(|tested| tested.verdict == BisectVerdict::Skip);
    let data = BisectAnswer {
        first_bad: outcome.first_bad().map(CheckpointRow::new),
        last_good: CheckpointRow::new(&outcome.last_good),
        candidates: outcome.candidates.iter().map(CheckpointRow::new).collect(),
        tested: outcome.tested.iter().map(TestedJson::new).collect(),
        untested: skipped.map(TestedJson::new).collect(),
    };
    envelope("bisect", exit, &data, &outcome.warnings)
}
