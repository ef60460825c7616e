//! The profiles: formats of other programs in which a run can be kept in the project.

use serde::{Deserialize, Serialize};

pub const PHASE_FILE: &str = "memory/state/phase.json";
pub const EXECUTION_FILE: &str = "memory/state/execution.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum Profile {
    /// `memory/state/phase.json` and `execution.json`.
    Phases,
    /// `.claude/pipeline-state.json`.
    Pipeline,
    /// `.claude/checkpoints/<id>.json`.
    Registry,
}
