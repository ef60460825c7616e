//! `delete` for programs.

use serde_json::{Value, json};

use crate::base::time::rfc3339;
use crate::ops::maintain::delete::{DeleteOutcome, Doomed};
use crate::view::json::parts::envelope;

pub fn delete(outcome: &DeleteOutcome) -> String {
    let deleted: Vec<Value> = outcome.deleted.iter().map(doomed).collect();
    let data = json!({
        "deleted": deleted,
        "whole_store": outcome.whole_store,
        "dry_run": outcome.dry_run,
        "store": outcome.store.display().to_string(),
        "bytes_before": outcome.bytes_before,
        "bytes_after": outcome.bytes_after,
    });
    envelope("delete", 0, &data, &outcome.warnings)
}

fn doomed(doomed: &Doomed) -> Value {
    json!({
        "id": doomed.id.digits(),
        "short": doomed.id.short(),
        "reason": doomed.record.as_ref().map(|(reason, _)| reason),
        "time": doomed.record.as_ref().map(|(_, time_ms)| rfc3339(*time_ms)),
        "damaged": doomed.record.is_none(),
    })
}

/// The answer of `delete --all` where there is no store.
pub fn nothing(store: &std::path::Path) -> String {
    delete(&DeleteOutcome {
        store: store.to_path_buf(),
        deleted: Vec::new(),
        whole_store: false,
        dry_run: false,
        bytes_before: 0,
        bytes_after: 0,
        warnings: Vec::new(),
    })
}
