//! `config` as an aligned table.

use crate::base::text::escape;
use crate::ops::browse::config::{ConfigOutcome, Setting, SettingValue};
use crate::view::format::{Paint, size};
use crate::view::human::Output;
use crate::view::origin;

/// A line of the table: name, value, remark.
type Row = (String, String, String);

pub fn config(outcome: &ConfigOutcome, paint: Paint) -> Output {
    let places = places(outcome);
    let settings: Vec<Row> = outcome.settings.iter().map(setting).collect();
    let files = outcome.files.iter().map(|file| {
        let found = if file.found { "found" } else { "not there" };
        ("file".to_owned(), escape(&file.path.display().to_string()), found.to_owned())
    });
    let files: Vec<Row> = files.collect();
    let variables: Vec<Row> = outcome
        .variables
        .iter()
        .map(|(variable, value)| {
            let shown = value.as_ref().map_or("not set".to_owned(), |value| escape(value));
            (variable.name.to_owned(), shown, variable.purpose.to_owned())
        })
        .collect();
    let parts = [("Settings", settings), ("Places", places), ("Files", files), ("Environment", variables)];
    let text: Vec<String> = parts.iter().map(|(title, rows)| table(title, rows, paint)).collect();
    Output { result: text.join("\n"), talk: String::new() }
}

fn places(outcome: &ConfigOutcome) -> Vec<Row> {
    let shown = |path: &std::path::Path| escape(&path.display().to_string());
    let none = || ("none".to_owned(), String::new());
    let (base, from) = outcome.base.as_ref().map_or_else(none, |(base, from)| (shown(base), origin::words(from)));
    let store = outcome.store.as_ref().map_or("none".to_owned(), |store| shown(store));
    let there = outcome.store.as_ref().map_or("", |store| if store.is_dir() { "" } else { "not there yet" });
    vec![
        ("root".to_owned(), shown(&outcome.root), String::new()),
        ("base".to_owned(), base, from),
        ("store".to_owned(), store, there.to_owned()),
    ]
}

fn setting(setting: &Setting) -> Row {
    let origins: Vec<String> = setting.origins.iter().map(origin::words).collect();
    (setting.name.to_owned(), value(&setting.value), origins.join(", "))
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
        SettingValue::List(list) => list.iter().map(|one| escape(one)).collect::<Vec<_>>().join(" "),
    }
}

fn table(title: &str, rows: &[Row], paint: Paint) -> String {
    // A long path must not push the remarks of all other lines away.
    const WIDEST: usize = 40;
    let wide = |texts: &mut dyn Iterator<Item = &String>| texts.map(|t| t.chars().count()).max().unwrap_or_default();
    let names = wide(&mut rows.iter().map(|row| &row.0));
    let values = wide(&mut rows.iter().map(|row| &row.1)).min(WIDEST);
    let mut text = format!("{}\n", paint.bold(title));
    for (name, value, remark) in rows {
        let line = format!("  {name:<names$}  {value:<values$}  {}", paint.faint(remark));
        let line = if remark.is_empty() { format!("  {name:<names$}  {value}") } else { line };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
