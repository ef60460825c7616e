//! `prune` as text and as JSON.

use crate::base::text::escape;
use crate::model::checkpoint::keep_policy::KeepReason;
use crate::model::checkpoint::retention::Evicted;
use crate::model::json::{CheckpointRef, Dropped, dropped};
use crate::ops::maintain::prune::{PruneOutcome, Retained};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{count, size};
use crate::view::words::{Output, eviction_lines};

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
            let (short, reason) = (
                kept.checkpoint.id.short(),
                escape(&kept.checkpoint.record.reason),
            );
            format!(
                "would keep {short} ({reason}): {}\n",
                reasons(kept).join(", ").replace('_', " ")
            )
        }));
    }
    Output { result, talk }
}

fn reasons(kept: &Retained) -> Vec<&'static str> {
    kept.why.iter().map(KeepReason::into_str).collect()
}

/// What `prune` dropped, and the space that it freed.
#[derive(Serialize, JsonSchema)]
pub struct PruneAnswer {
    dropped: Vec<Dropped>,
    /// Those that stay, newest first.
    kept: Vec<RetainedJson>,
    /// Rows of the manifest without a checkpoint that were removed.
    rows_removed: usize,
    before_bytes: u64,
    after_bytes: u64,
    packs_before: usize,
    packs_after: usize,
    dry_run: bool,
}

/// A checkpoint that stays, and the rules that keep it.
#[derive(Serialize, JsonSchema)]
struct RetainedJson {
    checkpoint: CheckpointRef,
    rules: Vec<&'static str>,
}

pub fn json(outcome: &PruneOutcome) -> String {
    let data = PruneAnswer {
        dropped: dropped(&outcome.evicted),
        kept: outcome.kept.iter().map(retained).collect(),
        rows_removed: outcome.rows_removed,
        before_bytes: outcome.bytes_before,
        after_bytes: outcome.bytes_after,
        packs_before: outcome.packs_before,
        packs_after: outcome.packs_after,
        dry_run: outcome.dry_run,
    };
    envelope("prune", 0, &data, &outcome.warnings)
}

fn retained(kept: &Retained) -> RetainedJson {
    RetainedJson {
        checkpoint: CheckpointRef::new(&kept.checkpoint),
        rules: reasons(kept),
    }
}
