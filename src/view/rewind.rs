//! `rewind` as text and as JSON.

use crate::base::text::escape;
use crate::base::time::age;
use crate::model::checkpoint::record::Checkpoint;
use crate::model::session::notes::{AgentSession, PromptNote};
use crate::ops::browse::prompts::PromptsOutcome;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::envelope;
use crate::view::parts::{CheckpointRef, TimeText};
use crate::view::place::placed_command;
use crate::view::words::Output;

/// Formats one line for each prompt, the newest last.
pub fn human(outcome: &PromptsOutcome, now_ms: i64) -> Output {
    let line = |(prompt, before): &(PromptNote, Option<Checkpoint>)| {
        let id = before.as_ref().map(|checkpoint| checkpoint.id.short());
        let words = match prompt.line.as_str() {
            "" => "(not recorded)".to_owned(),
            line => escape(line),
        };
        let branch = prompt
            .rewound_to
            .map(|number| format!(" (again from before {number})"));
        format!(
            "{:>4}  {:<8}  {:>6}  {words}{}\n",
            prompt.number,
            id.as_deref().unwrap_or("-"),
            age(prompt.time_ms, now_ms),
            branch.unwrap_or_default(),
        )
    };
    let AgentSession { agent, id, .. } = &outcome.session;
    let mut talk = format!("prompts of {}, session {}\n", escape(agent), escape(id));
    let mut newest_first = outcome.prompts.iter().rev();
    if outcome.prompts.is_empty() {
        "no prompt of this session is known\n".clone_into(&mut talk);
    } else if let Some((prompt, _)) = newest_first.find(|(_, before)| before.is_some()) {
        let number = prompt.number.to_string();
        let command = placed_command(outcome.rewind_command(&number));
        talk += &format!("'{command}' restores the state before prompt {number}\n");
    }
    Output {
        result: outcome.prompts.iter().map(line).collect(),
        talk,
    }
}

/// Says how the conversation of an agent follows the files.
pub fn conversation(agent: &str) -> String {
    let how = match agent {
        "claude" => {
            "in Claude Code, '/rewind' and 'Restore conversation' take the conversation back too"
        }
        "codex" => "in Codex, Esc Esc takes the conversation back too",
        "gemini" => {
            "in Gemini CLI, '/rewind' and 'Rewind conversation' take the conversation back too"
        }
        "opencode" => "in opencode, '/undo' takes the conversation back too",
        _ => "the conversation of the agent goes on as it is",
    };
    format!("{how}\n")
}

/// The prompts of one session of an agent.
#[derive(Serialize, JsonSchema)]
pub struct RewindListAnswer {
    agent_name: String,
    session: String,
    /// Whether the agent said that the session has ended.
    is_over: bool,
    /// In their order.
    prompts: Vec<PromptJson>,
}

/// One prompt.
#[derive(Serialize, JsonSchema)]
struct PromptJson {
    /// Position in the session, from 1.
    number: u32,
    /// The agent's own name of it; null if it has none.
    prompt_id: Option<String>,
    given_at: TimeText,
    /// Its first line without secrets; null if prompts are not recorded.
    line: Option<String>,
    /// The state before it; null if no checkpoint of that is kept.
    before: Option<CheckpointRef>,
    /// The prompt before which the directory was again when this one was given; null for none.
    rewound_to: Option<u32>,
}

pub fn json(outcome: &PromptsOutcome) -> String {
    let prompt = |(prompt, before): &(PromptNote, Option<Checkpoint>)| PromptJson {
        number: prompt.number,
        prompt_id: prompt.id.clone(),
        given_at: TimeText::new(prompt.time_ms),
        line: Some(prompt.line.clone()).filter(|line| !line.is_empty()),
        before: before.as_ref().map(CheckpointRef::new),
        rewound_to: prompt.rewound_to,
    };
    let data = RewindListAnswer {
        agent_name: outcome.session.agent.clone(),
        session: outcome.session.id.clone(),
        is_over: outcome.session.is_over,
        prompts: outcome.prompts.iter().map(prompt).collect(),
    };
    envelope("rewind.list", 0, &data, &outcome.warnings)
}
