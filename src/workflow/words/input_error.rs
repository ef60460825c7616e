//! What is wrong with the arguments of a command on runs.

use crate::error::Error;

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("'{0}' is not a valid id: use at most 120 letters, digits, '_', '-' and '.'")]
    RunId(String),
    #[error("'{0}' is not a profile: phases, pipeline or registry")]
    Profile(String),
    #[error("'{0}' is not a format: phases, pipeline, registry, plan or state")]
    Format(String),
    #[error("'{0}' is not a preset: dotagent")]
    Preset(String),
    #[error("the plan is not valid JSON: {0}")]
    PlanText(serde_json::Error),
    #[error("the plan is invalid: {flaws}")]
    Plan { flaws: String },
    #[error("--phase '{given}': {flaw}")]
    Phase { given: String, flaw: String },
    #[error("a workflow needs phases: give --plan, --preset or --phase")]
    NoPhases,
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::usage(error.to_string())
    }
}
