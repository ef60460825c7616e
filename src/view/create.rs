//! `create` as text and as JSON.

use serde_json::Value;

use crate::base::cut_list::and_more;
use crate::base::text::{escape, escape_path};
use crate::error::Error;
use crate::model::checkpoint::alias;
use crate::model::json::{CheckpointRef, Dropped, PathReason, TermsJson, dropped, uncaptured};
use crate::model::state::database::Database;
use crate::ops::capture::left_out::LeftOut;
use crate::ops::capture::left_out::LeftOutJson;
use crate::ops::create::copies::Copies;
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::view::contract::ContractDocument;
use crate::view::databases::DatabaseName;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::partial;
use crate::view::format::{count, size};
use crate::view::words::{Output, count_files, evicted, join};

pub fn human(outcome: &CreateOutcome, millis: u128) -> Output {
    let Some(checkpoint) = &outcome.checkpoint else {
        return Output::default();
    };
    let result = format!("{}\n", checkpoint.id.short());
    if outcome.skipped == Some(Skipped::Dedup) {
        return Output {
            result,
            talk: String::new(),
        };
    }
    let counts = &outcome.counts;
    let record = &checkpoint.record;
    let mut talk = format!(
        "{} ({}): +{} ~{} -{}, {}, {}, {millis} ms\n",
        escape(&record.reason),
        escape(&record.source),
        counts.added,
        counts.changed,
        counts.deleted,
        count_files(counts.files),
        size(counts.content_bytes),
    );
    if !outcome.databases.is_empty() {
        let named: Vec<String> = outcome.databases.iter().map(Database::to_string).collect();
        talk.push_str(&format!("databases: {}\n", named.join(", ")));
    }
    if outcome.left_out_told {
        talk.push_str(&left_out_words(&outcome.left_out));
    }
    if let Some(Copies::Made(dir)) = &outcome.copies {
        talk.push_str(&format!("copies in {}\n", escape_path(dir)));
    }
    talk.push_str(&evicted(&outcome.evicted));
    Output { result, talk }
}

/// Formats `left out: build/ dist/ and 3 files`; secrets are named.
pub fn left_out_words(left_out: &LeftOut) -> String {
    const NAMED_ENTRIES: usize = 8;
    let mut text = String::new();
    if !left_out.secrets.is_empty() {
        text.push_str(&format!(
            "left out as sensitive: {}\n",
            join(left_out.secrets.iter())
        ));
    }
    if !left_out.not_captured.is_empty() {
        let named = left_out
            .not_captured
            .iter()
            .map(|(path, why)| format!("{path} ({why})"));
        text.push_str(&format!(
            "not captured: {}\n",
            and_more(&named.collect::<Vec<_>>(), NAMED_ENTRIES)
        ));
    }
    let dirs: Vec<String> = left_out
        .directories
        .iter()
        .take(NAMED_ENTRIES)
        .map(|dir| format!("{dir}/"))
        .collect();
    let more = left_out.directories.len().saturating_sub(NAMED_ENTRIES);
    let mut parts = vec![dirs.join(" ")];
    if more > 0 {
        parts.push(count(more, "more directory", "more directories"));
    }
    if !left_out.files.is_empty() {
        parts.push(count(left_out.files.len(), "file", "files"));
    }
    parts.retain(|part| !part.is_empty());
    if !parts.is_empty() {
        text.push_str(&format!("left out: {}\n", parts.join(" and ")));
    }
    text
}

/// What `create` made.
#[derive(Serialize, JsonSchema)]
pub struct CreateAnswer {
    /// The new checkpoint, or the one that is equal; all null if there is none.
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    alias: Option<String>,
    sequence: Option<u64>,
    source: Option<String>,
    coverage: Option<&'static str>,
    #[serde(flatten)]
    terms: TermsJson,
    /// Whether a new checkpoint was made.
    created: bool,
    /// Why none was made: `dedup`, `too_many_files` or `disabled`.
    skipped: Option<&'static str>,
    /// The reason that was given.
    requested_reason: String,
    counts: CreateCountsJson,
    left_out: LeftOutJson,
    /// What could not be captured.
    uncaptured: Vec<PathReason>,
    /// Checkpoints that the policy dropped for this one.
    dropped: Vec<Dropped>,
    databases: Vec<DatabaseName>,
    /// The folder of plain copies; null if none were made.
    copies: Option<String>,
    store: String,
    contract: Option<Value>,
}

/// Numbers of what was captured, and of what changed since the baseline.
#[derive(Serialize, JsonSchema)]
struct CreateCountsJson {
    file_count: u64,
    directory_count: u64,
    content_bytes: u64,
    added: u64,
    changed: u64,
    deleted: u64,
}

/// `contract` is included if requested; `missing` says that a checkpoint was required and none made.
pub fn json(
    outcome: &CreateOutcome,
    store: &std::path::Path,
    exit: u8,
    contract: Option<&ContractDocument>,
    missing: Option<&Error>,
) -> String {
    let counts = &outcome.counts;
    let made = outcome.checkpoint.as_ref();
    let record = made.map(|checkpoint| &checkpoint.record);
    let data = CreateAnswer {
        checkpoint: made.map_or_else(CheckpointRef::none, CheckpointRef::new),
        alias: made.map(alias::of),
        sequence: record.map(|record| record.sequence),
        source: record.map(|record| record.source.clone()),
        coverage: record.map(|record| record.coverage.into_str()),
        terms: record.map_or_else(TermsJson::default, |record| TermsJson::new(&record.terms)),
        created: outcome.skipped.is_none(),
        skipped: outcome.skipped.as_ref().map(Skipped::into_str),
        requested_reason: outcome.requested_reason.clone(),
        counts: CreateCountsJson {
            file_count: counts.files,
            directory_count: counts.directories,
            content_bytes: counts.content_bytes,
            added: counts.added,
            changed: counts.changed,
            deleted: counts.deleted,
        },
        left_out: LeftOutJson::new(&outcome.left_out, false),
        uncaptured: uncaptured(&outcome.meta),
        dropped: dropped(&outcome.evicted),
        databases: outcome.databases.iter().map(DatabaseName::new).collect(),
        copies: match &outcome.copies {
            Some(Copies::Made(dir)) => Some(dir.display().to_string()),
            Some(Copies::Failed) | None => None,
        },
        store: store.display().to_string(),
        contract: contract.map(|contract| contract.value.clone()),
    };
    partial("create", exit, &data, &outcome.warnings, missing)
}
