//! Parts of JSON documents shared by several commands.

use serde_json::{Map, Value, json};

use crate::base::text::is_deceptive;
use crate::base::time::rfc3339;
use crate::model::checkpoint::alias;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::checkpoint::retention::Evicted;
use crate::model::checkpoint::terms::{CheckpointTerms, Expiry};
use crate::model::state::entry::WhyNot;
use crate::model::state::meta::Meta;
use crate::model::state::object_id::ObjectId;
use crate::model::state::rel_path::RelPath;
use crate::model::state::scope::ScopePart;
use crate::ops::capture::left_out::LeftOut;
use crate::ops::warning::Warning;
use crate::view::place::placed;

/// Returns the document with which every command answers, successful or not.
pub fn envelope(command: &str, exit: u8, data: &Value, warnings: &[Warning]) -> String {
    text(&answer(command, exit, data, warnings).to_string())
}

/// Returns the value of [`envelope`], for additions.
pub fn answer(command: &str, exit: u8, data: &Value, warnings: &[Warning]) -> Value {
    let warnings: Vec<Value> = warnings.iter().map(warning).collect();
    let schema = format!("checkpoint.{command}/1");
    let ok = matches!(exit, 0 | 5);
    json!({"schema": schema, "ok": ok, "exit": exit, "data": data, "warnings": warnings})
}

fn warning(warning: &Warning) -> Value {
    let told = json!({"code": warning.code(), "message": placed(&warning.to_string())});
    warning
        .path()
        .map_or(told.clone(), |path| with_path(told, path))
}

/// Adds a path to an object: as displayed, and losslessly if it is not UTF-8 or had to be escaped.
pub fn with_path(object: Value, path: &RelPath) -> Value {
    let mut fields = match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    match path.as_utf8() {
        Some("") => fields.insert("path".into(), ".".into()),
        Some(text) => fields.insert("path".into(), text.into()),
        None => {
            fields.insert("path_hex".into(), path.to_hex().into());
            fields.insert("path".into(), path.to_string().into())
        }
    };
    Value::Object(fields)
}

pub fn paths<'p>(paths: impl IntoIterator<Item = &'p RelPath>) -> Value {
    paths
        .into_iter()
        .map(|path| with_path(json!({}), path))
        .collect()
}

pub fn hex(id: ObjectId) -> Value {
    id.to_hex().into()
}

/// A checkpoint as an item of a list.
pub fn row(checkpoint: &Checkpoint) -> Value {
    let record = &checkpoint.record;
    let mut row = json!({
        "id": hex(checkpoint.id),
        "short": checkpoint.id.short(),
        "alias": alias::of(checkpoint),
        "sequence": record.sequence,
        "time": rfc3339(record.time_ms),
        "reason": record.reason,
        "source": record.source,
        "kind": record.kind.into_str(),
        "coverage": record.coverage.into_str(),
        "pinned": checkpoint.pinned,
        "damaged": false,
    });
    add_terms(&mut row, &record.terms);
    row
}

/// Adds the terms of a checkpoint, if there are any.
pub fn add_terms(object: &mut Value, terms: &CheckpointTerms) {
    if let Some(scope) = &terms.scope {
        object["scope"] = scope.parts().iter().map(ScopePart::shown).collect();
    }
    if let Some(checkpoint_type) = terms.checkpoint_type {
        object["type"] = checkpoint_type.into_str().into();
    }
    if let Some(expiry) = terms.expiry {
        object["expires"] = match expiry {
            Expiry::Never => "never".into(),
            Expiry::At(end_ms) => rfc3339(end_ms).into(),
        };
    }
}

pub fn evicted(evicted: &[Evicted]) -> Value {
    let told = |gone: &Evicted| json!({"id": hex(gone.id), "short": gone.id.short(), "reason": gone.reason, "why": gone.why.into_str()});
    evicted.iter().map(told).collect()
}

pub fn left_out(left_out: &LeftOut) -> Value {
    let by_rule: Vec<Value> = left_out
        .by_rule
        .iter()
        .map(|(rule, count)| json!({"rule": rule, "count": count}))
        .collect();
    json!({
        "directories": paths(&left_out.directories),
        "files": left_out.files.len(),
        "secrets": paths(&left_out.secrets),
        "by_rule": by_rule,
    })
}

/// Escapes characters in a document that could act on a terminal, and adds a newline.
pub fn text(document: &str) -> String {
    let mut text = String::with_capacity(document.len() + 1);
    for c in document.chars() {
        if c == '\u{7f}' || is_deceptive(c) {
            text.extend(
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            text.push(c);
        }
    }
    text.push('\n');
    text
}

pub fn uncaptured(meta: &Meta) -> Value {
    let told = meta.uncaptured.iter().map(|(path, entry)| {
        let mut item = json!({"why": entry.why.into_str()});
        if let WhyNot::Unreadable(text) = &entry.why {
            item["detail"] = text.clone().into();
        }
        with_path(item, path)
    });
    told.collect()
}

/// Returns a document with one text field.
pub fn text_document(command: &str, field: &str, text: &str) -> String {
    envelope(command, 0, &json!({ field: text }), &[])
}
