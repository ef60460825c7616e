//! The data of each command for programs. Inside one schema number fields are only added.

use serde_json::{Value, json};

use crate::base::time::rfc3339;
use crate::error::Error;
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::{Checkpoint, DamagedCheckpoint};
use crate::model::difference::TreeChange;
use crate::model::ended::CommandEnd;
use crate::model::restore_plan::RestorePlan;
use crate::model::state::entry::WhyNot;
use crate::model::state::meta::Meta;
use crate::ops::browse::list::{ListOutcome, ShowOutcome};
use crate::ops::browse::status::StatusOutcome;
use crate::ops::create::command::{CreateOutcome, Skipped};
use crate::ops::create::copies::Copies;
use crate::ops::maintain::prune::PruneOutcome;
use crate::ops::restore::restore_options::RestoreOutcome;
use crate::view::contract::ContractDocument;
use crate::view::json::parts::{evicted, hex, left_out, paths, row, with_path};

pub mod bisect;
pub mod cat;
pub mod config;
pub mod copies;
pub mod databases;
pub mod delete;
pub mod diff;
pub mod failure;
pub mod find;
pub mod guard;
pub mod hold;
pub mod parts;
pub mod pin;
pub mod relink;
pub mod shell;
pub mod stores;
pub mod verify;
pub mod workflow;

pub fn failure(command: &str, exit: u8, error: &Error, contract: Option<&ContractDocument>) -> String {
    failure::failure(command, exit, error, contract)
}

/// `contract` stands in it where one was asked for.
pub fn create(
    outcome: &CreateOutcome,
    store: &std::path::Path,
    exit: u8,
    contract: Option<&ContractDocument>,
) -> String {
    let skipped = outcome.skipped.map(|skipped| match skipped {
        Skipped::Dedup => "dedup",
        Skipped::TooManyFiles => "too_many_files",
        Skipped::Disabled => "disabled",
    });
    let counts = &outcome.counts;
    let made = outcome.checkpoint.as_ref();
    let mut data = json!({
        "id": made.map(|c| hex(c.id)),
        "short": made.map(|c| c.id.short()),
        "alias": made.map(alias::of),
        "created": outcome.skipped.is_none(),
        "skipped": skipped,
        "reason": made.map_or(&outcome.requested_reason, |c| &c.record.reason),
        "source": made.map(|c| &c.record.source),
        "time": made.map(|c| rfc3339(c.record.time_ms)),
        "sequence": made.map(|c| c.record.sequence),
        "kind": made.map(|c| c.record.kind.word()),
        "coverage": made.map(|c| c.record.coverage.word()),
        "counts": {
            "files": counts.files,
            "directories": counts.directories,
            "bytes": counts.content_bytes,
            "added": counts.added,
            "changed": counts.changed,
            "deleted": counts.deleted,
        },
        "left_out": left_out(&outcome.left_out),
        "uncaptured": uncaptured(&outcome.meta),
        "evicted": evicted(&outcome.evicted),
        "databases": outcome.databases.iter().map(databases::database).collect::<Vec<_>>(),
        "store": store.display().to_string(),
    });
    if let Some(checkpoint) = made {
        parts::add_terms(&mut data, &checkpoint.record.terms);
    }
    if let Some(copies) = &outcome.copies {
        data["copies"] = match copies {
            Copies::Made(dir) => dir.display().to_string().into(),
            Copies::Failed => Value::Null,
        };
    }
    if outcome.skipped == Some(Skipped::Dedup) {
        data["requested_reason"] = outcome.requested_reason.clone().into();
    }
    if let Some(contract) = contract {
        data["contract"] = contract.value.clone();
    }
    parts::envelope("create", exit, &data, &outcome.warnings)
}

fn uncaptured(meta: &Meta) -> Value {
    let told = meta.uncaptured.iter().map(|(path, standing)| {
        let mut item = json!({"why": standing.why.word()});
        if let WhyNot::Unreadable(text) = &standing.why {
            item["detail"] = text.clone().into();
        }
        with_path(item, path)
    });
    told.collect()
}

pub fn list(outcome: &ListOutcome, store: &std::path::Path) -> String {
    let damaged = |lost: &DamagedCheckpoint| json!({"id": lost.id.digits(), "short": lost.id.short(), "damaged": true, "why": lost.why});
    let rows = outcome.checkpoints.iter().map(row).collect::<Vec<_>>();
    let lost: Vec<Value> = outcome.damaged.iter().map(damaged).collect();
    let data = json!({"checkpoints": rows, "damaged": lost, "store": store.display().to_string()});
    parts::envelope("list", 0, &data, &outcome.warnings)
}

pub fn show(outcome: &ShowOutcome) -> String {
    let count = |kind: &str| outcome.changes.iter().filter(|change| change_word(change).starts_with(kind)).count();
    let listed = outcome.changes.iter().map(|change| with_path(json!({"change": change_word(change)}), &change.path));
    let data = json!({
        "checkpoint": whole(&outcome.checkpoint),
        "before": outcome.before.as_ref().map(|c| hex(c.id)),
        "changes": {
            "added": count("added"),
            "changed": count("changed") + count("mode"),
            "deleted": count("deleted"),
            "paths": listed.collect::<Vec<_>>(),
        },
        "databases": databases::held(&outcome.databases),
        "uncaptured": uncaptured(&outcome.meta),
    });
    parts::envelope("show", 0, &data, &outcome.warnings)
}

