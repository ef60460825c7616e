//! The schemas of JSON documents.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

pub use crate::base::json::{JsonSchema, Serialize};

/// Returns the JSON Schema of a structure: every field is there, and no other. Formats of numbers
/// and the form `true` are left out, since clients of MCP do not know them.
pub fn schema<T: JsonSchema>() -> Value {
    let close = RecursiveTransform(|schema: &mut schemars::Schema| {
        let format = schema.get("format").and_then(Value::as_str);
        if schema.as_bool() == Some(true) || format.is_some_and(|name| name.contains("int")) {
            schema.ensure_object().shift_remove("format");
        }
        if schema.get("properties").is_some() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
    });
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(close).into_generator();
    generator.into_root_schema_for::<T>().to_value()
}
