//! Our server in TOML. Text is only put in or cut out, so that all other bytes stay as they are.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::agent::setup::json_edit::{SettingsFlaw, newline_of};
use crate::agent::setup::settings_json::{self, NAME, of_another};

const SERVERS: &str = "mcp_servers";
const HEADER: &str = "[mcp_servers.checkpoint]";
const BOM: &str = "\u{feff}";

/// Puts our server into a text. One that is there keeps what its user changed, but calls this program.
///
/// # Errors
/// It is no TOML, names another server so, or keeps its servers where none can be added.
pub fn put_into(text: &str, program: &str) -> Result<String, SettingsFlaw> {
    let quoted = Value::from(program).to_string();
    let new = match Found::read(text)? {
        None => {
            let newline = newline_of(text);
            let gap = match text {
                "" => "",
                _ if text.ends_with('\n') => newline,
                _ => &newline.repeat(2),
            };
            let command = format!("command = {quoted}");
            let lines = [HEADER, &command, "args = [\"mcp\"]", ""];
            format!("{text}{gap}{}", lines.join(newline))
        }
        Some(found) if found.program()? == program => return Ok(text.to_owned()),
        Some(found) => {
            let (start, end) = found.command;
            [&text[..start], &quoted, &text[end..]].concat()
        }
    };
    match Found::read(&new) {
        Ok(Some(found)) if found.program()? == program && is_same_but_ours(text, &new) => Ok(new),
        _ => Err(unusual()),
    }
}

/// Cuts our server out of a text.
///
/// # Errors
/// It is no TOML, or ours is no section of its own.
pub fn take_out_of(text: &str) -> Result<String, SettingsFlaw> {
    let found = Found::read(text)?.filter(|found| found.program.is_some());
    let Some(found) = found else {
        return Ok(text.to_owned());
    };
    let (start, end) = found.section;
    let end = text[end..]
        .find('\n')
        .map_or(text.len(), |line| end + line + 1);
    let before = &text[..start];
    let blank = ["\r\n", "\n"].into_iter().find(|newline| {
        let above = before.strip_suffix(newline);
        above.is_some_and(|above| above.is_empty() || above.ends_with('\n'))
    });
    let before = blank.map_or(before, |newline| &before[..before.len() - newline.len()]);
    let left = format!("{before}{}", &text[end..]);
    match Found::read(&left) {
        Ok(None) if is_same_but_ours(text, &left) => Ok(left),
        _ => Err(unusual()),
    }
}

pub fn called_program(text: &str) -> Option<String> {
    Found::read(text).ok()??.program
}

fn unusual() -> SettingsFlaw {
    SettingsFlaw::new(format!(
        "its {SERVERS} are written in a way that cannot be edited safely; edit {HEADER} by hand"
    ))
}

/// Whether two texts say the same but for our server.
fn is_same_but_ours(one: &str, other: &str) -> bool {
    let without = |text: &str| {
        let mut root: toml::Table = toml::from_str(text.trim_start_matches(BOM)).ok()?;
        if let Some(servers) = root.get_mut(SERVERS).and_then(toml::Value::as_table_mut) {
            servers.remove(NAME);
            if servers.is_empty() {
                root.remove(SERVERS);
            }
        }
        Some(root)
    };
    without(one) == without(other)
}

/// Our server in a text, and where it stands.
struct Found {
    /// The program that it calls; `None` if it is another server.
    program: Option<String>,
    command: (usize, usize),
    section: (usize, usize),
}

impl Found {
    /// Returns our server; `None` if there is none of our name.
    fn read(text: &str) -> Result<Option<Self>, SettingsFlaw> {
        let mark = if text.starts_with(BOM) { BOM.len() } else { 0 };
        let root = DeTable::parse(&text[mark..]);
        let root = root.map_err(|why| SettingsFlaw::unreadable(why.message()))?;
        let Some(servers) = root.get_ref().get(SERVERS) else {
            return Ok(None);
        };
        let Some(servers) = servers.get_ref().as_table() else {
            return Err(SettingsFlaw::new(format!("its {SERVERS} are no table")));
        };
        let Some(found) = servers.get(NAME) else {
            return Ok(None);
        };
        let value = json_of(found.get_ref());
        let command = found.get_ref().get("command").map_or(0..0, Spanned::span);
        Ok(Some(Self {
            program: settings_json::called_program(&value).map(str::to_owned),
            command: (command.start + mark, command.end + mark),
            section: (found.span().start + mark, end_of(found) + mark),
        }))
    }

    fn program(&self) -> Result<&str, SettingsFlaw> {
        self.program.as_deref().ok_or_else(|| of_another(SERVERS))
    }
}

/// Returns where the last value of a table ends.
fn end_of(value: &Spanned<DeValue<'_>>) -> usize {
    let inner = value
        .get_ref()
        .as_table()
        .into_iter()
        .flat_map(DeTable::values);
    inner
        .map(end_of)
        .chain([value.span().end])
        .max()
        .unwrap_or_default()
}

/// Returns what of a value tells which program it calls.
fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Array(list) => list.iter().map(|one| json_of(one.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries = table.iter();
            let entries =
                entries.map(|(key, one)| (key.get_ref().to_string(), json_of(one.get_ref())));
            Value::Object(entries.collect())
        }
        _ => Value::Null,
    }
}
