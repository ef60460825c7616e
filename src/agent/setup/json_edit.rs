//! Edits JSON with comments, as people keep their settings: text is only put in or cut out, and all
//! other bytes stay as they are.

use std::ops::Range;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde::Serialize as _;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

const BOM: &str = "\u{feff}";
const STRICT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Says that its agent cannot read a text either.
pub fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::unexpected(format!(
        "it cannot be read ({why}); correct it, then try again"
    ))
}

/// Returns the values of a text.
///
/// # Errors
/// It is no JSON, or a key is in an object twice.
pub fn value(text: &str) -> Result<Value> {
    value_of(&parse(text.trim_start_matches(BOM))?)
}

/// Returns a text that says what `change` makes of its values; null in the place of an element
/// takes that out. What is empty then goes too, unless there is a comment in it or its key was in
/// the values `before`.
///
/// # Errors
/// It is no JSON object, or a key is in an object twice.
pub fn edited(
    text: &str,
    before: &Value,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<()>,
) -> Result<String> {
    let plain = text.trim_start_matches(BOM);
    let letters: String = plain.split_whitespace().collect();
    let is_nothing = letters.is_empty() || letters == "{}";
    let root = parse(if is_nothing { "{}" } else { plain })?;
    let found = value_of(&root)?;
    let Value::Object(mut wanted) = found.clone() else {
        return Err(Error::unexpected("it is no JSON object"));
    };
    change(&mut wanted)?;
    let wanted = Value::Object(wanted);
    if wanted == found {
        return Ok(text.to_owned());
    }
    if is_nothing {
        return Ok(pretty(&wanted, "  ") + "\n");
    }
    let mut edit = Edit {
        text: plain.to_owned(),
        newline: newline_of(plain),
        unit: indentation(plain),
    };
    edit.change(&root, &wanted, Some(before));
    let mark = &text[..text.len() - plain.len()];
    Ok(format!("{mark}{}", edit.text))
}

fn parse(text: &str) -> Result<Node<'_>> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &STRICT);
    let root = parsed.map_err(unreadable)?.value;
    root.ok_or_else(|| unreadable("it is empty"))
}

fn value_of(node: &Node<'_>) -> Result<Value> {
    Ok(match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        // The number is kept as it is written.
        Node::NumberLit(number) => serde_json::from_str(number.value)
            .map_err(|_| Error::unexpected(format!("{} is no number", number.value)))?,
        Node::BooleanLit(switch) => Value::from(switch.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => {
            let values = array.elements.iter().map(value_of);
            Value::Array(values.collect::<Result<_>>()?)
        }
        Node::Object(object) => {
            let mut map = Map::new();
            for one in &object.properties {
                let key = one.name.as_str();
                if map.insert(key.to_owned(), value_of(&one.value)?).is_some() {
                    let why = format!("the key \"{key}\" is in it twice");
                    return Err(Error::unexpected(why));
                }
            }
            Value::Object(map)
        }
    })
}

/// A text that is being edited from its end on, so that no place before an edit moves.
struct Edit {
    text: String,
    newline: &'static str,
    /// One level of indentation.
    unit: String,
}

/// A value in a container.
struct Child<'n> {
    /// Where its key starts, or else the value itself.
    start: usize,
    node: &'n Node<'n>,
    /// `None` takes it out.
    wanted: Option<&'n Value>,
    before: Option<&'n Value>,
}

impl Edit {
    /// Makes the text of a node say what is wanted. Returns whether that took out all there was.
    fn change(&mut self, node: &Node<'_>, wanted: &Value, before: Option<&Value>) -> bool {
        let (children, new): (Vec<Child<'_>>, Vec<(Option<&str>, &Value)>) = match (node, wanted) {
            (Node::Object(object), Value::Object(wanted)) => {
                let properties = object.properties.iter().map(|one| Child {
                    start: one.range.start,
                    node: &one.value,
                    wanted: wanted.get(one.name.as_str()),
                    before: before.and_then(|before| before.get(one.name.as_str())),
                });
                let is_new = |(key, _): &(&String, _)| object.get(key).is_none();
                let new = wanted.iter().filter(is_new);
                let new = new.map(|(key, value)| (Some(&**key), value));
                (properties.collect(), new.collect())
            }
            (Node::Array(array), Value::Array(wanted)) => {
                let elements = array.elements.iter().zip(wanted);
                let is_null = |node: &Node<'_>| matches!(node, Node::NullKeyword(_));
                let elements = elements.map(|(node, wanted)| Child {
                    start: node.range().start,
                    node,
                    wanted: Some(wanted).filter(|wanted| !wanted.is_null() || is_null(node)),
                    before: None,
                });
                let new = wanted.iter().skip(array.elements.len());
                (elements.collect(), new.map(|value| (None, value)).collect())
            }
            _ => {
                if value_of(node).ok().as_ref() != Some(wanted) {
                    self.text.replace_range(span(node), &wanted.to_string());
                }
                return false;
            }
        };
        let length = self.text.len();
        if !new.is_empty() {
            self.append(node, &children, &new);
        }
        let mut is_less = false;
        for (at, child) in children.iter().enumerate().rev() {
            let length = self.text.len();
            let before = child.before;
            let goes = |wanted| self.change(child.node, wanted, before) && before.is_none();
            if child.wanted.is_none_or(goes) {
                let end = child.node.range().end + self.text.len() - length;
                let before = at.checked_sub(1).map(|at| children[at].node.range().end);
                self.cut(node.range().start + 1, before, child.start..end);
                is_less = true;
            }
        }
        let end = node.range().end + self.text.len() - length;
        is_less && self.text[node.range().start + 1..end - 1].trim().is_empty()
    }

