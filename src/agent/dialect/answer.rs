//! Renders the answer to an event in the words of its agent.

use serde_json::{Map, Value, json};

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
    let mut document = Map::new();
    let mut say = |key: &str, value: Option<Value>| {
        document.extend(value.map(|value| (key.to_owned(), value)));
    };
    let text = |text: &Option<String>| text.clone().map(Value::from);
    match event.agent {
        // Codex refuses an answer with a key that it does not know, and `ask` from a hook.
        AgentName::Codex if matches!(event.moment, Moment::Interrupted | Moment::SessionEnd) => {}
        // Without a person at its terminal, Gemini CLI waits for ever once a hook says `ask`; the
        // policy that `setup` writes asks where there is one.
        AgentName::Claude | AgentName::Codex | AgentName::Gemini => {
            say("systemMessage", text(&answer.message));
            let name = &event.name;
            let specific = match (&answer.ask, &answer.context) {
                (Some(why), _) if event.agent == AgentName::Claude => Some(json!({
                    "hookEventName": name,
                    "permissionDecision": "ask",
                    "permissionDecisionReason": why,
                })),
                (_, Some(context)) => {
                    Some(json!({ "hookEventName": name, "additionalContext": context }))
                }
                _ => None,
            };
            say("hookSpecificOutput", specific);
        }
        AgentName::Cursor => say("additional_context", text(&answer.context)),
        AgentName::Copilot => {
            say(
                "permissionDecision",
                answer.ask.as_ref().map(|_| json!("ask")),
            );
            say("permissionDecisionReason", text(&answer.ask));
            say("additionalContext", text(&answer.context));
        }
        // A hook of Cline is waited for until it says this.
        AgentName::Cline => say("cancel", Some(json!(false))),
        _ => {}
    }
    (!document.is_empty()).then(|| format!("{}\n", Value::Object(document)))
}
