//! What all JSON documents share: how structures become text, and their schemas.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

pub use crate::base::json::{JsonSchema, Serialize};

use crate::base::text::is_deceptive;

/// Escapes characters in a document that could act on a terminal, and adds a newline.
pub fn text(document: &str) -> String {
    let mut text = String::with_capacity(document.len() + 1);
    for c in document.chars() {
        if c == '\u{7f}' || is_deceptive(c) {
            text.extend(
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            text.push(c);
        }
    }
    text.push('\n');
    text
}

/// Returns the JSON Schema of a structure: every field is there, and no other.
pub fn schema<T: JsonSchema>() -> Value {
    let close = RecursiveTransform(|schema: &mut schemars::Schema| {
        if schema.get("properties").is_some() {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
    });
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.with_transform(close).into_generator();
    generator.into_root_schema_for::<T>().to_value()
}
