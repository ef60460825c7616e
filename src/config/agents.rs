//! The settings for agents, which only the user's own file may set.

use serde::Deserialize;
use strum::IntoStaticStr;

use crate::config::file::ConfigProblem;

/// What agents may do, and what is recorded of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    pub prompts: PromptWords,
    pub auto: AutoCheckpoints,
    pub agent_restore: AgentConsent,
}

/// What an agent needs for a restore or a deletion, beside `--yes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum AgentConsent {
    #[default]
    Yes,
    /// The digest of the plan that a dry run showed.
    Plan,
}

/// How much of a prompt is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum PromptWords {
    /// Its first line.
    #[default]
    Line,
    Full,
    Off,
}

/// When hooks make checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum AutoCheckpoints {
    #[default]
    All,
    /// Not before calls of the shell.
    Prompts,
    Off,
}

impl AgentSettings {
    /// Keeps to what a file may forbid that cannot be read as it is meant.
    pub fn stay_strict(&mut self, problems: &[ConfigProblem]) {
        let may_say = |key: &str| problems.iter().any(|bad| bad.may_be_of(key));
        if may_say("agent_restore") {
            self.agent_restore = AgentConsent::Plan;
        }
        if may_say("prompts") {
            self.prompts = PromptWords::Off;
        }
    }
}
