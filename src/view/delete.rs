//! `delete` as text and as JSON.

use crate::base::text::{escape, escape_path};
use crate::base::time::{self, age, local_minutes};
use crate::model::json::{CheckpointRef, Dropped};
use crate::ops::maintain::delete::{DeleteOutcome, Deletion, ToDelete};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{Paint, count, size};
use crate::view::words::Output;

/// Maximum number of checkpoints listed in a question.
const LISTED_CHECKPOINTS: usize = 20;

/// Summarizes the deletion in one line, for a refusal: `delete 2 checkpoints`.
pub fn stake(deletion: &Deletion<'_>) -> String {
    let number = count(deletion.to_delete.len(), "checkpoint", "checkpoints");
    match deletion.whole_store {
        Some(store) => format!(
            "delete the whole store of {} with {number}",
            escape_path(store.root)
        ),
        None => format!("delete {number}"),
    }
}

pub fn question(deletion: &Deletion<'_>, now_ms: i64, paint: Paint) -> String {
    let line = |one: &ToDelete| line(one, now_ms, local_minutes, paint);
    let mut text = listing(deletion.to_delete, LISTED_CHECKPOINTS, line);
    if let Some(store) = deletion.whole_store {
        text.push_str(&format!(
            "  {} ({})\n",
            escape_path(store.dir),
            size(store.bytes)
        ));
    }
    let stake = stake(deletion);
    let (first, rest) = stake.split_at(1);
    text.push_str(&format!(
        "{}{rest}? This cannot be taken back. [y/N] ",
        first.to_uppercase()
    ));
    text
}

fn listing(to_delete: &[ToDelete], limit: usize, line: impl Fn(&ToDelete) -> String) -> String {
    let shown = to_delete.iter().take(limit);
    let mut text: String = shown.map(|one| format!("  {}\n", line(one))).collect();
    if to_delete.len() > limit {
        text.push_str(&format!("  … and {} more\n", to_delete.len() - limit));
    }
    text
}

fn line(to_delete: &ToDelete, now_ms: i64, time: fn(i64) -> String, paint: Paint) -> String {
    let id = paint.yellow(&to_delete.id.short());
    match &to_delete.record {
        Some((reason, time_ms)) => {
            format!(
                "{id}  {}  {} ({} ago)",
                time(*time_ms),
                escape(reason),
                age(*time_ms, now_ms)
            )
        }
        None => format!("{id}  damaged"),
    }
}

/// Times are local at a terminal, else UTC.
pub fn human(outcome: &DeleteOutcome, now_ms: i64, paint: Paint, for_a_person: bool) -> Output {
    let number = count(outcome.deleted.len(), "checkpoint", "checkpoints");
    let done = if outcome.dry_run {
        "Would delete"
    } else {
        "Deleted"
    };
    let room = match (outcome.dry_run, outcome.whole_store) {
        (true, false) => String::new(),
        (true, true) => format!(", {}", size(outcome.bytes_before)),
        (false, _) => format!(
            ", {} → {}",
            size(outcome.bytes_before),
            size(outcome.bytes_after)
        ),
    };
    let store = if outcome.whole_store {
        format!(" and the store {}", escape_path(&outcome.store))
    } else {
        String::new()
    };
    let result = format!("{done} {number}{store}{room}\n");
    let time = time::shown(for_a_person);
    let line = |one: &ToDelete| line(one, now_ms, time, paint);
    let listed = listing(&outcome.deleted, usize::MAX, line);
    if outcome.dry_run {
        Output {
            result: format!("{listed}{result}"),
            talk: String::new(),
        }
    } else {
        Output {
            result,
            talk: listed,
        }
    }
}

/// What `delete` dropped.
#[derive(Serialize, JsonSchema)]
pub struct DeleteAnswer {
    dropped: Vec<Dropped>,
    whole_store: bool,
    dry_run: bool,
    /// Digest of the plan, which `--plan` takes; null unless it is a dry run.
    plan_digest: Option<String>,
    store: String,
    /// Size of the store before and after.
    before_bytes: u64,
    after_bytes: u64,
}

pub fn json(outcome: &DeleteOutcome, exit: u8) -> String {
    let data = DeleteAnswer {
        dropped: outcome.deleted.iter().map(dropped).collect(),
        whole_store: outcome.whole_store,
        dry_run: outcome.dry_run,
        plan_digest: outcome.plan_digest(),
        store: outcome.store.display().to_string(),
        before_bytes: outcome.bytes_before,
        after_bytes: outcome.bytes_after,
    };
    envelope("delete", exit, &data, &outcome.warnings)
}

fn dropped(deleted: &ToDelete) -> Dropped {
    let reason = deleted.record.as_ref().map(|(reason, _)| reason.as_str());
    let time_ms = deleted.record.as_ref().map(|(_, time_ms)| *time_ms);
    Dropped {
        checkpoint: CheckpointRef::of_parts(&deleted.id, reason, time_ms.zip(deleted.kind)),
        why: "asked_for".to_owned(),
    }
}

/// Returns the JSON of `--all` without a store.
pub fn nothing_json(store: &std::path::Path) -> String {
    let nothing = DeleteOutcome {
        store: store.to_path_buf(),
        deleted: Vec::new(),
        whole_store: false,
        dry_run: false,
        bytes_before: 0,
        bytes_after: 0,
        warnings: Vec::new(),
    };
    json(&nothing, 0)
}
