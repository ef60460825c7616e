//! Reads the document and reports all findings.

use std::collections::BTreeSet;

use serde_json::Value;

use super::listing::{ListPlace, is_nothing};
use super::write::DESCRIPTION_KEYS;
use crate::workflow::plan::dependency_key;
use crate::workflow::profiles::reader::{DocumentReader, Fields};
use crate::workflow::rules::finding::Finding;
use crate::workflow::words::flaw::Flaw;

pub struct PipelineDocument {
    /// In the order of the document: completed, current, remaining.
    pub entries: Vec<PhaseEntry>,
    pub context: ContextNotes,
    pub created_ms: i64,
    pub updated_ms: i64,
}

/// One phase; a missing field is `None`.
pub struct PhaseEntry {
    pub id: String,
    pub name: String,
    pub place: ListPlace,
    /// Place in the document, such as `remaining_phases[1]`.
    pub at: String,
    pub timestamp_ms: Option<i64>,
    pub commit_sha: Option<String>,
    pub progress: Option<String>,
    pub dependencies: Option<Vec<String>>,
    pub status: Option<String>,
}

pub struct ContextNotes {
    /// Empty if the document says that there is none.
    pub branch: Option<String>,
    pub key_decisions: Option<Vec<String>>,
    pub file_paths: Option<Vec<String>>,
    pub description: Option<String>,
}

/// # Errors
/// Every finding about the document.
pub fn document(value: &Value) -> Result<PipelineDocument, Vec<Finding>> {
    let mut reader = DocumentReader::default();
    let Some(fields) = reader.document(value) else {
        return reader.finish(None);
    };
    let mut entries = list(
        &mut reader,
        &fields,
        "completed_phases",
        ListPlace::Completed,
    );
    if let Some(current) = reader
        .required(&fields, "current_phase")
        .filter(|value| !is_nothing(value))
    {
        entries.extend(entry(
            &mut reader,
            current,
            "current_phase",
            ListPlace::Current,
        ));
    }
    entries.extend(list(
        &mut reader,
        &fields,
        "remaining_phases",
        ListPlace::Remaining,
    ));
    check(&mut reader, &entries);
    let context = context(&mut reader, &fields);
    let (created_ms, updated_ms) = (
        reader.time(&fields, "created_at"),
        reader.time(&fields, "updated_at"),
    );
    let read = || {
        Some(PipelineDocument {
            entries,
            context: context?,
            created_ms: created_ms?,
            updated_ms: updated_ms?,
        })
    };
    let read = read();
    reader.finish(read)
}

fn list(
    reader: &mut DocumentReader,
    fields: &Fields<'_>,
    key: &str,
    place: ListPlace,
) -> Vec<PhaseEntry> {
    let list = reader.list(fields, key);
    list.iter()
        .filter_map(|(at, value)| entry(reader, value, at, place))
        .collect()
}

fn entry(
    reader: &mut DocumentReader,
    value: &Value,
    at: &str,
    place: ListPlace,
) -> Option<PhaseEntry> {
    let fields = reader.object(value, at)?;
    let (id, name) = (reader.name(&fields, "id"), reader.text(&fields, "name"));
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let timestamp_ms = match place {
        ListPlace::Completed => reader.time(&fields, "timestamp"),
        ListPlace::Current | ListPlace::Remaining => reader.time_if(&fields, "timestamp"),
    };
    let (commit_sha, progress) = (
        reader.text_if(&fields, "commit_sha"),
        reader.text_if(&fields, "progress_description"),
    );
    let (dependencies, status) = (
        reader.texts_if(&fields, dependency_key(Some(fields.map))),
        reader.text_if(&fields, "status"),
    );
    Some(PhaseEntry {
        id: id?.to_owned(),
        name: name?.to_owned(),
        place,
        at: at.to_owned(),
        timestamp_ms,
        commit_sha: owned(commit_sha),
        progress: owned(progress),
        dependencies,
        status: owned(status),
    })
}

/// Checks that ids are unique and dependencies known.
fn check(reader: &mut DocumentReader, entries: &[PhaseEntry]) {
    let ids: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    for entry in entries {
        if !seen.insert(entry.id.as_str()) {
            reader.note(
                "duplicate_id",
                format!("{}.id", entry.at),
                format!("the phase '{}' is listed twice", entry.id),
            );
        }
        let dependencies = entry.dependencies.iter().flatten().enumerate();
        for (at, id) in dependencies.filter(|(_, id)| !ids.contains(id.as_str())) {
            let flaw = Flaw::UnknownDependency {
                phase: entry.id.clone(),
                id: id.clone(),
            };
            reader.flaw(flaw, format!("{}.dependencies[{at}]", entry.at));
        }
    }
}

fn context(reader: &mut DocumentReader, fields: &Fields<'_>) -> Option<ContextNotes> {
    let value = reader.required(fields, "context_summary")?;
    let fields = reader.object(value, "context_summary")?;
    let branch = reader
        .text_if(&fields, "branch")
        .unwrap_or_default()
        .to_owned();
    let description = DESCRIPTION_KEYS
        .iter()
        .find_map(|key| fields.get(key).and_then(Value::as_str));
    Some(ContextNotes {
        branch: fields.map.contains_key("branch").then_some(branch),
        key_decisions: reader.texts_if(&fields, "key_decisions"),
        file_paths: reader.texts_if(&fields, "file_paths"),
        description: description.map(str::to_owned),
    })
}
