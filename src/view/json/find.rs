//! `find` for programs.

use serde_json::{Value, json};

use crate::base::text::escape_bytes;
use crate::base::time::rfc3339;
use crate::model::checkpoint::record::Checkpoint;
use crate::ops::browse::find::find_path::{FindEvent, FindOutcome};
use crate::ops::browse::find::find_text::{FindTextOutcome, TextMatch};
use crate::view::json::parts::{envelope, hex, with_path};

pub fn paths(outcome: &FindOutcome) -> String {
    let told = outcome.paths.iter().map(|found| {
        let object = json!({
            "last_in": named(&found.last_in),
            "deleted_by": found.deleted_by.as_ref().map(named),
            "in_directory": found.in_directory,
            "events": found.events.iter().map(event).collect::<Vec<_>>(),
        });
        with_path(object, &found.path)
    });
    let data = json!({
        "pattern": text(&outcome.pattern),
        "text": null,
        "paths": told.collect::<Vec<_>>(),
        "matches": [],
        "more": outcome.more,
    });
    envelope("find", 0, &data, &outcome.warnings)
}

pub fn matches(outcome: &FindTextOutcome) -> String {
    let data = json!({
        "pattern": outcome.pattern.as_deref().map(text),
        "text": text(&outcome.text),
        "paths": [],
        "matches": outcome.matches.iter().map(one_match).collect::<Vec<_>>(),
        "more": outcome.more,
    });
    envelope("find", 0, &data, &outcome.warnings)
}

fn named(checkpoint: &Checkpoint) -> Value {
    json!({"id": hex(checkpoint.id), "short": checkpoint.id.short(), "reason": checkpoint.record.reason})
}

fn event(event: &FindEvent) -> Value {
    let checkpoint = &event.checkpoint;
    json!({
        "change": event.change.word().replace(' ', "_"),
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "time": rfc3339(checkpoint.record.time_ms),
        "reason": checkpoint.record.reason,
        "kind": checkpoint.record.kind.word(),
        "size": event.size_bytes,
    })
}

fn one_match(found: &TextMatch) -> Value {
    let lines = found
        .found
        .lines
        .iter()
        .map(|line| json!({"number": line.number, "text": text(&line.text), "cut": line.is_cut}));
    let object = json!({
        "blob": hex(found.blob),
        "first_in": named(&found.first),
        "last_in": named(&found.last),
        "binary": found.found.is_binary,
        "lines": lines.collect::<Vec<_>>(),
        "more_lines": found.found.more,
    });
    with_path(object, &found.path)
}

/// As it is where it is UTF-8, escaped where it is not.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| escape_bytes(bytes), str::to_owned)
}
