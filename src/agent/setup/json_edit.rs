//! Edits JSON with comments, as people keep their settings: text is only put in or cut out, and all
//! other bytes stay as they are.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};
use serde::Serialize as _;
use serde_json::Value;

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

/// Why a file of settings is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFlaw {
    pub why: String,
}

impl SettingsFlaw {
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }

    /// A text that its agent cannot read either.
    pub fn unreadable(why: impl std::fmt::Display) -> Self {
        Self::new(format!(
            "it cannot be read ({why}); correct it, then try again"
        ))
    }

    fn missing() -> Self {
        Self::new("it lacks a value that was there")
    }
}

/// One step from a container to a value in it.
#[derive(Clone, Copy, Debug)]
pub enum JsonStep<'s> {
    Key(&'s str),
    At(usize),
}

/// A text that is being edited. It can be parsed at any time.
#[derive(Clone, Debug)]
pub struct JsonEdit {
    text: String,
    has_bom: bool,
    newline: &'static str,
    /// One level of indentation.
    unit: String,
}

/// A container, what is in it, and all comments of the text: where each starts and ends.
struct Container {
    start: usize,
    end: usize,
    /// The elements, or the keys with their values.
    children: Vec<(usize, usize)>,
    keys: Vec<String>,
    comments: Vec<(usize, usize)>,
}

impl Container {
    /// Returns the place behind the comma that follows a place, if one does.
    fn behind_comma(&self, text: &str, from: usize) -> Option<usize> {
        let mut at = from;
        for (start, end) in self.comments.iter().filter(|(start, _)| *start >= from) {
            if !text[at..*start].trim().is_empty() {
                break;
            }
            at = *end;
        }
        let comma = at + text[at..].len() - text[at..].trim_start().len();
        text[comma..].starts_with(',').then_some(comma + 1)
    }

    /// Returns the place behind the comments that follow on the same line, and whether the last of
    /// them ends with the line.
    fn behind_comments(&self, text: &str, from: usize) -> (usize, bool) {
        let mut at = from;
        for (start, end) in self.comments.iter().filter(|(start, _)| *start >= from) {
            let is_near = text[at..*start].chars().all(|c| c == ' ' || c == '\t');
            if !is_near || text[*start..*end].contains('\n') {
                break;
            }
            at = *end;
            if text[*start..].starts_with("//") {
                return (at, true);
            }
        }
        (at, false)
    }

    fn position(&self, step: &JsonStep<'_>) -> Option<usize> {
        match step {
            JsonStep::Key(key) => self.keys.iter().position(|known| known == key),
            JsonStep::At(at) => Some(*at),
        }
    }
}

impl JsonEdit {
    /// Reads a text.
    ///
    /// # Errors
    /// It is no JSON object, or a key stands twice in an object.
    pub fn read(text: &str) -> Result<Self, SettingsFlaw> {
        let (has_bom, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let edit = Self {
            text: text.to_owned(),
            has_bom,
            newline: newline_of(text),
            unit: indentation(text),
        };
        if edit.value()?.is_object() {
            Ok(edit)
        } else {
            Err(SettingsFlaw::new("it is no JSON object"))
        }
    }

    pub fn into_text(self) -> String {
        let bom = if self.has_bom { BOM } else { "" };
        format!("{bom}{}", self.text)
    }

    /// Whether there is nothing but an empty object: no comment either.
    pub fn is_empty(&self) -> bool {
        let rest = self.text.chars().filter(|c| !c.is_whitespace());
        rest.eq("{}".chars())
    }

    /// Returns all values.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn value(&self) -> Result<Value, SettingsFlaw> {
        self.with_root(|root, _| value_of(root))?
    }

