//! Formats of other programs: typed structures, read with the place of the first error and written
//! over the document that is there.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde::de::{DeserializeOwned, Error as _, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::base::time::{parse_iso, rfc3339_seconds};
use crate::model::run_id;
use crate::workflow::profiles::merge::{Spelling, key_in, merge};
use crate::workflow::rules::workflow::{Finding, Workflow};

/// Newest known version of the formats, which have none so far; a higher one is rejected.
const NEWEST_VERSION: f64 = 1.0;
const VERSION_KEYS: [&str; 3] = ["version", "schema_version", "format_version"];

const IS_LIST: &str = "it is a list, not an object";

pub type Found<T> = Result<T, Finding>;

/// The document of a format. Values that mean the same are equal, however they were spelled.
pub trait Format: Serialize + DeserializeOwned {
    const SPELLING: Spelling = Spelling {
        aliases: &[],
        keeps_keys: false,
    };

    /// Gives a document of another shape the usual one.
    fn reshape(_: &mut Value) {}

    /// Spells values as the run does, and checks what their types do not say.
    fn checked(self, value: &Value, run: &Workflow, root: &str) -> Found<Self>;

    /// Describes a run. `was` is the document that is written over.
    fn of_run(run: &Workflow, was: Option<&Self>, root: &str) -> Self;

    /// Moves the run by what differs from `present`, which describes it as it is.
    fn adopt(&self, present: &Self, run: &mut Workflow, root: &str) -> Found<()>;

    fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        let fields = value.as_object_mut().into_iter().flat_map(Map::values_mut);
        fields.for_each(remove_nulls);
        value
    }
}

/// # Errors
/// The first error in the document.
pub fn read<F: Format>(value: &Value, run: &Workflow, root: &str) -> Found<F> {
    if value.is_array() {
        return Err(Finding::new("bad_value", "", IS_LIST));
    }
    let mut reshaped = value.clone();
    F::reshape(&mut reshaped);
    parse::<F>(reshaped, F::SPELLING)?.checked(value, run, root)
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
        (Some(old), Some(was)) => merge(old, &was.to_json(), &now, F::SPELLING),
        _ => now,
    }
}

/// Returns the run after an edit of a document.
///
/// # Errors
/// The first error in the document.
pub fn taken<F: Format>(run: &Workflow, path: &str, value: &Value, root: &str) -> Found<Workflow> {
    let edited = read::<F>(value, run, root)?;
    let was = known::<F>(run, path, root);
    let mut next = run.clone();
    edited.adopt(&F::of_run(run, was.as_ref(), root), &mut next, root)?;
    next.documents.insert(path.to_owned(), value.clone());
    Ok(next)
}

/// # Errors
/// The first value of a wrong type.
pub fn parse<T: DeserializeOwned>(mut value: Value, spelling: Spelling) -> Found<T> {
    // All keys get their first spelling.
    change_objects(&mut value, &|map| {
        for key in spelling.aliases.iter().map(|group| group[0]) {
            if let Some(value) = map.remove(key_in(map, key, spelling)) {
                map.insert(key.to_owned(), value);
            }
        }
    });
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error.path().to_string();
        let place = place.trim_matches('.');
        let what = error.inner().to_string();
        let quoted = |before: &str| what.strip_prefix(before)?.split('`').next();
        if let Some(field) = quoted("missing field `") {
            return missing(place, field);
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
        Finding::new("bad_value", place, what)
    })
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

