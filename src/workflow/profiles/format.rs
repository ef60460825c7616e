//! Formats of other programs: typed structures, read with the place of each error and written over
//! the document that is there.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde::de::{DeserializeOwned, Error as _, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::base::Spelling;
use crate::base::json::merge::{key_in, merge};
use crate::base::json::typed::{self, Flaw};
use crate::base::json::{change_objects, remove_nulls};
use crate::base::time::{parse_iso, rfc3339_seconds};
use crate::model::run_id;
use crate::workflow::{Finding, Workflow};

/// Newest known version of the formats, which have none so far; a higher one is rejected.
const NEWEST_VERSION: f64 = 1.0;
const VERSION_KEYS: [&str; 3] = ["version", "schema_version", "format_version"];

/// Upper bound on the number of phases; a larger one is a mistake.
pub const MOST_PHASES: usize = 1_000;
/// Maximum number of errors looked for in the types of one document.
const MOST_FINDINGS: usize = 100;

/// Errors that only a document with the right types shows.
const OF_WHOLE: [&str; 4] = ["append_only", "cycle", "other_run", "phase_vanished"];

/// What was read, or all that is wrong.
pub type Found<T> = Result<T, Vec<Finding>>;

/// The document of a format. Values that mean the same are equal, however they were spelled.
pub trait Format: Serialize + DeserializeOwned {
    const SPELLING: Spelling = Spelling {
        aliases: &[],
        keeps_keys: false,
    };

    /// Gives a document of another shape the usual one.
    fn reshape(_: &mut Value) {}

    /// Spells values as the run does.
    #[must_use]
    fn usual(self, _: &Value, _: &Workflow, _: &str) -> Self {
        self
    }

    /// Describes a run. `was` is the document that is written over.
    fn of_run(run: &Workflow, was: Option<&Self>, root: &str) -> Self;

    /// Moves the run by what differs from `present`, which describes it as it is; returns what is
    /// wrong, beside the types.
    fn adopt(&self, present: &Self, run: &mut Workflow, root: &str) -> Vec<Finding>;

    fn to_json(&self) -> Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        let fields = value.as_object_mut().into_iter().flat_map(Map::values_mut);
        fields.for_each(remove_nulls);
        value
    }
}

/// Reads a document as far as possible, with its errors.
///
/// # Errors
/// Nothing can be read.
pub fn read<F: Format>(value: &Value, run: &Workflow, root: &str) -> Found<(F, Vec<Finding>)> {
    let mut reshaped = value.clone();
    F::reshape(&mut reshaped);
    let (read, findings) = parse::<F>(value, reshaped, F::SPELLING)?;
    Ok((read.usual(value, run, root), findings))
}

/// # Errors
/// There are findings.
pub fn whole<T>((read, findings): (T, Vec<Finding>)) -> Found<T> {
    findings.is_empty().then_some(read).ok_or(findings)
}

