//! `list` as text and as JSON.

use serde_json::{Value, json};

use crate::model::checkpoint::manifest;
use crate::model::checkpoint::record::DamagedCheckpoint;
use crate::ops::browse::list::ListOutcome;
use crate::view::envelope::{self, row};
use crate::view::format::Paint;
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

pub fn json(outcome: &ListOutcome, store: &std::path::Path) -> String {
    let damaged = |lost: &DamagedCheckpoint| json!({"id": lost.id.digits(), "short": lost.id.short(), "damaged": true, "why": lost.why});
    let rows = outcome.checkpoints.iter().map(row).collect::<Vec<_>>();
    let lost: Vec<Value> = outcome.damaged.iter().map(damaged).collect();
    let data = json!({"checkpoints": rows, "damaged": lost, "store": store.display().to_string()});
    envelope::envelope("list", 0, &data, &outcome.warnings)
}
