//! The entry in the YAML of Goose. Only the plain form in which people and Goose itself write it is
//! edited: `extensions:` at the start of a line, with a block below it; everything else is left alone.

use serde_json::Value;

use super::{NAME, ServerEntry, of_another};
use crate::agent::setup::command_line::is_our_name;
use crate::agent::setup::json_edit::SettingsFlaw;
use crate::agent::setup::shared_hooks::{WithEntries, WithoutEntries};

const EXTENSIONS: &str = "extensions";
const OURS: &str = "extensions/checkpoint";
const PROGRAM: &str = "cmd:";
/// Indentation where none is there.
const USUAL: usize = 2;

/// A text and where the blocks in it stand, as numbers of lines.
struct YamlFile<'t> {
    lines: Vec<&'t str>,
    newline: &'static str,
    /// The line `extensions:`, and the one after its block.
    extensions: Option<(usize, usize)>,
    /// Blanks before each name in it.
    indent: usize,
    /// Our entry, and the line after it.
    ours: Option<(usize, usize)>,
}

pub fn put_into(
    entry: &ServerEntry,
    text: &str,
    made: &[String],
) -> Result<WithEntries, SettingsFlaw> {
    let file = YamlFile::read(text)?;
    let mut made = made.to_vec();
    let newline = file.newline;
    let text = match (file.extensions, file.ours) {
        (_, Some((start, end))) => file.with_program(start, end, &entry.program)?,
        (Some((at, _)), None) => {
            made.push(OURS.to_owned());
            let new = block(&entry.program, file.indent, newline);
            file.replaced(at + 1, at + 1, &ended(&file.lines, at, newline, new))
        }
        (None, None) => {
            made.extend([EXTENSIONS.to_owned(), OURS.to_owned()]);
            let new = block(&entry.program, USUAL, newline);
            let new = format!("{EXTENSIONS}:{newline}{new}");
            let last = file.lines.len();
            file.replaced(
                last,
                last,
                &ended(&file.lines, last.wrapping_sub(1), newline, new),
            )
        }
    };
    made.sort();
    made.dedup();
    Ok(WithEntries { text, made })
}

pub fn take_out_of(text: &str, made: &[String]) -> Result<WithoutEntries, SettingsFlaw> {
    let file = YamlFile::read(text)?;
    let mut left = text.to_owned();
    if let (Some((at, after)), Some((start, end))) = (file.extensions, file.ours)
        && file.program(start, end).is_some()
    {
        let is_alone = (at + 1..after)
            .all(|line| (start..end).contains(&line) || file.lines[line].trim().is_empty());
        left = if is_alone && made.iter().any(|key| key == EXTENSIONS) {
            file.replaced(at, end, "")
        } else if is_alone {
            // A key without a value would be null, which Goose does not read.
            let line = file.lines[at];
            let head = line.trim_end();
            let head = head.strip_suffix("{}").unwrap_or(head).trim_end();
            let new = format!("{head} {{}}{}", &line[line.trim_end().len()..]);
            file.replaced(at, end, &new)
        } else {
            file.replaced(start, end, "")
        };
    }
    Ok(WithoutEntries {
        is_empty: left.trim().is_empty(),
        text: left,
    })
}

/// Ends the line before a new text, if nothing ends it.
fn ended(lines: &[&str], before: usize, newline: &str, new: String) -> String {
    match lines.get(before) {
        Some(line) if !line.ends_with('\n') => format!("{newline}{new}"),
        _ => new,
    }
}

