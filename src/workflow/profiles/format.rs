//! Formats of other programs: each a typed structure, read with the place of the first error and
//! written over the document that is there.

use std::borrow::Cow;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::base::time::{parse_iso, rfc3339_seconds};
use crate::workflow::profiles::merge::merge;
use crate::workflow::rules::finding::Finding;
use crate::workflow::rules::status::PhaseStatus;
use crate::workflow::rules::workflow::Workflow;

/// Spellings of keys; the first of each group is that of the structure.
pub type Aliases = &'static [&'static [&'static str]];

/// Newest known version of the formats, which have none so far; a higher one is rejected.
const NEWEST_VERSION: f64 = 1.0;
const VERSION_KEYS: [&str; 3] = ["version", "schema_version", "format_version"];
/// Codes of the errors that fields report themselves.
const CODES: [&str; 3] = ["bad_name", "bad_time", "unknown_status"];
/// Types as the parser names them, and in plain words.
const TYPES: [(&str, &str); 8] = [
    ("string", "a text"),
    ("sequence", "a list"),
    ("map", "an object"),
    ("struct", "an object"),
    ("boolean", "true or false"),
    ("number", "a number"),
    ("floating", "a number"),
    ("u", "a whole number"),
];

/// The document of a format. Values that mean the same are equal, however they were spelled.
pub trait Format: Serialize + DeserializeOwned {
    const ALIASES: Aliases = &[];

    /// Gives a document of another shape the usual one.
    fn reshaped(value: &Value) -> Cow<'_, Value> {
        Cow::Borrowed(value)
    }

    /// Spells values as the run does, and checks what their types do not say.
    fn checked(self, value: &Value, run: &Workflow, root: &str) -> Result<Self, Finding>;

    /// Describes a run. `was` is the document that is written over.
    fn of_run(run: &Workflow, was: Option<&Self>, root: &str) -> Self;

    /// Moves the run by what differs from `ours`, which describes it as it is.
    fn adopt(&self, ours: &Self, run: &mut Workflow, root: &str) -> Result<(), Finding>;

    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// # Errors
/// The first error in the document.
pub fn read<F: Format>(value: &Value, run: &Workflow, root: &str) -> Result<F, Finding> {
    parse::<F>(&F::reshaped(value), F::ALIASES)?.checked(value, run, root)
}

/// Reads the document of a run as last read or written.
pub fn known<F: Format>(run: &Workflow, path: &str, root: &str) -> Option<F> {
    read(run.documents.get(path)?, run, root).ok()
}

/// Describes the run over the known document.
pub fn write<F: Format>(run: &Workflow, path: &str, root: &str) -> Value {
    let was = known::<F>(run, path, root);
    let now = F::of_run(run, was.as_ref(), root).to_json();
    match (run.documents.get(path), was) {
        (Some(old), Some(was)) => merge(old, &was.to_json(), &now, F::ALIASES),
        _ => now,
    }
}

/// # Errors
/// The first error in the document; the run must then be discarded.
pub fn take<F: Format>(
    run: &mut Workflow,
    path: &str,
    value: &Value,
    root: &str,
) -> Result<(), Finding> {
    let said = read::<F>(value, run, root)?;
    let was = known::<F>(run, path, root);
    said.adopt(&F::of_run(run, was.as_ref(), root), run, root)
}

/// # Errors
/// The first value of a wrong type.
pub fn parse<T: DeserializeOwned>(value: &Value, aliases: Aliases) -> Result<T, Finding> {
    serde_path_to_error::deserialize(&usually_spelled(value, aliases)).map_err(|error| {
        let place = error.path().to_string();
        let place = if place == "." { "" } else { &place };
        finding(place, &error.inner().to_string())
    })
}

/// Whether a value says nothing: `null`, or an empty text, list or object.
pub fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_nothing),
        _ => false,
    }
}

/// Returns the key under which an object has a value: the first spelling that says something, else
/// the first that is there.
pub fn key_in<'k>(map: &Map<String, Value>, key: &'k str, aliases: Aliases) -> &'k str {
    let mut group = aliases
        .iter()
        .filter(|group| group[0] == key)
        .flat_map(|group| *group);
    let says = |key: &&&str| map.get(**key).is_some_and(|value| !is_nothing(value));
    let found = group.clone().find(says);
    found
        .or_else(|| group.find(|key| map.contains_key(**key)))
        .map_or(key, |key| *key)
}

fn usually_spelled(value: &Value, aliases: Aliases) -> Value {
    match value {
        Value::Object(map) => {
            let mut spelled: Map<String, Value> = map
                .iter()
                .map(|(key, value)| (key.clone(), usually_spelled(value, aliases)))
                .collect();
            for key in aliases.iter().map(|group| group[0]) {
                if let Some(value) = spelled.remove(key_in(map, key, aliases)) {
                    spelled.insert(key.to_owned(), value);
                }
            }
            spelled.into()
        }
        Value::Array(list) => list
            .iter()
            .map(|one| usually_spelled(one, aliases))
            .collect(),
        other => other.clone(),
    }
}

