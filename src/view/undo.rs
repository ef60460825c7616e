//! `undo --list` as text and as JSON.

use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::json::CheckpointRef;
use crate::ops::browse::undo_steps::{ListedStep, StepsOutcome};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::limits::{LimitsJson, limit_words};
use crate::view::words::Output;

pub fn human(outcome: &StepsOutcome, now_ms: i64) -> Output {
    let result = stack("undo", &outcome.undo, now_ms) + &stack("redo", &outcome.redo, now_ms);
    let talk = String::new();
    Output { result, talk }
}

fn stack(verb: &str, steps: &[ListedStep], now_ms: i64) -> String {
    if steps.is_empty() {
        return format!("{verb}   -\n");
    }
    let told: Vec<String> = steps.iter().map(described).collect();
    let width = told.iter().map(|text| text.chars().count()).max();
    let width = width.unwrap_or_default();
    let lines = steps
        .iter()
        .zip(&told)
        .enumerate()
        .map(|(at, (step, text))| {
            let label = if at == 0 { verb } else { "" };
            let when = age(step.safety.record.time_ms, now_ms);
            format!("{label:<4}  {:>2}  {text:<width$}  {when} ago\n", at + 1)
        });
    lines.collect()
}

fn described(step: &ListedStep) -> String {
    let named = |target: &Checkpoint| {
        let reason = escape(&target.record.reason);
        format!("{} ({reason})", target.id.short())
    };
    let target = step.target.as_ref();
    let target = target.map_or_else(|| "a checkpoint that is gone".to_owned(), named);
    match limit_words(&step.paths, &step.filter) {
        all if all.is_empty() => format!("restore to {target}"),
        limits => format!("restore of {limits} from {target}"),
    }
}

/// The restores that can be undone or redone.
#[derive(Serialize, JsonSchema)]
pub struct UndoListAnswer {
    /// Those that `undo` takes back, the next one first.
    undo: Vec<UndoStepJson>,
    /// Those that `redo` brings back, the next one first.
    redo: Vec<UndoStepJson>,
}

/// One restore.
#[derive(Serialize, JsonSchema)]
struct UndoStepJson {
    /// What was restored; null if it is gone.
    restored_from: Option<CheckpointRef>,
    /// The checkpoint to which it can be taken back.
    safety: CheckpointRef,
    #[serde(flatten)]
    limits: LimitsJson,
}

pub fn json(outcome: &StepsOutcome) -> String {
    let data = UndoListAnswer {
        undo: outcome.undo.iter().map(step).collect(),
        redo: outcome.redo.iter().map(step).collect(),
    };
    envelope("undo.list", 0, &data, &outcome.warnings)
}

fn step(step: &ListedStep) -> UndoStepJson {
    UndoStepJson {
        restored_from: step.target.as_ref().map(CheckpointRef::new),
        safety: CheckpointRef::new(&step.safety),
        limits: LimitsJson::new(&step.paths, &step.filter),
    }
}
