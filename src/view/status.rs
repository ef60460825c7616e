//! `status` as text and as JSON.

use std::path::Path;

use crate::base::text::{escape, escape_path};
use crate::base::time::age;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::difference::ChangeKind;
use crate::model::state::object_id::ObjectId;
use crate::ops::browse::status::StatusOutcome;
use crate::ops::warning::warning_words::thousands;
use crate::view::create::left_out_words;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{Paint, count, size};
use crate::view::glance;
use crate::view::hold::{self, HoldJson};
use crate::view::parts::{ChangeCountsJson, CheckpointRef, CheckpointRow, LeftOutJson};
use crate::view::table::state_words;
use crate::view::words::Output;
use crate::view::workflow::summary;
use crate::workflow::engine::runs::Run;

/// Formats one line for prompts and skills.
pub fn brief(outcome: &StatusOutcome, open_run: Option<&Run>, now_ms: i64) -> Output {
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
    parts.extend(open_run.map(|run| format!("in {}", glance::phase(run))));
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

/// Maximum number of changed files that are named.
const CHANGED_SHOWN: usize = 10;

/// What the text shows beside the outcome.
pub struct StatusView<'v> {
    /// The runs that have not ended.
    pub open_runs: &'v [Run],
    pub home: Option<&'v Path>,
    pub now_ms: i64,
    pub verbose: bool,
    pub paint: Paint,
}

/// Formats one screen: the position, changed files, what is under way, what is left out, the store.
pub fn human(outcome: &StatusOutcome, view: &StatusView<'_>) -> Output {
    let mut text = position(outcome, view.now_ms);
    text.push_str(&changed(outcome, view.paint));
    for run in view.open_runs {
        let place = summary::place(&run.workflow);
        text.push_str(&line("workflow", &format!("{} {place}", escape(run.id()))));
    }
    if let Some([(target, _), (safety, _)]) = &outcome.pending {
        let (target, safety) = (target.short(), safety.short());
        let pending = format!("restore to {target}, safety checkpoint {safety}");
        text.push_str(&line("pending", &pending));
    }
    text.extend(outcome.holds.iter().map(hold::status_line));
    if let Some(out) = outcome.left_out.as_ref().filter(|out| !out.is_empty()) {
        text.push_str(&if view.verbose {
            format!("left out:\n{}", indented(&out.to_text()))
        } else {
            left_out_words(out)
        });
    }
    text.push_str(&place(outcome, view.home));
    Output {
        result: if outcome.exists { text } else { String::new() },
        talk: String::new(),
    }
}

fn line(label: &str, value: &str) -> String {
    format!("{label:<11}  {value}\n")
}

/// What the directory was last set to, and the newest checkpoint if that is another one.
fn position(outcome: &StatusOutcome, now_ms: i64) -> String {
    let told = |c: &Checkpoint| {
        let (reason, source) = (escape(&c.record.reason), escape(&c.record.source));
        format!("{} {reason} ({source})", c.id.short())
    };
    let ago = |c: &Checkpoint| format!("{} ago", age(c.record.time_ms, now_ms));
    let set = outcome.position.as_ref();
    let is_newest = set.map(|c| c.id) == outcome.latest.as_ref().map(|c| c.id);
    let at = set.map(|set| match &outcome.position_story {
        Some((story, reason)) => {
            let state = state_words(story, reason.as_deref());
            format!("{} {state}", set.id.short())
        }
        None if is_newest => format!("{}, {}", told(set), ago(set)),
        None => format!("{}, restored", told(set)),
    });
    let newest = outcome
        .latest
        .as_ref()
        .filter(|_| !is_newest || set.is_none());
    let newest = newest.map(|c| format!("{}, {}", told(c), ago(c)));
    let lines = [("at", at), ("newest", newest)];
    lines
        .into_iter()
        .filter_map(|(label, value)| Some(line(label, &value?)))
        .collect()
}

/// The files that differ from the position, and the command that lists all of them.
fn changed(outcome: &StatusOutcome, paint: Paint) -> String {
    let Some(counts) = outcome.drift else {
        return String::new();
    };
    let numbers = [
        (counts.added, "added"),
        (counts.changed, "modified"),
        (counts.deleted, "deleted"),
    ];
    let told: Vec<String> = numbers
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", thousands(number as u64)))
        .collect();
    if told.is_empty() {
        return line("changed", "nothing since");
    }
    let mut text = line("changed", &told.join(", "));
    for (path, kind) in outcome.changed.iter().take(CHANGED_SHOWN) {
        let shown = match kind {
            ChangeKind::Added => paint.green(&format!("+ {path}")),
            ChangeKind::Deleted => paint.red(&format!("- {path}")),
            _ => paint.yellow(&format!("~ {path}")),
        };
        text.push_str(&format!("  {shown}\n"));
    }
    let more = outcome.changed.len().saturating_sub(CHANGED_SHOWN);
    if more > 0 {
        text.push_str(&format!(
            "  and {} more: 'checkpoint diff --name-status'\n",
            thousands(more as u64)
        ));
    }
    text
}

/// The number of checkpoints, and where they are stored.
fn place(outcome: &StatusOutcome, home: Option<&Path>) -> String {
    let mut text = (outcome.checkpoints - outcome.safety).to_string();
    if outcome.safety > 0 {
        text.push_str(&format!(
            ", {}",
            count(outcome.safety, "restore", "restores")
        ));
    }
    for (number, word) in [(outcome.pinned, "pinned"), (outcome.damaged, "damaged")] {
        if number > 0 {
            text.push_str(&format!(", {number} {word}"));
        }
    }
    let mut text = line("checkpoints", &text);
    for copy in &outcome.damaged_copies {
        text.push_str(&line("kept copy", &below_home(copy, home)));
    }
    text.push_str(&line("root", &escape_path(&outcome.root)));
    let limit = outcome
        .max_store_bytes
        .map(|limit| format!(" of {}", size(limit)));
    let bytes = outcome
        .store_bytes
        .map(|bytes| format!("{}{} in ", size(bytes), limit.unwrap_or_default()));
    let dir = below_home(&outcome.store, home);
    text + &line("store", &format!("{}{dir}", bytes.unwrap_or_default()))
}

fn below_home(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", escape_path(below)),
        None => escape_path(path),
    }
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
    checkpoint_count: usize,
    pinned_count: usize,
    safety_count: usize,
    damaged_count: usize,
    store_bytes: Option<u64>,
    latest: Option<CheckpointRow>,
    /// The checkpoint that the directory was last restored to or recorded as.
    baseline: Option<CheckpointRow>,
    /// What changed since the baseline; null if it is not known.
    drift: Option<ChangeCountsJson>,
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
        checkpoint_count: outcome.checkpoints,
        pinned_count: outcome.pinned,
        safety_count: outcome.safety,
        damaged_count: outcome.damaged,
        store_bytes: outcome.store_bytes,
        latest: outcome.latest.as_ref().map(CheckpointRow::new),
        baseline: outcome.baseline.as_ref().map(CheckpointRow::new),
        drift: outcome.drift.map(Into::into),
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
