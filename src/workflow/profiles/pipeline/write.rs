//! Writes the document over the existing one.

use serde_json::{Value, json};

use super::listing::{ListPlace, PhaseListing, entries, is_nothing};
use super::paths::{self, FILE};
use crate::workflow::plan::dependency_key;
use crate::workflow::profiles::document::Document;
use crate::workflow::profiles::overlay::Overlay;
use crate::workflow::rules::phase::Phase;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

const ORDER: &[&str] = &[
    "completed_phases",
    "current_phase",
    "remaining_phases",
    "context_summary",
    "created_at",
    "updated_at",
];
const ENTRY_ORDER: &[&str] = &[
    "id",
    "name",
    "timestamp",
    "commit_sha",
    "progress_description",
    "dependencies",
    "status",
];
const CONTEXT_ORDER: &[&str] = &["branch", "key_decisions", "file_paths"];
/// Keys under which documents may have the description of the task.
pub const DESCRIPTION_KEYS: [&str; 3] = ["task_description", "description", "task"];

/// Returns the file to write.
pub fn export(workflow: &Workflow, root: &str) -> Document {
    Document {
        path: FILE.to_owned(),
        value: value(workflow, root),
    }
}

fn value(workflow: &Workflow, root: &str) -> Value {
    let base = workflow.documents.get(FILE);
    let listing = PhaseListing::of(workflow);
    let known = base.map(entries).unwrap_or_default();
    let written = |phase: &Phase, place: ListPlace| {
        let base = known
            .iter()
            .find(|(id, ..)| *id == phase.id)
            .map(|(_, place, entry)| (*place, *entry));
        entry(workflow, phase, place, base)
    };
    let list = |phases: &[&Phase], place: ListPlace| {
        phases
            .iter()
            .map(|phase| written(phase, place))
            .collect::<Vec<_>>()
    };
    let mut document = Overlay::on(base, ORDER);
    document.set(
        "completed_phases",
        list(&listing.completed, ListPlace::Completed),
    );
    match listing.current {
        Some(phase) => document.set("current_phase", written(phase, ListPlace::Current)),
        None => document.put("current_phase", Value::Null, is_nothing),
    }
    document.set(
        "remaining_phases",
        list(&listing.remaining, ListPlace::Remaining),
    );
    let context = context(workflow, document.get("context_summary"), root);
    document.set("context_summary", context);
    document.set_time("created_at", workflow.created_ms);
    document.set_time("updated_at", workflow.updated_ms);
    document.finish()
}

/// Writes one phase. Unknown fields move along to the new place; fields of the old place do not.
fn entry(
    workflow: &Workflow,
    phase: &Phase,
    place: ListPlace,
    base: Option<(ListPlace, &Value)>,
) -> Value {
    let has_moved = base.is_some_and(|(was, _)| was != place);
    let mut entry = Overlay::on(base.map(|(_, entry)| entry), ENTRY_ORDER);
    if has_moved {
        for key in [
            "timestamp",
            "commit_sha",
            "progress_description",
            "dependencies",
        ] {
            if !belongs(key, place) {
                entry.remove(key);
            }
        }
    }
    entry.set("id", &*phase.id);
    entry.set("name", &*phase.name);
    write_timestamp(&mut entry, workflow, phase, place);
    if belongs("commit_sha", place) || entry.has("commit_sha") {
        let sha = phase.commit_sha.as_deref();
        let is_same = |stands: &Value| {
            stands
                .as_str()
                .is_some_and(|said| sha.is_some_and(|sha| is_same_commit(said, sha)))
        };
        if !entry.get("commit_sha").is_some_and(is_same) {
            entry.set_text_or_remove("commit_sha", sha);
        }
    }
    if belongs("progress_description", place) || entry.has("progress_description") {
        let is_empty = entry.get("progress_description").and_then(Value::as_str) == Some("");
        if note_of(phase).is_some() || !is_empty {
            entry.set_text_or_remove("progress_description", note_of(phase));
        }
    }
    write_dependencies(workflow, &mut entry, phase, place, has_moved);
    write_status(&mut entry, phase, place, base);
    entry.finish()
}

