//! The values in which two documents differ.

use serde_json::{Map, Value};

use crate::base::json::{JsonSchema, Serialize};

/// One value that differs.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueDifference {
    /// Such as `phases.build.status`: an item of a list is named by its id, else by its number.
    pub place: String,
    /// Null if nothing was there.
    pub before: Option<Value>,
    /// Null if nothing is there.
    pub after: Option<Value>,
}

/// Lists the differences in the order of the later document, then what is gone. What is not there,
/// empty, null and `false` are the same.
pub fn differences(before: &Value, after: &Value) -> Vec<ValueDifference> {
    let [mut old, new] = [before, after].map(|document| {
        let mut found = Map::new();
        find_values("", document, &mut found);
        found
    });
    let new = new.into_iter().map(|(place, after)| {
        let before = old.shift_remove(&place);
        let after = Some(after);
        ValueDifference {
            place,
            before,
            after,
        }
    });
    let mut found: Vec<ValueDifference> = new.collect();
    found.retain(|one| one.before != one.after);
    found.extend(old.into_iter().map(|(place, gone)| ValueDifference {
        place,
        before: Some(gone),
        after: None,
    }));
    found
}

fn find_values(place: &str, value: &Value, found: &mut Map<String, Value>) {
    let below = |name: &str| match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    };
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Object(map) => {
            for (name, value) in map {
                find_values(&below(name), value, found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let number = at.to_string();
                let name = item["id"].as_str().unwrap_or(&number);
                find_values(&below(name), item, found);
            }
        }
        _ => drop(found.insert(place.to_owned(), value.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_value_that_differs_is_named_by_the_ids_on_its_way() {
        let before =
            json!({ "a": [{ "id": "x", "on": false, "n": 1 }, 2], "b": { "c": "d" }, "e": 1 });
        let after = json!({ "a": [{ "id": "y" }, 3], "b": { "c": "f", "g": [] }, "e": 1 });
        let found: Vec<_> = differences(&before, &after)
            .into_iter()
            .map(|one| (one.place, one.before, one.after))
            .collect();
        let expected = [
            ("a.y.id", json!(null), json!("y")),
            ("a.1", json!(2), json!(3)),
            ("b.c", json!("d"), json!("f")),
            ("a.x.id", json!("x"), json!(null)),
            ("a.x.n", json!(1), json!(null)),
        ]
        .map(|(place, before, after)| {
            let some = |value: Value| Some(value).filter(|value| !value.is_null());
            (place.to_owned(), some(before), some(after))
        });
        assert_eq!(found, expected);
    }
}
