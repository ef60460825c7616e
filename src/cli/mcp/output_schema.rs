//! The schemas of answers as clients of the protocol can use them.

use serde_json::{Value, json};

use crate::cli::schema;

/// Returns the published schema of the first of these answers, under the names of all of them.
pub fn of(answers: &[&str]) -> Value {
    let first = answers.first().copied().unwrap_or_default();
    let names = answers.iter().map(|name| format!("checkpoint.{name}/2"));
    let names: Vec<String> = names.collect();
    let mut schema = schema::of_answer(first).unwrap_or_default();
    schema["properties"]["schema"] = json!({ "type": "string", "enum": names });
    simplify(&mut schema);
    schema
}

/// Removes formats of numbers that clients do not know, and warn of, and the form `true` of a
/// schema.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let is_number =
                |format: &Value| format.as_str().is_some_and(|name| name.contains("int"));
            if object.get("format").is_some_and(is_number) {
                object.shift_remove("format");
            }
            let properties = object.get_mut("properties").and_then(Value::as_object_mut);
            for property in properties.into_iter().flat_map(|all| all.values_mut()) {
                if *property == true {
                    *property = json!({});
                }
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}
