//! `prune` as text and as JSON.

use serde_json::{Value, json};

use crate::base::cut_list::and_more;
use crate::base::text::escape;
use crate::model::checkpoint::keep_policy::KeepReason;
use crate::model::checkpoint::retention::Evicted;
use crate::ops::maintain::prune::{PruneOutcome, Retained};
use crate::view::envelope::{self, hex};
use crate::view::format::{count, size};
use crate::view::words::{Output, eviction_lines};

/// Maximum number of checkpoints named in a refusal.
const NAMED_CHECKPOINTS: usize = 5;

/// Summarizes what a command line drops beyond the configured policy, for a refusal.
pub fn stake(gone: &[Evicted]) -> String {
    let named: Vec<String> = gone.iter().map(Evicted::named).collect();
    format!(
        "drop {} that the configuration keeps: {}",
        count(gone.len(), "checkpoint", "checkpoints"),
        and_more(&named, NAMED_CHECKPOINTS),
    )
}

pub fn question(gone: &[Evicted]) -> String {
    format!(
        "{}Drop {} that the configuration keeps? This cannot be taken back. [y/N] ",
        eviction_lines("  drop", gone),
        count(gone.len(), "checkpoint", "checkpoints"),
    )
}

pub fn human(outcome: &PruneOutcome) -> Output {
    if !outcome.exists {
        return Output::default();
    }
    let same_size = size(outcome.bytes_before) == size(outcome.bytes_after);
    let is_nothing = outcome.is_nothing()
        || (outcome.evicted.is_empty() && outcome.rows_removed == 0 && same_size);
    let (did, evict) = if outcome.dry_run {
        ("Would prune", "would evict")
    } else {
        ("Pruned", "evicted")
    };
    let result = if is_nothing {
        "Nothing to prune.\n".to_owned()
    } else {
        format!(
            "{did}: {}, {}, {} → {}\n",
            count(outcome.evicted.len(), "checkpoint", "checkpoints"),
            count(outcome.rows_removed, "row", "rows"),
            size(outcome.bytes_before),
            size(outcome.bytes_after),
        )
    };
    let mut talk = eviction_lines(evict, &outcome.evicted);
    if outcome.dry_run {
        talk.extend(outcome.kept.iter().map(|kept| {
            let (short, reason) = (kept.id.short(), escape(&kept.reason));
            format!(
                "would keep {short} ({reason}): {}\n",
                reasons(kept).join(", ")
            )
        }));
    }
    Output { result, talk }
}

fn reasons(kept: &Retained) -> Vec<&'static str> {
    kept.why.iter().map(KeepReason::into_str).collect()
}

pub fn json(outcome: &PruneOutcome) -> String {
    let data = json!({
        "evicted": envelope::evicted(&outcome.evicted),
        "kept": outcome.kept.iter().map(retained).collect::<Vec<_>>(),
        "rows_removed": outcome.rows_removed,
        "bytes_before": outcome.bytes_before,
        "bytes_after": outcome.bytes_after,
        "packs_before": outcome.packs_before,
        "packs_after": outcome.packs_after,
        "dry_run": outcome.dry_run,
    });
    envelope::envelope("prune", 0, &data, &outcome.warnings)
}

fn retained(kept: &Retained) -> Value {
    json!({"id": hex(kept.id), "short": kept.id.short(), "reason": kept.reason, "why": reasons(kept)})
}
