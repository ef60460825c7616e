//! What is wrong with the arguments of a command on runs.

use crate::error::Error;

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("'{0}' is no id: letters, digits, '_', '-' and '.', at most 120")]
    RunId(String),
    #[error("'{0}' is no profile: phases, pipeline, registry")]
    Profile(String),
    #[error("'{0}' is no format: phases, pipeline, registry, plan, state")]
    Format(String),
    #[error("'{0}' is no preset: dotagent")]
    Preset(String),
    #[error("the plan is no JSON: {0}")]
    PlanText(serde_json::Error),
    #[error("the plan makes no sense: {flaws}")]
    Plan { flaws: String },
    #[error("--phase '{given}': {flaw}")]
    Phase { given: String, flaw: String },
    #[error("a workflow needs phases: give --plan, --preset or --phase")]
    NoPhases,
    #[error("--into is empty")]
    NoDirectory,
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Self::Usage {
            what: error.to_string(),
        }
    }
}
