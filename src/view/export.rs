//! `export` as text and as JSON.

use std::path::Path;

use crate::base::text::escape_path;
use crate::model::json::CheckpointRef;
use crate::model::state::object_id::ObjectId;
use crate::ops::transfer::export::ExportOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::{count, size};
use crate::view::words::Output;

pub fn human(outcome: &ExportOutcome, file: &Path) -> Output {
    let place = if file.as_os_str() == "-" {
        "standard output".to_owned()
    } else {
        escape_path(file)
    };
    let mut result = format!(
        "Exported {} to {place} ({})\n",
        count(outcome.checkpoints.len(), "checkpoint", "checkpoints"),
        size(outcome.size.bytes)
    );
    if let Some(since) = outcome.since {
        let since = since.short();
        result.push_str(&format!("The other side needs {since} already.\n"));
    }
    if !outcome.prompts_left.is_empty() {
        result.push_str(&format!(
            "Left out: {} with the text of a prompt, which only --with-prompts exports.\n",
            count(outcome.prompts_left.len(), "checkpoint", "checkpoints")
        ));
    }
    Output {
        result,
        talk: String::new(),
    }
}

/// What was written into the bundle.
#[derive(Serialize, JsonSchema)]
pub struct ExportAnswer {
    file: String,
    size_bytes: u64,
    object_count: u64,
    /// Oldest first.
    checkpoints: Vec<CheckpointRef>,
    workflow_count: usize,
    /// Id of the checkpoint that the other side must have; null if it needs none.
    prerequisite: Option<String>,
    /// Number of checkpoints left out because they have the text of a prompt.
    left_out_for_prompts: usize,
}

pub fn json(outcome: &ExportOutcome, file: &Path) -> String {
    let data = ExportAnswer {
        file: file.display().to_string(),
        size_bytes: outcome.size.bytes,
        object_count: outcome.size.objects,
        checkpoints: outcome.checkpoints.iter().map(CheckpointRef::new).collect(),
        workflow_count: outcome.runs,
        prerequisite: outcome.since.map(ObjectId::to_hex),
        left_out_for_prompts: outcome.prompts_left.len(),
    };
    envelope("export", 0, &data, &outcome.warnings)
}
