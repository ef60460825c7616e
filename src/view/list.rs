//! `list` as text and as JSON.

use crate::model::checkpoint::manifest;
use crate::model::checkpoint::record::DamagedCheckpoint;
use crate::ops::browse::list::ListOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::Paint;
use crate::view::parts::{CheckpointRef, CheckpointRow};
use crate::view::table;
use crate::view::words::Output;

/// The piped form: byte for byte the table of the manifest, newest first.
pub fn markdown(outcome: &ListOutcome) -> Output {
    Output {
        result: manifest::render(&outcome.checkpoints),
        talk: String::new(),
    }
}

pub fn table(outcome: &ListOutcome, now_ms: i64, paint: Paint) -> Output {
    Output {
        result: table::render(&outcome.checkpoints, &outcome.damaged, now_ms, paint),
        talk: String::new(),
    }
}

/// The checkpoints of the directory.
#[derive(Serialize, JsonSchema)]
pub struct ListAnswer {
    /// Newest first.
    checkpoints: Vec<CheckpointRow>,
    /// Checkpoints that cannot be read.
    damaged: Vec<DamagedRow>,
    store: String,
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
    let data = ListAnswer {
        checkpoints: outcome.checkpoints.iter().map(CheckpointRow::new).collect(),
        damaged: outcome.damaged.iter().map(damaged).collect(),
        store: store.display().to_string(),
    };
    envelope("list", 0, &data, &outcome.warnings)
}
