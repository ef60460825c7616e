//! Typed values of JSON, with all that has a wrong type in it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Error;

const IS_LIST: &str = "it is a list, not an object";

/// A value of a wrong type, or one that is missing.
#[derive(Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Such as `phases[1].name`.
    pub place: String,
    pub what: String,
    pub is_missing: bool,
}

impl Flaw {
    fn of_value(place: &str, what: String) -> Self {
        Self {
            place: place.to_owned(),
            what,
            is_missing: false,
        }
    }
}

/// Reads a value, with its flaws. After each, the reader goes on with the last of the `stand_ins` for
/// that many flaws that has the right type; without one nothing is read.
pub fn read<T: Serialize + DeserializeOwned>(
    mut value: Value,
    stand_ins: impl Fn(usize) -> Vec<Value>,
) -> (Option<T>, Vec<Flaw>) {
    if value.is_array() {
        return (None, vec![Flaw::of_value("", IS_LIST.to_owned())]);
    }
    let (mut flaws, mut left) = (Vec::<Flaw>::new(), Vec::new());
    loop {
        let found = match serde_path_to_error::deserialize::<_, T>(&value) {
            Err(error) => flaw(&error),
            Ok(read) => {
                let written = serde_json::to_value(&read).unwrap_or_default();
                match list_for_object(&written, &value, "") {
                    Some(place) => Flaw::of_value(&place, IS_LIST.to_owned()),
                    None => return (Some(read), flaws),
                }
            }
        };
        let place = found.place.clone();
        if flaws.last().is_none_or(|last| last.place != place) {
            left = stand_ins(flaws.len());
            flaws.push(found);
        }
        let Some((slot, stand_in)) = slot(&mut value, &place).zip(left.pop()) else {
            return (None, flaws);
        };
        *slot = stand_in;
    }
}

/// Finds a list in place of an object, which the parser takes for its fields.
fn list_for_object(read: &Value, given: &Value, place: &str) -> Option<String> {
    match (read, given) {
        (Value::Object(_), Value::Array(_)) => Some(place.to_owned()),
        (Value::Object(read), Value::Object(given)) => read.iter().find_map(|(key, read)| {
            let dot = if place.is_empty() { "" } else { "." };
            list_for_object(read, given.get(key)?, &format!("{place}{dot}{key}"))
        }),
        (Value::Array(read), Value::Array(given)) => {
            let mut pairs = read.iter().zip(given).enumerate();
            pairs.find_map(|(at, (read, given))| {
                list_for_object(read, given, &format!("{place}[{at}]"))
            })
        }
        _ => None,
    }
}

fn flaw(error: &Error<serde_json::Error>) -> Flaw {
    let (place, what) = (error.path().to_string(), error.inner().to_string());
    let place = place.trim_matches('.');
    let quoted = |before: &str| what.strip_prefix(before)?.split('`').next();
    if let Some(field) = quoted("missing field `") {
        let dot = if place.is_empty() { "" } else { "." };
        return Flaw {
            place: format!("{place}{dot}{field}"),
            what: format!("the field '{field}' is missing"),
            is_missing: true,
        };
    }
    let types = what.strip_prefix("invalid type: ");
    let types = types.and_then(|types| types.rsplit_once(", expected "));
    let what = match (quoted("unknown variant `"), types) {
        (Some(word), _) => format!("'{word}' is none of the words known here"),
        (_, Some((found, wanted))) => {
            format!("it is {}, not {}", in_words(found), in_words(wanted))
        }
        _ if what.starts_with("invalid length ") => IS_LIST.to_owned(),
        _ if what == "invalid number" => "it is not a whole number".to_owned(),
        _ => what,
    };
    Flaw::of_value(place, what)
}

/// Finds a place in a document; a missing field is made.
fn slot<'v>(value: &'v mut Value, place: &str) -> Option<&'v mut Value> {
    let pointer = format!("/{}", place.replace(['.', '['], "/").replace(']', ""));
    let (above, key) = pointer.rsplit_once('/')?;
    match value.pointer_mut(above)? {
        Value::Object(map) => Some(map.entry(key).or_insert(Value::Null)),
        Value::Array(list) => list.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Returns the plain name of a type.
fn in_words(name: &str) -> &str {
    let name = name.trim_start_matches("a ");
    match name.split(" `").next().unwrap_or(name) {
        "number" | "integer" | "floating point" => "a number",
        "sequence" => "a list",
        "usize" | "u32" => "a whole number",
        "boolean" => "true or false",
        name if name.starts_with("map") || name.starts_with("struct ") => "an object",
        name if name.starts_with("string") => "a text",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::base::tests::rows;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct One {
        name: String,
        number: Option<u32>,
        more: Vec<One>,
        map: Option<BTreeMap<String, bool>>,
    }

    fn read_all(value: Value) -> (Option<One>, String) {
        let stand_in = json!({"name": "x", "more": []});
        let (one, flaws) = read(value, |count| {
            let all = vec![stand_in.clone(), json!([]), json!("x"), Value::Null];
            if count < 9 { all } else { Vec::new() }
        });
        let flaws = flaws
            .iter()
            .map(|flaw| format!("{}: {}", flaw.place, flaw.what));
        (one, flaws.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn all_flaws_are_found_with_their_places() {
        for (value, expected) in rows::<(Value, &str)>(include_str!("tests/typed.json"), "flaws") {
            let (one, found) = read_all(value);
            assert_eq!(found, expected);
            assert_eq!(one.is_none(), expected.starts_with(':'));
        }
    }

    #[test]
    fn reading_ends_where_nothing_fits_or_after_too_many() {
        let (none, found) = read_all(json!({"name": "a", "more": [], "map": {"k": 1, "l": 2}}));
        assert_eq!(found, "map.k: it is a number, not true or false");
        assert!(none.is_none());
        let many = vec![json!(1); 100];
        let (none, found) = read_all(json!({"name": "a", "more": many}));
        assert!(none.is_none() && found.split("; ").count() == 10);
    }
}
