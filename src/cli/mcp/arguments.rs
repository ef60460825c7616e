//! The arguments of a tool, checked against its input schema.

use serde_json::{Map, Value};

use crate::base::text::escape_line;
use crate::error::{Error, Result};

/// Upper bound on what an error repeats of a name, in characters.
const LONGEST_NAME: usize = 80;

/// Arguments that fit their schema.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks arguments: `schema` is an object with `properties` and `required`.
    ///
    /// # Errors
    /// An argument is unknown, missing, or not as the schema has it.
    pub fn check(given: Map<String, Value>, schema: &Value) -> Result<Self> {
        for (name, value) in &given {
            let shown: String = escape_line(name).chars().take(LONGEST_NAME).collect();
            let Some(wanted) = schema["properties"].get(name) else {
                let known = schema["properties"].as_object();
                let known: Vec<&str> = known
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| &**name)
                    .collect();
                let known = known.join(", ");
                return Err(usage(format!(
                    "there is no argument '{shown}'; there are {known}"
                )));
            };
            if let Some(flaw) = flaw(value, wanted) {
                return Err(usage(format!("the argument '{shown}' {flaw}")));
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !given.contains_key(name) {
                return Err(usage(format!("the argument '{name}' is missing")));
            }
        }
        Ok(Self(given))
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole)
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn object(&self, name: &str) -> impl Iterator<Item = (&String, &Value)> {
        let object = self.0.get(name).and_then(Value::as_object);
        object.into_iter().flatten()
    }

    /// Returns the position at which a list or content goes on.
    ///
    /// # Errors
    /// It is none that an answer named.
    pub fn cursor(&self) -> Result<u64> {
        let Some(cursor) = self.text("cursor") else {
            return Ok(0);
        };
        let read = cursor.parse().ok();
        let read = read.filter(|read: &u64| read.to_string() == cursor);
        read.ok_or_else(|| usage("the cursor is none that an answer named".to_owned()))
    }

    /// Returns the name of a checkpoint.
    ///
    /// # Errors
    /// It would be taken for an option.
    pub fn checkpoint(&self, name: &str) -> Result<Option<&str>> {
        let text = self.text(name);
        if text.is_some_and(|text| text.starts_with('-')) {
            return Err(usage(format!(
                "the argument '{name}' begins with '-'; name the checkpoint by its id"
            )));
        }
        Ok(text)
    }
}

pub fn usage(what: String) -> Error {
    Error::usage(what)
}

/// Returns a whole number; JSON Schema counts `1.0` as one.
fn whole(value: &Value) -> Option<u64> {
    let of_float = || {
        let number = value.as_f64()?;
        // What is exact in a float.
        let is_whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number);
        is_whole
            .then(|| format!("{number:.0}").parse().ok())
            .flatten()
    };
    value.as_u64().or_else(of_float)
}

/// Returns what is wrong with a value.
fn flaw(value: &Value, wanted: &Value) -> Option<String> {
    let kind = wanted["type"].as_str().unwrap_or_default();
    let is_of_kind = match kind {
        "string" => value.is_string(),
        "integer" => whole(value).is_some(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    if !is_of_kind {
        let kind = match kind {
            "integer" => "whole number from 0",
            "array" => "list",
            kind => kind,
        };
        return Some(format!("is no {kind}"));
    }
    let limit = |name: &str| wanted[name].as_u64().unwrap_or(u64::MAX);
    match value {
        Value::String(text) => flaw_of_text(text, wanted, limit("maxLength")),
        Value::Array(items) if items.len() as u64 > limit("maxItems") => {
            Some(format!("has more than {} items", limit("maxItems")))
        }
        Value::Array(items) => {
            let mut flaws = items.iter().filter_map(|item| flaw(item, &wanted["items"]));
            flaws.next().map(|flaw| format!("has an item that {flaw}"))
        }
        Value::Number(_) => {
            let least = wanted["minimum"].as_u64().unwrap_or_default();
            let is_within =
                whole(value).is_some_and(|number| (least..=limit("maximum")).contains(&number));
            (!is_within).then(|| format!("is not from {least} to {}", limit("maximum")))
        }
        _ => None,
    }
}

fn flaw_of_text(text: &str, wanted: &Value, longest: u64) -> Option<String> {
    if text.contains('\0') {
        return Some("has a NUL character".to_owned());
    }
    if text.chars().count() as u64 > longest {
        return Some(format!("is longer than {longest} characters"));
    }
    let allowed = wanted["enum"].as_array()?;
    let is_allowed = allowed.iter().any(|one| one == text);
    let names: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
    (!is_allowed).then(|| format!("is none of {}", names.join(", ")))
}
