//! `list --all` and `prune --orphaned` as text and as JSON.

use crate::base::text::{escape_line, escape_path};
use crate::base::time::{age, utc_seconds};
use crate::error::Error;
use crate::model::checkpoint::manifest::cell;
use crate::model::json::TimeText;
use crate::model::state::rel_path::hex_of;
use crate::ops::maintain::orphans::OrphansOutcome;
use crate::ops::maintain::stores::{KnownStore, RootState};
use crate::ops::warning::Warning;
use crate::view::columns::aligned;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::{envelope, partial};
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
    notes.extend(store.problem.as_deref().map(escape_line));
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

/// All stores, with `list --all`.
#[derive(Serialize, JsonSchema)]
pub struct ListAllAnswer {
    stores: Vec<StoreJson>,
}

/// What `prune --orphaned` removed.
#[derive(Serialize, JsonSchema)]
pub struct PruneOrphanedAnswer {
    removed: Vec<StoreJson>,
    /// Orphaned stores that stay, each with its `why`.
    left: Vec<StoreJson>,
    dry_run: bool,
}

/// A store.
#[derive(Serialize, JsonSchema)]
struct StoreJson {
    /// The directory that it is of; null if the store does not say.
    root: Option<String>,
    /// Bytes of the path as hex digits, if it is not UTF-8.
    root_hex: Option<String>,
    /// `present`, `gone`, `unreachable` or `unknown`.
    root_state: &'static str,
    store: String,
    store_hex: Option<String>,
    /// Whether it is a damaged store that a repair kept.
    kept_copy: bool,
    /// Number of checkpoints; null if they cannot be counted.
    checkpoint_count: Option<usize>,
    damaged_count: usize,
    pinned_count: usize,
    store_bytes: u64,
    /// When the newest checkpoint was made.
    newest_at: Option<TimeText>,
    /// Why it cannot be read.
    problem: Option<String>,
    /// Why it was not removed.
    why: Option<String>,
}

pub fn list_json(stores: &[KnownStore], warnings: &[Warning]) -> String {
    let stores = stores.iter().map(|known| store(known, None)).collect();
    envelope("list_all", 0, &ListAllAnswer { stores }, warnings)
}

/// If no store could be removed, the document is a failure that still names each of them.
pub fn orphans_json(outcome: &OrphansOutcome, exit: u8) -> String {
    let left = outcome.left.iter();
    let data = PruneOrphanedAnswer {
        removed: outcome
            .removed
            .iter()
            .map(|known| store(known, None))
            .collect(),
        left: left.map(|(known, why)| store(known, Some(why))).collect(),
        dry_run: outcome.dry_run,
    };
    let failure = outcome.left.first().map(|(_, why)| why);
    let failure = failure.filter(|_| outcome.removed.is_empty());
    partial("prune_orphaned", exit, &data, &outcome.warnings, failure)
}

fn store(known: &KnownStore, why: Option<&Error>) -> StoreJson {
    let hex = |path: &std::path::Path| {
        (path.to_str().is_none()).then(|| hex_of(path.as_os_str().as_encoded_bytes()))
    };
    StoreJson {
        root: known.root.as_ref().map(|root| root.display().to_string()),
        root_hex: known.root.as_deref().and_then(hex),
        root_state: known.root_state.into_str(),
        store: known.dir.display().to_string(),
        store_hex: hex(&known.dir),
        kept_copy: known.kept_copy,
        checkpoint_count: known.checkpoints,
        damaged_count: known.damaged,
        pinned_count: known.pinned,
        store_bytes: known.bytes,
        newest_at: known.newest_ms.map(TimeText::new),
        problem: known.problem.clone(),
        why: why.map(ToString::to_string),
    }
}