/// Reads the document of a run as last read or written.
pub fn known<F: Format>(run: &Workflow, path: &str, root: &str) -> Option<F> {
    let read = read(run.documents.get(path)?, run, root);
    read.and_then(whole).ok()
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
/// All errors in the document.
pub fn taken<F: Format>(run: &Workflow, path: &str, value: &Value, root: &str) -> Found<Workflow> {
    let (edited, findings) = read::<F>(value, run, root)?;
    let was = known::<F>(run, path, root);
    let mut next = run.clone();
    let more = edited.adopt(&F::of_run(run, was.as_ref(), root), &mut next, root);
    let findings = with_more(findings, more, value, F::SPELLING);
    next.documents.insert(path.to_owned(), value.clone());
    whole((next, findings))
}

/// Adds the errors of what was read, but not of what stands in for a wrong value.
pub fn with_more(
    mut findings: Vec<Finding>,
    more: Vec<Finding>,
    document: &Value,
    spelling: Spelling,
) -> Vec<Finding> {
    let places: Vec<String> = findings.iter().map(|known| known.place.clone()).collect();
    for mut one in more {
        one.place = place_in(document, &one.place, spelling);
        let is_sound = !places.contains(&one.place) && !OF_WHOLE.contains(&one.code);
        findings.extend((places.is_empty() || is_sound).then_some(one));
    }
    findings
}

/// Returns a place as the document has it: with its own keys, and with ids for the numbers of entries
/// in an object.
pub fn place_in(mut value: &Value, place: &str, spelling: Spelling) -> String {
    let mut found = String::new();
    for step in place.split(['.', '[']) {
        let map = value.as_object();
        let number: Option<usize> = step.strip_suffix(']').and_then(|text| text.parse().ok());
        let id = number.and_then(|number| map?.keys().nth(number));
        if let (None, Some(number)) = (id, number) {
            found += &format!("[{number}]");
            value = &value[number];
            continue;
        }
        let key = map.map_or(step, |map| key_in(map, step, spelling));
        let key = id.map_or(key, String::as_str);
        found += if found.is_empty() { "" } else { "." };
        found += key;
        value = &value[key];
    }
    found
}

/// Reads the `value` of a document, with the errors in it.
///
/// # Errors
/// Nothing can be read.
pub fn parse<T: Serialize + DeserializeOwned>(
    document: &Value,
    mut value: Value,
    spelling: Spelling,
) -> Found<(T, Vec<Finding>)> {
    // All keys get their first spelling.
    change_objects(&mut value, &|map| {
        for key in spelling.aliases.iter().map(|group| group[0]) {
            if let Some(value) = map.remove(key_in(map, key, spelling)) {
                map.insert(key.to_owned(), value);
            }
        }
    });
    let (read, flaws) = typed::read(value, stand_ins_after);
    let finding = |flaw: Flaw| {
        let code = if flaw.is_missing {
            "missing_field"
        } else {
            "bad_value"
        };
        Finding::new(code, place_in(document, &flaw.place, spelling), flaw.what)
    };
    let findings = flaws.into_iter().map(finding).collect();
    match read {
        Some(read) => Ok((read, findings)),
        None => Err(findings),
    }
}

/// Returns values of all types in a document, the last one to be tried first, with another id after
/// each error; none after too many.
fn stand_ins_after(errors: usize) -> Vec<Value> {
    let id = format!("1970-01-01T00:{:02}:{:02}Z", errors / 60, errors % 60);
    let entry = json!({
        "id": id, "name": id, "phase": id, "path": id, "status": "pending", "required": true,
        "timestamp": id, "completed_at": id, "approved_at": id,
    });
    let list = json!([entry, [], true, MOST_PHASES, "pending", id, null]);
    let list = list.as_array().filter(|_| errors + 1 < MOST_FINDINGS);
    list.cloned().unwrap_or_default()
}

/// Returns the ids that are listed twice.
pub fn check_ids<T: Ord + Display>(place: &str, ids: impl Iterator<Item = T>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let twice = ids.enumerate().filter_map(|(at, id)| {
        let what = format!("'{id}' is listed twice");
        let is_new = seen.insert(id);
        (!is_new).then(|| Finding::new("duplicate_id", format!("{place}[{at}]"), what))
    });
    twice.collect()
}

/// Tells whether the document names another run than the one that it kept.
pub fn check_run(key: &str, named: &str, known: &str) -> Option<Finding> {
    let what = || format!("it belongs to run '{named}', not to '{known}'");
    (named != known).then(|| Finding::new("other_run", key, what()))
}

/// Tells whether the document has a newer version.
pub fn check_version(value: &Value) -> Option<Finding> {
    VERSION_KEYS.into_iter().find_map(|key| {
        let version = value.get(key)?;
        let text = version.to_string();
        let major = text.trim_matches(['"', 'v', 'V']).split('.').next()?;
        let is_newer = major.parse::<f64>().ok()? > NEWEST_VERSION;
        let what = format!("it has version {version}; this program knows 1");
        is_newer.then(|| Finding::new("version_mismatch", key, what))
    })
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
