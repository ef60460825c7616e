//! The manifest stored beside plain copies.

use crate::model::checkpoint::alias;
use crate::model::json::{CheckpointRef, PathName, TermsJson};
use crate::model::state::entry::RWX_BITS;
use crate::ops::create::copies::{Copied, Manifest};
use crate::view::document::{JsonSchema, Serialize, text};

/// The manifest of plain copies.
#[derive(Serialize, JsonSchema)]
pub struct CopiesManifest {
    /// `checkpoint.copies/2`.
    schema: &'static str,
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    alias: String,
    #[serde(flatten)]
    terms: TermsJson,
    /// The command that restores all of them.
    command: String,
    files: Vec<CopiedJson>,
}

/// One copy.
#[derive(Serialize, JsonSchema)]
struct CopiedJson {
    kind: &'static str,
    mode: String,
    size_bytes: u64,
    sha256: String,
    /// The command that restores this file.
    command: String,
    #[serde(flatten)]
    path: PathName,
}

pub fn json(json: &Manifest<'_>) -> String {
    let checkpoint = json.checkpoint;
    let manifest = CopiesManifest {
        schema: "checkpoint.copies/2",
        checkpoint: CheckpointRef::new(checkpoint),
        alias: alias::of(checkpoint),
        terms: TermsJson::new(&checkpoint.record.terms),
        command: json.command.clone(),
        files: json.files.iter().map(copied).collect(),
    };
    text(&serde_json::to_string_pretty(&manifest).unwrap_or_default())
}

fn copied(copied: &Copied) -> CopiedJson {
    CopiedJson {
        path: PathName::new(&copied.path),
        kind: copied.entry.kind.into_str(),
        mode: format!("{:04o}", copied.entry.perm & RWX_BITS),
        size_bytes: copied.entry.size_bytes,
        sha256: copied.sha256.clone(),
        command: copied.command.clone(),
    }
}
