//! Renders the answer to an event in the words of its agent.

use serde_json::{Value, json};

use crate::agent::dialect::event::{AgentEvent, AgentName};
use crate::model::session::provenance::Moment;

/// What an agent, or its user, is to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// For the user.
    pub message: Option<String>,
    /// For the model, at the start of a session.
    pub context: Option<String>,
    /// Why the user is to be asked before the tool runs.
    pub ask: Option<String>,
}

/// Returns the document for the agent; `None` where it has no place for any of the answer.
pub fn render(event: &AgentEvent, answer: &HookAnswer) -> Option<String> {
    let document = match event.agent {
        AgentName::Claude => claude(event, answer),
        AgentName::Codex => codex(event, answer),
        // Without a person at its terminal, Gemini CLI waits for ever once a hook says `ask`; the
        // policy that `setup` writes asks where there is one.
        AgentName::Gemini => common(event, answer),
        AgentName::Cursor => match &answer.context {
            Some(context) => json!({ "additional_context": context }),
            None => Value::Null,
        },
        AgentName::Copilot => copilot(answer),
        // A hook of Cline is waited for until it says this.
        AgentName::Cline => json!({ "cancel": false }),
        _ => Value::Null,
    };
    let is_empty = document.as_object().is_none_or(serde_json::Map::is_empty);
    (!is_empty).then(|| format!("{document}\n"))
}

fn claude(event: &AgentEvent, answer: &HookAnswer) -> Value {
    let mut document = common(event, answer);
    if let Some(why) = &answer.ask {
        document["hookSpecificOutput"] = json!({
            "hookEventName": event.name,
            "permissionDecision": "ask",
            "permissionDecisionReason": why,
        });
    }
    document
}

/// What Claude Code, Codex and Gemini CLI have in common.
fn common(event: &AgentEvent, answer: &HookAnswer) -> Value {
    let mut document = json!({});
    if let Some(message) = &answer.message {
        document["systemMessage"] = json!(message);
    }
    if let Some(context) = &answer.context {
        document["hookSpecificOutput"] = json!({
            "hookEventName": event.name,
            "additionalContext": context,
        });
    }
    document
}

/// Codex refuses an answer with a key that it does not know, and `ask` from a hook.
fn codex(event: &AgentEvent, answer: &HookAnswer) -> Value {
    match event.moment {
        Moment::Interrupted | Moment::SessionEnd => Value::Null,
        _ => common(event, answer),
    }
}

fn copilot(answer: &HookAnswer) -> Value {
    let mut document = json!({});
    if let Some(why) = &answer.ask {
        document["permissionDecision"] = json!("ask");
        document["permissionDecisionReason"] = json!(why);
    }
    if let Some(context) = &answer.context {
        document["additionalContext"] = json!(context);
    }
    document
}
