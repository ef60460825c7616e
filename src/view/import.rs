//! `import` as text and as JSON.

use crate::base::text::escape;
use crate::model::json::CheckpointRef;
use crate::model::session::origin::OriginStore;
use crate::ops::transfer::import::ImportOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::format::count;
use crate::view::words::Output;

pub fn human(outcome: &ImportOutcome) -> Output {
    let taken = &outcome.taken;
    let from = taken.origin.as_ref().map(origin).unwrap_or_default();
    let mut result = format!(
        "Imported {}{from}\n",
        count(taken.added.len(), "checkpoint", "checkpoints")
    );
    if taken.known > 0 {
        let known = count(taken.known, "checkpoint was", "checkpoints were");
        result.push_str(&format!("{known} here already.\n"));
    }
    if !taken.healed.is_empty() {
        let healed = count(taken.healed.len(), "checkpoint was", "checkpoints were");
        result.push_str(&format!("{healed} damaged here, and can be read again.\n"));
    }
    if taken.safety_left > 0 {
        let left = count(taken.safety_left, "safety checkpoint", "safety checkpoints");
        result.push_str(&format!("Left out: {left}, which only --safety imports.\n"));
    }
    result.push_str(&will_evict(outcome.too_many));
    Output {
        result,
        talk: String::new(),
    }
}

/// Says what the next `create` evicts.
pub fn will_evict(number: usize) -> String {
    if number == 0 {
        return String::new();
    }
    let many = count(number, "checkpoint", "checkpoints");
    format!("The next create evicts {many}, as the settings say; 'checkpoint pin SEL' keeps one.\n")
}

fn origin(origin: &OriginStore) -> String {
    format!(" of {}", words(origin))
}

/// Names machine and directory.
pub fn words(origin: &OriginStore) -> String {
    format!("{}:{}", escape(&origin.host), escape(&origin.root))
}

/// Machine and directory in which a checkpoint was made.
#[derive(Serialize, JsonSchema)]
pub struct OriginStoreJson {
    host: String,
    root: String,
}

impl OriginStoreJson {
    pub fn new(origin: &OriginStore) -> Self {
        Self {
            host: origin.host.clone(),
            root: origin.root.clone(),
        }
    }
}

/// What came in.
#[derive(Serialize, JsonSchema)]
pub struct ImportAnswer {
    /// Those that are new here, oldest first.
    checkpoints: Vec<CheckpointRef>,
    /// Number of those that were here already.
    already_here: usize,
    /// Those that were damaged here, and can be read again.
    healed_checkpoints: Vec<CheckpointRef>,
    /// Number of safety checkpoints that were left out.
    safety_left_out: usize,
    workflow_count: usize,
    /// Null if plain git made the bundle.
    origin: Option<OriginStoreJson>,
    /// Number of checkpoints that the next create will evict.
    to_be_evicted: usize,
}

pub fn json(outcome: &ImportOutcome) -> String {
    let taken = &outcome.taken;
    let data = ImportAnswer {
        checkpoints: taken.added.iter().map(CheckpointRef::new).collect(),
        already_here: taken.known,
        healed_checkpoints: taken.healed.iter().map(CheckpointRef::new).collect(),
        safety_left_out: taken.safety_left,
        workflow_count: taken.runs,
        origin: taken.origin.as_ref().map(OriginStoreJson::new),
        to_be_evicted: outcome.too_many,
    };
    envelope("import", 0, &data, &outcome.warnings)
}
