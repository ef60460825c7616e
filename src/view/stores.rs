//! `list --all` and `prune --orphaned` as text and as JSON.

use serde_json::{Value, json};

use crate::base::text::{escape, escape_path};
use crate::base::time::{age, rfc3339, utc_seconds};
use crate::model::checkpoint::manifest::cell;
use crate::model::state::rel_path::hex_of;
use crate::ops::maintain::orphans::OrphansOutcome;
use crate::ops::maintain::stores::{KnownStore, RootState};
use crate::ops::warning::Warning;
use crate::view::columns::aligned;
use crate::view::envelope::envelope;
use crate::view::failure::partial;
use crate::view::format::{Paint, count, size};
use crate::view::words::Output;

/// Notes on a store; empty for most.
fn note(store: &KnownStore) -> String {
    let mut notes = Vec::new();
    if store.kept_copy {
        notes.push("damaged copy".to_owned());
    }
    match store.root_state {
        RootState::Present => {}
        RootState::Gone => notes.push("root is gone".to_owned()),
        RootState::Unreachable => {
            notes.push("root cannot be reached (a disk that is not mounted?)".to_owned());
        }
        RootState::Unknown => notes.push("root is not known".to_owned()),
    }
    if store.damaged > 0 {
        notes.push(format!("{} damaged", store.damaged));
    }
    notes.extend(store.problem.as_deref().map(escape));
    notes.join(", ")
}

fn root(store: &KnownStore) -> String {
    let named = if store.kept_copy {
        None
    } else {
        store.root.as_ref()
    };
    escape_path(named.unwrap_or(&store.dir))
}

fn checkpoints(store: &KnownStore) -> String {
    store
        .checkpoints
        .map_or("?".to_owned(), |number| number.to_string())
}

/// Message for a base without stores.
pub fn none(base: &std::path::Path) -> String {
    format!(
        "no stores under {} yet: 'checkpoint create' makes one\n",
        escape_path(base)
    )
}

/// For a terminal.
pub fn table(stores: &[KnownStore], now_ms: i64, paint: Paint) -> String {
    if stores.is_empty() {
        return String::new();
    }
    let titles = ["CHECKPOINTS", "SIZE", "NEWEST", "ROOT", ""]
        .map(str::to_owned)
        .to_vec();
    let row = |store: &KnownStore| {
        let newest = store.newest_ms.map_or("-".to_owned(), |newest| {
            format!("{} ago", age(newest, now_ms))
        });
        vec![
            checkpoints(store),
            size(store.bytes),
            newest,
            root(store),
            note(store),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(titles)
        .chain(stores.iter().map(row))
        .collect();
    let text = aligned(&rows, &[0, 1, 2]);
    let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
    format!("{}\n{rest}", paint.faint(head))
}

/// For pipes: markdown, times in UTC.
pub fn markdown(stores: &[KnownStore]) -> String {
    let mut text =
        "| Root | Checkpoints | Bytes | Newest | Note | Store |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for store in stores {
        let newest = store.newest_ms.map(utc_seconds).unwrap_or_default();
        let root = store
            .root
            .as_ref()
            .map(|root| root.display().to_string())
            .unwrap_or_default();
        let (root, note, dir) = (
            cell(&root),
            cell(&note(store)),
            cell(&store.dir.display().to_string()),
        );
        text.push_str(&format!(
            "| {root} | {} | {} | {newest} | {note} | {dir} |\n",
            checkpoints(store),
            store.bytes
        ));
    }
    text
}

/// Summarizes a removal: `remove 2 stores of roots that are gone and 1 damaged copy (12.0 MiB)`.
pub fn stake(stores: &[KnownStore]) -> String {
    format!("remove {}", numbers(stores))
}

fn numbers(stores: &[KnownStore]) -> String {
    let copies = stores.iter().filter(|store| store.kept_copy).count();
    let orphans = stores.len() - copies;
    let mut parts = Vec::new();
    if orphans > 0 {
        parts.push(count(
            orphans,
            "store of a root that is gone",
            "stores of roots that are gone",
        ));
    }
    if copies > 0 {
        parts.push(count(copies, "damaged copy", "damaged copies"));
    }
    let bytes = stores.iter().map(|store| store.bytes).sum();
    format!("{} ({})", parts.join(" and "), size(bytes))
}

pub fn question(stores: &[KnownStore], now_ms: i64, paint: Paint) -> String {
    let stake = stake(stores);
    let (first, rest) = stake.split_at(1);
    let listed = table(stores, now_ms, paint);
    format!(
        "{listed}{}{rest}? This cannot be taken back. [y/N] ",
        first.to_uppercase()
    )
}

pub fn orphans(outcome: &OrphansOutcome, now_ms: i64, paint: Paint) -> Output {
    let gone = outcome.removed.iter().filter(|_| !outcome.dry_run);
    let gone = gone.map(|store| format!("removed: {}\n", root(store)));
    let left = outcome
        .left
        .iter()
        .map(|(store, why)| format!("left: {}: {why}\n", root(store)));
    let talk = gone.chain(left).collect();
    let result = match (
        outcome.removed.is_empty(),
        outcome.left.is_empty(),
        outcome.dry_run,
    ) {
        (true, true, _) => "No orphaned stores.\n".to_owned(),
        (true, false, _) => String::new(),
        (false, _, true) => {
            format!(
                "{}Would remove {}\n",
                table(&outcome.removed, now_ms, paint),
                numbers(&outcome.removed)
            )
        }
        (false, _, false) => format!("Removed {}\n", numbers(&outcome.removed)),
    };
    Output { result, talk }
}

pub fn list_json(stores: &[KnownStore], warnings: &[Warning]) -> String {
    let stores: Vec<Value> = stores.iter().map(store).collect();
    envelope("list", 0, &json!({"stores": stores}), warnings)
}

/// If no store could be removed, the document is a failure that still names each of them.
pub fn orphans_json(outcome: &OrphansOutcome, exit: u8) -> String {
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
        Some((_, why)) if outcome.removed.is_empty() => {
            partial("prune", exit, &data, &outcome.warnings, Some(why))
        }
        _ => envelope("prune", exit, &data, &outcome.warnings),
    }
}

fn store(known: &KnownStore) -> Value {
    let mut told = json!({
        "root": known.root.as_ref().map(|root| root.display().to_string()),
        "root_state": known.root_state.into_str(),
        "store": known.dir.display().to_string(),
        "kept_copy": known.kept_copy,
        "checkpoints": known.checkpoints,
        "damaged": known.damaged,
        "pinned": known.pinned,
        "bytes": known.bytes,
        "newest": known.newest_ms.map(rfc3339),
        "problem": known.problem,
    });
    for (field, path) in [
        ("root_hex", known.root.as_ref()),
        ("store_hex", Some(&known.dir)),
    ] {
        if let Some(path) = path.filter(|path| path.to_str().is_none()) {
            told[field] = hex_of(path.as_os_str().as_encoded_bytes()).into();
        }
    }
    told
}
