//! The entry in JSON with comments.

use serde_json::{Map, Value};

use super::{COMMAND, NAME, ServerEntry, called_program, changed_by_others, of_another};
use crate::agent::setup::json_edit::{JsonEdit, JsonStep, SettingsFlaw, pretty};
use crate::agent::setup::shared_hooks::{WithEntries, WithoutEntries};

pub fn put_into(
    entry: &ServerEntry,
    key: &'static str,
    text: Option<&str>,
    made: &[String],
) -> Result<WithEntries, SettingsFlaw> {
    let with_all = |text| WithEntries {
        text,
        made: [made, &keys(key)[..]].concat(),
    };
    let is_blank = |text: &&str| text.trim_start_matches('\u{feff}').trim().is_empty();
    let servers = || Value::Object(Map::from_iter([(NAME.to_owned(), entry.value.clone())]));
    let alone = || {
        let root = Map::from_iter([(key.to_owned(), servers())]);
        with_all(pretty(&Value::Object(root), "  ") + "\n")
    };
    let Some(text) = text.filter(|text| !is_blank(text)) else {
        return Ok(alone());
    };
    let mut edit = JsonEdit::read(text)?;
    if edit.is_empty() {
        return Ok(alone());
    }
    let root = edit.value()?;
    if !root.is_object() {
        return Err(SettingsFlaw::new("it is no JSON object"));
    }
    let mut made = made.to_vec();
    match root.get(key) {
        None => {
            edit.append(&[], Some(key), &servers())?;
            return Ok(with_all(edit.into_text()));
        }
        Some(Value::Object(found)) => match found.get(NAME) {
            None => {
                edit.append(&[JsonStep::Key(key)], Some(NAME), &entry.value)?;
                made.push(format!("{key}/{NAME}"));
            }
            Some(found) => call_this(&mut edit, entry, key, found)?,
        },
        Some(_) => {
            let why = format!("its \"{key}\" is no JSON object");
            return Err(SettingsFlaw::new(why));
        }
    }
    made.sort();
    made.dedup();
    Ok(WithEntries {
        text: edit.into_text(),
        made,
    })
}

/// Makes an entry of ours call this program.
fn call_this(
    edit: &mut JsonEdit,
    entry: &ServerEntry,
    key: &str,
    found: &Value,
) -> Result<(), SettingsFlaw> {
    let called = called_program(found).ok_or_else(|| of_another(key))?;
    if called == entry.program {
        return Ok(());
    }
    let mut path = vec![
        JsonStep::Key(key),
        JsonStep::Key(NAME),
        JsonStep::Key(COMMAND),
    ];
    path.extend(found[COMMAND].is_array().then_some(JsonStep::At(0)));
    edit.replace(&path, &Value::from(entry.program.as_str()))
}

pub fn take_out_of(
    entry: &ServerEntry,
    key: &'static str,
    text: &str,
    made: &[String],
) -> Result<WithoutEntries, SettingsFlaw> {
    let mut edit = JsonEdit::read(text)?;
    let root = edit.value()?;
    let [of_all, of_ours] = keys(key);
    let has_made = |key: &String| made.contains(key);
    let found = root.get(key).and_then(|servers| servers.get(NAME));
    let is_ours = found.is_some_and(|found| {
        called_program(found).is_some() && (has_made(&of_ours) || entry.is_as_written(found))
    });
    if is_ours {
        edit.remove(&[JsonStep::Key(key), JsonStep::Key(NAME)])?;
        let root = edit.value()?;
        let left = root.get(key).and_then(Value::as_object);
        if has_made(&of_all) && left.is_some_and(Map::is_empty) {
            edit.remove(&[JsonStep::Key(key)])?;
        }
    } else if found.is_some() && has_made(&of_ours) {
        return Err(changed_by_others(key));
    }
    Ok(WithoutEntries {
        is_empty: edit.is_empty(),
        text: edit.into_text(),
    })
}

/// Returns the keys that are put in: that of all servers, and ours.
fn keys(key: &str) -> [String; 2] {
    [key.to_owned(), format!("{key}/{NAME}")]
}
