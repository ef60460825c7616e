//! The entry in the YAML of Goose. Lines are only put in, cut out or replaced, so that all other
//! bytes stay as they are; each try is kept only if the new text says just what it should.
//!
//! The parser is that of Goose, so that both read the same.

use serde_yaml_ng::{Mapping, Value};

use super::{NAME, SUBCOMMAND, ServerEntry, changed_by_others, of_another};
use crate::agent::setup::command_line::is_our_name;
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::shared_hooks::{WithEntries, WithoutEntries};

const EXTENSIONS: &str = "extensions";
const OURS: &str = "extensions/checkpoint";
const PROGRAM: &str = "cmd";

pub fn put_into(
    entry: &ServerEntry,
    text: &str,
    made: &[String],
) -> Result<WithEntries, SettingsFlaw> {
    let old = parse(text)?;
    let mut made = made.to_vec();
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut wanted = old.clone();
    let extensions = wanted.entry(EXTENSIONS.into()).or_insert(Value::Null);
    if extensions.is_null() {
        *extensions = Mapping::new().into();
    }
    let Value::Mapping(extensions) = extensions else {
        return Err(SettingsFlaw::new("its extensions are no mapping"));
    };
    if let Some(found) = extensions.get_mut(NAME) {
        let called = called_program(found).ok_or_else(|| of_another(EXTENSIONS))?;
        if called != entry.program {
            found[PROGRAM] = entry.program.as_str().into();
            return Ok(WithEntries {
                text: with_program(text, &entry.program, &wanted)?,
                made,
            });
        }
        let text = text.to_owned();
        return Ok(WithEntries { text, made });
    }
    extensions.insert(NAME.into(), our_value(&entry.program));
    made.push(OURS.to_owned());
    if !old.contains_key(EXTENSIONS) {
        made.push(EXTENSIONS.to_owned());
    }
    made.sort();
    made.dedup();
    let mut tries = with_block(text, &entry.program, newline).into_iter();
    let text = tries.find(|new| says(new, &wanted)).ok_or_else(unusual)?;
    Ok(WithEntries { text, made })
}

pub fn take_out_of(text: &str, made: &[String]) -> Result<WithoutEntries, SettingsFlaw> {
    let has_made = |key: &str| made.iter().any(|made| made == key);
    let mut wanted = parse(text)?;
    let found = wanted
        .get(EXTENSIONS)
        .and_then(|all| all.get(NAME))
        .cloned();
    let called = found.as_ref().and_then(called_program);
    let is_ours =
        called.is_some_and(|program| has_made(OURS) || found.as_ref() == Some(&our_value(program)));
    let extensions = wanted.get_mut(EXTENSIONS).and_then(Value::as_mapping_mut);
    let mut left = text.to_owned();
    if let (Some(extensions), true) = (extensions, is_ours) {
        extensions.shift_remove(NAME);
        let is_alone = extensions.is_empty();
        let mut without_any = wanted.clone();
        without_any.shift_remove(EXTENSIONS);
        let mut tries = without_block(text, is_alone, has_made(EXTENSIONS)).into_iter();
        let is_right = |new: &String| {
            says(new, &wanted) || (is_alone && has_made(EXTENSIONS) && says(new, &without_any))
        };
        left = tries.find(is_right).ok_or_else(unusual)?;
    } else if found.is_some() && has_made(OURS) {
        return Err(changed_by_others(EXTENSIONS));
    }
    Ok(WithoutEntries {
        is_empty: left.trim().is_empty(),
        text: left,
    })
}

fn parse(text: &str) -> Result<Mapping, SettingsFlaw> {
    let value: Value =
        serde_yaml_ng::from_str(text).map_err(|why| SettingsFlaw::new(why.to_string()))?;
    match value {
        Value::Null => Ok(Mapping::new()),
        Value::Mapping(root) => Ok(root),
        _ => Err(SettingsFlaw::new("it is no mapping")),
    }
}

fn says(text: &str, wanted: &Mapping) -> bool {
    parse(text).is_ok_and(|says| says == *wanted)
}

fn unusual() -> SettingsFlaw {
    SettingsFlaw::new("its YAML is written in a way that cannot be edited safely; edit it by hand")
}

/// Returns the program of an entry that calls our server, with whatever arguments.
fn called_program(entry: &Value) -> Option<&str> {
    let program = entry.get(PROGRAM)?.as_str()?;
    let mut arguments = entry.get("args")?.as_sequence()?.iter();
    let serves = arguments.any(|argument| argument.as_str() == Some(SUBCOMMAND));
    (serves && is_our_name(program)).then_some(program)
}

fn our_value(program: &str) -> Value {
    let block = our_block(program, 0, "\n");
    serde_yaml_ng::from_str(&block).map_or(Value::Null, |value: Value| value[NAME].clone())
}

