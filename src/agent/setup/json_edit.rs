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

/// A value of a text with all that is in it: where each starts and ends.
struct Span {
    /// Where its key starts, or else the value itself.
    start: usize,
    value_start: usize,
    end: usize,
    key: Option<String>,
    children: Vec<Span>,
    value: Value,
}

/// All of a text: its root, and where comments start and end.
struct Parsed {
    root: Span,
    comments: Vec<(usize, usize)>,
}

impl Parsed {
    fn at(&self, path: &[JsonStep<'_>]) -> Result<&Span, SettingsFlaw> {
        let step = |span: &'_ Span, step: &JsonStep<'_>| match step {
            JsonStep::Key(key) => span
                .children
                .iter()
                .position(|one| one.key.as_deref() == Some(key)),
            JsonStep::At(at) => Some(*at),
        };
        let mut span = &self.root;
        for one in path {
            let child = step(span, one).and_then(|at| span.children.get(at));
            span = child.ok_or_else(SettingsFlaw::missing)?;
        }
        Ok(span)
    }

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
}

impl JsonEdit {
    /// Reads a text.
    ///
    /// # Errors
    /// It is no JSON object, or a key is in an object twice.
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
        Ok(self.parsed()?.root.value)
    }

    fn parsed(&self) -> Result<Parsed, SettingsFlaw> {
        let collect = CollectOptions {
            comments: CommentCollectionStrategy::AsTokens,
            tokens: true,
        };
        let parsed = jsonc_parser::parse_to_ast(&self.text, &collect, &STRICT);
        let parsed = parsed.map_err(SettingsFlaw::unreadable)?;
        let root = parsed.value.as_ref();
        let root = root.ok_or_else(|| SettingsFlaw::unreadable("it is empty"))?;
        let tokens = parsed.tokens.iter().flatten();
        let is_comment =
            |token: &Token<'_>| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
        let comments = tokens.filter(|one| is_comment(&one.token));
        Ok(Parsed {
            root: span_of(root)?,
            comments: comments
                .map(|one| (one.range.start, one.range.end))
                .collect(),
        })
    }

    /// Replaces a value.
    ///
    /// # Errors
    /// There is no such value.
    pub fn replace(&mut self, path: &[JsonStep<'_>], value: &Value) -> Result<(), SettingsFlaw> {
        let parsed = self.parsed()?;
        let found = parsed.at(path)?;
        let is_one_line = !self.text[found.value_start..found.end].contains('\n');
        let rendered = if is_one_line {
            value.to_string()
        } else {
            self.rendered(value, &line_indent(&self.text, found.value_start))
        };
        let range = found.value_start..found.end;
        self.text.replace_range(range, &rendered);
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
        let parsed = self.parsed()?;
        let found = parsed.at(path)?;
        let named = |rendered: String, gap: &str| match key {
            Some(key) => format!("{}:{gap}{rendered}", Value::from(key)),
            None => rendered,
        };
        let Some(last) = found.children.last() else {
            let inside = &self.text[found.value_start + 1..found.end - 1];
            let base = line_indent(&self.text, found.value_start);
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
            self.text.insert_str(found.value_start + 1, &new);
            return Ok(());
        };
        let first = found.children[0].start;
        let comma = parsed.behind_comma(&self.text, last.end);
        let (at, after_line_comment) =
            parsed.behind_comments(&self.text, comma.unwrap_or(last.end));
        let is_block = self.text[found.value_start..first].contains('\n');
        let mut new = if is_block || after_line_comment {
            let indent = line_indent(&self.text, first);
            let new = named(self.rendered(value, &indent), " ");
            format!("{}{indent}{new}", self.newline)
        } else {
            let is_tight = !self.text[found.value_start..last.end].contains(' ');
            let gap = if is_tight { "" } else { " " };
            format!("{gap}{}", named(value.to_string(), gap))
        };
        if comma.is_some() {
            new.push(',');
        }
        self.text.insert_str(at, &new);
        if comma.is_none() {
            self.text.insert(last.end, ',');
        }
        Ok(())
    }

    /// Cuts a value out of its container, with its key if that is an object: what [`Self::append`]
    /// put in, byte for byte.
    ///
    /// # Errors
    /// There is no such value.
    pub fn remove(&mut self, path: &[JsonStep<'_>]) -> Result<(), SettingsFlaw> {
        let parsed = self.parsed()?;
        let above = parsed.at(&path[..path.len().saturating_sub(1)])?;
        let Span { start, end, .. } = *parsed.at(path)?;
        let mut before = above.children.iter().rev().filter(|one| one.end <= start);
        let comma_before = before
            .next()
            .and_then(|one| parsed.behind_comma(&self.text, one.end));
        let comma = parsed.behind_comma(&self.text, end);
        let rest = &self.text[comma.unwrap_or(end)..];
        let ends_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        let blanks = self.text[..start].trim_end().len();
        // What follows on the line must not get into a comment that ends before the cut.
        let mut comments = parsed.comments.iter();
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
        let parsed = self.parsed()?;
        let left = parsed.at(above)?;
        let is_empty = self.text[left.value_start + 1..left.end - 1]
            .trim()
            .is_empty();
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
        if self.parsed()?.at(path).is_ok() {
            return self.remove(path);
        }
        Ok(())
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

fn span_of(node: &Node<'_>) -> Result<Span, SettingsFlaw> {
    let mut children = Vec::new();
    let value = match node {
        Node::StringLit(text) => Value::from(text.value.as_ref()),
        // The number is kept as it is written.
        Node::NumberLit(number) => serde_json::from_str(number.value)
            .map_err(|_| SettingsFlaw::new(format!("{} is no number", number.value)))?,
        Node::BooleanLit(switch) => Value::from(switch.value),
        Node::NullKeyword(_) => Value::Null,
        Node::Array(array) => {
            children = array
                .elements
                .iter()
                .map(span_of)
                .collect::<Result<_, _>>()?;
            children.iter().map(|one| one.value.clone()).collect()
        }
        Node::Object(object) => {
            let mut map = serde_json::Map::new();
            for one in &object.properties {
                let mut child = span_of(&one.value)?;
                let key = one.name.as_str().to_owned();
                if map.insert(key.clone(), child.value.clone()).is_some() {
                    let why = format!("the key \"{key}\" is in it twice");
                    return Err(SettingsFlaw::new(why));
                }
                (child.start, child.key) = (one.range.start, Some(key));
                children.push(child);
            }
            Value::Object(map)
        }
    };
    let range = node.range();
    Ok(Span {
        start: range.start,
        value_start: range.start,
        end: range.end,
        key: None,
        children,
        value,
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
