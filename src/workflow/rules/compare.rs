//! Differences between two states of a run, value by value.

use serde_json::Value;

use crate::workflow::rules::workflow::Workflow;

#[derive(Clone, Debug, PartialEq)]
pub struct ValueDifference {
    /// A path such as `phases.write-source.status`; items with an id are named by it.
    pub place: String,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

impl ValueDifference {
    /// Formats as `phases.tests.status: "pending" -> "complete"`.
    pub fn in_words(&self) -> String {
        let shown = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        format!(
            "{}: {} -> {}",
            self.place,
            shown(&self.before),
            shown(&self.after)
        )
    }
}

/// Compares in the order of the later state. Documents of profiles are skipped, since they only
/// repeat the state.
pub fn compare(before: &Workflow, after: &Workflow) -> Vec<ValueDifference> {
    let value = |workflow: &Workflow| {
        let mut value = serde_json::to_value(workflow).unwrap_or_default();
        if let Some(map) = value.as_object_mut() {
            map.shift_remove("documents");
            map.shift_remove("updated_ms");
        }
        value
    };
    let mut found = Vec::new();
    walk("", Some(&value(before)), Some(&value(after)), &mut found);
    found
}

fn walk(
    place: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<ValueDifference>,
) {
    if before == after {
        return;
    }
    let (old, new) = (parts(before), parts(after));
    if old.is_none() && new.is_none() {
        found.push(ValueDifference {
            place: place.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        });
        return;
    }
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let get = |parts: &[(String, Value)], name: &str| {
        parts
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.clone())
    };
    let gone = old.iter().filter(|(name, _)| get(&new, name).is_none());
    for name in new.iter().chain(gone).map(|(name, _)| name) {
        let place = if place.is_empty() {
            name.clone()
        } else {
            format!("{place}.{name}")
        };
        walk(
            &place,
            get(&old, name).as_ref(),
            get(&new, name).as_ref(),
            found,
        );
    }
}

/// Returns the parts of a value by name; list items by id, or by number.
fn parts(value: Option<&Value>) -> Option<Vec<(String, Value)>> {
    match value? {
        Value::Object(map) => Some(
            map.iter()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        ),
        Value::Array(items) => {
            let name = |at: usize, item: &Value| {
                item.get("id")
                    .and_then(Value::as_str)
                    .map_or(at.to_string(), str::to_owned)
            };
            Some(
                items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| (name(at, item), item.clone()))
                    .collect(),
            )
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::rules::phase::Phase;
    use crate::workflow::rules::status::PhaseStatus;

    #[test]
    fn what_differs_is_named_by_ids() {
        let mut before = Workflow::new("x".into(), "a".into(), "b".into(), 0);
        before.phases = vec![Phase::new("one", "One"), Phase::new("two", "Two")];
        let mut after = before.clone();
        after.phases[1].status = PhaseStatus::Complete;
        after.phases[0].progress = Some("half".into());
        after.updated_ms = 7;
        let found: Vec<String> = compare(&before, &after)
            .into_iter()
            .map(|found| found.place)
            .collect();
        assert_eq!(found, ["phases.one.progress", "phases.two.status"]);
        assert!(compare(&before, &before).is_empty());
    }
}
