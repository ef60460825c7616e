//! Reads documents of other programs: each value with its place, and all findings at once.

use serde_json::{Map, Value};

use crate::base::time::parse_iso;
use crate::workflow::rules::finding::Finding;
use crate::workflow::words::flaw::Flaw;

/// Newest known version of the formats, which have none so far; a higher one is rejected.
const NEWEST_VERSION: f64 = 1.0;
const VERSION_KEYS: [&str; 3] = ["version", "schema_version", "format_version"];

/// Collects findings. A method returns `None` for an unusable value, after adding a finding.
#[derive(Default)]
pub struct DocumentReader {
    findings: Vec<Finding>,
}

/// The fields of one object, and its place.
#[derive(Clone)]
pub struct Fields<'v> {
    pub map: &'v Map<String, Value>,
    place: String,
}

impl<'v> Fields<'v> {
    /// Returns the value of a key; `null` counts as missing.
    pub fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub fn place(&self, key: &str) -> String {
        if self.place.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.place)
        }
    }
}

impl DocumentReader {
    pub fn note(&mut self, code: &'static str, place: impl Into<String>, what: impl Into<String>) {
        self.findings.push(Finding::new(code, place, what));
    }

    pub fn flaw(&mut self, flaw: Flaw, place: impl Into<String>) {
        self.findings.push(flaw.at(place));
    }

    pub fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
    }

    /// # Errors
    /// All findings that were collected.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, Vec<Finding>> {
        match read {
            Some(read) if self.findings.is_empty() => Ok(read),
            _ => Err(self.findings),
        }
    }

    /// Reads the top-level object.
    pub fn document<'v>(&mut self, value: &'v Value) -> Option<Fields<'v>> {
        let Some(map) = value.as_object() else {
            self.note(
                "wrong_type",
                "",
                format!("the document is {}, not an object", kind(value)),
            );
            return None;
        };
        Some(Fields {
            map,
            place: String::new(),
        })
    }

    /// Reads the top-level object of a versioned format, and checks the version.
    pub fn versioned<'v>(&mut self, value: &'v Value) -> Option<Fields<'v>> {
        let fields = self.document(value)?;
        for key in VERSION_KEYS {
            if fields
                .get(key)
                .and_then(major_version)
                .is_some_and(|found| found > NEWEST_VERSION)
            {
                let found = &fields.map[key];
                self.note(
                    "version_mismatch",
                    key,
                    format!("it has version {found}; this program knows 1"),
                );
            }
        }
        Some(fields)
    }

    pub fn object<'v>(&mut self, value: &'v Value, place: &str) -> Option<Fields<'v>> {
        let map = self.typed(value, place, "an object", Value::as_object)?;
        Some(Fields {
            map,
            place: place.to_owned(),
        })
    }

    /// Returns the value, even `null`; a missing key is a finding.
    pub fn required<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Option<&'v Value> {
        let value = fields.map.get(key);
        if value.is_none() {
            self.note(
                "missing_field",
                fields.place(key),
                format!("the field '{key}' is missing"),
            );
        }
        value
    }

    pub fn text<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Option<&'v str> {
        let value = self.required(fields, key)?;
        self.typed(value, &fields.place(key), "a text", Value::as_str)
    }

    /// Reads a non-empty text without control characters.
    pub fn name<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Option<&'v str> {
        let text = self.text(fields, key)?;
        if text.trim().is_empty() || text.contains(char::is_control) {
            self.note(
                "bad_name",
                fields.place(key),
                "it is empty or has control characters in it",
            );
            return None;
        }
        Some(text)
    }

    pub fn text_if<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Option<&'v str> {
        self.typed(
            fields.get(key)?,
            &fields.place(key),
            "a text",
            Value::as_str,
        )
    }

    pub fn time(&mut self, fields: &Fields<'_>, key: &str) -> Option<i64> {
        let text = self.text(fields, key)?;
        self.instant(text, fields.place(key))
    }

    pub fn time_if(&mut self, fields: &Fields<'_>, key: &str) -> Option<i64> {
        let text = self.text_if(fields, key)?;
        self.instant(text, fields.place(key))
    }

    pub fn count(&mut self, fields: &Fields<'_>, key: &str) -> Option<usize> {
        let value = self.required(fields, key)?;
        self.number(value, &fields.place(key))
    }

    pub fn number(&mut self, value: &Value, place: &str) -> Option<usize> {
        let number = self.typed(value, place, "a whole number", Value::as_u64)?;
        usize::try_from(number).ok()
    }

    pub fn flag_if(&mut self, fields: &Fields<'_>, key: &str) -> Option<bool> {
        self.typed(
            fields.get(key)?,
            &fields.place(key),
            "true or false",
            Value::as_bool,
        )
    }

    pub fn list<'v>(&mut self, fields: &Fields<'v>, key: &str) -> Vec<(String, &'v Value)> {
        if self.required(fields, key).is_some_and(Value::is_null) {
            self.note("wrong_type", fields.place(key), "it is null, not a list");
        }
        self.list_if(fields, key).unwrap_or_default()
    }

    /// Returns the items of a list with their places.
    pub fn list_if<'v>(
        &mut self,
        fields: &Fields<'v>,
        key: &str,
    ) -> Option<Vec<(String, &'v Value)>> {
        let place = fields.place(key);
        let list = self.typed(fields.get(key)?, &place, "a list", Value::as_array)?;
        Some(
            list.iter()
                .enumerate()
                .map(|(at, value)| (format!("{place}[{at}]"), value))
                .collect(),
        )
    }

    pub fn texts_if(&mut self, fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
        let list = self.list_if(fields, key)?;
        let text = |(place, value): (String, &Value)| {
            self.typed(value, &place, "a text", Value::as_str)
                .map(str::to_owned)
        };
        Some(list.into_iter().filter_map(text).collect())
    }

    fn instant(&mut self, text: &str, place: String) -> Option<i64> {
        let time = parse_iso(text);
        if time.is_none() {
            self.note(
                "bad_time",
                place,
                format!("'{}' is not an ISO 8601 time", text.escape_debug()),
            );
        }
        time
    }

    fn typed<'v, T>(
        &mut self,
        value: &'v Value,
        place: &str,
        wanted: &str,
        as_wanted: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let typed = as_wanted(value);
        if typed.is_none() {
            self.note(
                "wrong_type",
                place,
                format!("it is {}, not {wanted}", kind(value)),
            );
        }
        typed
    }
}

