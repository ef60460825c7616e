//! `list` as text and as JSON.

use crate::model::checkpoint::manifest;
use crate::model::checkpoint::record::DamagedCheckpoint;
use crate::model::difference::ChangeCounts;
use crate::model::json::{CheckpointRef, CheckpointRow};
use crate::ops::browse::list::ListOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::table::{self, Screen};
use crate::view::words::Output;

/// Adds a column with changes to the piped form, if they were counted.
fn with_changes(table: &str, changes: &[Option<ChangeCounts>]) -> String {
    if changes.is_empty() {
        return table.to_owned();
    }
    let counts = changes
        .iter()
        .map(|counts| counts.map(table::change_words).unwrap_or_default());
    let cells = ["Changes".to_owned(), "---".to_owned()].into_iter();
    let lines = table.lines().zip(cells.chain(counts));
    lines
        .map(|(line, cell)| format!("{line} {cell} |\n"))
        .collect()
}

/// The piped form: byte for byte the table of the manifest, newest first.
pub fn markdown(outcome: &ListOutcome, is_filtered: bool) -> Output {
    Output {
        result: with_changes(&manifest::render(&outcome.checkpoints), &outcome.changes),
        talk: if outcome.exists && is_filtered && outcome.checkpoints.is_empty() {
            table::nothing(outcome)
        } else {
            String::new()
        },
    }
}

pub fn table(outcome: &ListOutcome, is_filtered: bool, screen: Screen) -> Output {
    let talk = if !outcome.exists {
        String::new()
    } else if outcome.checkpoints.is_empty() {
        table::nothing(outcome)
    } else {
        table::footer(outcome, is_filtered)
    };
    Output {
        result: table::render(outcome, screen),
        talk,
    }
}

/// The checkpoints of the directory.
#[derive(Serialize, JsonSchema)]
pub struct ListAnswer {
    /// Newest first.
    checkpoints: Vec<ListedCheckpoint>,
    /// Checkpoints that cannot be read.
    damaged: Vec<DamagedRow>,
    store: String,
}

/// A checkpoint, with what changed in it.
#[derive(Serialize, JsonSchema)]
struct ListedCheckpoint {
    #[serde(flatten)]
    row: CheckpointRow,
    /// Whether the directory stands here: what `@` names.
    is_current: bool,
    /// Null without `--stat`.
    counts: Option<ChangeCounts>,
}

/// A checkpoint that cannot be read.
#[derive(Serialize, JsonSchema)]
pub struct DamagedRow {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    why: String,
}

pub fn json(outcome: &ListOutcome, store: &std::path::Path) -> String {
    let damaged = |lost: &DamagedCheckpoint| DamagedRow {
        checkpoint: CheckpointRef::of_parts(&lost.id, None, None),
        why: lost.why.clone(),
    };
    let mut counts = outcome.changes.iter();
    let rows = outcome.checkpoints.iter().map(|row| ListedCheckpoint {
        row: CheckpointRow::new(row),
        is_current: outcome.position.as_ref().map(|c| c.id) == Some(row.id),
        counts: counts.next().copied().flatten().map(Into::into),
    });
    let data = ListAnswer {
        checkpoints: rows.collect(),
        damaged: outcome.damaged.iter().map(damaged).collect(),
        store: store.display().to_string(),
    };
    envelope("list", 0, &data, &outcome.warnings)
}