    /// Adds values at the end of a container, with keys if that is an object.
    fn append(&mut self, node: &Node<'_>, children: &[Child<'_>], new: &[(Option<&str>, &Value)]) {
        let text = &self.text;
        let Range { start, end } = span(node);
        let joined = |gap: &str, named_gap: &str, render: &dyn Fn(&Value) -> String| {
            let values = new.iter().map(|(key, value)| match key {
                Some(key) => format!("{gap}{}:{named_gap}{}", Value::from(*key), render(value)),
                None => format!("{gap}{}", render(value)),
            });
            values.collect::<Vec<_>>().join(",")
        };
        let in_block = |indent: &str| {
            let render = |value: &Value| self.rendered(value, indent);
            joined(&format!("{}{indent}", self.newline), " ", &render)
        };
        let (Some(first), Some(last)) = (children.first(), children.last()) else {
            let base = line_indent(text, start);
            // Without a line break inside, the brackets hug the value: cut out, nothing is left.
            let inside = text[start + 1..end - 1].trim_start_matches([' ', '\t', '\r']);
            let new = if inside.starts_with('\n') {
                in_block(&format!("{base}{}", self.unit))
            } else {
                joined("", " ", &|value| self.rendered(value, &base))
            };
            return self.text.insert_str(start + 1, &new);
        };
        let last = last.node.range().end;
        let comma = behind_comma(text, last);
        let (at, after_line_comment) = behind_comments(text, comma.unwrap_or(last));
        let mut new = if text[start..first.start].contains('\n') || after_line_comment {
            in_block(&line_indent(text, first.start))
        } else {
            let is_tight = !text[start..last].contains(' ');
            let gap = if is_tight { "" } else { " " };
            joined(gap, gap, &Value::to_string)
        };
        new.push_str(if comma.is_some() { "," } else { "" });
        self.text.insert_str(at, &new);
        if comma.is_none() {
            self.text.insert(last, ',');
        }
    }

    /// Cuts out what stands in a container: what [`Self::append`] put in, byte for byte. `open` is
    /// where the container begins, `before` where its value before this one ends.
    fn cut(&mut self, open: usize, before: Option<usize>, Range { start, end }: Range<usize>) {
        let text = &self.text;
        let comma = behind_comma(text, end);
        let comma_before = before.and_then(|end| behind_comma(text, end));
        let rest = &text[comma.unwrap_or(end)..];
        let ends_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        let blanks = text[..start].trim_end().len();
        // What follows on the line must not get into a comment that ends before the cut.
        let is_comment = comments(text, before.unwrap_or(open))
            .any(|one| one.end >= blanks && text[one].starts_with("//"));
        let is_open = is_comment && !ends_line;
        let from = if is_open { start } else { blanks };
        if let Some(comma) = comma {
            self.text.replace_range(comma - 1..comma, "");
        }
        self.text.replace_range(from..end, "");
        if let (None, Some(comma)) = (comma, comma_before) {
            self.text.replace_range(comma - 1..comma, "");
        }
    }

    /// Formats a value over several lines, the first one without indentation.
    fn rendered(&self, value: &Value, indent: &str) -> String {
        let lines = pretty(value, &self.unit);
        lines.replace('\n', &format!("{}{indent}", self.newline))
    }
}

fn span(node: &Node<'_>) -> Range<usize> {
    node.range().start..node.range().end
}

/// Returns the comments before the next word.
fn comments(text: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = from;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        let start = text.len() - rest.len();
        let length = if rest.starts_with("//") {
            rest.lines().next()?.len()
        } else if rest.starts_with("/*") {
            rest.find("*/")? + 2
        } else {
            return None;
        };
        at = start + length;
        Some(start..at)
    })
}

/// Returns the place behind the comma that follows a place, if one does.
fn behind_comma(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    for comment in comments(text, from) {
        if !text[at..comment.start].trim().is_empty() {
            break;
        }
        at = comment.end;
    }
    let comma = text.len() - text[at..].trim_start().len();
    text[comma..].starts_with(',').then_some(comma + 1)
}

/// Returns the place behind the comments that follow on the same line, and whether the last of them
/// ends with the line.
fn behind_comments(text: &str, from: usize) -> (usize, bool) {
    let mut at = from;
    for comment in comments(text, from) {
        let gap = text[at..comment.start].trim_matches([' ', '\t']);
        if !gap.is_empty() || text[comment.clone()].contains('\n') {
            break;
        }
        at = comment.end;
        if text[comment].starts_with("//") {
            return (at, true);
        }
    }
    (at, false)
}

/// Returns how the lines of a text end.
pub fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Formats a value over several lines.
fn pretty(value: &Value, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Values always have a JSON form, and a vector takes every byte.
    let _ = value.serialize(&mut serializer);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the indentation of the first indented line, or two blanks.
fn indentation(text: &str) -> String {
    let indented = text.lines().find_map(|line| {
        let blanks = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let is_text = line[blanks.len()..].starts_with(['"', '{', '[']);
        (!blanks.is_empty() && is_text).then_some(blanks)
    });
    indented.unwrap_or("  ").to_owned()
}

/// Returns the blanks before the first word of the line in which a place is.
fn line_indent(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line..];
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest[..blanks].to_owned()
}