fn change_word(change: &TreeChange) -> &'static str {
    match (change.before, change.after) {
        (None, _) => "added",
        (_, None) => "deleted",
        (Some((_, before)), Some((_, after))) if before == after => "mode",
        _ => "changed",
    }
}

fn whole(checkpoint: &Checkpoint) -> Value {
    let mut told = row(checkpoint);
    told["tree"] = hex(checkpoint.tree);
    told["files"] = checkpoint.record.files.into();
    told["bytes"] = checkpoint.record.content_bytes.into();
    told["operation"] = checkpoint.record.operation.as_ref().map_or(Value::Null, |operation| {
        json!({"verb": operation.verb.word(), "target": hex(operation.target), "paths": paths(&operation.paths)})
    });
    told
}

/// What stands in the answer of a restore besides what was done.
#[derive(Clone, Copy, Default)]
pub struct Given<'g> {
    /// The values that the checkpoint holds, as they were given.
    pub values: Option<&'g str>,
    pub contract: Option<&'g ContractDocument>,
}

/// `restore`, `undo` and `redo` answer alike.
pub fn restore(command: &str, outcome: &RestoreOutcome, exit: u8, given: Given<'_>) -> String {
    let target = &outcome.target;
    let plan = &outcome.plan;
    let mut data = json!({
        "verb": outcome.verb.word(),
        "restored_from": {"id": hex(target.id), "short": target.id.short(), "reason": target.record.reason},
        "safety": outcome.safety.map(|id| json!({"id": hex(id), "short": id.short()})),
        "counts": {
            "written": plan.write.len(),
            "deleted": plan.delete.len(),
            "chmod": plan.chmod.len() + plan.chmod_dirs.len(),
            "directories_made": plan.make_dirs.len(),
            "directories_removed": plan.remove_dirs.len(),
            "unchanged": plan.unchanged,
        },
        "databases": databases::reports(&outcome.databases),
        "left_alone": paths(&outcome.left_alone),
        "unreadable": plan.unreadable.iter().map(|(path, why)| with_path(json!({"why": why.word()}), path)).collect::<Value>(),
        "nothing_to_do": outcome.is_nothing_to_do(),
        "since": outcome.since.as_ref().map(paths),
        "dry_run": outcome.dry_run,
        "paths": paths(&outcome.paths),
        "resumed": outcome.resumed,
        "evicted": evicted(&outcome.evicted),
    });
    if outcome.dry_run {
        data["plan"] = plan_value(plan);
    }
    if let Some(to) = &outcome.to {
        data["to"] = to.display().to_string().into();
    }
    if let Some(check) = &outcome.check {
        let exit = check.ended.map(CommandEnd::code);
        data["check"] = json!({"command": check.command, "exit": exit, "ok": check.is_ok()});
    }
    if let Some(values) = given.values {
        data["state"] = serde_json::from_str(values).unwrap_or_default();
    }
    if let Some(contract) = given.contract {
        data["contract"] = contract.value.clone();
    }
    parts::envelope(command, exit, &data, &outcome.warnings)
}

fn plan_value(plan: &RestorePlan) -> Value {
    json!({
        "write": paths(plan.write.keys()),
        "chmod": paths(plan.chmod.keys().chain(plan.chmod_dirs.keys())),
        "delete": paths(plan.delete.keys()),
        "make_directories": paths(plan.make_dirs.keys()),
        "remove_directories": paths(&plan.remove_dirs),
    })
}

pub fn prune(outcome: &PruneOutcome) -> String {
    let data = json!({
        "evicted": evicted(&outcome.evicted),
        "rows_removed": outcome.rows_removed,
        "bytes_before": outcome.bytes_before,
        "bytes_after": outcome.bytes_after,
        "packs_before": outcome.packs_before,
        "packs_after": outcome.packs_after,
        "dry_run": outcome.dry_run,
    });
    parts::envelope("prune", 0, &data, &outcome.warnings)
}

pub fn status(outcome: &StatusOutcome, verbose: bool) -> String {
    let shown = |path: &std::path::Path| path.display().to_string();
    let drift = outcome.drift.map(|d| json!({"added": d.added, "changed": d.changed, "deleted": d.deleted}));
    let mut data = json!({
        "root": shown(&outcome.root),
        "store": shown(&outcome.store),
        "manifest": shown(&outcome.manifest),
        "dir_hash": outcome.dir_hash,
        "base": shown(&outcome.base),
        "exists": outcome.exists,
        "checkpoints": outcome.checkpoints,
        "pinned": outcome.pinned,
        "safety": outcome.safety,
        "damaged": outcome.damaged,
        "store_bytes": outcome.store_bytes,
        "latest": outcome.latest.as_ref().map(row),
        "baseline": outcome.baseline.as_ref().map(row),
        "drift": drift,
        "pending": outcome.pending.map(|(target, safety)| json!({"target": hex(target), "safety": hex(safety)})),
        "holds": outcome.holds.iter().map(hold::told).collect::<Vec<_>>(),
        "over_keep": outcome.over_keep,
        "max_store_size": outcome.max_store_bytes,
        "over_max_store_size": outcome.is_over_max_store_size(),
        "kept_copies": outcome.kept_copies.iter().map(|path| shown(path)).collect::<Vec<_>>(),
    });
    if let Some(out) = outcome.left_out.as_ref().filter(|_| verbose) {
        data["left_out"] = left_out(out);
        data["left_out"]["files"] = paths(&out.files);
    }
    parts::envelope("status", 0, &data, &outcome.warnings)
}
