//! The formats in which other programs keep a run, each with its files in the project: read and written exactly.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::workflow::Workflow;

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
mod example_tests;
mod moving;
pub mod overlay;
pub mod phases;
pub mod pipeline;
pub mod pipeline_schema;
pub mod reader;
pub mod registry;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// `memory/state/phase.json` and `execution.json`.
    Phases,
    /// `.claude/pipeline-state.json`.
    Pipeline,
    /// `.claude/checkpoints/<id>.json`.
    Registry,
}

/// One file as it is to be in the project.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Relative to the root.
    pub path: String,
    pub value: Value,
}

/// One thing that is wrong with a document or a run, in words, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The stable word in JSON.
    pub code: &'static str,
    /// A place in the document, such as `completed_phases[1].timestamp`, or a path.
    pub place: String,
    pub what: String,
}

impl Finding {
    pub fn new(code: &'static str, place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { code, place: place.into(), what: what.into() }
    }
}

/// What a document is read with.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    pub now_ms: i64,
    /// The root, as absolute paths in documents begin.
    pub root: &'a str,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Phases, Self::Pipeline, Self::Registry];

    pub fn word(self) -> &'static str {
        match self {
            Self::Phases => "phases",
            Self::Pipeline => "pipeline",
            Self::Registry => "registry",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.word() == word)
    }

    /// The profile whose file lies at this path, relative to the root.
    pub fn of_path(path: &str) -> Option<Self> {
        match path {
            phases::PHASE_FILE | phases::EXECUTION_FILE => Some(Self::Phases),
            pipeline::FILE => Some(Self::Pipeline),
            _ => registry::is_active_file(path).then_some(Self::Registry),
        }
    }

    /// The profile in whose format a document seems to be.
    pub fn of_document(value: &Value) -> Option<Self> {
        let has = |key: &str| value.get(key).is_some();
        if has("phase_status") && has("current_phase") {
            Some(Self::Phases)
        } else if has("checkpoint_id") && has("workflow_type") {
            Some(Self::Registry)
        } else if has("completed_phases") && has("remaining_phases") {
            Some(Self::Pipeline)
        } else {
            None
        }
    }
}

/// The last component of the root: what a project is called where nobody says more.
fn project_of(root: &str) -> &str {
    root.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or("work")
}

/// The files that a run has in the project now under one of its profiles. A file of the same path that was read before
/// (`workflow.documents`) is the pattern: what did not change in it, and what we do not know, stays letter for letter.
pub fn export(workflow: &Workflow, profile: Profile, root: &str) -> Vec<Document> {
    match profile {
        Profile::Phases => phases::export(workflow),
        Profile::Pipeline => vec![pipeline::export(workflow, root)],
        Profile::Registry => vec![registry::export(workflow)],
    }
}

/// A new run from the document of another program; the caller checks that its id is free.
///
/// # Errors
/// All that is wrong with it.
pub fn begin(profile: Profile, path: &str, value: &Value, reading: Reading<'_>) -> Result<Workflow, Vec<Finding>> {
    let mut workflow = match profile {
        Profile::Phases => phases::begin(value, reading),
        Profile::Pipeline => pipeline::begin(value, reading),
        Profile::Registry => registry::begin(value, reading),
    }?;
    workflow.profiles = vec![profile];
    take(&mut workflow, profile, path, value, reading)?;
    Ok(workflow)
}

/// Takes over what an edited document says; what it does not speak of stays.
///
/// # Errors
/// All that is wrong with it; then the run is as before.
pub fn take(
    workflow: &mut Workflow,
    profile: Profile,
    path: &str,
    value: &Value,
    reading: Reading<'_>,
) -> Result<(), Vec<Finding>> {
    let mut taken = workflow.clone();
    match profile {
        Profile::Phases => phases::take(&mut taken, path, value, reading),
        Profile::Pipeline => pipeline::take(&mut taken, value, reading),
        Profile::Registry => registry::take(&mut taken, value, reading),
    }?;
    taken.documents.insert(path.to_owned(), value.clone());
    *workflow = taken;
    Ok(())
}
