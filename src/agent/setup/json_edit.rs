//! Edits JSON with comments, as people keep their settings: text is only put in or cut out, and all
//! other bytes stay as they are.

use jsonc_parser::ast::Value as Node;
use jsonc_parser::common::{Range, Ranged as _};
use jsonc_parser::{CollectOptions, ParseOptions};
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

/// Where a container and what is in it stand.
struct Container {
    start: usize,
    end: usize,
    /// Start and end of each element, or of each key with its value.
    children: Vec<(usize, usize)>,
}

impl JsonEdit {
    /// Reads a text.
    ///
    /// # Errors
    /// It is not JSON, or a key stands twice in an object.
    pub fn read(text: &str) -> Result<Self, SettingsFlaw> {
        let (has_bom, text) = match text.strip_prefix(BOM) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let edit = Self {
            text: text.to_owned(),
            has_bom,
            newline,
            unit: indentation(text),
        };
        edit.value()?;
        Ok(edit)
    }

    pub fn into_text(self) -> String {
        if self.has_bom {
            format!("{BOM}{}", self.text)
        } else {
            self.text
        }
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
        self.with_root(value_of)?
    }

    fn with_root<T>(&self, look: impl FnOnce(&Node<'_>) -> T) -> Result<T, SettingsFlaw> {
        let parsed = jsonc_parser::parse_to_ast(&self.text, &CollectOptions::default(), &STRICT);
        let parsed = parsed.map_err(|why| SettingsFlaw::new(why.to_string()))?;
        let root = parsed.value.as_ref();
        root.map(look)
            .ok_or_else(|| SettingsFlaw::new("it is empty"))
    }

    fn container(&self, path: &[JsonStep<'_>]) -> Result<Container, SettingsFlaw> {
        self.with_root(|root| {
            let node = path.iter().try_fold(root, step)?;
            let range = node.range();
            let range_of = |range: Range| (range.start, range.end);
            let children = match node {
                Node::Object(object) => {
                    let properties = object.properties.iter();
                    properties.map(|one| range_of(one.range)).collect()
                }
                Node::Array(array) => {
                    let elements = array.elements.iter();
                    elements.map(|one| range_of(one.range())).collect()
                }
                _ => Vec::new(),
            };
            Some(Container {
                start: range.start,
                end: range.end,
                children,
            })
        })?
        .ok_or_else(|| SettingsFlaw::new("it lacks a value that was there"))
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
        let comma = after_trivia(&self.text, last.1);
        let has_comma = self.text[comma..].starts_with(',');
        let from = if has_comma { comma + 1 } else { last.1 };
        let (at, after_line_comment) = after_comments_of_line(&self.text, from);
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
        if has_comma {
            new.push(',');
        }
        self.text.insert_str(at, &new);
        if !has_comma {
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
        let missing = || SettingsFlaw::new("it lacks a value that was there");
        let (last, above) = path.split_last().ok_or_else(missing)?;
        let found = self.container(above)?;
        let at = match last {
            JsonStep::At(at) => *at,
            JsonStep::Key(key) => self
                .with_root(|root| position(above.iter().try_fold(root, step)?, key))?
                .ok_or_else(missing)?,
        };
        let (start, end) = *found.children.get(at).ok_or_else(missing)?;
        let before = at.checked_sub(1).map(|before| found.children[before].1);
        let comma = after_trivia(&self.text, end);
        let has_comma = self.text[comma..].starts_with(',');
        let cut_from = self.text[..start].trim_end().len();
        let rest = &self.text[if has_comma { comma + 1 } else { end }..];
        let ends_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
        // What follows on the line must not get into a comment that ends before the cut.
        let in_comment = {
            let from = before.unwrap_or(found.start + 1);
            let from = from + usize::from(self.text[from..].starts_with(','));
            !ends_line && ends_in_line_comment(&self.text[from..cut_from])
        };
        let cut_from = if in_comment { start } else { cut_from };
        if has_comma {
            self.text.replace_range(comma..=comma, "");
        }
        self.text.replace_range(cut_from..end, "");
        if let (false, Some(before)) = (has_comma, before) {
            let comma = after_trivia(&self.text, before);
            if self.text[comma..].starts_with(',') {
                self.text.replace_range(comma..=comma, "");
            }
        }
        Ok(())
    }

    /// Formats a value over several lines, the first one without indentation.
    fn rendered(&self, value: &Value, indent: &str) -> String {
        let lines = pretty(value, &self.unit);
        lines.replace('\n', &format!("{}{indent}", self.newline))
    }
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
            Some(&object.properties.get(position(node, key)?)?.value)
        }
        (Node::Array(array), JsonStep::At(at)) => array.elements.get(*at),
        _ => None,
    }
}

fn position(node: &Node<'_>, key: &str) -> Option<usize> {
    let mut properties = node.as_object()?.properties.iter();
    properties.position(|one| one.name.as_str() == key)
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

/// Returns the place after blanks and comments.
fn after_trivia(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let blanks = rest.len() - rest.trim_start().len();
        at += blanks + comment_length(&rest[blanks..]);
        if comment_length(&rest[blanks..]) == 0 {
            return at;
        }
    }
}

/// Returns the length of the comment at the start of a text, or 0.
fn comment_length(text: &str) -> usize {
    if text.starts_with("//") {
        let line = text.split(['\n', '\r']).next();
        return line.map_or(0, str::len);
    }
    if !text.starts_with("/*") {
        return 0;
    }
    text.find("*/").map_or(text.len(), |end| end + 2)
}

/// Returns the place after the comments that follow on the same line, and whether the last of them
/// ends with the line.
fn after_comments_of_line(text: &str, mut at: usize) -> (usize, bool) {
    loop {
        let rest = &text[at..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let comment = &rest[blanks..blanks + comment_length(&rest[blanks..])];
        if comment.is_empty() || comment.contains('\n') {
            return (at, false);
        }
        at += blanks + comment.len();
        if comment.starts_with("//") {
            return (at, true);
        }
    }
}

/// Whether blanks and comments end in a comment that ends with its line.
fn ends_in_line_comment(trivia: &str) -> bool {
    let mut at = 0;
    loop {
        let rest = &trivia[at..];
        let blanks = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_whitespace() || c == ',')
                .len();
        let length = comment_length(&rest[blanks..]);
        if length == 0 {
            return false;
        }
        at += blanks + length;
        if at == trivia.len() {
            return rest[blanks..].starts_with("//");
        }
    }
}
