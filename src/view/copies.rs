//! The manifest stored beside plain copies.

use serde_json::{Value, json};

use crate::base::time::rfc3339;
use crate::model::checkpoint::alias;
use crate::model::state::entry::RWX_BITS;
use crate::ops::create::copies::{Copied, Manifest};
use crate::view::envelope::{add_terms, hex, text, with_path};

pub fn json(json: &Manifest<'_>) -> String {
    let checkpoint = json.checkpoint;
    let mut document = json!({
        "schema": "checkpoint.copies/1",
        "alias": alias::of(checkpoint),
        "id": hex(checkpoint.id),
        "reason": checkpoint.record.reason,
        "time": rfc3339(checkpoint.record.time_ms),
        "command": json.command,
        "files": json.files.iter().map(copied).collect::<Vec<_>>(),
    });
    add_terms(&mut document, &checkpoint.record.terms);
    text(&format!("{document:#}"))
}

fn copied(copied: &Copied) -> Value {
    let told = json!({
        "kind": copied.entry.kind.into_str(),
        "mode": format!("{:04o}", copied.entry.perm & RWX_BITS),
        "size": copied.entry.size_bytes,
        "sha256": copied.sha256,
        "command": copied.command,
    });
    with_path(told, &copied.path)
}