fn block(program: &str, indent: usize, newline: &str) -> String {
    let program = Value::from(program).to_string();
    let lines = [
        format!("{NAME}:"),
        "  enabled: true".to_owned(),
        "  type: stdio".to_owned(),
        format!("  name: {NAME}"),
        "  description: Checkpoints of the working directory, and the way back".to_owned(),
        format!("  {PROGRAM} {program}"),
        "  args:".to_owned(),
        "    - mcp".to_owned(),
        "  timeout: 300".to_owned(),
    ];
    let blanks = " ".repeat(indent);
    let lines = lines.map(|line| format!("{blanks}{line}{newline}"));
    lines.concat()
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line says something.
fn has_content(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && !text.starts_with('#')
}

fn unusual() -> SettingsFlaw {
    SettingsFlaw::new(
        "its YAML is not in the plain form that can be edited safely; add it in Goose",
    )
}

impl<'t> YamlFile<'t> {
    fn read(text: &'t str) -> Result<Self, SettingsFlaw> {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut file = Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            extensions: None,
            indent: USUAL,
            ours: None,
            lines,
        };
        let filled: Vec<usize> = (0..file.lines.len())
            .filter(|at| has_content(file.lines[*at]))
            .collect();
        let tops = filled.iter().filter(|at| indent_of(file.lines[**at]) == 0);
        for (number, at) in tops.enumerate() {
            let line = file.lines[*at].trim_end();
            let is_start = number == 0 && line == "---";
            if !is_start && !line.starts_with("- ") && !is_key(line) {
                return Err(unusual());
            }
            if line.split(':').next() == Some(EXTENSIONS) {
                let after = file.block_end(&filled, *at, 0);
                if file.extensions.replace((*at, after)).is_some() {
                    return Err(unusual());
                }
            }
        }
        if let Some((at, after)) = file.extensions {
            file.read_extensions(&filled, at, after)?;
        }
        Ok(file)
    }

    /// Returns the line after a block: that after its last line that says something.
    fn block_end(&self, filled: &[usize], head: usize, indent: usize) -> usize {
        let inside = filled
            .iter()
            .skip_while(|at| **at <= head)
            .take_while(|at| indent_of(self.lines[**at]) > indent);
        inside.last().map_or(head + 1, |last| last + 1)
    }

    fn read_extensions(
        &mut self,
        filled: &[usize],
        at: usize,
        after: usize,
    ) -> Result<(), SettingsFlaw> {
        let value = self.lines[at].trim_end()[EXTENSIONS.len() + 1..].trim();
        let inside = |line: &&usize| (at + 1..after).contains(*line);
        let mut inside = filled.iter().filter(inside).peekable();
        let first = inside.peek().map(|first| indent_of(self.lines[**first]));
        match (value, first) {
            ("", Some(indent)) => self.indent = indent,
            ("" | "{}", None) => {}
            _ => return Err(unusual()),
        }
        if self.lines[at..after]
            .iter()
            .any(|line| line.trim_start_matches(' ').starts_with('\t'))
        {
            return Err(unusual());
        }
        for line in inside.filter(|line| indent_of(self.lines[**line]) <= self.indent) {
            let text = self.lines[*line].trim_end();
            if indent_of(text) < self.indent || !is_key(text.trim_start()) {
                return Err(unusual());
            }
            if text.trim_start().trim_end_matches(':') == NAME {
                self.ours = Some((*line, self.block_end(filled, *line, self.indent)));
            }
        }
        Ok(())
    }

    /// Returns the line of the program in our entry, and the program; `None` if it is not ours.
    fn program(&self, start: usize, end: usize) -> Option<(usize, String)> {
        let serves = self.lines[start..end].iter().any(|line| {
            let line = line.trim();
            line == "- mcp" || line.starts_with("args: [mcp") || line.starts_with("args: [\"mcp\"")
        });
        let mut lines = start + 1..end;
        let at = lines.find(|at| self.lines[*at].trim_start().starts_with(PROGRAM))?;
        let value = self.lines[at].trim().strip_prefix(PROGRAM)?.trim();
        let program = match value
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''))
        {
            Some(inner) => inner.replace("''", "'"),
            None if value.starts_with('"') => serde_json::from_str(value).ok()?,
            None => value.to_owned(),
        };
        (serves && is_our_name(&program)).then_some((at, program))
    }

    fn with_program(
        &self,
        start: usize,
        end: usize,
        program: &str,
    ) -> Result<String, SettingsFlaw> {
        let (at, called) = self
            .program(start, end)
            .ok_or_else(|| of_another(EXTENSIONS))?;
        if called == program {
            return Ok(self.lines.concat());
        }
        let line = self.lines[at];
        let blanks = " ".repeat(indent_of(line));
        let newline = &line[line.trim_end().len()..];
        let new = format!("{blanks}{PROGRAM} {}{newline}", Value::from(program));
        Ok(self.replaced(at, at + 1, &new))
    }

    /// Returns the text with other lines from one line to another. `extensions: {}` opens where
    /// something is put below it.
    fn replaced(&self, from: usize, to: usize, new: &str) -> String {
        let before = self.lines[..from].concat();
        let before = match (self.extensions, from == to) {
            (Some((at, _)), true) if at + 1 == from => {
                let line = self.lines[at];
                let end = &line[line.trim_end().len()..];
                let head = line.trim_end().trim_end_matches("{}").trim_end();
                format!("{}{head}{end}", self.lines[..at].concat())
            }
            _ => before,
        };
        format!("{before}{new}{}", self.lines[to..].concat())
    }
}

/// Whether a line begins with a plain or quoted key.
fn is_key(line: &str) -> bool {
    let Some((key, rest)) = line.split_once(':') else {
        return false;
    };
    let is_plain = |c: char| c.is_alphanumeric() || "_-./ \"'".contains(c);
    !key.is_empty() && key.chars().all(is_plain) && (rest.is_empty() || rest.starts_with(' '))
}
