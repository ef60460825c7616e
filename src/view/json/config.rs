//! `config` for programs.

use serde_json::{Value as Json, json};

use crate::ops::browse::config::{ConfigOutcome, Origin, Setting, SettingValue};
use crate::view::json::failure::partial;
use crate::view::json::parts::envelope;
use crate::view::origin;

/// With a problem in a file the document is a failure that has all the data too.
pub fn config(outcome: &ConfigOutcome, exit: u8) -> String {
    let shown = |path: &std::path::Path| path.display().to_string();
    let variables: Vec<Json> = outcome
        .variables
        .iter()
        .map(|(variable, value)| json!({"name": variable.name, "value": value, "set": value.is_some()}))
        .collect();
    let files: Vec<Json> =
        outcome.files.iter().map(|file| json!({"path": shown(&file.path), "found": file.found})).collect();
    let data = json!({
        "settings": outcome.settings.iter().map(setting).collect::<Vec<_>>(),
        "root": shown(&outcome.root),
        "base": outcome.base.as_ref().map(|(base, _)| shown(base)),
        "base_origin": outcome.base.as_ref().map(|(_, from)| told(from)),
        "store": outcome.store.as_deref().map(shown),
        "files": files,
        "environment": variables,
        "problems": outcome.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    match outcome.problems.first() {
        Some(problem) => partial("config", exit, &data, &outcome.warnings, Some(problem)),
        None => envelope("config", exit, &data, &outcome.warnings),
    }
}

fn setting(setting: &Setting) -> Json {
    let (value, unit) = match &setting.value {
        SettingValue::Off => (Json::Null, None),
        SettingValue::Number(number) => (json!(number), None),
        SettingValue::Milliseconds(ms) => (json!(ms), Some("ms")),
        SettingValue::Seconds(seconds) => (json!(seconds), Some("s")),
        SettingValue::Bytes(bytes) => (json!(bytes), Some("bytes")),
        SettingValue::Switch(on) => (json!(on), None),
        SettingValue::Text(text) => (json!(text), None),
        SettingValue::List(list) => (json!(list), None),
    };
    let origins: Vec<Json> = setting.origins.iter().map(told).collect();
    json!({"name": setting.name, "value": value, "unit": unit, "origins": origins})
}

fn told(from: &Origin) -> Json {
    json!({"from": origin::word(from), "place": origin::place(from)})
}
