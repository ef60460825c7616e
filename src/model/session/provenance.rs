//! What led to a checkpoint: agent, session, prompt and tool; and the store that one comes from.

use std::fmt;

use strum::{EnumString, IntoStaticStr};

use crate::base::json::{Deserialize, JsonSchema, Serialize};
use crate::base::text::{escape, percent_decode};

/// Upper bound on a value of a [`Provenance`], in bytes; a longer one is cut.
pub const LONGEST_VALUE: usize = 200;

/// The session of an agent in which a checkpoint was made, and the event before which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Provenance {
    /// Name of the agent, such as `claude`.
    #[serde(rename = "agent_name")]
    pub agent: Option<String>,
    /// The agent's own name of the session.
    pub session: Option<String>,
    /// The agent's own name of the prompt, or `#` and its number in the session.
    #[serde(rename = "prompt_id")]
    pub prompt: Option<String>,
    /// Name of the tool that was about to run.
    #[serde(rename = "tool_name")]
    pub tool: Option<String>,
    /// The agent's own name of the call of that tool.
    #[serde(rename = "tool_use_id")]
    pub tool_use: Option<String>,
    /// The agent's own name of a subagent.
    pub agent_id: Option<String>,
    #[serde(rename = "moment")]
    pub event: Option<Moment>,
}

/// A moment in the session of an agent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr, Serialize, JsonSchema,
)]
#[strum(const_into_str, serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    SessionStart,
    /// Before a prompt.
    Prompt,
    /// Before a call of the shell.
    PreTool,
    /// After an edit of a file.
    FileEdited,
    TurnEnd,
    TurnFailed,
    Interrupted,
    PreCompact,
    SubagentStart,
    SubagentEnd,
    SessionEnd,
}

impl Moment {
    pub fn ends_turn(self) -> bool {
        matches!(self, Self::TurnEnd | Self::TurnFailed | Self::Interrupted)
    }
}

impl Provenance {
    /// Returns it with each value cut to what a trailer may hold; an empty one counts as absent.
    #[must_use]
    pub fn checked(self) -> Self {
        Self {
            agent: self.agent.and_then(checked),
            session: self.session.and_then(checked),
            prompt: self.prompt.and_then(checked),
            tool: self.tool.and_then(checked),
            tool_use: self.tool_use.and_then(checked),
            agent_id: self.agent_id.and_then(checked),
            event: self.event,
        }
    }

    /// Pairs each value with the key of its trailer.
    pub fn to_fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let event = self.event.map(|event| event.into_str());
        [
            ("Agent", self.agent.as_deref()),
            ("Session", self.session.as_deref()),
            ("Prompt", self.prompt.as_deref()),
            ("Tool", self.tool.as_deref()),
            ("Tool-Use", self.tool_use.as_deref()),
            ("Agent-Id", self.agent_id.as_deref()),
            ("Event", event),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
    }

    /// Reads the values by the keys of their trailers; a missing or unknown one counts as absent.
    pub fn from_fields(read: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            agent: read("Agent"),
            session: read("Session"),
            prompt: read("Prompt"),
            tool: read("Tool"),
            tool_use: read("Tool-Use"),
            agent_id: read("Agent-Id"),
            event: read("Event").and_then(|event| event.parse().ok()),
        }
        .checked()
    }
}

fn checked(mut value: String) -> Option<String> {
    value.truncate(value.floor_char_boundary(LONGEST_VALUE));
    Some(value).filter(|value| !value.is_empty())
}

/// Machine and root of the store in which a checkpoint was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OriginStore {
    pub host: String,
    /// Path of the working directory there.
    pub root: String,
}

impl fmt::Display for OriginStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", escape(&self.host), escape(&self.root))
    }
}

impl OriginStore {
    /// Returns both as two components of a ref: every byte but letters, digits and `-` is encoded,
    /// so that git accepts any.
    pub fn to_ref(&self) -> String {
        format!(
            "{}/{}",
            encode_component(&self.host),
            encode_component(&self.root)
        )
    }

    /// Reads the form of [`Self::to_ref`].
    pub fn of_ref(text: &str) -> Option<Self> {
        let (host, root) = text.split_once('/')?;
        let decode = |part: &str| String::from_utf8(percent_decode(part)?).ok();
        let read = Self {
            host: decode(host)?,
            root: decode(root)?,
        };
        (read.to_ref() == text).then_some(read)
    }
}

/// Encodes any text as one component of a ref.
pub fn encode_component(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    // A component may not be empty.
    match text {
        "" => "%00".to_owned(),
        text => text.bytes().map(byte).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_between_letters_and_empty_ones_are_absent() {
        let checked = |session: String| {
            let provenance = Provenance {
                agent: Some(String::new()),
                session: Some(session),
                ..Provenance::default()
            };
            provenance.checked()
        };
        let even = checked("\u{e9}x".repeat(100));
        assert_eq!(even.agent, None);
        assert_eq!(even.session.map(|text| text.len()), Some(200));
        let odd = checked(format!("x{}", "\u{e9}".repeat(100)));
        assert_eq!(odd.session.map(|text| text.len()), Some(199));
    }
}
