//! The entry as a section of TOML. Text is only put in or cut out, so that all other bytes stay as
//! they are; what the new text says is compared with what the old one said.

use serde_json::Value;

use super::{COMMAND, NAME, ServerEntry, called_program, of_another};
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::shared_hooks::{WithEntries, WithoutEntries};

const SERVERS: &str = "mcp_servers";
const HEADER: &str = "[mcp_servers.checkpoint]";
/// What headers of tables in the section begin with.
const INNER: &str = "[mcp_servers.checkpoint.";

pub fn put_into(
    entry: &ServerEntry,
    text: &str,
    made: &[String],
) -> Result<WithEntries, SettingsFlaw> {
    let old = parse(text)?;
    let servers = old.get(SERVERS);
    if servers.is_some_and(|servers| !servers.is_object()) {
        return Err(SettingsFlaw::new(format!("its {SERVERS} are no table")));
    }
    let mut wanted = old.clone();
    let mut made = made.to_vec();
    let new = match servers.and_then(|servers| servers.get(NAME)) {
        None => {
            wanted[SERVERS][NAME] = entry.value.clone();
            made.push(key());
            made.dedup();
            appended(text, entry)
        }
        Some(found) => {
            let called = called_program(found).ok_or_else(|| of_another(SERVERS))?;
            if called == entry.program {
                text.to_owned()
            } else {
                wanted[SERVERS][NAME][COMMAND] = entry.program.as_str().into();
                with_program(text, &entry.program)?
            }
        }
    };
    check(&new, &wanted)?;
    Ok(WithEntries { text: new, made })
}

pub fn take_out_of(
    entry: &ServerEntry,
    text: &str,
    made: &[String],
) -> Result<WithoutEntries, SettingsFlaw> {
    let mut wanted = parse(text)?;
    let found = wanted.get(SERVERS).and_then(|servers| servers.get(NAME));
    let is_ours = found.is_some_and(|found| {
        called_program(found).is_some() && (made.contains(&key()) || entry.is_as_written(found))
    });
    let mut left = text.to_owned();
    if is_ours {
        let (start, end) = section(text)?;
        let before = &text[..start];
        // The blank line before the section came with it.
        let blank = ["\r\n", "\n"].into_iter().find(|newline| {
            let above = before.strip_suffix(newline);
            above.is_some_and(|above| above.is_empty() || above.ends_with('\n'))
        });
        let before = blank.map_or(before, |newline| &before[..before.len() - newline.len()]);
        left = format!("{before}{}", &text[end..]);
        if let Some(servers) = wanted[SERVERS].as_object_mut() {
            servers.remove(NAME);
        }
        check(&left, &wanted)?;
    }
    Ok(WithoutEntries {
        is_empty: left.trim_start_matches('\u{feff}').trim().is_empty(),
        text: left,
    })
}

fn key() -> String {
    format!("{SERVERS}/{NAME}")
}

fn parse(text: &str) -> Result<Value, SettingsFlaw> {
    let text = text.trim_start_matches('\u{feff}');
    toml::from_str(text).map_err(|why: toml::de::Error| SettingsFlaw::new(why.message()))
}

/// Compares what a text says with what it should say; tables without a key do not count.
fn check(text: &str, wanted: &Value) -> Result<(), SettingsFlaw> {
    let without_empty = |mut value: Value| {
        let is_empty = |servers: &Value| servers.as_object().is_some_and(serde_json::Map::is_empty);
        if let Some(root) = value.as_object_mut()
            && root.get(SERVERS).is_some_and(is_empty)
        {
            root.remove(SERVERS);
        }
        value
    };
    let says = parse(text).map(without_empty);
    if says.as_ref() == Ok(&without_empty(wanted.clone())) {
        return Ok(());
    }
    Err(SettingsFlaw::new(format!(
        "its {SERVERS} are written in a way that cannot be edited safely; edit {HEADER} by hand"
    )))
}

fn appended(text: &str, entry: &ServerEntry) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = match text {
        "" => "",
        _ if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    let lines = [
        HEADER.to_owned(),
        format!("{COMMAND} = {}", quoted(&entry.program)),
        "args = [\"mcp\"]".to_owned(),
        String::new(),
    ];
    format!("{text}{gap}{}", lines.join(newline))
}

/// Writes a text without control characters as a string of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns where our section begins, and where its last line ends that says something.
fn section(text: &str) -> Result<(usize, usize), SettingsFlaw> {
    let (mut start, mut end, mut at) = (None, 0, 0);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start_matches('\u{feff}').trim();
        let is_header = trimmed.starts_with('[');
        if start.is_none() && trimmed.starts_with(HEADER) {
            start = Some(at + line.len() - line.trim_start_matches('\u{feff}').len());
        } else if start.is_some() && is_header && !trimmed.starts_with(INNER) {
            break;
        }
        at += line.len();
        if start.is_some() && !trimmed.is_empty() && !trimmed.starts_with('#') {
            end = at;
        }
    }
    let start = start.ok_or_else(|| {
        SettingsFlaw::new(format!("it names {SERVERS}.{NAME} without a line {HEADER}"))
    })?;
    Ok((start, end))
}

fn with_program(text: &str, program: &str) -> Result<String, SettingsFlaw> {
    let (start, end) = section(text)?;
    let of_command = |line: &&str| {
        let rest = line.trim_start().strip_prefix(COMMAND);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let mut lines: Vec<&str> = text[start..end].split_inclusive('\n').collect();
    let new;
    if let Some(line) = lines.iter_mut().find(|line| of_command(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let newline = &line[line.trim_end().len()..];
        new = format!("{indent}{COMMAND} = {}{newline}", quoted(program));
        *line = &new;
    }
    Ok([&text[..start], &lines.concat(), &text[end..]].concat())
}