/// Changes each object in a value, the outer ones first.
fn change_objects(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
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

pub fn missing(place: &str, field: &str) -> Finding {
    let dot = if place.is_empty() { "" } else { "." };
    let what = format!("the field '{field}' is missing");
    Finding::new("missing_field", format!("{place}{dot}{field}"), what)
}

/// # Errors
/// One of the ids is there twice.
pub fn check_ids<T: Ord + Display>(place: &str, ids: impl Iterator<Item = T>) -> Found<()> {
    let mut seen = BTreeSet::new();
    for (at, id) in ids.enumerate() {
        let what = format!("'{id}' is listed twice");
        if !seen.insert(id) {
            return Err(Finding::new("duplicate_id", format!("{place}[{at}]"), what));
        }
    }
    Ok(())
}

/// # Errors
/// The document names another run than the one that it kept.
pub fn check_run(key: &str, named: &str, known: &str) -> Found<()> {
    let what = || format!("it belongs to run '{named}', not to '{known}'");
    let other = (named != known).then(|| Finding::new("other_run", key, what()));
    other.map_or(Ok(()), Err)
}

/// # Errors
/// The document has a newer version.
pub fn check_version(value: &Value) -> Found<()> {
    for key in VERSION_KEYS {
        let version = value.get(key).unwrap_or(&Value::Null);
        let text = version.to_string();
        let mut parts = text.trim_matches(['"', 'v', 'V']).split('.');
        let major = parts.next().and_then(|major| major.parse::<f64>().ok());
        if major.is_some_and(|major| major > NEWEST_VERSION) {
            let what = format!("it has version {version}; this program knows 1");
            return Err(Finding::new("version_mismatch", key, what));
        }
    }
    Ok(())
}

/// Returns an optional value for a document: one that lacks it stays without the default.
pub fn unless_left_out<T: Default + PartialEq>(value: T, was: Option<&Option<T>>) -> Option<T> {
    (value != T::default() || was.is_none_or(Option::is_some)).then_some(value)
}

/// Returns the time of a run after an edit; one within the same second stays exact.
pub fn time_of(edited: Option<Time>, present: Option<Time>, known: Option<i64>) -> Option<i64> {
    let new = edited.map(|time| time.0);
    if edited == present { known } else { new }
}

/// Gives a value the fields of another type by their names, or a word its meaning there; the default if
/// it has none.
pub fn with_fields_of<T: Serialize, U: DeserializeOwned + Default>(value: &T) -> U {
    let mut fields = serde_json::to_value(value).unwrap_or_default();
    remove_nulls(&mut fields);
    serde_json::from_value(fields).unwrap_or_default()
}

/// Sorts a list as in a document; items that the document lacks go last in their old order.
pub fn sort_as_in<T, K>(list: &mut [T], order: &[K], is_same: impl Fn(&T, &K) -> bool) {
    list.sort_by_cached_key(|one| {
        let place = order.iter().position(|known| is_same(one, known));
        place.unwrap_or(usize::MAX)
    });
}

/// Makes a run without phases; it gets a new id if it cannot have the one in the document.
pub fn new_run(id: Option<&str>, kind: &str, project: &str, created: Time) -> Workflow {
    let id = id.filter(|id| run_id::is_legal(id)).map(str::to_owned);
    let id = id.unwrap_or_else(|| run_id::make(kind, project, created.0));
    Workflow::new(id, kind.to_owned(), project.to_owned(), created.0)
}

/// Returns the last component of the root: the default project name.
pub fn project_of(root: &str) -> &str {
    let mut names = root.rsplit(['/', '\\']);
    names.find(|name| !name.is_empty()).unwrap_or("work")
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
        let wrong = || format!("'{}' is not an ISO 8601 time", text.escape_debug());
        let time = parse_iso(&text).map(Self);
        time.ok_or_else(|| D::Error::custom(wrong()))
    }
}

/// Reads a non-empty text without control characters.
pub fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.trim().is_empty() || text.contains(char::is_control) {
        let what = "it is empty or has control characters in it";
        return Err(D::Error::custom(what));
    }
    Ok(text)
}

/// Reads a word in any case, with `-` or a blank for `_`.
pub fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    let word = String::deserialize(from)?.trim().to_ascii_lowercase();
    T::deserialize(word.replace(['-', ' '], "_").into_deserializer())
}
