//! `create` as text and as JSON.

use serde_json::{Value, json};

use crate::base::cut_list::and_more;
use crate::base::text::{escape, escape_path};
use crate::base::time::rfc3339;
use crate::model::checkpoint::alias;
use crate::model::state::database::Database;
use crate::ops::capture::left_out::LeftOut;
use crate::ops::create::copies::Copies;
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::view::contract::ContractDocument;
use crate::view::databases;
use crate::view::envelope::{self, hex, left_out, uncaptured};
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
    if outcome.left_out_changed {
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

/// `contract` is included if requested.
pub fn json(
    outcome: &CreateOutcome,
    store: &std::path::Path,
    exit: u8,
    contract: Option<&ContractDocument>,
) -> String {
    let counts = &outcome.counts;
    let made = outcome.checkpoint.as_ref();
    let mut data = json!({
        "id": made.map(|c| hex(c.id)),
        "short": made.map(|c| c.id.short()),
        "alias": made.map(alias::of),
        "created": outcome.skipped.is_none(),
        "skipped": outcome.skipped.as_ref().map(Skipped::into_str),
        "reason": made.map_or(&outcome.requested_reason, |c| &c.record.reason),
        "source": made.map(|c| &c.record.source),
        "time": made.map(|c| rfc3339(c.record.time_ms)),
        "sequence": made.map(|c| c.record.sequence),
        "kind": made.map(|c| c.record.kind.into_str()),
        "coverage": made.map(|c| c.record.coverage.into_str()),
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
        "evicted": envelope::evicted(&outcome.evicted),
        "databases": outcome.databases.iter().map(databases::database).collect::<Vec<_>>(),
        "store": store.display().to_string(),
    });
    if let Some(checkpoint) = made {
        envelope::add_terms(&mut data, &checkpoint.record.terms);
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
    envelope::envelope("create", exit, &data, &outcome.warnings)
}