fn belongs(key: &str, place: ListPlace) -> bool {
    match key {
        "timestamp" | "commit_sha" => place == ListPlace::Completed,
        "progress_description" => place == ListPlace::Current,
        _ => place == ListPlace::Remaining,
    }
}

/// Writes the completion time, which the format requires; without a known one the old value stays.
fn write_timestamp(entry: &mut Overlay, workflow: &Workflow, phase: &Phase, place: ListPlace) {
    if place != ListPlace::Completed {
        return;
    }
    match phase.completed_ms {
        Some(time_ms) => entry.set_time("timestamp", time_ms),
        None if entry.get("timestamp").is_some_and(Value::is_string) => {}
        None => entry.set_time("timestamp", workflow.updated_ms),
    }
}

/// Writes the dependencies, without skipped phases, which are in no list of the document.
fn write_dependencies(
    workflow: &Workflow,
    entry: &mut Overlay,
    phase: &Phase,
    place: ListPlace,
    has_moved: bool,
) {
    let listed = workflow
        .documents
        .get(FILE)
        .map(entries)
        .unwrap_or_default();
    let is_listed = |id: &&String| {
        let is_skipped = workflow
            .phase(id)
            .is_some_and(|phase| phase.status == PhaseStatus::Skipped);
        !is_skipped
            || listed
                .iter()
                .any(|(known, place, _)| known == id && *place == ListPlace::Completed)
    };
    let dependencies: Vec<&String> = phase.dependencies.iter().filter(is_listed).collect();
    let is_empty = dependencies.is_empty();
    let dependencies = json!(dependencies);
    let is_same = |stands: &Value| *stands == dependencies || (stands.is_null() && is_empty);
    let key = dependency_key(Some(entry.map()));
    if place != ListPlace::Remaining && !entry.has(key) {
        return;
    }
    let is_usual = is_empty && !has_moved;
    entry.put_or_leave(key, dependencies.clone(), is_usual, is_same);
}

/// Updates an existing status; the format itself has no such key.
fn write_status(
    entry: &mut Overlay,
    phase: &Phase,
    place: ListPlace,
    base: Option<(ListPlace, &Value)>,
) {
    if !entry.has("status") {
        return;
    }
    let has_moved = base.is_some_and(|(was, _)| was != place);
    let note = base
        .and_then(|(_, base)| base.get("progress_description"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_same = |stands: &Value| match stands.as_str() {
        Some(word) if has_moved => PhaseStatus::from_word(word) == Some(phase.status),
        word => place.status(word, !note.is_empty()) == phase.status,
    };
    entry.put("status", phase.status.into_str().into(), is_same);
}

fn context(workflow: &Workflow, base: Option<&Value>, root: &str) -> Value {
    let notes = &workflow.context;
    let mut context = Overlay::on(base, CONTEXT_ORDER);
    let branch = notes.branch.as_deref().unwrap_or_default();
    let is_same = |stands: &Value| stands.as_str().unwrap_or_default() == branch;
    context.put_or_leave("branch", branch.into(), branch.is_empty(), is_same);
    let decisions = json!(notes.key_decisions);
    let is_same = |stands: &Value| {
        *stands == decisions || (stands.is_null() && notes.key_decisions.is_empty())
    };
    context.put_or_leave(
        "key_decisions",
        decisions.clone(),
        notes.key_decisions.is_empty(),
        is_same,
    );
    let files = paths::written(&notes.file_paths, context.get("file_paths"), root);
    let is_same = |stands: &Value| paths::is_same(stands, &notes.file_paths, root);
    context.put_or_leave(
        "file_paths",
        files.into(),
        notes.file_paths.is_empty(),
        is_same,
    );
    if let Some(key) = DESCRIPTION_KEYS
        .iter()
        .find(|key| context.get(key).is_some_and(Value::is_string))
    {
        context.set(key, &*workflow.description);
    }
    context.finish()
}

/// Whether one commit id abbreviates the other.
pub fn is_same_commit(one: &str, other: &str) -> bool {
    const SHORTEST: usize = 4;
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    one == other
        || (one.len().min(other.len()) >= SHORTEST
            && (one.starts_with(&other) || other.starts_with(&one)))
}

/// Returns the note of a phase, unless empty.
fn note_of(phase: &Phase) -> Option<&str> {
    phase.progress.as_deref().filter(|note| !note.is_empty())
}
