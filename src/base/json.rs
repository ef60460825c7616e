//! JSON: parsed so that each number keeps the spelling that it has in the text, how times and paths
//! of the system are published, and schemas.

use std::path::{Path, PathBuf};

pub use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::de::DeserializeOwned;
pub use serde::{Deserialize, Serialize, Serializer};
pub use serde_json::Value;
use serde_json::{Map, Number};

use crate::base::text::is_deceptive;
use crate::base::time::rfc3339;

pub mod differences;
pub mod merge;
pub mod typed;

/// UTF-8 byte order mark, which some editors write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// # Errors
/// The text is not valid JSON.
pub fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut value = serde_json::from_slice(bytes)?;
    if has_exponent(&value) {
        respell(&mut value, &mut numbers(bytes));
    }
    Ok(value)
}

/// Reads a structure; `None` if the text is not JSON, or of another shape.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

/// Whether there is a number with an exponent, of which the parser changes the spelling.
pub fn has_exponent(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_str().contains('e'),
        Value::Array(list) => list.iter().any(has_exponent),
        Value::Object(map) => map.values().any(has_exponent),
        _ => false,
    }
}

/// Changes each object in a value, the outer ones first.
pub fn change_objects(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|one| change_objects(one, change)),
        Value::Object(map) => {
            change(map);
            map.values_mut().for_each(|one| change_objects(one, change));
        }
        _ => {}
    }
}

/// Removes the keys that say `null`.
pub fn remove_nulls(value: &mut Value) {
    change_objects(value, &|map| map.retain(|_, value| !value.is_null()));
}

/// Whether bytes are one whole JSON document.
pub fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

/// Gives numbers their spelling in the text: the parser makes `1e+5` of `1E5`.
fn respell(value: &mut Value, spelled: &mut dyn Iterator<Item = &str>) {
    match value {
        Value::Number(number) => {
            let means = |text: &&str| text.parse::<Number>().is_ok_and(|read| read == *number);
            if let Some(text) = spelled.next().filter(means) {
                *number = Number::from_string_unchecked(text.to_owned());
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| respell(one, spelled)),
        Value::Object(map) => map.values_mut().for_each(|one| respell(one, spelled)),
        _ => {}
    }
}

/// Returns the numbers of a valid text, in order.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = &str> {
    let (mut is_text, mut is_escaped) = (false, false);
    let parts = bytes.split(move |byte| {
        is_text ^= *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_text || !(byte.is_ascii_digit() || b"+-.eE".contains(byte))
    });
    let is_number = |part: &&[u8]| part.first().is_some_and(|first| *first != b'e');
    let texts = parts.filter(is_number);
    texts.filter_map(|part| std::str::from_utf8(part).ok())
}

/// Returns a structure as a value; `None` if a map in it has keys that are no text.
pub fn value(data: &impl Serialize) -> Option<Value> {
    serde_json::to_value(data).ok()
}

/// Returns a value as JSON, a text without its quotes.
pub fn plain(data: &impl Serialize) -> String {
    match value(data).unwrap_or_default() {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Returns a structure as a line of JSON, or of several lines if it is `pretty`. Characters that could act
/// on a terminal are escaped.
pub fn document(data: &impl Serialize, pretty: bool) -> String {
    let written = if pretty {
        serde_json::to_string_pretty(data)
    } else {
        serde_json::to_string(data)
    };
    // Strings, numbers, lists and maps with text keys always have a JSON form.
    let written = written.unwrap_or_default();
    let mut text = String::with_capacity(written.len() + 1);
    for c in written.chars() {
        if c == '\u{7f}' || is_deceptive(c) {
            let mut units = [0; 2];
            text.extend(
                c.encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            text.push(c);
        }
    }
    text.push('\n');
    text
}

/// A moment in UTC, with milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("pattern" = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"))]
pub struct TimeText(
    #[serde(serialize_with = "time")]
    #[schemars(with = "String")]
    i64,
);

impl TimeText {
    pub fn new(time_ms: i64) -> Self {
        Self(time_ms)
    }

    /// Returns the milliseconds since 1970.
    pub fn ms(self) -> i64 {
        self.0
    }
}

/// Serializes milliseconds since 1970 as a [`TimeText`].
pub fn time<S: Serializer>(time_ms: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time_ms))
}

/// Serializes a path of the system as text; what is not UTF-8 in it is replaced.
pub fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Serializes a path that may be missing as [`path`] does one.
pub fn optional_path<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let shown = path.as_ref().map(|path| path.display().to_string());
    shown.serialize(serializer)
}

/// Serializes several paths as [`path`] does one.
pub fn path_list<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.display().to_string()))
}

/// Serializes a JSON text as the value that it is.
pub fn embedded<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    let text = text.as_ref();
    let value = text.map(|text| parse(text.as_bytes()).unwrap_or_default());
    value.serialize(serializer)
}

/// Returns the JSON Schema of a structure: every field is there, and no other. Formats of numbers
/// and the form `true` are left out, since clients of MCP do not know them.
pub fn schema<T: JsonSchema>() -> Value {
    let close = RecursiveTransform(|schema: &mut schemars::Schema| {
        let format = schema.get("format").and_then(Value::as_str);
        if schema.as_bool() == Some(true) || format.is_some_and(|name| name.contains("int")) {
            schema.ensure_object().shift_remove("format");
        }
        if schema.get("properties").is_some() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
    });
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(close).into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_spelling() {
        let text =
            r#"{"1e5":[1e5,1E5,1e+5,-0.0E-07,12345678901234567890.10],"\"2e2\\":"3e3","n":-1e0}"#;
        assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
        let twice = parse(br#"{"a":1e1,"b":2e2,"a":3E3}"#).unwrap();
        assert_eq!(twice.to_string(), r#"{"a":3e+3,"b":2e2}"#);
    }

    #[test]
    fn a_byte_order_mark_says_nothing() {
        assert_eq!(parse(b"\xef\xbb\xbf[1]\r\n").unwrap()[0], 1);
        for bad in [&b""[..], b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbf{}"] {
            assert!(parse(bad).is_err());
        }
    }
}
