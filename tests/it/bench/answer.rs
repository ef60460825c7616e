//! The judge of every JSON answer that a test gets: it validates against its published schema, and
//! has one shape for each thing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Map, Value};

static VALIDATORS: Mutex<Option<HashMap<String, Arc<Validator>>>> = Mutex::new(None);

/// Fields with documents of the user's own or of other programs.
const FOREIGN: [&str; 9] = [
    "contract", "detail", "document", "findings", "in_file", "in_store", "raw", "schema", "state",
];

/// Fields with free text, or any value of a run, which may look like anything.
const FREE: [&str; 7] = [
    "reason", "message", "text", "what", "value", "before", "after",
];

/// Judges what a program printed, if it is an answer.
pub fn judge(stdout: &str) -> Result<(), String> {
    if !stdout.starts_with("{\"schema\":\"checkpoint.") {
        return Ok(());
    }
    // A program that was killed may have printed a part of it.
    let Ok(answer) = serde_json::from_str::<Value>(stdout) else {
        return Ok(());
    };
    let schema = answer["schema"].as_str().unwrap_or_default();
    let name = schema
        .strip_prefix("checkpoint.")
        .and_then(|rest| rest.strip_suffix("/2"))
        .ok_or_else(|| format!("'{schema}' is no name of a schema"))?;
    let validator = validator(name)?;
    let errors: Vec<String> = validator
        .iter_errors(&answer)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if !errors.is_empty() {
        return Err(format!("not as {schema} says:\n{}", errors.join("\n")));
    }
    let mut flaws = Vec::new();
    if answer["ok"] != answer["error"].is_null() {
        flaws.push("ok and error disagree".to_owned());
    }
    walk("", &answer["data"], &mut flaws);
    walk("", &answer["error"], &mut flaws);
    walk("", &answer["warnings"], &mut flaws);
    if flaws.is_empty() {
        Ok(())
    } else {
        Err(format!("odd shapes in {schema}:\n{}", flaws.join("\n")))
    }
}

fn validator(name: &str) -> Result<Arc<Validator>, String> {
    let mut known = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(validator) = known.get(name) {
        return Ok(Arc::clone(validator));
    }
    let text = checkpoint::cli::schema::text(name)
        .ok_or_else(|| format!("'checkpoint schema {name}' has nothing to say"))?;
    let schema: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    let validator = Arc::new(validator);
    known.insert(name.to_owned(), Arc::clone(&validator));
    Ok(validator)
}

fn walk(key: &str, value: &Value, flaws: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(key, item, flaws)),
        Value::Object(fields) => {
            flaws.extend(shape(fields).map(|flaw| format!("{key}: {flaw}: {value}")));
            for (key, value) in fields {
                if !FOREIGN.contains(&key.as_str()) {
                    walk(key, value, flaws);
                }
            }
        }
        Value::String(text) if !FREE.contains(&key) => {
            if let Ok(time) = chrono::DateTime::parse_from_rfc3339(text) {
                let ours = time
                    .to_utc()
                    .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
                let is_named = key == "time" || key.ends_with("_at");
                if ours != *text || !is_named {
                    flaws.push(format!("{key}: the time {text}"));
                }
            }
        }
        _ => {}
    }
    let is_number = value.is_number() || value.is_null();
    if (key.contains("bytes") || key.contains("size"))
        && value.is_number()
        && !key.ends_with("_bytes")
    {
        flaws.push(format!("{key}: a size of another name"));
    }
    if (key.ends_with("_bytes") || key.ends_with("_ms")) && !is_number {
        flaws.push(format!("{key}: no number"));
    }
}

/// The flaw of an object that names a checkpoint, a change or a path in a way of its own.
fn shape(fields: &Map<String, Value>) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    if has(&["short"]) && !has(&["id", "reason", "time", "kind"]) {
        Some("a checkpoint of another shape")
    } else if has(&["change"]) && !has(&["path", "path_hex"]) {
        Some("a change of another shape")
    } else if has(&["path"]) && !has(&["path_hex"]) {
        Some("a path of another shape")
    } else if has(&["why", "id"]) && !has(&["short"]) && fields["id"].as_str().is_some_and(is_id) {
        Some("a checkpoint that is dropped in another shape")
    } else {
        None
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
