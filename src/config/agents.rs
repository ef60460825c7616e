//! The settings for agents, which only the user's own file may set.

use strum::{EnumString, IntoStaticStr};

use crate::config::file::{ConfigFile, ConfigProblem};

/// What agents may do, and what is recorded of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentSettings {
    pub prompts: PromptWords,
    pub auto: AutoCheckpoints,
    pub agent_restore: AgentConsent,
}

/// What an agent needs for a restore or a deletion, beside `--yes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum AgentConsent {
    #[default]
    Yes,
    /// The digest of the plan that a dry run showed.
    Plan,
}

/// How much of a prompt is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum PromptWords {
    /// Its first line.
    #[default]
    Line,
    Full,
    Off,
}

/// When hooks make checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, IntoStaticStr)]
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

    /// Takes their values, and tells which keys have one.
    pub fn read(&mut self, file: &mut ConfigFile) -> Vec<&'static str> {
        let prompts = file.value(
            "prompts",
            |word: String| word.parse().ok(),
            "must be \"line\", \"full\" or \"off\"",
        );
        let auto = file.value(
            "auto",
            |word: String| word.parse().ok(),
            "must be \"all\", \"prompts\" or \"off\"",
        );
        let consent = file.value(
            "agent_restore",
            |word: String| word.parse().ok(),
            "must be \"yes\" or \"plan\"",
        );
        let keys = [
            ("agent_restore", consent.is_some()),
            ("prompts", prompts.is_some()),
            ("auto", auto.is_some()),
        ];
        self.prompts = prompts.unwrap_or(self.prompts);
        self.auto = auto.unwrap_or(self.auto);
        self.agent_restore = consent.unwrap_or(self.agent_restore);
        let given = keys.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(key, _)| key).collect()
    }
}
