//! `cat` as JSON.

use serde_json::json;

use crate::ops::browse::cat::CatOutcome;
use crate::view::envelope::{self, hex, with_path};

/// `content` is text if it is UTF-8, else hex.
pub fn json(outcome: &CatOutcome, content: &[u8]) -> String {
    let mut data = json!({
        "id": hex(outcome.checkpoint.id),
        "blob": hex(outcome.id),
        "size": outcome.size_bytes,
        "mode": format!("{:06o}", outcome.mode),
    });
    match std::str::from_utf8(content) {
        Ok(text) => data["text"] = text.into(),
        Err(_) => {
            data["hex"] = content
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
                .into();
        }
    }
    envelope::envelope("cat", 0, &with_path(data, &outcome.path), &outcome.warnings)
}
