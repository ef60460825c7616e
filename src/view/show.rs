//! `show` as text and as JSON.

use serde_json::{Map, Value};

use crate::base::quoting::quoted;
use crate::base::text::escape;
use crate::base::time::{age, utc_seconds};
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::terms::{CheckpointTerms, Expiry};
use crate::model::difference::ChangeCounts;
use crate::model::difference::TreeChange;
use crate::model::json::{
    ChangeJson, CheckpointRef, CheckpointRow, PathName, PathReason, paths, uncaptured,
};
use crate::model::session::origin::OriginStore;
use crate::model::session::provenance::Provenance;
use crate::model::state::database::Held;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::ScopePart;
use crate::ops::browse::diff::compare::DiffOutcome;
use crate::ops::browse::list::ShowOutcome;
use crate::view::databases::{self, HeldDatabase};
use crate::view::diff::FileChange;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::partial;
use crate::view::format::size;
use crate::view::limits::{LimitsJson, limit_words};
use crate::view::words::count_files;

/// Returns what is known of the checkpoint, without the files that changed.
pub fn head(outcome: &ShowOutcome, now_ms: i64) -> String {
    let Checkpoint {
        id,
        tree,
        record,
        pinned,
        ..
    } = &outcome.checkpoint;
    let mut text = format!(
        "checkpoint {id}\ntree       {tree}\nreason     {}\nsource     {}\ntime       {} UTC ({} ago)\nkind       {}\n\
         coverage   {}\nholds      {}, {}\n",
        escape(&record.reason),
        escape(&record.source),
        utc_seconds(record.time_ms),
        age(record.time_ms, now_ms),
        record.kind.into_str(),
        record.coverage.into_str(),
        count_files(record.files),
        size(record.content_bytes),
    );
    if *pinned {
        text.push_str("pinned     yes\n");
    }
    if let Some(agent) = &record.provenance.agent {
        let session = record.provenance.session.as_deref();
        let session = session.map(|session| format!(", session {}", escape(session)));
        text.push_str(&format!(
            "agent      {}{}\n",
            escape(agent),
            session.unwrap_or_default()
        ));
        text.push_str(&moment(&record.provenance));
    }
    if let Some(origin) = &outcome.origin {
        text.push_str(&format!("made on    {origin}\n"));
    }
    text.push_str(&terms(&record.terms));
    if let Some(operation) = &record.operation {
        text.push_str(&format!(
            "taken for  {} of {}",
            operation.verb.into_str(),
            operation.target.short()
        ));
        let limits = limit_words(&operation.paths, &operation.filter);
        text.push_str(&if limits.is_empty() {
            "\n".to_owned()
        } else {
            format!(" ({limits})\n")
        });
    }
    for (database, held) in &outcome.databases {
        let absent = if *held == Held::Absent {
            " (not there)"
        } else {
            ""
        };
        text.push_str(&format!("database   {database}{absent}\n"));
    }
    for (path, entry) in &outcome.meta.uncaptured {
        text.push_str(&format!(
            "not captured: {path} ({})\n",
            entry.why.in_words()
        ));
    }
    text.push_str(&state(outcome));
    text
}

/// Formats the values of the checkpoint, one per line as `--state` takes them.
fn state(outcome: &ShowOutcome) -> String {
    let Some(values) = values(outcome) else {
        return String::new();
    };
    let lines = values.iter().enumerate().map(|(at, (key, value))| {
        let label = if at == 0 { "state" } else { "" };
        format!("{label:<10} {}\n", escape(&format!("{key}={value}")))
    });
    lines.collect()
}

fn values(outcome: &ShowOutcome) -> Option<Map<String, Value>> {
    serde_json::from_slice(outcome.state.as_ref()?).ok()
}

