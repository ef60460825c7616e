//! Our server in TOML. Text is only put in or cut out, so that all other bytes stay as they are; what
//! the new text says is compared with what the old one said.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::agent::setup::json_edit::{newline_of, unreadable};
use crate::agent::setup::settings_json::{self, NAME, of_another};
use crate::error::{Error, Result};

const SERVERS: &str = "mcp_servers";
const HEADER: &str = "[mcp_servers.checkpoint]";
const BOM: char = '\u{feff}';

/// Puts our server into a text. One that is there keeps what its user changed, but calls this program.
///
/// # Errors
/// It is no TOML, names another server so, or keeps its servers where none can be added.
pub fn put_into(text: &str, program: &str) -> Result<String> {
    let quoted = Value::from(program).to_string();
    let new = match parse(text)?.get(SERVERS).and_then(|all| all.get(NAME)) {
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
        Some(found) => {
            let called = settings_json::called_program(found).ok_or_else(|| of_another(SERVERS))?;
            if called == program {
                return Ok(text.to_owned());
            }
            let (_, command) = places(text).ok_or_else(unusual)?;
            [&text[..command.start], &quoted, &text[command.end..]].concat()
        }
    };
    if called_program(&new).as_deref() != Some(program) {
        return Err(unusual());
    }
    checked(text, new)
}

/// Cuts our server out of a text.
///
/// # Errors
/// It is no TOML, or ours is no section of its own.
pub fn take_out_of(text: &str) -> Result<String> {
    parse(text)?;
    if called_program(text).is_none() {
        return Ok(text.to_owned());
    }
    let (section, _) = places(text).ok_or_else(unusual)?;
    let line = text[section.end..].find('\n');
    let end = line.map_or(text.len(), |line| section.end + line + 1);
    let before = &text[..section.start];
    let blank = ["\r\n", "\n"].into_iter().find(|newline| {
        let above = before.strip_suffix(newline);
        above.is_some_and(|above| above.is_empty() || above.ends_with('\n'))
    });
    let before = blank.map_or(before, |newline| &before[..before.len() - newline.len()]);
    checked(text, format!("{before}{}", &text[end..]))
}

fn called_program(text: &str) -> Option<String> {
    settings_json::called_program(&parse(text).ok()?[SERVERS][NAME]).map(str::to_owned)
}

fn parse(text: &str) -> Result<Value> {
    let parsed = toml::from_str(text.trim_start_matches(BOM));
    parsed.map_err(|why: toml::de::Error| unreadable(why.message()))
}

fn unusual() -> Error {
    Error::unexpected(format!(
        "its {SERVERS} are written in a way that cannot be edited safely; edit {HEADER} by hand"
    ))
}

/// Returns a new text, which must say the same as the old one but for our server.
fn checked(old: &str, new: String) -> Result<String> {
    let without = |text: &str| {
        let mut root = parse(text).ok()?;
        let servers = root.get_mut(SERVERS).and_then(Value::as_object_mut);
        let is_empty = servers.is_some_and(|servers| {
            servers.remove(NAME);
            servers.is_empty()
        });
        if let (true, Some(root)) = (is_empty, root.as_object_mut()) {
            root.remove(SERVERS);
        }
        Some(root)
    };
    let is_same = without(old) == without(&new);
    is_same.then_some(new).ok_or_else(unusual)
}

/// Returns where our server stands, and where its command does.
fn places(text: &str) -> Option<(Range<usize>, Range<usize>)> {
    let plain = text.trim_start_matches(BOM);
    let mark = text.len() - plain.len();
    let root = DeTable::parse(plain).ok()?;
    let found = root.get_ref().get(SERVERS)?.get_ref().get(NAME)?;
    let command = found.get_ref().get("command")?.span();
    let section = found.span().start + mark..end_of(found) + mark;
    Some((section, command.start + mark..command.end + mark))
}

/// Returns where the last value of a table ends.
fn end_of(value: &Spanned<DeValue<'_>>) -> usize {
    let inner = value.get_ref().as_table();
    let inner = inner.into_iter().flat_map(DeTable::values).map(end_of);
    inner.chain([value.span().end]).max().unwrap_or_default()
}
