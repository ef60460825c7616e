//! `status` as text and as JSON.

use crate::base::text::{escape, escape_path};
use crate::base::time::age;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::status::StatusOutcome;
use crate::view::create::left_out_words;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{count, size};
use crate::view::hold::{self, HoldJson};
use crate::view::parts::{ChangeCounts, CheckpointRef, CheckpointRow, LeftOutJson};
use crate::view::words::Output;

/// Formats one line for prompts and skills.
pub fn brief(outcome: &StatusOutcome, now_ms: i64) -> Output {
    let mut parts = vec![count(outcome.checkpoints, "checkpoint", "checkpoints")];
    if let Some(latest) = &outcome.latest {
        let record = &latest.record;
        parts.push(format!(
            "latest {} {} ({} ago)",
            latest.id.short(),
            escape(&record.reason),
            age(record.time_ms, now_ms)
        ));
    }
    if outcome.damaged > 0 {
        parts.push(format!("{} damaged", outcome.damaged));
    }
    if outcome.pending.is_some() {
        parts.push("a restore was interrupted".to_owned());
    }
    if !outcome.holds.is_empty() {
        parts.push(count(outcome.holds.len(), "hold", "holds"));
    }
    let result = if outcome.exists {
        format!("{}\n", parts.join(", "))
    } else {
        String::new()
    };
    Output {
        result,
        talk: String::new(),
    }
}

pub fn human(outcome: &StatusOutcome, now_ms: i64, verbose: bool) -> Output {
    let (root, store) = (escape_path(&outcome.root), escape_path(&outcome.store));
    let mut text = format!("root         {root}\nstore        {store}\n");
    if let Some(bytes) = outcome.store_bytes {
        let limit = outcome
            .max_store_bytes
            .map(|limit| format!(" of {}", size(limit)))
            .unwrap_or_default();
        text.push_str(&format!("size         {}{limit}\n", size(bytes)));
    }
    for copy in &outcome.damaged_copies {
        text.push_str(&format!("kept copy    {}\n", escape_path(copy)));
    }
    text.push_str(&checkpoints(outcome, now_ms));
    if let Some(set) = outcome
        .baseline
        .as_ref()
        .filter(|set| outcome.latest.as_ref().is_none_or(|c| c.id != set.id))
    {
        text.push_str(&format!(
            "restored     {} {}\n",
            set.id.short(),
            escape(&set.record.reason)
        ));
    }
    if let Some(drift) = outcome.drift {
        text.push_str(&format!(
            "since then   +{} ~{} -{}\n",
            drift.added, drift.changed, drift.deleted
        ));
    }
    if let Some([(target, _), (safety, _)]) = &outcome.pending {
        text.push_str(&format!(
            "pending      restore to {}, safety checkpoint {}\n",
            target.short(),
            safety.short()
        ));
    }
    text.push_str(
        &outcome
            .holds
            .iter()
            .map(hold::status_line)
            .collect::<String>(),
    );
    if let Some(out) = outcome.left_out.as_ref().filter(|out| !out.is_empty()) {
        text.push_str(&if verbose {
            format!("left out:\n{}", indented(&out.to_text()))
        } else {
            left_out_words(out)
        });
    }
    Output {
        result: if outcome.exists { text } else { String::new() },
        talk: String::new(),
    }
}

/// Formats how many checkpoints there are, and the latest one.
fn checkpoints(outcome: &StatusOutcome, now_ms: i64) -> String {
    let mut text = format!("checkpoints  {}", outcome.checkpoints);
    let parts = [
        (outcome.safety, "of them safety"),
        (outcome.pinned, "pinned"),
        (outcome.damaged, "damaged"),
    ];
    text.extend(
        parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!(", {count} {what}")),
    );
    text.push('\n');
    if let Some(latest) = &outcome.latest {
        let record = &latest.record;
        let (id, ago) = (latest.id.short(), age(record.time_ms, now_ms));
        text.push_str(&format!(
            "latest       {id} {} ({}), {ago} ago\n",
            escape(&record.reason),
            escape(&record.source)
        ));
    }
    text
}

pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// How the directory and its store stand.
#[derive(Serialize, JsonSchema)]
pub struct StatusAnswer {
    root: String,
    store: String,
    manifest: String,
    dir_hash: String,
    /// The folder of all stores.
    base: String,
    /// Whether there is a store.
    exists: bool,
    /// Numbers of checkpoints.
    checkpoints: usize,
    pinned: usize,
    safety: usize,
    damaged: usize,
    store_bytes: Option<u64>,
    latest: Option<CheckpointRow>,
    /// The checkpoint that the directory was last restored to or recorded as.
    baseline: Option<CheckpointRow>,
    /// What changed since the baseline; null if it is not known.
    drift: Option<ChangeCounts>,
    /// A restore that was interrupted.
    pending: Option<PendingJson>,
    holds: Vec<HoldJson>,
    over_keep: bool,
    max_store_bytes: Option<u64>,
    over_max_store_size: Option<bool>,
    /// Damaged stores that a repair kept.
    kept_copies: Vec<String>,
    /// Null without `-v`.
    left_out: Option<LeftOutJson>,
}

/// A restore that was interrupted.
#[derive(Serialize, JsonSchema)]
struct PendingJson {
    target: CheckpointRef,
    safety: CheckpointRef,
}

pub fn json(outcome: &StatusOutcome, verbose: bool) -> String {
    let shown = |path: &std::path::Path| path.display().to_string();
    let named =
        |(id, found): &(ObjectId, Option<Checkpoint>)| CheckpointRef::of_id(*id, found.as_ref());
    let pending = outcome.pending.as_ref();
    let left_out = outcome.left_out.as_ref().filter(|_| verbose);
    let data = StatusAnswer {
        root: shown(&outcome.root),
        store: shown(&outcome.store),
        manifest: shown(&outcome.manifest),
        dir_hash: outcome.dir_hash.clone(),
        base: shown(&outcome.base),
        exists: outcome.exists,
        checkpoints: outcome.checkpoints,
        pinned: outcome.pinned,
        safety: outcome.safety,
        damaged: outcome.damaged,
        store_bytes: outcome.store_bytes,
        latest: outcome.latest.as_ref().map(CheckpointRow::new),
        baseline: outcome.baseline.as_ref().map(CheckpointRow::new),
        drift: outcome.drift.map(|drift| ChangeCounts {
            added: drift.added,
            changed: drift.changed,
            deleted: drift.deleted,
        }),
        pending: pending.map(|[target, safety]| PendingJson {
            target: named(target),
            safety: named(safety),
        }),
        holds: outcome.holds.iter().map(HoldJson::new).collect(),
        over_keep: outcome.over_keep,
        max_store_bytes: outcome.max_store_bytes,
        over_max_store_size: outcome.is_over_max_store_size(),
        kept_copies: outcome
            .damaged_copies
            .iter()
            .map(|path| shown(path))
            .collect(),
        left_out: left_out.map(|left_out| LeftOutJson::new(left_out, true)),
    };
    envelope("status", 0, &data, &outcome.warnings)
}