/// Formats the paths of all files, one per line.
pub fn files(paths: &[RelPath]) -> String {
    let lines = paths.iter().map(|path| quoted("", path.as_bytes()));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Names the checkpoint with which it is compared.
pub fn against(outcome: &ShowOutcome) -> String {
    match &outcome.before {
        Some(before) => format!(
            "\nagainst {} ({}):\n",
            before.id.short(),
            escape(&before.record.reason)
        ),
        None => "\nthe first one; everything is new:\n".to_owned(),
    }
}

/// Formats the paths that changed since the checkpoint before, one per line.
pub fn changes(outcome: &ShowOutcome) -> String {
    let mut text = String::new();
    for change in &outcome.changes {
        let sign = match (&change.before, &change.after) {
            (None, _) => "+",
            (_, None) => "-",
            _ => "~",
        };
        text.push_str(&format!("  {sign} {}\n", change.path));
    }
    if outcome.changes.is_empty() {
        text.push_str("  no change\n");
    }
    text
}

/// Formats `moment     pre-tool, prompt p1, tool Bash`.
fn moment(provenance: &Provenance) -> String {
    let Some(event) = provenance.event else {
        return String::new();
    };
    let parts = [
        ("prompt", &provenance.prompt),
        ("tool", &provenance.tool),
        ("subagent", &provenance.agent_id),
    ];
    let mut line = format!("moment     {}", event.into_str());
    for (name, value) in parts {
        let value = value.as_ref().map(|value| escape(value));
        line.extend(value.map(|value| format!(", {name} {value}")));
    }
    line + "\n"
}

/// Formats the terms of a checkpoint, one per line.
pub fn terms(terms: &CheckpointTerms) -> String {
    let mut text = String::new();
    if let Some(scope) = &terms.scope {
        let parts: Vec<String> = scope.parts().iter().map(ScopePart::shown).collect();
        text.push_str(&format!(
            "scope      {}\n",
            if parts.is_empty() {
                "no files".to_owned()
            } else {
                parts.join(", ")
            }
        ));
    }
    if let Some(checkpoint_type) = terms.checkpoint_type {
        text.push_str(&format!("type       {}\n", checkpoint_type.into_str()));
    }
    match terms.expiry {
        None => {}
        Some(Expiry::Never) => text.push_str("expires    never\n"),
        Some(Expiry::At(end_ms)) => {
            text.push_str(&format!("expires    {} UTC\n", utc_seconds(end_ms)));
        }
    }
    text
}

/// One checkpoint, and what changed in it.
#[derive(Serialize, JsonSchema)]
pub struct ShowAnswer {
    checkpoint: CheckpointDetails,
    /// The checkpoint with which it is compared.
    before: Option<CheckpointRef>,
    counts: ChangeCounts,
    changes: Vec<ChangeJson>,
    /// With `--files`: all files that it holds; else null.
    files: Option<Vec<PathName>>,
    /// With `--stat` or `--patch`: the changed files with their lines; else null.
    file_changes: Option<Vec<FileChange>>,
    /// With `--patch`: the patch, in which what is not UTF-8 is replaced; else null.
    patch: Option<String>,
    databases: Vec<HeldDatabase>,
    /// The values that it holds; null if it holds none.
    state: Option<Map<String, Value>>,
    /// What could not be captured.
    uncaptured: Vec<PathReason>,
    /// Machine and directory of one that was imported; null for others.
    origin: Option<OriginStore>,
}

/// All that is known of a checkpoint.
#[derive(Serialize, JsonSchema)]
struct CheckpointDetails {
    #[serde(flatten)]
    row: CheckpointRow,
    tree_id: String,
    /// The restore before which it was made; null unless it is a safety checkpoint.
    operation: Option<OperationJson>,
}

/// The restore before which a safety checkpoint was made.
#[derive(Serialize, JsonSchema)]
struct OperationJson {
    verb: &'static str,
    /// Its reason, time and kind are null if it is gone.
    target: CheckpointRef,
    #[serde(flatten)]
    limits: LimitsJson,
}

/// What options of `show` ask for besides.
#[derive(Debug, Default)]
pub struct ShownMore {
    pub files: Option<Vec<RelPath>>,
    pub compared: Option<DiffOutcome>,
    pub patch: Option<Vec<u8>>,
}

pub fn json(outcome: &ShowOutcome, more: &ShownMore, exit: u8) -> String {
    let compared = more.compared.as_ref();
    let checkpoint = &outcome.checkpoint;
    let operation = checkpoint.record.operation.as_ref();
    let changes: Vec<ChangeJson> = outcome
        .changes
        .iter()
        .map(|change| ChangeJson::new(&change.path, change_word(change)))
        .collect();
    let count = |word: &str| {
        changes
            .iter()
            .filter(|change| change.change == word)
            .count()
    };
    let data = ShowAnswer {
        checkpoint: CheckpointDetails {
            row: CheckpointRow::new(checkpoint),
            tree_id: checkpoint.tree.to_hex(),
            operation: operation.map(|operation| OperationJson {
                verb: operation.verb.into_str(),
                target: CheckpointRef::of_id(operation.target, outcome.operation_target.as_ref()),
                limits: LimitsJson::new(&operation.paths, &operation.filter),
            }),
        },
        before: outcome.before.as_ref().map(CheckpointRef::new),
        counts: ChangeCounts {
            added: count("added"),
            changed: count("changed") + count("mode"),
            deleted: count("deleted"),
        },
        changes,
        files: more.files.as_ref().map(paths),
        file_changes: compared.map(|found| found.files.iter().map(FileChange::new).collect()),
        patch: more
            .patch
            .as_ref()
            .map(|text| String::from_utf8_lossy(text).into_owned()),
        databases: databases::held(&outcome.databases),
        state: values(outcome),
        uncaptured: uncaptured(&outcome.meta),
        origin: outcome.origin.clone(),
    };
    let found = compared.map_or(&[][..], |found| &found.warnings);
    let warnings = [&outcome.warnings, found].concat();
    let failure = compared.and_then(DiffOutcome::failure);
    partial("show", exit, &data, &warnings, failure.as_ref())
}

pub fn change_word(change: &TreeChange) -> &'static str {
    match (change.before, change.after) {
        (None, _) => "added",
        (_, None) => "deleted",
        (Some((_, before)), Some((_, after))) if before == after => "mode",
        _ => "changed",
    }
}
