//! `prune` as text and as JSON.

use serde_json::json;

use crate::ops::maintain::prune::PruneOutcome;
use crate::view::envelope;
use crate::view::format::{count, size};
use crate::view::words::{Output, evicted};

pub fn human(outcome: &PruneOutcome) -> Output {
    if !outcome.exists {
        return Output::default();
    }
    let same_size = size(outcome.bytes_before) == size(outcome.bytes_after);
    if outcome.is_nothing()
        || (outcome.evicted.is_empty() && outcome.rows_removed == 0 && same_size)
    {
        return Output {
            result: "Nothing to prune.\n".to_owned(),
            talk: String::new(),
        };
    }
    let result = format!(
        "{}: {}, {}, {} → {}\n",
        if outcome.dry_run {
            "Would prune"
        } else {
            "Pruned"
        },
        count(outcome.evicted.len(), "checkpoint", "checkpoints"),
        count(outcome.rows_removed, "row", "rows"),
        size(outcome.bytes_before),
        size(outcome.bytes_after),
    );
    Output {
        result,
        talk: evicted(&outcome.evicted),
    }
}

pub fn json(outcome: &PruneOutcome) -> String {
    let data = json!({
        "evicted": envelope::evicted(&outcome.evicted),
        "rows_removed": outcome.rows_removed,
        "bytes_before": outcome.bytes_before,
        "bytes_after": outcome.bytes_after,
        "packs_before": outcome.packs_before,
        "packs_after": outcome.packs_after,
        "dry_run": outcome.dry_run,
    });
    envelope::envelope("prune", 0, &data, &outcome.warnings)
}
