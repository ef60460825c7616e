//! Writes over an existing document: values that mean the same stay byte for byte in place, unknown
//! ones stay too, and new ones are inserted in the order of the format.

use serde_json::{Map, Value};

use crate::base::time::{parse_iso, rfc3339_seconds};

/// One JSON object while it is written.
pub struct Overlay {
    map: Map<String, Value>,
    /// Order of the keys in the format.
    order: &'static [&'static str],
    is_new: bool,
}

impl Overlay {
    /// Starts from what was last read or written; empty if that is not an object.
    pub fn on(base: Option<&Value>, order: &'static [&'static str]) -> Self {
        let base = base.and_then(Value::as_object);
        Self {
            map: base.cloned().unwrap_or_default(),
            order,
            is_new: base.is_none(),
        }
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    pub fn map(&self) -> &Map<String, Value> {
        &self.map
    }

    pub fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    /// Writes the value, unless the present one means the same.
    pub fn put(&mut self, key: &str, value: Value, is_same: impl FnOnce(&Value) -> bool) {
        match self.map.get_mut(key) {
            Some(stands) if is_same(stands) => {}
            Some(stands) => *stands = value,
            None => {
                let at = self.place_of(key);
                self.map.shift_insert(at, key.to_owned(), value);
            }
        }
    }

    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        let same = value.clone();
        self.put(key, value, |stands| *stands == same);
    }

    /// As [`Self::put`], but an existing document without the key stays without it while the value
    /// is the default.
    pub fn put_or_leave(
        &mut self,
        key: &str,
        value: Value,
        is_usual: bool,
        is_same: impl FnOnce(&Value) -> bool,
    ) {
        if self.is_new || self.has(key) || !is_usual {
            self.put(key, value, is_same);
        }
    }

    pub fn set_time(&mut self, key: &str, time_ms: i64) {
        self.put(key, rfc3339_seconds(time_ms).into(), |stands| {
            says_time(stands, time_ms)
        });
    }

    /// Writes an optional text: `null` and a missing key both mean none, and either is kept.
    pub fn set_text_or_remove(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => self.set(key, text),
            None => self.remove(key),
        }
    }

    /// Removes a key unless it is `null`.
    pub fn remove(&mut self, key: &str) {
        if self.map.get(key).is_some_and(|stands| !stands.is_null()) {
            self.map.shift_remove(key);
        }
    }

    pub fn finish(self) -> Value {
        Value::Object(self.map)
    }

    /// Returns the position after the last key that precedes this one in the format.
    fn place_of(&self, key: &str) -> usize {
        let rank = |key: &str| self.order.iter().position(|listed| *listed == key);
        let Some(own) = rank(key) else {
            return self.map.len();
        };
        let is_before = |other: &String| rank(other).is_some_and(|other| other < own);
        let keys: Vec<&String> = self.map.keys().collect();
        keys.into_iter().rposition(is_before).map_or(0, |at| at + 1)
    }
}

/// Whether a time in a document, in whole seconds, is this one in milliseconds.
pub fn is_same_time(said_ms: i64, time_ms: i64) -> bool {
    said_ms == time_ms || said_ms == time_ms - time_ms.rem_euclid(1000)
}

/// Whether a value means this time, in any notation.
pub fn says_time(value: &Value, time_ms: i64) -> bool {
    value
        .as_str()
        .and_then(parse_iso)
        .is_some_and(|said_ms| is_same_time(said_ms, time_ms))
}

/// Sorts a list as in a document; items that the document lacks go last in their old order.
pub fn in_order_of<T>(list: &mut [T], order: &[&str], id: impl Fn(&T) -> &str) {
    list.sort_by_cached_key(|one| {
        order
            .iter()
            .position(|known| *known == id(one))
            .unwrap_or(usize::MAX)
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ORDER: &[&str] = &["a", "b", "c", "d"];

    #[test]
    fn new_keys_stand_where_their_format_lists_them_and_known_ones_where_they_stood() {
        let base = json!({"x": 1, "c": "2026-01-01T01:00:00+01:00", "b": 2, "y": 3});
        let mut overlay = Overlay::on(Some(&base), ORDER);
        overlay.set_time("c", 1_767_225_600_999);
        overlay.set("b", 5);
        overlay.set("a", 1);
        overlay.set("d", 4);
        overlay.set("z", 6);
        let made = overlay.finish().to_string();
        assert_eq!(
            made,
            r#"{"a":1,"x":1,"c":"2026-01-01T01:00:00+01:00","b":5,"d":4,"y":3,"z":6}"#
        );
    }

    #[test]
    fn nothing_is_said_in_more_than_one_way() {
        let base = json!({"a": null, "b": "gone"});
        let mut overlay = Overlay::on(Some(&base), ORDER);
        for key in ["a", "b", "c"] {
            overlay.set_text_or_remove(key, None);
        }
        overlay.put_or_leave("d", json!([]), true, |_| false);
        assert_eq!(overlay.finish().to_string(), r#"{"a":null}"#);
        let mut new = Overlay::on(None, ORDER);
        new.put_or_leave("d", json!([]), true, |_| false);
        assert_eq!(new.finish(), json!({"d": []}));
    }

    #[test]
    fn what_a_document_does_not_have_comes_behind() {
        let mut list = vec!["c", "n", "a", "m"];
        in_order_of(&mut list, &["a", "b", "c"], |one| one);
        assert_eq!(list, ["a", "c", "n", "m"]);
    }
}
