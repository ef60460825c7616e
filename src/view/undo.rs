//! `undo --list` as text and as JSON.

use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::undo_steps::{ListedStep, StepsOutcome};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::parts::{CheckpointRef, PathName, paths};
use crate::view::words::{Output, join};

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
    let target = target.map_or_else(|| "a deleted checkpoint".to_owned(), named);
    if step.paths.is_empty() {
        format!("restore to {target}")
    } else {
        format!("restore of {} from {target}", join(step.paths.iter()))
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
    /// What it was limited to; none for the whole directory.
    paths: Vec<PathName>,
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
        paths: paths(&step.paths),
    }
}