/// Returns the major version in a number or text.
fn major_version(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().map(f64::trunc),
        Value::String(text) => text
            .trim_start_matches(['v', 'V'])
            .split('.')
            .next()?
            .parse()
            .ok(),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_that_is_wrong_is_said_with_its_place() {
        let value =
            json!({"a": 1, "b": {"t": "noon"}, "l": ["x", 2], "version": "2.1", "n": -1, "w": " "});
        let mut reader = DocumentReader::default();
        let fields = reader.versioned(&value).unwrap();
        let inner = reader.object(&value["b"], "b").unwrap();
        reader.text(&fields, "a");
        reader.time(&inner, "t");
        reader.text(&inner, "none");
        reader.texts_if(&fields, "l");
        reader.count(&fields, "n");
        reader.name(&fields, "w");
        let findings = reader.finish(Some(())).unwrap_err();
        let found: Vec<_> = findings
            .iter()
            .map(|finding| (finding.code, finding.place.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("version_mismatch", "version"),
                ("wrong_type", "a"),
                ("bad_time", "b.t"),
                ("missing_field", "b.none"),
                ("wrong_type", "l[1]"),
                ("wrong_type", "n"),
                ("bad_name", "w"),
            ]
        );
    }

    #[test]
    fn versions_that_are_known_are_no_findings() {
        for version in [
            json!(1),
            json!("1.9"),
            json!("v1"),
            json!(null),
            json!("draft"),
            json!(0.5),
        ] {
            let mut reader = DocumentReader::default();
            reader.versioned(&json!({"version": version, "schema_version": version}));
            assert!(reader.finish(Some(())).is_ok(), "{version}");
        }
    }
}
