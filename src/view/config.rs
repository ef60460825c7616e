//! `config` as text and as JSON.

use serde_json::{Value as Json, json};

use crate::base::text::{escape, escape_line, escape_path};
use crate::ops::browse::config::{ConfigOutcome, Origin, Setting, SettingValue};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::partial;
use crate::view::format::{Paint, size};
use crate::view::words::Output;

/// A table row: name, value, remark.
type Row = (String, String, String);

pub fn human(outcome: &ConfigOutcome, paint: Paint) -> Output {
    let places = places(outcome);
    let settings: Vec<Row> = outcome.settings.iter().map(setting).collect();
    let files = outcome.files.iter().map(|file| {
        let found = if file.found { "found" } else { "not there" };
        ("file".to_owned(), escape_path(&file.path), found.to_owned())
    });
    let files: Vec<Row> = files.collect();
    let variables: Vec<Row> = outcome
        .variables
        .iter()
        .filter_map(|(variable, value)| {
            let shown = escape_line(value.as_ref()?);
            Some((variable.name.to_owned(), shown, variable.purpose.to_owned()))
        })
        .collect();
    let parts = [
        ("Settings", settings),
        ("Places", places),
        ("Files", files),
        ("Environment", variables),
    ];
    let text: Vec<String> = parts
        .iter()
        .map(|(title, rows)| table(title, rows, paint))
        .collect();
    Output {
        result: text.join("\n"),
        talk: String::new(),
    }
}

fn places(outcome: &ConfigOutcome) -> Vec<Row> {
    let none = || ("none".to_owned(), String::new());
    let (base, from) = outcome
        .base
        .as_ref()
        .map_or_else(none, |(base, from)| (escape_path(base), origin_words(from)));
    let store = outcome
        .store
        .as_ref()
        .map_or("none".to_owned(), |store| escape_path(store));
    let there =
        outcome.store.as_ref().map_or(
            "",
            |store| if store.is_dir() { "" } else { "not there yet" },
        );
    vec![
        ("root".to_owned(), escape_path(&outcome.root), String::new()),
        ("base".to_owned(), base, from),
        ("store".to_owned(), store, there.to_owned()),
    ]
}

fn setting(setting: &Setting) -> Row {
    let origins: Vec<String> = setting.origins.iter().map(origin_words).collect();
    (
        setting.name.to_owned(),
        value(&setting.value),
        origins.join(", "),
    )
}

fn value(value: &SettingValue) -> String {
    match value {
        SettingValue::Off => "off".to_owned(),
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Milliseconds(ms) if ms % 1000 == 0 => format!("{} s", ms / 1000),
        SettingValue::Milliseconds(ms) => format!("{ms} ms"),
        SettingValue::Seconds(seconds) => format!("{seconds} s"),
        SettingValue::Bytes(bytes) => size(*bytes),
        SettingValue::Switch(on) => on.to_string(),
        SettingValue::Text(text) => escape(text),
        SettingValue::List(list) if list.is_empty() => "none".to_owned(),
        SettingValue::List(list) => list
            .iter()
            .map(|one| escape(one))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn table(title: &str, rows: &[Row], paint: Paint) -> String {
    // A long path must not push away the remarks of other rows.
    const WIDEST: usize = 40;
    let wide = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|t| t.chars().count()).max().unwrap_or_default()
    };
    let names = wide(&mut rows.iter().map(|row| &row.0));
    let values = wide(&mut rows.iter().map(|row| &row.1)).min(WIDEST);
    let mut text = format!("{}\n", paint.bold(title));
    for (name, value, remark) in rows {
        let line = format!(
            "  {name:<names$}  {value:<values$}  {}",
            paint.faint(remark)
        );
        let line = if remark.is_empty() {
            format!("  {name:<names$}  {value}")
        } else {
            line
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The settings, and where each comes from.
#[derive(Serialize, JsonSchema)]
pub struct ConfigAnswer {
    settings: Vec<SettingJson>,
    root: String,
    /// The folder of all stores.
    base: Option<String>,
    base_origin: Option<OriginJson>,
    store: Option<String>,
    files: Vec<ConfigFileJson>,
    environment: Vec<VariableJson>,
    /// What is wrong with the files.
    problems: Vec<String>,
}

/// One setting.
#[derive(Serialize, JsonSchema)]
struct SettingJson {
    name: String,
    /// Null if it is off.
    value: Json,
    /// `ms` or `bytes`.
    unit: Option<&'static str>,
    /// Several for a list that grows from file to file.
    origins: Vec<OriginJson>,
}

/// Where a value comes from.
#[derive(Serialize, JsonSchema)]
struct OriginJson {
    layer: &'static str,
    /// The file, variable or flag.
    place: Option<String>,
}

/// A file that was looked for.
#[derive(Serialize, JsonSchema)]
struct ConfigFileJson {
    file: String,
    found: bool,
}

/// A variable of the environment.
#[derive(Serialize, JsonSchema)]
struct VariableJson {
    name: &'static str,
    value: Option<String>,
    set: bool,
}

/// If a file is bad, the document is a failure that still has all data.
pub fn json(command: &str, outcome: &ConfigOutcome, exit: u8) -> String {
    let shown = |path: &std::path::Path| path.display().to_string();
    let variables = outcome.variables.iter();
    let files = outcome.files.iter();
    let data = ConfigAnswer {
        settings: outcome.settings.iter().map(setting_json).collect(),
        root: shown(&outcome.root),
        base: outcome.base.as_ref().map(|(base, _)| shown(base)),
        base_origin: outcome.base.as_ref().map(|(_, from)| origin_json(from)),
        store: outcome.store.as_deref().map(shown),
        files: files
            .map(|file| ConfigFileJson {
                file: shown(&file.path),
                found: file.found,
            })
            .collect(),
        environment: variables
            .map(|(variable, value)| VariableJson {
                name: variable.name,
                value: value.clone(),
                set: value.is_some(),
            })
            .collect(),
        problems: outcome.problems.iter().map(ToString::to_string).collect(),
    };
    let failure = outcome.problems.first();
    partial(command, exit, &data, &outcome.warnings, failure)
}

fn setting_json(setting: &Setting) -> SettingJson {
    let (value, unit) = match &setting.value {
        SettingValue::Off => (Json::Null, None),
        SettingValue::Number(number) => (json!(number), None),
        SettingValue::Milliseconds(ms) => (json!(ms), Some("ms")),
        SettingValue::Seconds(seconds) => (json!(seconds * 1000), Some("ms")),
        SettingValue::Bytes(bytes) => (json!(bytes), Some("bytes")),
        SettingValue::Switch(on) => (json!(on), None),
        SettingValue::Text(text) => (json!(text), None),
        SettingValue::List(list) => (json!(list), None),
    };
    SettingJson {
        name: setting.name.to_owned(),
        value,
        unit,
        origins: setting.origins.iter().map(origin_json).collect(),
    }
}

fn origin_json(from: &Origin) -> OriginJson {
    OriginJson {
        layer: from.into_str(),
        place: origin_place(from),
    }
}

pub fn origin_words(origin: &Origin) -> String {
    let what = origin.into_str().replace('_', " ");
    origin_place(origin).map_or(what.clone(), |place| format!("{what} {place}"))
}

/// Returns the file, variable or flag.
pub fn origin_place(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Default => None,
        Origin::UserFile(path) | Origin::ProjectFile(path) => Some(path.display().to_string()),
        Origin::Environment(name) | Origin::Flag(name) => Some((*name).to_owned()),
    }
}
