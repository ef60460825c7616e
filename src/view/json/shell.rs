//! `completions` and `man` for programs.

use serde_json::json;

use crate::view::json::parts::envelope;

/// One text as the only field.
pub fn text(command: &str, field: &str, text: &str) -> String {
    envelope(command, 0, &json!({ field: text }), &[])
}
