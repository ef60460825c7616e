//! `undo --list` as text and as JSON.

use serde_json::{Value, json};

use crate::base::text::escape;
use crate::base::time::{age, rfc3339};
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::undo_steps::{ListedStep, StepsOutcome};
use crate::view::envelope::{envelope, hex, paths};
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

pub fn json(outcome: &StepsOutcome) -> String {
    let data = json!({
        "undo": outcome.undo.iter().map(step).collect::<Vec<_>>(),
        "redo": outcome.redo.iter().map(step).collect::<Vec<_>>(),
    });
    envelope("undo.list", 0, &data, &outcome.warnings)
}

fn step(step: &ListedStep) -> Value {
    json!({
        "restored": step.target.as_ref().map(reference),
        "safety": reference(&step.safety),
        "paths": paths(&step.paths),
    })
}

fn reference(checkpoint: &Checkpoint) -> Value {
    let record = &checkpoint.record;
    json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "reason": record.reason,
        "time": rfc3339(record.time_ms),
        "kind": record.kind.into_str(),
    })
}
