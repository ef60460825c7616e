//! The event of an agent in its normal form.

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::agent::event_place::NamedDirs;
use crate::model::json::{JsonSchema, Serialize};
use crate::model::session::provenance::Moment;

/// A program that can run our hook, or call our server.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    EnumString,
    IntoStaticStr,
    VariantArray,
    Serialize,
    JsonSchema,
)]
#[strum(const_into_str, serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AgentName {
    Claude,
    Codex,
    Gemini,
    Cursor,
    Copilot,
    Opencode,
    Amp,
    Cline,
    Windsurf,
    Vscode,
    Zed,
    Goose,
}

impl AgentName {
    /// Whether it runs hooks; another one only calls our server.
    pub fn has_hooks(self) -> bool {
        !matches!(self, Self::Vscode | Self::Zed | Self::Goose)
    }

    /// Whether its hooks get `CLAUDE_PROJECT_DIR`; to another agent it comes from one around it.
    pub fn names_project(self) -> bool {
        matches!(
            self,
            Self::Claude | Self::Copilot | Self::Cursor | Self::Gemini
        )
    }
}

/// One event, as far as its document tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEvent {
    pub agent: AgentName,
    pub moment: Moment,
    /// The name of the event in the words of the agent, which some answers repeat.
    pub name: String,
    /// The agent's own name of the session; empty if it has none.
    pub session: String,
    /// The agent's own time of the event, which tells two alike apart.
    pub stamp: Option<String>,
    /// Whether a session begins or comes back, rather than goes on after its words were compacted.
    pub begins: bool,
    pub dirs: NamedDirs,
    pub prompt_id: Option<String>,
    pub prompt: Option<String>,
    pub tool: Option<String>,
    pub tool_use: Option<String>,
    /// The agent's own name of the subagent in which this happens.
    pub agent_id: Option<String>,
    /// Command line that the agent's shell is about to run.
    pub command: Option<String>,
    /// The files that were edited, in the words of the agent.
    pub edited: Vec<String>,
    /// Why a turn failed, such as `rate_limit`.
    pub cause: Option<String>,
    /// Whether a subagent goes on in the background.
    pub has_subagents: bool,
    /// Whether the user has waived all questions.
    pub waives_questions: bool,
}
