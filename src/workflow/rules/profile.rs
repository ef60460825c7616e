//! The profiles: formats of other programs in which a run can be kept in the project.

use serde::{Deserialize, Serialize};

pub const PHASE_FILE: &str = "memory/state/phase.json";
pub const EXECUTION_FILE: &str = "memory/state/execution.json";

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
}