fn our_block(program: &str, indent: usize, newline: &str) -> String {
    // A string of JSON is one of YAML.
    let program = serde_json::Value::from(program).to_string();
    let lines = [
        format!("{NAME}:"),
        "  enabled: true".to_owned(),
        "  type: stdio".to_owned(),
        format!("  name: {NAME}"),
        "  description: Checkpoints of the working directory, and the way back".to_owned(),
        format!("  {PROGRAM}: {program}"),
        "  args:".to_owned(),
        format!("    - {SUBCOMMAND}"),
        "  timeout: 300".to_owned(),
    ];
    let blanks = " ".repeat(indent);
    let lines = lines.map(|line| format!("{blanks}{line}{newline}"));
    lines.concat()
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line holds more than blanks and a comment.
fn has_content(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && !text.starts_with('#')
}

fn is_extensions(line: &str) -> bool {
    line.starts_with("extensions:")
}

/// Returns the texts with our entry below each line that may name the extensions, or at the end.
fn with_block(text: &str, program: &str, newline: &str) -> Vec<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let below = |at: usize| {
        let mut inside = lines[at + 1..].iter().filter(|line| has_content(line));
        let indent = inside.next().map_or(0, |line| indent_of(line));
        let block = our_block(program, if indent == 0 { 2 } else { indent }, newline);
        let name = lines[at].trim_end();
        let end = Some(&lines[at][name.len()..]).filter(|end| !end.is_empty());
        let end = end.unwrap_or(newline);
        // An empty mapping opens.
        let head = name.strip_suffix("{}").map_or(name, str::trim_end);
        let (before, after) = (lines[..at].concat(), lines[at + 1..].concat());
        format!("{before}{head}{end}{block}{after}")
    };
    let mut tries: Vec<String> = (0..lines.len())
        .filter(|at| is_extensions(lines[*at]))
        .map(below)
        .collect();
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        newline
    };
    let block = our_block(program, 2, newline);
    tries.push(format!("{text}{gap}{EXTENSIONS}:{newline}{block}"));
    tries
}

/// Returns the texts without the block below each line that may be ours. If it is alone there, the
/// extensions go too or stay as an empty mapping, as Goose does not read a key without a value.
fn without_block(text: &str, is_alone: bool, may_go: bool) -> Vec<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let without = |(start, end): (usize, usize)| {
        let head = (0..start).rev().find(|at| is_extensions(lines[*at]));
        let (Some(head), true) = (head, is_alone) else {
            return vec![[&lines[..start], &lines[end..]].concat().concat()];
        };
        let between = lines[head + 1..start].concat();
        let has_comment = between.contains('#')
            || lines[end..]
                .first()
                .is_some_and(|line| line.trim_start().starts_with('#') && indent_of(line) > 0);
        let name = lines[head].trim_end();
        let newline = &lines[head][name.len()..];
        let empty = format!("{name} {{}}{newline}{between}");
        let with = |middle: &str| {
            format!(
                "{}{middle}{}",
                lines[..head].concat(),
                lines[end..].concat()
            )
        };
        let goes = (may_go && !has_comment).then(|| with(&between));
        goes.into_iter().chain([with(&empty)]).collect()
    };
    blocks(&lines).into_iter().flat_map(without).collect()
}

/// Returns each line that may begin our block, and the line after its last one that says something.
fn blocks(lines: &[&str]) -> Vec<(usize, usize)> {
    let starts = (0..lines.len()).filter(|at| lines[*at].trim_start().starts_with("checkpoint:"));
    let with_end = |start: usize| {
        let indent = indent_of(lines[start]);
        let inside = (start + 1..lines.len())
            .filter(|at| has_content(lines[*at]))
            .take_while(|at| indent_of(lines[*at]) > indent);
        (start, inside.last().unwrap_or(start) + 1)
    };
    starts.map(with_end).collect()
}

/// Replaces the program in the block where the new text says what it should.
fn with_program(text: &str, program: &str, wanted: &Mapping) -> Result<String, SettingsFlaw> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let places = blocks(&lines)
        .into_iter()
        .flat_map(|(start, end)| start..end);
    let places = places.filter(|at| lines[*at].trim_start().starts_with("cmd:"));
    let mut tries = places.map(|at| {
        let line = lines[at];
        let newline = &line[line.trim_end().len()..];
        let program = serde_json::Value::from(program);
        let new = format!(
            "{}{PROGRAM}: {program}{newline}",
            " ".repeat(indent_of(line))
        );
        [&lines[..at].concat(), &new, &lines[at + 1..].concat()]
            .map(String::as_str)
            .concat()
    });
    tries.find(|new| says(new, wanted)).ok_or_else(unusual)
}