fn finding(place: &str, error: &str) -> Finding {
    let field = error
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split('`').next());
    if let Some(field) = field {
        return missing(place, field);
    }
    let of_code = |code: &'static str| Some((code, error.strip_prefix(code)?.strip_prefix(": ")?));
    if let Some((code, what)) = CODES.into_iter().find_map(of_code) {
        return Finding::new(code, place, what);
    }
    let plain = |name: &str| {
        let name = name.trim_start_matches("a ");
        let known = TYPES.iter().find(|(start, _)| name.starts_with(start));
        known.map_or_else(|| name.to_owned(), |(_, plain)| (*plain).to_owned())
    };
    let types = error
        .strip_prefix("invalid type: ")
        .and_then(|types| types.split_once(", expected "));
    let what = match types {
        Some((found, wanted)) => format!("it is {}, not {}", plain(found), plain(wanted)),
        None if error == "invalid number" => "it is not a whole number".to_owned(),
        None => format!("it is not as expected: {error}"),
    };
    Finding::new("wrong_type", place, what)
}

pub fn missing(place: &str, field: &str) -> Finding {
    let place = if place.is_empty() {
        field.to_owned()
    } else {
        format!("{place}.{field}")
    };
    Finding::new(
        "missing_field",
        place,
        format!("the field '{field}' is missing"),
    )
}

pub fn duplicate(place: String, id: &str) -> Finding {
    Finding::new(
        "duplicate_id",
        place,
        format!("the id '{id}' is listed twice"),
    )
}

/// # Errors
/// The document names another run than the one that it kept.
pub fn check_run(key: &str, named: &str, known: &str) -> Result<(), Finding> {
    if named == known {
        return Ok(());
    }
    let what = format!("it belongs to run '{named}', not to '{known}'");
    Err(Finding::new("other_run", key, what))
}

/// # Errors
/// The document has a newer version.
pub fn check_version(value: &Value) -> Result<(), Finding> {
    for key in VERSION_KEYS {
        let major = value.get(key).and_then(|version| match version {
            Value::Number(number) => number.as_f64().map(f64::trunc),
            Value::String(text) => text
                .trim_start_matches(['v', 'V'])
                .split('.')
                .next()?
                .parse()
                .ok(),
            _ => None,
        });
        if major.is_some_and(|major| major > NEWEST_VERSION) {
            let what = format!("it has version {}; this program knows 1", value[key]);
            return Err(Finding::new("version_mismatch", key, what));
        }
    }
    Ok(())
}

/// Returns an optional value for a document: one that lacks it stays without the default.
pub fn unless_left_out<T: Default + PartialEq>(value: T, was: Option<&Option<T>>) -> Option<T> {
    (value != T::default() || was.is_none_or(Option::is_some)).then_some(value)
}

/// Sorts a list as in a document; items that the document lacks go last in their old order.
pub fn sort_as_in<T, K>(list: &mut [T], order: &[K], is_same: impl Fn(&T, &K) -> bool) {
    list.sort_by_cached_key(|one| {
        order
            .iter()
            .position(|known| is_same(one, known))
            .unwrap_or(usize::MAX)
    });
}

/// Returns the last component of the root: the default project name.
pub fn project_of(root: &str) -> &str {
    root.rsplit(['/', '\\'])
        .find(|name| !name.is_empty())
        .unwrap_or("work")
}

/// A time in any ISO 8601 notation, written in whole seconds; equal within the same second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Time(pub i64);

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.0.div_euclid(1_000) == other.0.div_euclid(1_000)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        rfc3339_seconds(self.0).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let time = parse_iso(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "bad_time: '{}' is not an ISO 8601 time",
                text.escape_debug()
            ))
        });
        time.map(Self)
    }
}

/// Reads a non-empty text without control characters.
pub fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.trim().is_empty() || text.contains(char::is_control) {
        return Err(D::Error::custom(
            "bad_name: it is empty or has control characters in it",
        ));
    }
    Ok(text)
}

/// Reads a value, with `null` as the default.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads the status of a phase in any spelling.
pub fn phase_status<'de, D: Deserializer<'de>>(from: D) -> Result<PhaseStatus, D::Error> {
    let word = String::deserialize(from)?;
    PhaseStatus::from_word(&word).ok_or_else(|| unknown_status(&word, "phase"))
}

pub fn unknown_status<E: serde::de::Error>(word: &str, of: &str) -> E {
    E::custom(format!(
        "unknown_status: '{}' is not a status of a {of}",
        word.escape_debug()
    ))
}
