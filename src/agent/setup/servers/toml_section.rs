//! The entry as a section of TOML. Text is only put in or cut out, so that all other bytes stay as
//! they are; what the new text says is compared with what the old one said.

use serde_json::Value;

use super::{COMMAND, NAME, ServerEntry, called_program, changed_by_others, of_another};
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
                with_program(text, &entry.program, &wanted)?
            }
        }
    };
    if !says(&new, &wanted) {
        return Err(unusual());
    }
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
        if let Some(servers) = wanted[SERVERS].as_object_mut() {
            servers.remove(NAME);
        }
        let mut tries = sections(text)
            .into_iter()
            .map(|(start, end)| cut(text, start, end));
        left = tries.find(|left| says(left, &wanted)).ok_or_else(unusual)?;
    } else if found.is_some() && made.contains(&key()) {
        return Err(changed_by_others(SERVERS));
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

/// Whether a text says what it should; that the table of servers is there without one does not count.
fn says(text: &str, wanted: &Value) -> bool {
    let without_empty = |mut value: Value| {
        let is_empty = |servers: &Value| servers.as_object().is_some_and(serde_json::Map::is_empty);
        if let Some(root) = value.as_object_mut()
            && root.get(SERVERS).is_some_and(is_empty)
        {
            root.remove(SERVERS);
        }
        value
    };
    parse(text).is_ok_and(|says| without_empty(says) == without_empty(wanted.clone()))
}

fn unusual() -> SettingsFlaw {
    SettingsFlaw::new(format!(
        "its {SERVERS} are written in a way that cannot be edited safely; edit {HEADER} by hand"
    ))
}

/// Cuts a section out, with the blank line before it that came with it.
fn cut(text: &str, start: usize, end: usize) -> String {
    let before = &text[..start];
    let blank = ["\r\n", "\n"].into_iter().find(|newline| {
        let above = before.strip_suffix(newline);
        above.is_some_and(|above| above.is_empty() || above.ends_with('\n'))
    });
    let before = blank.map_or(before, |newline| &before[..before.len() - newline.len()]);
    format!("{before}{}", &text[end..])
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

/// Returns where each section begins that may be ours, and where its last line ends that says
/// something.
fn sections(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let place = |line: usize| lines[..line].iter().map(|line| line.len()).sum::<usize>();
    let trimmed = |line: &usize| lines[*line].trim_start_matches('\u{feff}').trim();
    let starts = (0..lines.len()).filter(|line| trimmed(line).starts_with(HEADER));
    let of_start = |start: usize| {
        let inside = (start + 1..lines.len()).take_while(|line| {
            let text = trimmed(line);
            !text.starts_with('[') || text.starts_with(INNER)
        });
        let filled = inside.filter(|line| {
            let text = trimmed(line);
            !text.is_empty() && !text.starts_with('#')
        });
        let end = filled.last().unwrap_or(start) + 1;
        let mark = lines[start].len() - lines[start].trim_start_matches('\u{feff}').len();
        (place(start) + mark, place(end))
    };
    starts.map(of_start).collect()
}

/// Replaces the program in the section where the new text says what it should.
fn with_program(text: &str, program: &str, wanted: &Value) -> Result<String, SettingsFlaw> {
    let of_command = |line: &str| {
        let rest = line.trim_start().strip_prefix(COMMAND);
        rest.is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    let of_section = |(start, end): (usize, usize)| {
        let lines = text[start..end].split_inclusive('\n');
        let before = lines.take_while(|line| !of_command(line)).map(str::len);
        let at = start + before.sum::<usize>();
        let line = text[at..end].split_inclusive('\n').next()?;
        let indent = &line[..line.len() - line.trim_start().len()];
        let rest = &text[at + line.trim_end().len()..];
        Some([&text[..at], indent, COMMAND, " = ", &quoted(program), rest].concat())
    };
    let mut tries = sections(text).into_iter().filter_map(of_section);
    tries.find(|new| says(new, wanted)).ok_or_else(unusual)
}
