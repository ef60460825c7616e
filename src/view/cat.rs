//! `cat` as JSON.

use crate::model::json::{CheckpointRef, PathName};
use crate::ops::browse::cat::CatOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;

/// A file of a checkpoint.
#[derive(Serialize, JsonSchema)]
pub struct CatAnswer {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    #[serde(flatten)]
    path: PathName,
    /// Id of the content.
    blob_id: String,
    size_bytes: u64,
    /// Type and mode as git writes them: `100644`.
    mode: String,
    /// The content; null if it is not UTF-8.
    text: Option<String>,
    /// The content as hex digits; null if it is UTF-8.
    hex: Option<String>,
}

pub fn json(outcome: &CatOutcome, content: &[u8]) -> String {
    let text = std::str::from_utf8(content).ok().map(str::to_owned);
    let data = CatAnswer {
        checkpoint: CheckpointRef::new(&outcome.checkpoint),
        path: PathName::new(&outcome.path),
        blob_id: outcome.id.to_hex(),
        size_bytes: outcome.size_bytes,
        mode: format!("{:06o}", outcome.mode),
        hex: (text.is_none()).then(|| content.iter().map(|byte| format!("{byte:02x}")).collect()),
        text,
    };
    envelope("cat", 0, &data, &outcome.warnings)
}