    fn with_root<T>(
        &self,
        look: impl FnOnce(&Node<'_>, Vec<(usize, usize)>) -> T,
    ) -> Result<T, SettingsFlaw> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = jsonc_parser::parse_to_ast(&self.text, &collect, &STRICT);
        let parsed = parsed.map_err(SettingsFlaw::unreadable)?;
        let tokens = parsed.tokens.iter().flatten();
        let comments = tokens
            .filter(|one| matches!(one.token, Token::CommentLine(_) | Token::CommentBlock(_)));
        let comments = comments
            .map(|one| (one.range.start, one.range.end))
            .collect();
        let root = parsed.value.as_ref();
        root.map(|root| look(root, comments))
            .ok_or_else(|| SettingsFlaw::unreadable("it is empty"))
    }

    fn container(&self, path: &[JsonStep<'_>]) -> Result<Container, SettingsFlaw> {
        self.with_root(|root, comments| {
            let node = path.iter().try_fold(root, step)?;
            let mut found = Container {
                start: node.range().start,
                end: node.range().end,
                children: Vec::new(),
                keys: Vec::new(),
                comments,
            };
            match node {
                Node::Object(object) => {
                    for one in &object.properties {
                        found.children.push((one.range.start, one.range.end));
                        found.keys.push(one.name.as_str().to_owned());
                    }
                }
                Node::Array(array) => {
                    let ranges = array.elements.iter().map(Node::range);
                    found
                        .children
                        .extend(ranges.map(|range| (range.start, range.end)));
                }
                _ => {}
            }
            Some(found)
        })?
        .ok_or_else(SettingsFlaw::missing)
    }

    /// Replaces a value.
    ///
    /// # Errors
    /// There is no such value.
    pub fn replace(&mut self, path: &[JsonStep<'_>], value: &Value) -> Result<(), SettingsFlaw> {
        let found = self.container(path)?;
        let is_one_line = !self.text[found.start..found.end].contains('\n');
        let rendered = if is_one_line {
            value.to_string()
        } else {
            self.rendered(value, &line_indent(&self.text, found.start))
        };
        self.text.replace_range(found.start..found.end, &rendered);
        Ok(())
    }

    /// Adds a value at the end of a container, with a key if that is an object.
    ///
    /// # Errors
    /// There is no such container.
    pub fn append(
        &mut self,
        path: &[JsonStep<'_>],
        key: Option<&str>,
        value: &Value,
    ) -> Result<(), SettingsFlaw> {
        let found = self.container(path)?;
        let named = |rendered: String, gap: &str| match key {
            Some(key) => format!("{}:{gap}{rendered}", Value::from(key)),
            None => rendered,
        };
        let Some(last) = found.children.last() else {
            let inside = &self.text[found.start + 1..found.end - 1];
            let base = line_indent(&self.text, found.start);
            // Without a line break inside, the brackets hug the value: cut out, nothing is left.
            let new = if inside
                .trim_start_matches([' ', '\t', '\r'])
                .starts_with('\n')
            {
                let indent = format!("{base}{}", self.unit);
                let new = named(self.rendered(value, &indent), " ");
                format!("{}{indent}{new}", self.newline)
            } else {
                named(self.rendered(value, &base), " ")
            };
            self.text.insert_str(found.start + 1, &new);
            return Ok(());
        };
        let first = found.children[0].0;
        let comma = found.behind_comma(&self.text, last.1);
        let (at, after_line_comment) = found.behind_comments(&self.text, comma.unwrap_or(last.1));
        let is_block = self.text[found.start..first].contains('\n');
        let mut new = if is_block || after_line_comment {
            let indent = line_indent(&self.text, first);
            let new = named(self.rendered(value, &indent), " ");
            format!("{}{indent}{new}", self.newline)
        } else {
            let is_tight = !self.text[found.start..last.1].contains(' ');
            let gap = if is_tight { "" } else { " " };
            format!("{gap}{}", named(value.to_string(), gap))
        };
        if comma.is_some() {
            new.push(',');
        }
        self.text.insert_str(at, &new);
        if comma.is_none() {
            self.text.insert(last.1, ',');
        }
        Ok(())
    }

    /// Cuts a value out of its container, with its key if that is an object: what [`Self::append`]
    /// put in, byte for byte.
    ///
    /// # Errors
    /// There is no such value.
    pub fn remove(&mut self, path: &[JsonStep<'_>]) -> Result<(), SettingsFlaw> {
        let (last, above) = path.split_last().ok_or_else(SettingsFlaw::missing)?;
        let found = self.container(above)?;
        let at = found.position(last).ok_or_else(SettingsFlaw::missing)?;
        let (start, end) = *found.children.get(at).ok_or_else(SettingsFlaw::missing)?;
        let before = at.checked_sub(1).map(|before| found.children[before].1);
        let comma_before = before.and_then(|before| found.behind_comma(&self.text, before));
        let comma = found.behind_comma(&self.text, end);
        let rest = &self.text[comma.unwrap_or(end)..];
        let ends_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        let blanks = self.text[..start].trim_end().len();
        // What follows on the line must not get into a comment that ends before the cut.
        let mut comments = found.comments.iter();
        let comment =
            comments.any(|(start, end)| *end == blanks && self.text[*start..].starts_with("//"));
        let cut_from = if comment && !ends_line { start } else { blanks };
        if let Some(comma) = comma {
            self.text.replace_range(comma - 1..comma, "");
        }
        self.text.replace_range(cut_from..end, "");
        if let (None, Some(comma)) = (comma, comma_before) {
            self.text.replace_range(comma - 1..comma, "");
        }
        Ok(())
    }

    /// As [`Self::remove`], with the containers around it that are empty then.
    ///
    /// # Errors
    /// As [`Self::remove`].
    pub fn cut(&mut self, path: &[JsonStep<'_>]) -> Result<(), SettingsFlaw> {
        self.remove(path)?;
        let above = &path[..path.len() - 1];
        let left = self.container(above)?;
        let is_empty = self.text[left.start + 1..left.end - 1].trim().is_empty();
        if is_empty && !above.is_empty() {
            return self.cut(above);
        }
        Ok(())
    }

    /// As [`Self::remove`], if there is such a value.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn remove_if_there(&mut self, path: &[JsonStep<'_>]) -> Result<(), SettingsFlaw> {
        match self.container(path) {
            Ok(_) => self.remove(path),
            Err(_) => Ok(()),
        }
    }

    /// Formats a value over several lines, the first one without indentation.
    fn rendered(&self, value: &Value, indent: &str) -> String {
        let lines = pretty(value, &self.unit);
        lines.replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// Whether a text has nothing in it.
pub fn is_blank(text: &str) -> bool {
    text.trim_start_matches(BOM).trim().is_empty()
}

/// Returns how the lines of a text end.
pub fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Formats a value over several lines.
pub fn pretty(value: &Value, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Values always have a JSON form, and a vector takes every byte.
    let _ = value.serialize(&mut serializer);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn step<'n, 'a>(node: &'n Node<'a>, step: &JsonStep<'_>) -> Option<&'n Node<'a>> {
    match (node, step) {
        (Node::Object(object), JsonStep::Key(key)) => {
            let mut properties = object.properties.iter();
            let found = properties.find(|one| one.name.as_str() == *key)?;
            Some(&found.value)
        }
        (Node::Array(array), JsonStep::At(at)) => array.elements.get(*at),
        _ => None,
    }
}

fn value_of(node: &Node<'_>) -> Result<Value, SettingsFlaw> {
    Ok(match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        // The number is kept as it is written.
        Node::NumberLit(number) => serde_json::from_str(number.value)
            .map_err(|_| SettingsFlaw::new(format!("{} is no number", number.value)))?,
        Node::BooleanLit(switch) => Value::from(switch.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => {
            let values = array.elements.iter().map(value_of);
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        Node::Object(object) => {
            let mut map = serde_json::Map::new();
            for property in &object.properties {
                let key = property.name.as_str().to_owned();
                if map.contains_key(&key) {
                    return Err(SettingsFlaw::new(format!(
                        "the key \"{key}\" stands twice in it"
                    )));
                }
                map.insert(key, value_of(&property.value)?);
            }
            Value::Object(map)
        }
    })
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
