//! `list --all` and `prune --orphaned` for programs.

use serde_json::{Value, json};

use crate::base::time::rfc3339;
use crate::model::state::rel_path::hex_of;
use crate::ops::maintain::orphans::OrphansOutcome;
use crate::ops::maintain::stores::{KnownStore, RootState};
use crate::ops::warning::Warning;
use crate::view::json::failure::partial;
use crate::view::json::parts::envelope;

pub fn list_all(stores: &[KnownStore], warnings: &[Warning]) -> String {
    let stores: Vec<Value> = stores.iter().map(store).collect();
    envelope("list", 0, &json!({"stores": stores}), warnings)
}

/// Where nothing at all could be removed the document is a failure that names each of them too.
pub fn orphans(outcome: &OrphansOutcome, exit: u8) -> String {
    let left = outcome.left.iter().map(|(known, why)| {
        let mut told = store(known);
        told["why"] = why.to_string().into();
        told
    });
    let data = json!({
        "removed": outcome.removed.iter().map(store).collect::<Vec<_>>(),
        "left": left.collect::<Vec<_>>(),
        "dry_run": outcome.dry_run,
    });
    match outcome.left.first() {
        Some((_, why)) if outcome.removed.is_empty() => partial("prune", exit, &data, &outcome.warnings, Some(why)),
        _ => envelope("prune", exit, &data, &outcome.warnings),
    }
}

fn store(known: &KnownStore) -> Value {
    let state = match known.root_state {
        RootState::Present => "present",
        RootState::Gone => "gone",
        RootState::Unreachable => "unreachable",
        RootState::Unknown => "unknown",
    };
    let mut told = json!({
        "root": known.root.as_ref().map(|root| root.display().to_string()),
        "root_state": state,
        "store": known.dir.display().to_string(),
        "kept_copy": known.kept_copy,
        "checkpoints": known.checkpoints,
        "damaged": known.damaged,
        "pinned": known.pinned,
        "bytes": known.bytes,
        "newest": known.newest_ms.map(rfc3339),
        "problem": known.problem,
    });
    for (field, path) in [("root_hex", known.root.as_ref()), ("store_hex", Some(&known.dir))] {
        if let Some(path) = path.filter(|path| path.to_str().is_none()) {
            told[field] = hex_of(path.as_os_str().as_encoded_bytes()).into();
        }
    }
    told
}
