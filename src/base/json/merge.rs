//! Writes over a document: only the keys whose meaning changed are set; unknown keys, their order
//! and spellings that mean the same stay.

use serde_json::{Map, Value};

/// Keys that identify an entry of a list.
const ID_KEYS: [&str; 3] = ["id", "phase", "path"];

/// How documents of a format may differ from its structure.
#[derive(Clone, Copy)]
pub struct Spelling {
    /// Spellings of keys; the first of each group is that of the structure.
    pub aliases: &'static [&'static [&'static str]],
    /// Readers expect keys that were there: one without a value is `null`.
    pub keeps_keys: bool,
}

/// Returns the document `old` with the changes from `was`, which is what it says in the usual
/// spelling, to `now`. Entries with ids may move between lists.
pub fn merge(old: &Value, was: &Value, now: &Value, spelling: Spelling) -> Value {
    let mut entries = Vec::new();
    if let (Value::Object(old), Value::Object(was)) = (old, was) {
        for (key, was) in was {
            match (old.get(key_in(old, key, spelling)), was) {
                (Some(Value::Array(old)), Value::Array(was)) => entries.extend(old.iter().zip(was)),
                (Some(old), was) => entries.push((old, was)),
                (None, _) => {}
            }
        }
    }
    entries.retain(|(_, was)| was.get("id").is_some());
    Merge { entries, spelling }.value(Some((old, was)), now)
}

struct Merge<'v> {
    /// All entries of the document with an id.
    entries: Vec<(&'v Value, &'v Value)>,
    spelling: Spelling,
}

impl Merge<'_> {
    /// Returns the new value over the one that it continues.
    fn value(&self, known: Option<(&Value, &Value)>, now: &Value) -> Value {
        let known = known.filter(|(_, was)| is_of_same(was, now));
        let moved = || {
            let mut entries = self.entries.iter().copied();
            entries.find(|(_, was)| is_of_same(was, now))
        };
        match (known.or_else(moved), now) {
            (Some((old, was)), _) if was == now => old.clone(),
            (Some((Value::Object(old), Value::Object(was))), Value::Object(now)) => {
                self.object(old, was, now)
            }
            (Some((Value::Array(old), Value::Array(was))), Value::Array(now)) => {
                let entry = |(at, now)| {
                    let known = place(was, at, now).and_then(|at| old.get(at).zip(was.get(at)));
                    self.value(known, now)
                };
                now.iter().enumerate().map(entry).collect()
            }
            // A list that the document has as an object, with the ids as keys.
            (Some((Value::Object(old), Value::Array(was))), Value::Array(now)) => {
                let entry = |(at, now): (usize, &Value)| {
                    let id = now.get("id")?.as_str()?;
                    let known = old.get(id).zip(place(was, at, now).map(|at| &was[at]));
                    let mut entry = self.value(known, now);
                    // The key of the entry says it.
                    if let Some(new) = entry.as_object_mut().filter(|_| known.is_none()) {
                        new.shift_remove("id");
                    }
                    Some((id.to_owned(), entry))
                };
                now.iter().enumerate().filter_map(entry).collect()
            }
            _ => now.clone(),
        }
    }

    fn object(
        &self,
        old: &Map<String, Value>,
        was: &Map<String, Value>,
        now: &Map<String, Value>,
    ) -> Value {
        let mut merged = old.clone();
        for key in was.keys().filter(|key| !now.contains_key(*key)) {
            if self.spelling.keeps_keys {
                merged.insert(key_in(old, key, self.spelling).to_owned(), Value::Null);
            } else {
                merged.shift_remove(key);
            }
        }
        // A new key goes behind those that precede it in the format.
        let mut place = 0;
        for (key, now) in now {
            let spelled = key_in(old, key, self.spelling);
            if was.get(key) != Some(now) {
                let value = self.value(old.get(spelled).zip(was.get(key)), now);
                match merged.get_mut(spelled) {
                    Some(Value::Array(list)) if value.is_string() => *list = vec![value],
                    Some(slot) => *slot = value,
                    None => {
                        merged.shift_insert(place, spelled.to_owned(), value);
                    }
                }
            }
            let found = merged.keys().position(|key| key == spelled);
            place = found.map_or(place, |at| place.max(at + 1));
        }
        merged.into()
    }
}

/// Finds an entry of a list, which mostly keeps its place or moves forward.
fn place(was: &[Value], from: usize, now: &Value) -> Option<usize> {
    let mut places = (from..was.len()).chain(0..from.min(was.len()));
    places.find(|at| is_of_same(&was[*at], now))
}

/// Whether both values are the same thing at two times.
fn is_of_same(was: &Value, now: &Value) -> bool {
    match (was, now) {
        (Value::Object(_), Value::Object(_)) => id_of(was) == id_of(now),
        (Value::Array(_), Value::Array(_)) => true,
        _ => was == now,
    }
}

fn id_of(value: &Value) -> Option<&Value> {
    ID_KEYS.iter().find_map(|key| value.get(key))
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
pub fn key_in<'k>(map: &Map<String, Value>, key: &'k str, spelling: Spelling) -> &'k str {
    let group = spelling.aliases.iter().find(|group| group[0] == key);
    let mut keys = group.into_iter().flat_map(|group| *group);
    let says = |key: &&&str| map.get(**key).is_some_and(|value| !is_nothing(value));
    let found = keys.clone().find(says);
    let found = found.or_else(|| keys.find(|key| map.contains_key(**key)));
    found.map_or(key, |key| *key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::tests::rows;

    const SPELLING: Spelling = Spelling {
        aliases: &[&["dependencies", "deps"]],
        keeps_keys: false,
    };

    #[test]
    fn merge_changed_meaning_sets_only_those_keys() {
        for [why, old, was, now, merged] in
            rows::<[Value; 5]>(include_str!("tests/merge.json"), "merges")
        {
            let found = merge(&old, &was, &now, SPELLING);
            assert_eq!(found.to_string(), merged.to_string(), "{why}");
        }
        assert_eq!(merge(&json!(1), &json!(1), &json!(2), SPELLING), json!(2));
    }
}
